//! The statements of several plans, all in one round trip and in one snapshot: those of a page's queries.

use super::going::Going;
use crate::error::ApiError;
use crate::prepared::{Nature, Prepared};
use crate::schema::Snapshot;
use crate::site::{Collected, Found};
use crate::transaction::{Reply, SET_BY_SQL, Tally, enter, failed, texts};
use std::borrow::Cow;
use std::sync::Arc;
use thalweg_catalog::{Function, Runs};
use thalweg_encode::Zone;
use thalweg_gauge::{Lap, Laps};
use thalweg_pages::Table;
use thalweg_rows::{Codec, Field};
use thalweg_sql::Purpose;
use thalweg_wire::{Param, Progress, Query};

/// A statement with its parameters.
struct Statement<'q> {
    text: &'q str,
    params: Vec<Param<'q>>,
    /// What it is one of, by its place.
    prepared: Option<(&'q Prepared, usize)>,
}

/// Statements that are run together.
pub(super) struct Batch<'q> {
    statements: Vec<Statement<'q>>,
    replies: Vec<(usize, Reply)>,
    found: Vec<Found>,
    zone: Zone,
    /// That of all plans together; of statements of the page's own there is none.
    nature: Option<Nature>,
}

impl<'q> Batch<'q> {
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        let zone = snapshot.zone.clone().unwrap_or(Zone::UTC);
        Self { statements: Vec::new(), replies: Vec::new(), found: Vec::new(), zone, nature: None }
    }

    /// Adds the statements of a plan, with the parameters of all of them.
    pub(super) fn prepared(&mut self, prepared: &'q Prepared, params: &'q [thalweg_sql::Param<'_>]) {
        let mut params = params;
        for (at, statement) in prepared.statements.iter().enumerate() {
            let (own, others) = params.split_at(statement.params);
            self.statements.push(Statement {
                text: &statement.text,
                params: texts(own),
                prepared: Some((prepared, at)),
            });
            self.replies.push((self.found.len(), Reply::Of(statement.purpose)));
            params = others;
        }
        self.nature = Some(self.nature.map_or(prepared.nature, |nature| nature.beside(prepared.nature)));
        let table = Table::new(prepared.fields.clone(), self.zone.clone());
        self.found.push(Found { table, tally: Tally::new(prepared.count_max) });
    }

    /// Adds a statement of the page's own, whose columns are texts.
    pub(super) fn own(&mut self, text: &'q str, param: &'q str, columns: &[&str]) {
        let field = |name: &&str| Field { name: Arc::from(*name), codec: Codec::Output, type_oid: 0 };
        self.statements.push(Statement { text, params: vec![Param::Text(Cow::Borrowed(param))], prepared: None });
        self.replies.push((self.found.len(), Reply::Of(Purpose::Rows(0))));
        let table = Table::new(columns.iter().map(field).collect(), self.zone.clone());
        self.found.push(Found { table, tally: Tally::new(None) });
    }

    /// Runs them for who asks, who may have called a function by one of them.
    pub(super) async fn run(
        self,
        going: &Going<'_>,
        function: Option<&Function>,
        bill: &mut Laps,
    ) -> Result<Collected, ApiError> {
        let nature = self.nature;
        let runs = nature.map_or(Runs::Nothing, |nature| nature.runs);
        let session = going.session(runs, None, function).in_one_snapshot(self.statements.len() > 1);
        let mut entered = enter(going.state, &session).await?;
        bill.lap(Lap::Wait);
        let mut queries: Vec<Query<'_>> = self.statements.iter().map(Statement::query).collect();
        let mut replies = vec![(0, Reply::Nothing); entered.statements_before()];
        replies.extend(self.replies);
        if nature.is_some_and(|nature| nature.response_is_set) {
            queries.push(Query::unnamed(SET_BY_SQL));
            replies.push((0, Reply::SetBySql));
        }
        let mut sink = Collected::new(replies, self.found);
        let is_anonymous = going.who.is_anonymous();
        let progress = entered.run(&queries, &mut sink).await.map_err(|error| match nature {
            Some(nature) => failed(&error, nature, false, is_anonymous),
            None => ApiError::step(&error, is_anonymous),
        })?;
        bill.lap_with(Lap::Query, Lap::Encode, entered.take_busy());
        thalweg_gauge::rows(sink.rows);
        if progress == Progress::Paused || sink.is_too_much() {
            return Err(ApiError::page_too_large());
        }
        Ok(sink)
    }
}

impl Statement<'_> {
    fn query(&self) -> Query<'_> {
        match self.prepared {
            Some((prepared, at)) => prepared.query(&prepared.statements[at], &self.params),
            None => Query { params: &self.params, ..Query::bare(self.text) },
        }
    }
}
