//! The SQL of event triggers that tell the server of every change to the schema, so that nobody has to.

use crate::config::Config;

/// A script for a superuser of the database, or who may create event triggers there. It can be run again.
///
/// Temporary objects and refreshed materialized views change nothing that a server knows of. Roles and their settings belong
/// to the whole cluster, and no event trigger sees them.
pub fn event_trigger_sql(config: &Config) -> String {
    let mut notify = String::from("notify ");
    thalweg_sql::quote(&mut notify, &config.db_channel);
    notify.push_str(", 'reload schema';");
    // whatever a channel is called, it does not end the function's body
    let mut tag = String::from("$thalweg$");
    while notify.contains(&tag) {
        tag.insert(1, '_');
    }
    format!(
        "begin;
create or replace function public.thalweg_ddl_command_end() returns event_trigger language plpgsql
  set search_path = '' as {tag}
begin
  if exists (
    select from pg_catalog.pg_event_trigger_ddl_commands() c
    where c.schema_name is distinct from 'pg_temp' and c.command_tag <> 'REFRESH MATERIALIZED VIEW'
  ) then
    {notify}
  end if;
end {tag};
create or replace function public.thalweg_sql_drop() returns event_trigger language plpgsql
  set search_path = '' as {tag}
begin
  if exists (select from pg_catalog.pg_event_trigger_dropped_objects() d where not d.is_temporary) then
    {notify}
  end if;
end {tag};
drop event trigger if exists thalweg_ddl_command_end;
drop event trigger if exists thalweg_sql_drop;
create event trigger thalweg_ddl_command_end on ddl_command_end
  execute function public.thalweg_ddl_command_end();
create event trigger thalweg_sql_drop on sql_drop
  execute function public.thalweg_sql_drop();
commit;
"
    )
}
