//! `/`: what a role may use of a schema, asked of the database, and described.

use super::openapi::{Described, Thing};
use crate::computations::Kind;
use crate::config::{InForce, OpenApiMode};
use crate::error::ApiError;
use crate::state::State;
use crate::transaction::{Session, enter};
use std::borrow::Cow;
use std::collections::HashSet;
use thalweg_encode::EncodeError;
use thalweg_gauge::{Lap, Laps};
use thalweg_rows::{Demand, RowSink, RowView};
use thalweg_wire::{Param, Query};

/// The relations and functions on which the current role has some privilege, and the schema's comment.
const VISIBLE: &str = "
    select 'relation', c.relname
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $1 and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and (pg_catalog.pg_has_role(c.relowner, 'usage')
           or pg_catalog.has_table_privilege(c.oid, 'select, insert, update, delete, truncate, references, trigger')
           or pg_catalog.has_any_column_privilege(c.oid, 'select, insert, update, references'))
    union all
    select 'function', p.proname
    from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where n.nspname = $1 and pg_catalog.has_function_privilege(p.oid, 'execute')
    union all
    select 'comment', pg_catalog.obj_description(n.oid, 'pg_namespace')
    from pg_catalog.pg_namespace n where n.nspname = $1";

/// Returns the description of a schema as JSON text. Describing a large schema takes long and much
/// memory, so descriptions are made one at a time, on a thread that serves no clients.
pub(crate) async fn describe(
    (state, in_force): (&State, &InForce),
    session: &Session<'_>,
    schema: &str,
    bill: &mut Laps,
) -> Result<String, ApiError> {
    let _turn = state.descriptions.next().await?;
    let snapshot = state.snapshot()?;
    let mut entered = enter(state, session).await?;
    bill.lap(Lap::Wait);
    let params = [Param::Text(Cow::Borrowed(schema))];
    let query = Query { params: &params, ..Query::bare(VISIBLE) };
    let mut visible = Visible { asked: entered.statements_before(), ..Visible::default() };
    // whatever comes is small: nothing pauses
    entered.run(&[query], &mut visible).await.map_err(|error| ApiError::step(&error, session.is_anonymous()))?;
    bill.lap_with(Lap::Query, Lap::Encode, entered.take_busy());
    drop(entered);
    let (config, schema, prefix) = (in_force.config.clone(), schema.to_owned(), state.prefix().to_owned());
    let port = state.port.get().copied().unwrap_or(config.server_port);
    let document = state.computations.run_as(Kind::Description, &(), move || {
        let all = config.openapi_mode == OpenApiMode::IgnorePrivileges;
        let shows = |thing: Thing<'_>| {
            all || match thing {
                Thing::Relation(name) => visible.relations.contains(name),
                Thing::Function(name) => visible.functions.contains(name),
            }
        };
        let described = Described {
            config: &config,
            prefix: &prefix,
            port,
            catalog: &snapshot.catalog,
            schema: &schema,
            comment: visible.comment.clone(),
            shows: &shows,
        };
        described.document().to_string()
    });
    let document = document.await?;
    bill.lap(Lap::Encode);
    Ok(document)
}

#[derive(Default)]
struct Visible {
    /// Which statement's rows these are.
    at: usize,
    asked: usize,
    relations: HashSet<String>,
    functions: HashSet<String>,
    comment: Option<String>,
}

impl RowSink for Visible {
    type Error = EncodeError;

    fn row(&mut self, row: RowView<'_>) -> Result<Demand, EncodeError> {
        if self.at != self.asked {
            return Ok(Demand::More);
        }
        let mut columns = row.columns();
        let kind = columns.column()?.unwrap_or_default();
        let text = columns.column()?.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        match (kind, text) {
            (b"relation", Some(name)) => _ = self.relations.insert(name),
            (b"function", Some(name)) => _ = self.functions.insert(name),
            (_, comment) => self.comment = comment,
        }
        Ok(Demand::More)
    }

    fn restart(&mut self) -> bool {
        *self = Self { asked: self.asked, ..Self::default() };
        true
    }

    fn end_of_statement(&mut self, _: u64) {
        self.at += 1;
    }
}
