//! Configuration in the database (operations §3).

use std::borrow::Cow;
use thalweg_wire::{Connection, Error, Param, Query, Texts};

/// The settings of the connecting role, those for this database before those for all. `ALTER ROLE … RESET` takes a row's
/// setting away, and an empty array with it.
const OF_ROLE: &str = "
    select distinct on (key) pg_catalog.substr(key, 7), value
    from (
      select s.setdatabase,
             pg_catalog.lower(pg_catalog.split_part(c, '=', 1)) as key,
             pg_catalog.substr(c, pg_catalog.strpos(c, '=') + 1) as value
      from pg_catalog.pg_db_role_setting s cross join pg_catalog.unnest(s.setconfig) c
      where s.setrole = (select r.oid from pg_catalog.pg_roles r where r.rolname = session_user)
        and s.setdatabase in (0, (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()))
    ) settings
    where key like 'pgrst.%'
    order by key, setdatabase desc";

/// Marks those of these keys that the session was given at its login, by `ALTER DATABASE … SET` too: nobody sets this value.
const MARK: &str = "
    select pg_catalog.set_config('pgrst.' || key, pg_catalog.chr(1), true)
    from pg_catalog.unnest($1::pg_catalog.text[]) key
    where pg_catalog.current_setting('pgrst.' || key, true) is not null";

/// What a function has set of these keys.
const OF_FUNCTION: &str = "
    select key, pg_catalog.current_setting('pgrst.' || key, true)
    from pg_catalog.unnest($1::pg_catalog.text[]) key
    where pg_catalog.current_setting('pgrst.' || key, true) <> pg_catalog.chr(1)";

/// What the settings of a connection's role say, by key.
pub(crate) async fn of_role(connection: &mut Connection) -> Result<Vec<(String, String)>, Error> {
    let mut found = Texts::default();
    connection.run(&[Query::bare(OF_ROLE)], &mut found).await?;
    Ok(settings(found))
}

/// What a function says of these keys that it is called for, in a transaction that only reads. Whether it waits for locks is
/// for the caller to say.
pub(crate) async fn of_function(
    connection: &mut Connection,
    function: &(Option<String>, String),
    keys: &[&str],
    waits: bool,
) -> Result<Vec<(String, String)>, Error> {
    let call = thalweg_sql::pre_request(function.0.as_deref(), &function.1);
    let names: Vec<String> = keys.iter().map(|key| key.replace('-', "_")).collect();
    let names = [Param::Text(Cow::Owned(format!("{{{}}}", names.join(","))))];
    // a session may have been given such settings at its login, and the function alone is asked here
    let queries = [
        Query::bare("SET TRANSACTION READ ONLY"),
        Query::bare(if waits { "SET LOCAL lock_timeout TO 0" } else { "SET LOCAL lock_timeout TO '1s'" }),
        Query { params: &names, ..Query::bare(MARK) },
        Query::bare(&call),
        Query { params: &names, ..Query::bare(OF_FUNCTION) },
    ];
    let mut found = Texts::of_statement(queries.len() - 1);
    connection.run(&queries, &mut found).await?;
    Ok(settings(found))
}

/// Rows of a key and its value.
fn settings(found: Texts) -> Vec<(String, String)> {
    let pair = |row: Vec<Option<String>>| {
        let mut texts = row.into_iter().map(Option::unwrap_or_default);
        (texts.next().unwrap_or_default().replace('_', "-"), texts.next().unwrap_or_default())
    };
    found.rows.into_iter().map(pair).collect()
}
