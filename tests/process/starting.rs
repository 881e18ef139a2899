//! How the program starts, is configured and told what to do.

use crate::program::{Directory, Program, get};
use nix::sys::signal::Signal;
use std::process::Command;
use thalweg_testkit::{Client, Database};

#[test]
fn serve_without_a_database_serves_its_own() {
    let directory = Directory::new("own");
    let environment =
        [("PGRST_DB_ANON_ROLE", "postgres"), ("PGRST_SERVER_PORT", "0"), ("PGRST_SERVER_HOST", "127.0.0.1")];
    let mut program = Program::start(&["serve", "--data-dir", directory.path()], &environment);
    let address = program.address();
    let response = Client::connect(address).request("GET", "/nothing", &[]);
    assert_eq!((response.status, response.json()["code"].as_str()), (404, Some("PGRST205")));
    program.signal(Signal::SIGTERM);
    assert!(program.wait().success());
}

#[test]
fn a_file_configures_and_signals_are_followed() {
    let database = Database::new("create schema api; create table api.t as select 1 as id;");
    let directory = Directory::new("file");
    let file = directory.0.join("thalweg.conf");
    let socket = directory.0.join("api.sock");
    std::fs::write(
        &file,
        format!(
            "# a PostgREST file\ndb-uri = \"{}\"\ndb-schemas = \"$(TEST_SCHEMA)\"\ndb-anon-role = \"nobody\"\n\
             server-unix-socket = \"{}\"\njwt-cache-max-lifetime = 5\nlog-format = \"logfmt\"\nno-such-key = 1\nlog-level = \"info\"\n",
            database.uri(),
            socket.display()
        ),
    )
    .unwrap();
    let environment = [("TEST_SCHEMA", "api"), ("PGRST_DB_ANON_ROLE", "someone"), ("THALWEG_DB_ANON_ROLE", "postgres")];
    let mut program = Program::start(&["serve", file.to_str().unwrap()], &environment);
    program.line("jwt-cache-max-lifetime has no effect yet");
    program.line("unknown configuration key no-such-key");
    program.line("listening on");
    program.line("Schema cache loaded");
    let ask = |target: &str| {
        let output =
            Command::new("curl").arg("-sS").arg("--unix-socket").arg(&socket).arg(format!("http://x{target}")).output();
        String::from_utf8(output.expect("curl runs").stdout).unwrap()
    };
    assert_eq!(ask("/t"), r#"[{"id":1}]"#);
    assert!(program.line("access").contains("method=\"GET\" path=\"/t\""));
    database.execute("create table api.new as select 2 as id");
    assert!(ask("/new").contains("PGRST205"));
    program.signal(Signal::SIGUSR1);
    program.line("Schema cache loaded");
    assert_eq!(ask("/new"), r#"[{"id":2}]"#);
    // the file is read again, without what is said elsewhere or belongs to the start
    let text = std::fs::read_to_string(&file).unwrap();
    let changed = text.replace("server-unix-socket", "ignored").replace("= \"info\"", "= \"crit\"\ndb-max-rows = 1");
    std::fs::write(&file, changed).unwrap();
    database.execute("create table api.newer as select i as id from generate_series(3, 5) i");
    program.signal(Signal::SIGUSR2);
    program.line("Config reloaded");
    program.line("Schema cache loaded");
    assert_eq!(ask("/newer"), r#"[{"id":3}]"#);
    std::fs::write(&file, "db-max-rows = \"").unwrap();
    program.signal(Signal::SIGUSR2);
    program.line("Failed reloading config: Error in config");
    assert_eq!(ask("/newer"), r#"[{"id":3}]"#);
    program.signal(Signal::SIGTERM);
    assert!(program.wait().success());
    assert!(!socket.exists());
}

#[test]
fn what_cannot_work_ends_with_a_word() {
    let database = Database::new("");
    let uri = database.uri();
    let wrong_password = uri.replacen("://postgres:", "://postgres:x", 1);
    for (arguments, environment, said) in [
        (vec!["serve", "/no/such/file"], vec![], "Error in config: /no/such/file"),
        (vec!["serve"], vec![("PGRST_DB_URI", "postgres://h?x=1")], "invalid connection option \"x\""),
        (
            vec!["serve"],
            vec![("PGRST_DB_URI", uri.as_str()), ("PGRST_LOG_LEVEL", "loud")],
            "Error in config: PGRST_LOG_LEVEL = \"loud\": one of crit, error, warn, info, debug is needed",
        ),
        (
            vec!["serve"],
            vec![("PGRST_DB_URI", uri.as_str()), ("THALWEG_DB_POOL", "abc")],
            "Error in config: THALWEG_DB_POOL = \"abc\": a number from 1 to 10000 is needed",
        ),
        (
            vec!["serve"],
            vec![("PGRST_DB_URI", uri.as_str()), ("PGRST_DB_PRE_REQUEST", "a b")],
            "Error in config: PGRST_DB_PRE_REQUEST = \"a b\": a function's name is needed, or schema.name, ",
        ),
        (vec!["serve"], vec![("PGRST_DB_URI", wrong_password.as_str())], "authentication failed"),
        (
            vec!["serve"],
            vec![("PGRST_DB_URI", uri.as_str()), ("PGRST_SERVER_HOST", "203.0.113.1")],
            "cannot listen on 203.0.113.1",
        ),
        (vec!["nonsense"], vec![], "Error in config: nonsense: "),
        (vec![], vec![], "nothing says which database to serve"),
        (vec!["--dump-config", "--ready"], vec![], "cannot be used with"),
        (
            vec!["serve"],
            vec![("PGRST_DB_URI", uri.as_str()), ("PGRST_ADMIN_SERVER_PORT", "3000")],
            "Error in config: admin-server-port cannot be the same as server-port",
        ),
        (
            vec!["serve"],
            vec![("THALWEG_SESSION_COOKIE", "__Host-club"), ("THALWEG_SESSION_COOKIE_SECURE", "false")],
            "Error in config: session-cookie-secure = false needs a session-cookie whose name does not begin with",
        ),
        (
            vec!["serve"],
            vec![("PGRST_DB_URI", uri.as_str()), ("PGRST_SERVER_UNIX_SOCKET_MODE", "400")],
            "Error in config: PGRST_SERVER_UNIX_SOCKET_MODE = \"400\": an octal number from 600 to 777 is needed",
        ),
    ] {
        let mut program = Program::start(&arguments, &environment);
        program.line(said);
        assert!(!program.wait().success(), "{said}");
    }
}

#[test]
fn event_trigger_sql_is_printed_for_the_channel_of_the_configuration() {
    let mut program = Program::start(&["event-trigger-sql"], &[("PGRST_DB_CHANNEL", "the \"channel\"")]);
    program.line(r#"notify "the ""channel""", 'reload schema';"#);
    assert!(program.wait().success());
}

/// What a command prints, and its code.
pub(crate) fn printed(arguments: &[&str], environment: &[(&str, &str)]) -> (String, String, Option<i32>) {
    let output = Program::command(arguments, environment).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code())
}

/// A role of its own, since what is set for a role holds for all that connect as it.
#[test]
fn the_configuration_is_dumped_as_it_is_in_force() {
    let database = Database::new("create schema api");
    let role = format!("dumps_{}", database.name());
    database.execute(&format!(
        "create role {role} login superuser password 'p';
         alter role {role} in database {} set pgrst.db_max_rows = '7';
         alter role {role} set pgrst.db_schemas = 'api'",
        database.name()
    ));
    let uri = database.uri();
    let (_, host) = uri.split_once('@').unwrap();
    let uri = format!("postgres://{role}:p@{host}");
    let environment = [
        ("PGRST_DB_URI", uri.as_str()),
        ("PGRST_JWT_SECRET", "shown: \"it\" is $asked \\for, and long enough"),
        ("PGRST_APP_SETTINGS_CLUB", "Ridge Soarers"),
        ("PGRST_DB_POOL", "3"),
    ];
    let (dumped, _, code) = printed(&["--dump-config"], &environment);
    for line in [
        "db-max-rows = 7",
        "db-schemas = \"api\"",
        "db-pool = 3",
        "app.settings.CLUB = \"Ridge Soarers\"",
        r#"jwt-secret = "shown: \"it\" is $$asked \\for, and long enough""#,
    ] {
        assert!(dumped.lines().any(|dumped| dumped == line), "{line} in\n{dumped}");
    }
    assert_eq!(code, Some(0));
    // and is read back, without the database or the environment having to say any of it again
    let directory = Directory::new("dump");
    let file = directory.0.join("dumped.conf");
    std::fs::write(&file, &dumped).unwrap();
    let (again, _, _) = printed(&["--dump-config", file.to_str().unwrap()], &[]);
    assert_eq!(again, dumped);
    // where there is no database, the rest is printed all the same
    let (rest, said, code) = printed(&["--dump-config"], &[("PGRST_DB_URI", "postgres://x@127.0.0.1:1/x")]);
    assert!(rest.contains("db-pool = 10\n") && said.contains("was not read"), "{said}");
    assert_eq!(code, Some(0));
    database.execute(&format!("drop role {role}"));
}

#[test]
fn the_schema_cache_is_dumped_or_the_reason_is_told() {
    let database = Database::new(
        "create schema api; create table api.a (id int primary key, n numeric(4, 2) not null default 1);
         create table api.b (a int references api.a);
         create function api.f(x int, y text default '') returns setof api.a language sql stable as 'select * from api.a';",
    );
    let uri = database.uri();
    let environment = [("PGRST_DB_URI", uri.as_str()), ("PGRST_DB_SCHEMAS", "api")];
    let (dumped, _, code) = printed(&["--dump-schema"], &environment);
    let dumped: serde_json::Value = serde_json::from_str(&dumped).unwrap();
    assert_eq!(code, Some(0));
    assert_eq!((&dumped["dbTables"][0]["name"], &dumped["dbTables"][0]["primaryKey"][0]), (&"a".into(), &"id".into()));
    assert_eq!(dumped["dbTables"][0]["columns"][1]["type"], "numeric");
    assert_eq!(dumped["dbRelationships"].as_array().unwrap().len(), 2);
    assert_eq!(dumped["dbRoutines"][0]["parameters"][1]["required"], false);
    assert!(dumped["dbRepresentations"].is_array() && dumped["dbMediaHandlers"].is_array());
    let (nothing, said, code) = printed(&["--dump-schema"], &[environment[0], ("PGRST_DB_SCHEMAS", "none")]);
    assert!(nothing.is_empty() && said.contains("none"), "{said}");
    assert_eq!(code, Some(1));
}

#[test]
fn the_example_can_be_read_and_the_version_is_told() {
    let (example, _, code) = printed(&["-e"], &[]);
    assert!(example.contains("# db-anon-role = \"\"\n") && code == Some(0), "{example}");
    let directory = Directory::new("example");
    let file = directory.0.join("example.conf");
    std::fs::write(&file, &example).unwrap();
    let (dumped, _, code) = printed(&["--dump-config", file.to_str().unwrap()], &[("PGRST_DB_CONFIG", "false")]);
    assert!(dumped.contains("db-pool = 10\n") && code == Some(0), "{dumped}");
    for flag in ["-v", "--version", "-V"] {
        let (version, _, code) = printed(&[flag], &[]);
        assert!(version.starts_with("thalweg ") && code == Some(0), "{version}");
    }
    let (help, _, code) = printed(&["-h"], &[]);
    assert!(help.contains("--dump-schema") && help.contains("event-trigger-sql") && code == Some(0), "{help}");
}

/// As PostgREST is started: with a file, or with variables alone.
#[test]
fn a_command_line_of_postgrests_serves() {
    let database = Database::new("create schema api; create table api.t as select 1 as id;");
    let uri = database.uri();
    let environment = [
        ("PGRST_DB_URI", uri.as_str()),
        ("PGRST_DB_SCHEMAS", "api"),
        ("PGRST_DB_ANON_ROLE", "postgres"),
        ("PGRST_SERVER_PORT", "0"),
        ("PGRST_SERVER_HOST", "127.0.0.1"),
    ];
    let mut program = Program::start(&[], &environment);
    program.line("Starting Thalweg");
    assert_eq!(get(program.address(), "/t")[0]["id"], 1);
    let directory = Directory::new("as-postgrest");
    let file = directory.0.join("postgrest.conf");
    std::fs::write(&file, format!("db-uri = \"{uri}\"\n")).unwrap();
    let mut program = Program::start(&[file.to_str().unwrap()], &environment[1..]);
    assert_eq!(get(program.address(), "/t")[0]["id"], 1);
}
