//! Comparison of texts in new clusters, and in existing ones, which are kept as they are.

use super::*;
use thalweg_wire::{Config, Connection, Query, Texts};

/// A directory for a test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("embedded-postgres-{name}-{}", std::process::id()));
        make_dir(&path, 0o755).unwrap();
        Self(path)
    }

    fn options(&self, collation: Collation) -> Options {
        let settings = vec![("fsync".to_owned(), "off".to_owned())];
        Options { data_dir: Some(self.0.join("data")), settings, collation, ..Options::default() }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns how a cluster compares texts: a match in another case, an order, and how the
/// database compares.
fn compared(cluster: &Cluster) -> String {
    let sql = "select concat_ws(' ', 'ZÜRICH' ilike 'Zürich', lower('ÄÖ'),
                 (select string_agg(t, '' order by t) from unnest(array['z', 'Ö', 'a', 'P', 'é', 'f']) as t),
                 (select datlocprovider from pg_database where datname = 'postgres'))";
    let config = Config::parse(&cluster.uri("postgres")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut texts = Texts::default();
    runtime.block_on(async {
        let mut connection = Connection::connect(&config).await.unwrap();
        connection.run(&[Query::bare(sql)], &mut texts).await.unwrap();
    });
    texts.rows[0][0].clone().unwrap()
}

#[test]
fn a_new_cluster_compares_by_unicode_and_an_old_one_as_it_did() {
    let (new, old) = (Folder::new("new"), Folder::new("old"));
    let cluster = Cluster::start(&new.options(Collation::Unicode)).unwrap();
    assert_eq!((compared(&cluster).as_str(), cluster.notice()), ("t äö aéfÖPz i", None));
    cluster.stop().unwrap();
    // A cluster that was made before there was a choice.
    let cluster = Cluster::start(&old.options(Collation::Bytes)).unwrap();
    let before = compared(&cluster);
    assert_eq!((before.as_str(), cluster.notice()), ("f ÄÖ PafzÖé c", None));
    cluster.stop().unwrap();
    let cluster = Cluster::start(&old.options(Collation::Unicode)).unwrap();
    assert_eq!((compared(&cluster), cluster.created(), cluster.notice()), (before, false, None));
}

/// An `initdb` without ICU refuses the options for it.
#[test]
fn a_postgresql_without_icu_makes_a_cluster_and_says_so() {
    let folder = Folder::new("without-icu");
    let (data_dir, bin) = (folder.0.join("data"), folder.0.join("bin"));
    let real = Binaries::find(None).unwrap();
    make_dir(&bin, 0o755).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *--locale-provider*) echo 'initdb: error: ICU is not supported in this build' >&2; exit 1;; esac\n\
         exec {}/initdb \"$@\"\n",
        real.directory.display()
    );
    fs::write(bin.join("initdb"), script).unwrap();
    fs::set_permissions(bin.join("initdb"), Permissions::from_mode(0o755)).unwrap();
    let owner = Owner::choose().unwrap();
    make_dir(&data_dir, 0o755).unwrap();
    owner.own(&data_dir).unwrap();
    let lock = lock(&data_dir).unwrap();
    let home = data_dir.join("cluster");
    let without = Binaries { directory: bin, major: real.major };
    let made = |binaries: &Binaries, collation| {
        let notice = initialise(owner, binaries, (&data_dir, &home), &lock, collation).unwrap();
        assert!(home.join("PG_VERSION").exists() && !data_dir.join("cluster.partial").exists());
        notice
    };
    let notice = made(&without, Collation::Unicode).unwrap();
    assert!(notice.contains("compares texts by bytes") && notice.contains("ICU is not supported"), "{notice}");
    assert_eq!(made(&without, Collation::Bytes), None);
    // A version that has no such databases is not asked.
    let notice = made(&Binaries { major: 14, ..real }, Collation::Unicode).unwrap();
    assert!(notice.contains("PostgreSQL 14 compares texts by ICU from version 15 on"), "{notice}");
}
