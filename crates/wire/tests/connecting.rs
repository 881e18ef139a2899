//! Sockets, passwords, TLS, several hosts.
//!
//! These change the cluster's own configuration, so that they are one test.

use crate::texts::value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use thalweg_testkit::{Database, Proxy, data_dir};
use thalweg_wire::{Config, Connection, Error, ErrorKind};

async fn connect(uri: &str) -> Result<Connection, Error> {
    Connection::connect(&Config::parse_with(uri, |_| None)?).await
}

#[tokio::test]
async fn hosts_are_tried_in_order() {
    let database = Database::new("");
    let uri = database.uri();
    let (login, rest) = uri.split_once('@').unwrap();
    let mut connection = connect(&format!("{login}@127.0.0.1:1,{rest}")).await.unwrap();
    assert_eq!(value(&mut connection, "select current_database()").await.unwrap(), database.name());
    for (attributes, found) in [
        ("any", true),
        ("read-write", true),
        ("primary", true),
        ("standby", false),
        ("read-only", false),
        ("prefer-standby", true),
    ] {
        let connected = connect(&format!("{uri}&target_session_attrs={attributes}")).await;
        assert_eq!(connected.is_ok(), found, "{attributes}");
    }
    database.execute(&format!("alter database {} set default_transaction_read_only = on", database.name()));
    assert!(connect(&format!("{uri}&target_session_attrs=read-write")).await.is_err());
    assert!(connect(&format!("{uri}&target_session_attrs=read-only")).await.is_ok());
}

#[tokio::test]
async fn what_refuses_says_why() {
    let database = Database::new("");
    let refused = connect("postgresql://a@127.0.0.1:1/x").await.err().unwrap();
    assert!(matches!(refused.kind(), ErrorKind::Connect(host) if host == "127.0.0.1:1"), "{refused}");
    let uri = database.uri();
    let wrong = connect(&uri.replacen("://postgres:", "://postgres:x", 1)).await.err().unwrap();
    assert!(matches!(wrong.kind(), ErrorKind::Authentication(_)), "{wrong}");
    let missing = connect(&uri.replacen(database.name(), "no_such_database", 1)).await.err().unwrap();
    assert_eq!(missing.code(), Some("3D000"));
}

/// Writes a file that the server reads, owned by whoever owns its directory.
fn write_for_server(path: &Path, text: &str, mode: u32) {
    use std::os::unix::fs::MetadataExt;
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let owner = fs::metadata(path.parent().unwrap()).unwrap();
    chown(path, Some(owner.uid()), Some(owner.gid())).unwrap();
}

#[tokio::test]
async fn passwords_and_encryption() {
    let database = Database::new(
        "set password_encryption = 'md5'; create role wire_md5 login password 'md5 pass';
         set password_encryption = 'scram-sha-256'; create role wire_scram login password 'scram päss';
         create role wire_clear login password 'clear'; create role wire_tls login password 'tls';",
    );
    let directory = data_dir();
    let mut hba = fs::read_to_string(directory.join("pg_hba.conf")).unwrap();
    hba.insert_str(
        0,
        "host all wire_md5 127.0.0.1/32 md5\nhost all wire_clear 127.0.0.1/32 password\n\
         hostssl all wire_tls 127.0.0.1/32 scram-sha-256\nhostnossl all wire_tls 127.0.0.1/32 reject\n\
         hostssl all wire_scram 127.0.0.1/32 scram-sha-256\nhost all wire_scram 127.0.0.1/32 scram-sha-256\n",
    );
    write_for_server(&directory.join("pg_hba.conf"), &hba, 0o600);
    let certificates = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    write_for_server(&directory.join("wire.crt"), &certificates.cert.pem(), 0o644);
    write_for_server(&directory.join("wire.key"), &certificates.signing_key.serialize_pem(), 0o600);
    database.execute("alter system set ssl_cert_file = 'wire.crt'");
    database.execute("alter system set ssl_key_file = 'wire.key'");
    database.execute("alter system set ssl = on");
    database.execute("select pg_reload_conf()");
    for _ in 0..200 {
        if database.value("show ssl") == "on" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let uri = database.uri();
    let host = uri.split_once('@').unwrap().1.split_once('?').unwrap().0.to_owned();
    let port = host.split_once(':').unwrap().1.to_owned();
    let encrypted = "select ssl::text from pg_stat_ssl where pid = pg_backend_pid()";
    for (login, mode) in [
        ("wire_md5:md5%20pass", "disable"),
        ("wire_clear:clear", "disable"),
        ("wire_scram:scram%20p%C3%A4ss", "disable"),
    ] {
        let mut connection = connect(&format!("postgresql://{login}@{host}?sslmode={mode}")).await.unwrap();
        assert_eq!(value(&mut connection, encrypted).await.unwrap(), "false", "{login}");
        let wrong = connect(&format!("postgresql://{login}x@{host}?sslmode={mode}")).await.err().unwrap();
        assert!(matches!(wrong.kind(), ErrorKind::Authentication(_)), "{login}: {wrong}");
    }
    // encrypted, with the channel bound to the server's certificate
    let login = "wire_scram:scram%20p%C3%A4ss";
    let root = directory.join("wire.crt").to_string_lossy().replace('/', "%2F");
    for (host, options, works) in [
        (host.clone(), "sslmode=prefer".to_owned(), true),
        (host.clone(), "sslmode=require&channel_binding=require".to_owned(), true),
        (host.clone(), format!("sslmode=verify-ca&sslrootcert={root}"), true),
        (format!("localhost:{port}"), format!("sslmode=verify-full&sslrootcert={root}"), true),
        (host.clone(), format!("sslmode=verify-full&sslrootcert={root}"), false),
        (host.clone(), "sslmode=verify-ca&sslrootcert=%2Fdev%2Fnull".to_owned(), false),
        (host.clone(), "sslmode=disable&channel_binding=require".to_owned(), false),
    ] {
        match connect(&format!("postgresql://{login}@{host}?{options}")).await {
            Ok(mut connection) => {
                assert!(works, "{options} must not work");
                assert_eq!(value(&mut connection, encrypted).await.unwrap(), "true", "{options}");
                // a cancel request finds an encrypted connection too
                connection.cancel_key().unwrap().cancel().await.unwrap();
            }
            Err(error) => assert!(!works, "{options}: {error}"),
        }
    }
    // Where nothing is said of TLS, this machine is reached without, unless PostgreSQL insists.
    let (tls, local) = ("wire_tls:tls", format!("localhost:{port}"));
    for (login, host, options, is_encrypted) in [
        (login, host.clone(), String::new(), Some(false)),
        (login, local.clone(), String::new(), Some(false)),
        (login, format!("other:1,{local}"), "hostaddr=127.0.0.1,127.0.0.1".to_owned(), Some(false)),
        (login, host.clone(), "sslmode=allow".to_owned(), Some(false)),
        (login, host.clone(), "channel_binding=require".to_owned(), Some(true)),
        (login, host.clone(), "sslmode=allow&channel_binding=require".to_owned(), Some(true)),
        (login, host.clone(), format!("sslrootcert={root}"), Some(true)),
        (tls, host.clone(), String::new(), Some(true)),
        (tls, local.clone(), String::new(), Some(true)),
        (tls, format!("127.0.0.1:1,{host}"), String::new(), Some(true)),
        (tls, host.clone(), "sslmode=allow".to_owned(), Some(true)),
        (tls, host.clone(), "sslmode=disable".to_owned(), None),
        ("wire_tls:wrong", host.clone(), String::new(), None),
    ] {
        let what = format!("{login} {host} {options}");
        match connect(&format!("postgresql://{login}@{host}?{options}")).await {
            Ok(mut connection) => {
                let found = value(&mut connection, encrypted).await.unwrap();
                assert_eq!(Some(found == "true"), is_encrypted, "{what}");
            }
            Err(error) => {
                assert_eq!(is_encrypted, None, "{what}: {error}");
                assert!(matches!(error.kind(), ErrorKind::Authentication(_)), "{what}: {error}");
            }
        }
    }
    // what cancels is as secret as the connection: who reads it can cancel too
    for mode in ["disable", "allow", "prefer", "require"] {
        let (proxy, uri) = Proxy::before(&format!("postgresql://{login}@{host}?sslmode={mode}"));
        let mut connection = connect(&uri).await.unwrap();
        let key = connection.cancel_key().unwrap().clone();
        let is_encrypted = value(&mut connection, encrypted).await.unwrap() == "true";
        assert_eq!(is_encrypted, matches!(mode, "prefer" | "require"));
        let sleeping = tokio::spawn(async move { value(&mut connection, "select pg_sleep(60)").await });
        let sleeps = format!(
            "select count(*) from pg_stat_activity where pid = {} and wait_event = 'PgSleep'",
            key.process_id()
        );
        while database.value(&sleeps) != "1" {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        proxy.take_recorded();
        key.cancel().await.unwrap();
        assert_eq!(sleeping.await.unwrap().unwrap_err().code(), Some("57014"), "{mode}");
        // the answer to the request for TLS comes before that of the session
        assert_eq!(proxy.take_recorded().first() == Some(&b'S'), is_encrypted, "{mode}");
    }
    database.execute("alter system reset ssl");
    database.execute("select pg_reload_conf()");
    let mut unix = connect(&database.unix_uri()).await.unwrap();
    assert_eq!(value(&mut unix, "select inet_client_addr()::text").await.unwrap(), "");
    for _ in 0..200 {
        if database.value("show ssl") == "off" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let refused = connect(&format!("postgresql://{login}@{host}?sslmode=require")).await.err().unwrap();
    assert!(matches!(refused.kind(), ErrorKind::Connect(_)), "{refused}");
    // what PostgreSQL has said is told, not that there is no TLS either
    let refused = connect(&format!("postgresql://{tls}@{host}")).await.err().unwrap();
    assert!(matches!(refused.kind(), ErrorKind::Authentication(why) if why.contains("pg_hba.conf")), "{refused}");
    database.execute("drop role wire_tls; drop role wire_md5; drop role wire_scram; drop role wire_clear");
}
