//! Configuration that is read again while the server runs, and that of the database (operations §§3, 5).

use crate::served::{GRANTS, ROLE, Served, config, eventually};
use thalweg_server::{Config, Sources};
use thalweg_testkit::Database;

/// What is set for a role outlives its database, and the cluster is shared: each test has a login of its own.
pub(crate) struct Login<'a> {
    database: &'a Database,
    name: &'static str,
}

impl<'a> Login<'a> {
    pub(crate) fn new(database: &'a Database, name: &'static str) -> Self {
        database.execute(&format!("create role {name} login superuser password 'x'; grant {ROLE} to {name}"));
        Self { database, name }
    }

    pub(crate) fn uri(&self) -> String {
        let uri = self.database.uri();
        let (_, host) = uri.rsplit_once('@').unwrap();
        format!("postgresql://{}:x@{host}", self.name)
    }

    pub(crate) fn set(&self, key: &str, value: &str) {
        let (role, value) = (self.name, value.replace('\'', "''"));
        self.database.execute(&format!("alter role {role} set pgrst.{key} = '{value}'"));
    }
}

impl Drop for Login<'_> {
    fn drop(&mut self) {
        self.database.execute(&format!(
            "select pg_terminate_backend(pid) from pg_stat_activity where usename = '{0}'; drop owned by {0}; drop role {0}",
            self.name
        ));
    }
}

const SCHEMA: &str = "
    create schema api;
    create table api.t as select i as id from generate_series(1, 5) i;
    create schema other;
    create table other.u as select 7 as id;
    create function public.settings() returns void language sql as $$
      select set_config('pgrst.db_max_rows', '3', true), set_config('pgrst.db_plan_enabled', 'true', true) $$;
    create function public.broken() returns void language plpgsql as $$ begin raise 'broken'; end $$;
";

fn rows(served: &Served) -> usize {
    served.get("/t").text().matches("\"id\"").count()
}

#[test]
fn the_database_configures() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let login = Login::new(&database, "configured_by_itself");
    login.set("db_max_rows", "2");
    login.set("db_aggregates_enabled", "true");
    // of the start, and no key of the database's
    login.set("server_host", "203.0.113.1");
    login.set("db_channel", "elsewhere");
    let served = Served::start(config(&login.uri()));
    assert_eq!(rows(&served), 2);
    assert_eq!(served.get("/t?select=id.sum()").text(), "[{\"sum\":15}]");

    // what is set for this database alone wins, and a function's settings do not
    let name = database.name();
    database.execute(&format!("alter role configured_by_itself in database \"{name}\" set pgrst.db_max_rows = '1'"));
    login.set("db_pre_config", "public.settings");
    database.execute("notify pgrst, 'reload config'");
    eventually("the function was called", || served.request("GET", "/t", &PLAN).status == 200);
    assert_eq!(rows(&served), 1);

    // what is set for the database alone has no effect, and is not what the function has set
    database.execute(&format!(
        "alter database \"{name}\" set pgrst.db_max_rows = '4'; alter database \"{name}\" set pgrst.db_aggregates_enabled = 'false';
         alter database \"{name}\" set pgrst.server_trace_header = 'X-Id';
         alter role configured_by_itself in database \"{name}\" reset all; alter role configured_by_itself reset pgrst.db_max_rows;
         notify pgrst, 'reload config'"
    ));
    eventually("the function's limit counts", || rows(&served) == 3);
    assert_eq!(served.get("/t?select=id.sum()").status, 200);
    assert_eq!(served.request("GET", "/t", &[("x-id", "7")]).header("x-id"), None);
    login.set("db_max_rows", "2");

    // nothing is set any more, as where it is set to nothing
    database.execute(&format!(
        "alter role configured_by_itself in database \"{name}\" set pgrst.db_max_rows = '';
         alter role configured_by_itself reset pgrst.db_aggregates_enabled; notify pgrst, 'reload config'"
    ));
    eventually("there is no limit", || rows(&served) == 5);
    assert_eq!(served.get("/t?select=id.sum()").status, 400);
    database.execute(&format!(
        "alter role configured_by_itself in database \"{name}\" reset all; alter role configured_by_itself reset pgrst.db_pre_config;
         notify pgrst, 'reload config'"
    ));
    eventually("the role's own setting counts", || rows(&served) == 2);
    assert_eq!(served.request("GET", "/t", &PLAN).status, 406);

    // other schemas are loaded with it
    login.set("db_schemas", "other");
    login.set("db_anon_role", "configured_by_itself");
    database.execute("notify pgrst");
    eventually("the other schema is served", || served.get("/u").text() == "[{\"id\":7}]");
    assert_eq!(served.get("/t").status, 404);
}

/// What such a function sets may be what keeps others out: a pre-request function, an audience, a limit.
#[test]
fn a_function_that_fails_takes_nothing_away() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let login = Login::new(&database, "configured_by_failures");
    login.set("db_pre_config", "public.settings");
    let served = Served::start(config(&login.uri()));
    assert_eq!(rows(&served), 3);
    let failing = [
        "create or replace function public.settings() returns void language plpgsql as $$ begin
           perform set_config('pgrst.db_max_rows', '4', true); raise 'broken'; end $$",
        "create or replace function public.settings() returns void language sql as $$ delete from api.t $$",
        "drop function public.settings()",
        "alter role configured_by_failures set pgrst.db_pre_config = 'public.broken'",
    ];
    for (at, failing) in failing.iter().enumerate() {
        // other sources are read all the same
        login.set("db_aggregates_enabled", if at % 2 == 0 { "true" } else { "false" });
        database.execute(&format!("{failing}; notify pgrst, 'reload config'"));
        let status = if at % 2 == 0 { 200 } else { 400 };
        eventually("the rest was read", || served.get("/t?select=id.sum()").status == status);
        assert_eq!((rows(&served), served.request("GET", "/t", &PLAN).status), (3, 200), "{failing}");
    }
    // nobody has set anything before the start
    assert_eq!(rows(&Served::start(config(&login.uri()))), 5);
    database.execute("alter role configured_by_failures reset pgrst.db_pre_config; notify pgrst, 'reload config'");
    eventually("no function counts any more", || rows(&served) == 5);
}

/// A function that reads a table somebody has locked holds up no load, and what it has said before still counts.
#[test]
fn a_function_that_waits_is_not_waited_for() {
    let database = Database::new(&format!(
        "{SCHEMA}{GRANTS}
         create table public.limits as select '3' as rows_max;
         create function public.from_table() returns void language sql as $$
           select set_config('pgrst.db_max_rows', rows_max, true) from public.limits $$;"
    ));
    let login = Login::new(&database, "configured_by_a_table");
    login.set("db_pre_config", "public.from_table");
    let served = Served::start(config(&login.uri()));
    assert_eq!(rows(&served), 3);
    std::thread::scope(|scope| {
        let lock = scope.spawn(|| database.execute("begin; lock table public.limits; select pg_sleep(600); commit"));
        eventually("it is locked", || {
            database.value("select count(*) from pg_locks where mode = 'AccessExclusiveLock' and granted and relation = 'public.limits'::regclass") == "1"
        });
        database.execute("create table api.late (id int); grant select on api.late to test_reader; notify pgrst");
        eventually("the schema is loaded all the same", || served.get("/late").status == 200);
        assert!(!lock.is_finished());
        assert_eq!(rows(&served), 3);
        database.execute("select pg_terminate_backend(pid) from pg_locks where relation = 'public.limits'::regclass and mode = 'AccessExclusiveLock'");
        let _ = lock.join();
    });
}

/// A pooler that is put before the database, or taken away, asks for no new start.
#[test]
fn whether_statements_are_prepared_follows_the_database() {
    let database = Database::new(&format!(
        "{SCHEMA}
         create function api.session() returns text language sql stable as $$
           select pg_backend_pid() || ' ' || (select count(*) > 0 from pg_prepared_statements) $$;
         {GRANTS}"
    ));
    let login = Login::new(&database, "configured_to_prepare");
    login.set("db_prepared_statements", "false");
    let served = Served::start(Config { db_pool: 1, ..config(&login.uri()) });
    let session = || {
        assert_eq!(rows(&served), 5);
        served.get("/rpc/session").text().trim_matches('"').to_owned()
    };
    let first = session();
    assert!(first.ends_with(" false"), "{first}");
    login.set("db_prepared_statements", "true");
    database.execute("notify pgrst, 'reload config'");
    eventually("statements are prepared", || session().ends_with(" true"));
    let second = session();
    assert_ne!(first.split(' ').next(), second.split(' ').next());
    login.set("db_prepared_statements", "false");
    database.execute("notify pgrst, 'reload config'");
    eventually("the connection that has prepared some is replaced", || session().ends_with(" false"));
}

const PLAN: [(&str, &str); 1] = [("accept", "application/vnd.pgrst.plan")];

#[test]
fn a_wrong_configuration_is_dropped() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let login = Login::new(&database, "configured_wrongly");
    login.set("db_max_rows", "2");
    let served = Served::start(config(&login.uri()));
    assert_eq!(rows(&served), 2);
    login.set("db_tx_end", "perhaps");
    login.set("db_max_rows", "4");
    database.execute("notify pgrst, 'reload config'");
    database.execute("create table api.late (id int); grant select on api.late to test_reader; notify pgrst");
    eventually("the schema is loaded all the same", || served.get("/late").status == 200);
    assert_eq!(rows(&served), 2);
    login.set("db_tx_end", "rollback");
    database.execute("notify pgrst, 'reload config'");
    eventually("the next is right", || rows(&served) == 4);
}

#[test]
fn a_file_is_read_again_and_the_start_is_kept() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let path = std::env::temp_dir().join(format!("thalweg-reread-{}.conf", std::process::id()));
    let write = |text: &str| std::fs::write(&path, text).unwrap();
    let start = format!(
        "db-uri = \"{}\"\ndb-schemas = \"api\"\ndb-anon-role = \"{ROLE}\"\nserver-host = \"127.0.0.1\"\nserver-port = 0\n",
        database.uri()
    );
    write(&format!("{start}db-max-rows = 2"));
    let sources = Sources::new(Some(&path), [("PGRST_DB_PLAN_ENABLED".to_owned(), "true".to_owned())].into_iter());
    let served = Served::of_sources(sources);
    assert_eq!(rows(&served), 2);
    // a read that is known follows too
    (0..3).for_each(|_| assert_eq!(rows(&served), 2));
    write(&format!(
        "{}db-max-rows = 3\nserver-trace-header = \"X-Id\"\ndb-pool = 1",
        start.replace("db-uri", "ignored")
    ));
    database.execute("notify pgrst, 'reload config'");
    eventually("the file was read again", || rows(&served) == 3);
    assert_eq!(served.request("GET", "/t", &[("x-id", "7")]).header("x-id"), Some("7"));
    assert_eq!(served.request("GET", "/t", &PLAN).status, 200, "the environment is as it was");
    write(&format!("{start}db-max-rows = \"many\""));
    database.execute("notify pgrst, 'reload config'");
    database.execute("create table api.late (id int); grant select on api.late to test_reader; notify pgrst");
    eventually("the schema is loaded all the same", || served.get("/late").status == 200);
    assert_eq!(rows(&served), 3);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn without_db_config_the_database_has_no_say() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let login = Login::new(&database, "not_configured");
    login.set("db_max_rows", "2");
    let role = "with_a_setting";
    database.execute(&format!(
        "create role {role}; grant {role} to not_configured; grant usage on schema api to {role}; grant select on api.t to {role};
         alter role {role} set statement_timeout = '77s';
         create view api.timeout as select current_setting('statement_timeout'); grant select on api.timeout to {role}"
    ));
    let timeout = |db_config: bool| {
        let served = Served::start(Config { db_config, db_anon_role: Some(role.to_owned()), ..config(&login.uri()) });
        (rows(&served), served.get("/timeout").text().to_owned())
    };
    assert_eq!(timeout(true), (2, "[{\"current_setting\":\"77s\"}]".to_owned()));
    assert_eq!(timeout(false), (5, "[{\"current_setting\":\"0\"}]".to_owned()));
    database.execute(&format!("drop owned by {role}; drop role {role}"));
}

#[test]
fn settings_are_hoisted_by_patterns() {
    let database = Database::new(&format!(
        "create schema api;
         create function api.called() returns setof text language sql stable set work_mem = '7MB' as $$ select 'x'::text $$;
         {GRANTS}"
    ));
    for (patterns, is_hoisted) in
        [(&["^work_", "nothing"][..], true), (&["MEM"], true), (&["work.mem$"], true), (&["^mem"], false), (&[], false)]
    {
        let served = Served::start(Config {
            db_hoisted_tx_settings: patterns.iter().map(|pattern| (*pattern).to_owned()).collect(),
            db_plan_enabled: true,
            ..config(&database.uri())
        });
        // how the statement is run tells what was set before it
        let plan = [("accept", "application/vnd.pgrst.plan; options=settings")];
        let told = served.request("POST", "/rpc/called", &plan).text().to_owned();
        assert_eq!(told.contains("work_mem = '7MB'"), is_hoisted, "{patterns:?}: {told}");
    }
    let wrong = Config { db_hoisted_tx_settings: vec!["(".to_owned()], ..config(&database.uri()) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(thalweg_server::Server::builder(wrong).start()).err().expect("it is no pattern");
    assert!(error.to_string().contains("db-hoisted-tx-settings"), "{error}");
}

/// One that PostgreSQL refuses would make every request fail that tells SQL of it.
#[test]
fn names_of_free_settings_are_those_that_postgresql_takes() {
    let database = Database::new(
        "create function takes(name text) returns text language plpgsql as $$
           begin return (set_config(name, 'x', true) = 'x')::text; exception when others then return sqlerrm; end $$",
    );
    for (name, is_taken) in [
        ("club", true),
        ("Club_2$", true),
        ("_", true),
        ("Straße", true),
        ("a.b", true),
        ("a-b", false),
        ("a b", false),
        ("2", false),
        ("$a", false),
        ("", false),
        ("a.", false),
        ("a..b", false),
        ("a.2", false),
    ] {
        let by_postgresql = database.value(&format!("select takes('app.settings.{name}')"));
        assert_eq!(by_postgresql == "true", is_taken, "{name}: {by_postgresql}");
        let variable = format!("PGRST_APP_SETTINGS_{name}");
        let read = Sources::new(None, [(variable.clone(), "Secret".to_owned())].into_iter()).read();
        let Err(error) = read else {
            assert!(is_taken, "{name}");
            continue;
        };
        let said = error.to_string();
        assert!(!is_taken && !said.contains("Secret"), "{said}");
        assert!(
            said.starts_with(&format!("Error in config: {variable}: a name that PostgreSQL takes is needed")),
            "{said}"
        );
    }
}

#[test]
fn a_database_without_public_is_served_and_a_missing_schema_is_named() {
    let database = Database::new(&format!(
        "drop schema public cascade; create schema api; create table api.t as select 1 as id;
         create function api.path() returns text language sql stable as $$ select current_setting('search_path') $$; {GRANTS}"
    ));
    let uri = database.uri();
    // `public` is the default of db-extra-search-path.
    assert_eq!(config(&uri).db_extra_search_path, ["public"]);
    let served = Served::database(&uri);
    assert_eq!((served.get("/t").status, served.get("/t").text()), (200, r#"[{"id":1}]"#));
    assert_eq!(served.get("/rpc/path").json(), r#""api", "public""#);
    // Functions of the schema are found as soon as it exists.
    database.execute("create schema public; grant usage on schema public to test_reader; create function public.more(api.t) returns int language sql stable as 'select 2'; notify pgrst");
    eventually("the schema cache is loaded", || served.get("/t?select=more").text() == r#"[{"more":2}]"#);
    drop(served);

    let db_schemas = ["api", "gone", "lost"].map(str::to_owned).to_vec();
    let served = Served::start(Config { db_schemas, ..config(&uri) });
    for target in ["/t", "/", "/rpc/path"] {
        let refused = served.get(target);
        let error = refused.json();
        assert_eq!((refused.status, error["code"].as_str()), (503, Some("PGRST002")), "{target}");
        assert_eq!(error["details"], r#"these schemas of db-schemas do not exist: "gone", "lost""#);
        assert_eq!(error["hint"], "Create the schemas, or change db-schemas.");
    }
    database.execute("create schema gone; create schema lost");
    eventually("the missing schemas are found", || served.get("/t").status == 200);
}

#[test]
fn settings_of_roles_count_for_this_database_and_for_indirect_members() {
    let database = Database::new(&format!(
        "create schema api;
         create function api.setting(name text) returns text language sql stable as $$ select current_setting(name) $$;
         {GRANTS}
         create role settings_direct; create role settings_between; create role settings_indirect;
         create role settings_login login password 'x';
         grant settings_direct, settings_between to settings_login; grant settings_indirect to settings_between;
         grant usage on schema api to settings_direct, settings_indirect;"
    ));
    let other_database = Database::new("");
    let (name, other) = (database.name(), other_database.name());
    database.execute(&format!(
        "alter role settings_direct set statement_timeout = '11s'; alter role settings_direct set work_mem = '5MB';
         alter role settings_direct in database {name} set statement_timeout = '12s';
         alter role settings_direct in database {name} set timezone = 'Europe/Vienna';
         alter role settings_direct in database {other} set lock_timeout = '13s';
         alter role settings_indirect set statement_timeout = '14s'"
    ));
    let (_, host) = database.uri().rsplit_once('@').map(|(user, host)| (user.to_owned(), host.to_owned())).unwrap();
    for login in [database.uri(), format!("postgresql://settings_login:x@{host}")] {
        let of_role = |role: &str| {
            let served = Served::start(Config { db_anon_role: Some(role.to_owned()), ..config(&login) });
            let setting = |name: &str| served.get(&format!("/rpc/setting?name={name}")).json();
            ["statement_timeout", "work_mem", "TimeZone", "lock_timeout"]
                .map(|name| setting(name).as_str().unwrap().to_owned())
        };
        let [statement, memory, zone, lock] = of_role("settings_direct");
        assert_eq!([statement.as_str(), &memory, &zone, &lock], ["12s", "5MB", "Europe/Vienna", "0"], "{login}");
        assert_eq!(of_role("settings_indirect")[0], "14s", "{login}");
    }
    // A change is read at the next load.
    let served = Served::start(Config { db_anon_role: Some("settings_direct".to_owned()), ..config(&database.uri()) });
    database.execute(&format!("alter role settings_direct in database {name} reset all; notify pgrst"));
    eventually("the setting for all databases counts", || {
        served.get("/rpc/setting?name=statement_timeout").json() == "11s"
    });
    drop(served);
    database.execute("drop owned by settings_direct, settings_indirect; drop role settings_direct, settings_between, settings_indirect, settings_login");
}
