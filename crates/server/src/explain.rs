//! `thalweg explain`: what a page or a request of the API reads, and what it leaves out.
//!
//! For each query its request, the columns that are fetched, each with the place that names it, those that are not and why, the SQL,
//! and how PostgreSQL would run it.

use crate::config::{Config, InForce};
use crate::error::ApiError;
use crate::flow::{RequestText, context};
use crate::inspect::connect;
use crate::schema::{LoadFailure, Snapshot, load};
use crate::server::ServerError;
use crate::site::{Asked, BoundQuery, Route, Site, embedded};
use crate::transaction::texts;
use hyper::Uri;
use hyper::header::HeaderMap;
use std::fmt::Write;
use thalweg_pages::{Additions, Need};
use thalweg_plan::{Output, Plan, Read, plan};
use thalweg_request::Action;
use thalweg_rows::{Demand, Malformed, RowSink, RowView, oid};
use thalweg_sql::{Statement, quote};
use thalweg_wire::{Connection, Query, StepError};

/// Says what a GET of an address reads, for `db-anon-role` or another role.
///
/// # Errors
///
/// A database that cannot be reached, a site that cannot be loaded, or an address that nothing answers.
pub async fn explain(config: &Config, address: &str, role: Option<&str>) -> Result<String, ServerError> {
    let failed = |failure: LoadFailure| ServerError::Database(failure.to_string());
    let connection = connect(config).await.map_err(|error| failed(error.into()))?;
    let snapshot = load(connection, config, None).await.map_err(failed)?;
    let in_force = InForce::new(config.clone()).map_err(ServerError::Config)?;
    let wrong = |error: ApiError| ServerError::Explain(error.words());
    let parsed = Some(address).filter(|address| address.starts_with('/')).and_then(|address| address.parse().ok());
    let mut uri: Uri =
        parsed.ok_or_else(|| ServerError::Explain(format!("{address} is no address such as /flights")))?;
    let site = Site::of(config, false, Additions::default()).map_err(|error| ServerError::Pages(error.to_string()))?;
    let connection = connect(config).await.map_err(|error| failed(error.into()))?;
    let mut explaining = Explaining {
        in_force: &in_force,
        snapshot: &snapshot,
        role: role.or(config.db_anon_role.as_deref()),
        connection,
        text: String::new(),
    };
    match site {
        Some(site) if site.route(&mut uri) == Route::Page => explaining.page(&site, &uri).await.map_err(wrong)?,
        Some(_) | None => {
            let request = uri.path_and_query().map_or("/", |target| target.as_str());
            explaining.request("", request, None, None).await.map_err(wrong)?;
        }
    }
    Ok(explaining.text)
}

struct Explaining<'a> {
    in_force: &'a InForce,
    snapshot: &'a Snapshot,
    role: Option<&'a str>,
    connection: Connection,
    text: String,
}

impl Explaining<'_> {
    async fn page(&mut self, site: &Site, uri: &Uri) -> Result<(), ApiError> {
        let bound = site.bound(&site.loaded(), self.in_force, self.snapshot);
        let found = bound.loaded.pages.find(uri.path()).map_err(|error| ApiError::of_path(&error))?;
        let found = found.ok_or_else(ApiError::no_page)?;
        let headers = HeaderMap::new();
        let claims = crate::auth::claims_of(self.role.unwrap_or_default());
        let asked = Asked::of((uri, &headers), &found.bound, &claims)?;
        self.line(0, "page", &found.page.template);
        for query in &bound.page(found.number)?.queries {
            let (filled, _) = asked.filled(query)?;
            let need = found.page.needs.get(&*query.name);
            self.request(&query.name, &filled, Some(query), need).await?;
        }
        Ok(())
    }

    /// A request, and if it is a page's query what the page needs of it.
    async fn request(
        &mut self,
        name: &str,
        request: &str,
        query: Option<&BoundQuery>,
        need: Option<&Need>,
    ) -> Result<(), ApiError> {
        let text = match query {
            Some(query) => RequestText::of_query(request, &query.query)?,
            None => RequestText::of(request, None)?,
        };
        let parsed = text.request(Action::Read)?;
        let schema = self.in_force.config.default_schema();
        let all = context(self.in_force, self.snapshot, schema);
        let narrowing = query.map(|query| &query.narrowing);
        let narrowed = thalweg_plan::Context { narrowing, is_flat_allowed: query.is_none(), ..all };
        let (whole, plan) = (plan(&parsed, None, all)?, plan(&parsed, None, narrowed)?);
        self.text.push('\n');
        self.line(0, if name.is_empty() { "request" } else { name }, request);
        let mut columns = Columns { fetched: Vec::new(), left_out: Vec::new() };
        columns.level("", (&whole.read, Some(&plan.read)), need);
        self.block("fetched", &columns.fetched);
        self.block("left out", &columns.left_out);
        if let Some(whole) = need.and_then(|need| need.whole.as_ref()) {
            self.line(1, "all columns", &format!("{}, {}", whole.why, whole.place));
        }
        self.statements(&plan, schema).await;
        Ok(())
    }

    async fn statements(&mut self, plan: &Plan<'_>, schema: &str) {
        let statements = thalweg_sql::statements(plan, self.in_force.config.db_max_rows);
        for (_, statement) in &statements.main {
            let params = statement.params.iter().enumerate().map(|(at, param)| format!("\n${} = {param}", at + 1));
            self.line(1, "SQL", &format!("{}{}", statement.text, params.collect::<String>()));
            let run = self.run_by_postgres(statement, schema).await;
            let run = run.unwrap_or_else(|error| error.to_string());
            let label = self.role.map_or("plan".to_owned(), |role| format!("plan for {role}"));
            self.line(1, &label, &run);
        }
    }

    /// How PostgreSQL would run a statement.
    async fn run_by_postgres(
        &mut self,
        statement: &Statement<'_>,
        schema: &str,
    ) -> Result<String, thalweg_wire::Error> {
        let mut role = String::from("SET LOCAL ROLE ");
        quote(&mut role, self.role.unwrap_or("none"));
        let path = format!("SET LOCAL search_path = {}", self.snapshot.search_path(schema));
        let before = ["BEGIN READ ONLY", if self.role.is_some() { &role } else { "SET LOCAL ROLE none" }, &path];
        let text = match statement.text.starts_with("EXPLAIN") {
            true => statement.text.clone(),
            false => format!("EXPLAIN {}", statement.text),
        };
        let params = texts(&statement.params);
        let mut lines = Lines::default();
        let mut explained = self.connection.execute(&before).await;
        if explained.is_ok() {
            let query = Query { params: &params, ..Query::bare(&text) };
            explained = match self.connection.run(&[query], &mut lines).await {
                Ok(_) => Ok(()),
                Err(StepError::Wire(error)) => Err(error),
                Err(StepError::Sink(_)) => Ok(()),
            };
        }
        self.connection.execute(&["ROLLBACK"]).await?;
        explained.map(|()| lines.0.join("\n"))
    }

    fn block(&mut self, label: &str, columns: &[(String, String)]) {
        let width = columns.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let lines: Vec<String> =
            columns.iter().map(|(name, why)| format!("{name:width$}  {why}").trim_end().to_owned()).collect();
        if !lines.is_empty() {
            self.line(1, label, &lines.join("\n"));
        }
    }

    /// A label, and behind it a text of one line or several.
    fn line(&mut self, depth: usize, label: &str, text: &str) {
        let indent = "  ".repeat(depth);
        if text.contains('\n') {
            _ = writeln!(self.text, "{indent}{label}");
            for line in text.lines() {
                _ = writeln!(self.text, "{indent}  {line}");
            }
        } else {
            _ = writeln!(self.text, "{indent}{label:10} {text}");
        }
    }
}

/// The columns of a read by their paths, each with why it is fetched or not.
struct Columns {
    fetched: Vec<(String, String)>,
    left_out: Vec<(String, String)>,
}

impl Columns {
    /// A level with all that it could return, and what of it is.
    fn level(&mut self, prefix: &str, (whole, narrowed): (&Read<'_>, Option<&Read<'_>>), need: Option<&Need>) {
        for output in &whole.outputs {
            let path = format!("{prefix}{}", output.key);
            let found = narrowed.and_then(|read| read.outputs.iter().find(|known| known.key == output.key));
            let column = need.and_then(|need| need.columns.get(&*output.key));
            let inner = embedded(whole, output);
            match (found, inner) {
                (Some(found), Some(inner)) => {
                    let narrowed = narrowed.and_then(|read| embedded(read, found)).map(|embed| &embed.read);
                    // all of what is needed as a part of all
                    let need = column.map(|column| &column.need).filter(|need| need.whole.is_none());
                    self.level(&format!("{path}."), (&inner.read, narrowed), need);
                }
                (Some(_), None) => {
                    self.fetched.push((path, column.map_or(String::new(), |column| column.place.to_string())))
                }
                (None, _) => self.left_out.push((path, why_not(output, need))),
            }
        }
    }
}

fn why_not(output: &Output<'_>, need: Option<&Need>) -> String {
    let is_whole = need.is_some_and(|need| need.whole.is_some());
    let why = if is_whole && output.base_oid == oid::BYTEA {
        "binary, and no template names it"
    } else {
        "no template names it"
    };
    why.to_owned()
}

/// The lines of a plan.
#[derive(Default)]
struct Lines(Vec<String>);

impl RowSink for Lines {
    type Error = Malformed;

    fn row(&mut self, row: RowView<'_>) -> Result<Demand, Malformed> {
        let line = row.columns().column()?.unwrap_or_default();
        self.0.push(String::from_utf8_lossy(line).into_owned());
        Ok(Demand::More)
    }

    fn restart(&mut self) -> bool {
        self.0.clear();
        true
    }
}
