//! `thalweg explain`: what a page or a request of the API reads, and what it leaves out.
//!
//! For each query its request, the columns that are fetched, each with the place that names it, those that are not and why, the SQL,
//! and how PostgreSQL would run it.

use crate::auth::Who;
use crate::config::{Config, InForce, said_by_database};
use crate::error::ApiError;
use crate::flow::{RequestText, context_for};
use crate::http;
use crate::inspect::connect;
use crate::schema::{LoadFailure, Snapshot, load};
use crate::server::ServerError;
use crate::site::{Asked, BoundQuery, Route, Site, embedded};
use crate::transaction::{RequestFacts, Session, run_alone, texts};
use hyper::Uri;
use hyper::header::HeaderMap;
use std::fmt::Write;
use thalweg_pages::Need;
use thalweg_plan::{Context, Output, Plan, Read, Value, plan};
use thalweg_request::Action;
use thalweg_rows::oid;
use thalweg_sql::Statement;
use thalweg_wire::{Connection, Query};

/// As whom something is explained: as nobody in particular, unless it is said.
#[derive(Debug, Clone, Copy, Default)]
pub struct Visitor<'a> {
    /// The role of who is nobody in particular, and of claims that name none, instead of `db-anon-role`.
    pub role: Option<&'a str>,
    /// The claims that a token would have, a JSON object.
    pub claims: Option<&'a str>,
    /// A token, whose claims count instead.
    pub token: Option<&'a str>,
}

/// Says what a GET of an address reads if this visitor asks.
///
/// # Errors
///
/// A database that cannot be reached, a site that cannot be loaded, a visitor who may not ask, or an address that nothing answers.
pub async fn explain(config: &Config, address: &str, visitor: Visitor<'_>) -> Result<String, ServerError> {
    let failed = |failure: LoadFailure| ServerError::Database(failure.to_string());
    let wrong = |error: ApiError| ServerError::Explain(error.words());
    let parsed = Some(address).filter(|address| address.starts_with('/')).and_then(|address| address.parse().ok());
    let mut uri: Uri =
        parsed.ok_or_else(|| ServerError::Explain(format!("{address} is no address such as /flights")))?;
    let mut connection = connect(config).await.map_err(|error| failed(error.into()))?;
    let mut config = match config.db_config {
        true => said_by_database(config.clone(), &mut connection).await.map_err(ServerError::Config)?,
        false => config.clone(),
    };
    if let Some(role) = visitor.role {
        config.db_anon_role = Some(role.to_owned());
    }
    let snapshot = load(connection, &config, None).await.map_err(failed)?;
    let in_force = InForce::new(config).map_err(ServerError::Config)?;
    let config = &in_force.config;
    let who = Who::said(&in_force, visitor.claims, visitor.token).map_err(|error| {
        ServerError::Explain(format!("{} (--role, --claims or --token says who visits)", error.words()))
    })?;
    let site = Site::of(config, false, None).map_err(|error| ServerError::Pages(error.to_string()))?;
    let connection = connect(config).await.map_err(|error| failed(error.into()))?;
    let is_of_page = site.as_ref().is_some_and(|site| site.route(&mut uri) == Route::Page);
    let (headers, text) = (HeaderMap::new(), String::new());
    let mut explaining = Explaining {
        in_force: &in_force,
        snapshot: &snapshot,
        who: &who,
        uri: &uri,
        headers: &headers,
        connection,
        text,
    };
    match site.filter(|_| is_of_page) {
        Some(site) => explaining.page(&site).await.map_err(wrong)?,
        None => {
            let request = http::address(&uri);
            explaining.request("", request, None, None).await.map_err(wrong)?;
        }
    }
    Ok(explaining.text)
}

struct Explaining<'a> {
    in_force: &'a InForce,
    snapshot: &'a Snapshot,
    who: &'a Who<'a>,
    uri: &'a Uri,
    headers: &'a HeaderMap,
    connection: Connection,
    text: String,
}

impl Explaining<'_> {
    async fn page(&mut self, site: &Site) -> Result<(), ApiError> {
        let bound = site.bound(&site.loaded(), self.in_force, self.snapshot);
        let found = bound.loaded.pages.find(self.uri.path()).map_err(|error| ApiError::of_path(&error))?;
        let found = found.ok_or_else(ApiError::no_page)?;
        let asked = Asked::of((self.uri, self.headers), &found.bound, &self.who.claims())?;
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
        let schema = self.in_force.config.default_schema();
        let parsed = text.request(Action::Read, (&self.snapshot.catalog, schema))?;
        let context = context_for((self.in_force, self.snapshot, schema), self.who, &parsed, query);
        let whole = plan(&parsed, None, Context { narrowing: None, ..context })?;
        let plan = plan(&parsed, None, context)?;
        self.text.push('\n');
        self.line(0, if name.is_empty() { "request" } else { name }, request);
        let mut columns = Columns::default();
        columns.level("", (&whole.read, Some(&plan.read)), need);
        columns.unselected("", &whole.read);
        self.block("fetched", &columns.fetched);
        self.block("left out", &columns.left_out);
        if !columns.unselected.is_empty() {
            self.line(1, "not selected", &columns.unselected.join(", "));
        }
        if let Some(whole) = need.and_then(|need| need.whole.as_ref()) {
            self.line(1, "all columns", &format!("{}, {}", whole.why, whole.place));
        }
        self.statements(&plan, schema).await;
        Ok(())
    }

    async fn statements(&mut self, plan: &Plan<'_>, schema: &str) {
        let function = plan.call().map(|call| call.function);
        let facts =
            RequestFacts { method: "GET", path: self.uri.path(), headers: self.headers, timezone: None, function };
        let session = Session::anew(self.in_force, self.snapshot, schema, self.who, facts);
        let statements = thalweg_sql::statements(plan, self.in_force.config.db_max_rows);
        for (_, statement) in &statements.main {
            let params = statement.params.iter().enumerate().map(|(at, param)| format!("\n${} = {param}", at + 1));
            self.line(1, "SQL", &format!("{}{}", statement.text, params.collect::<String>()));
            let run = run_by_postgres(&mut self.connection, &session, statement).await;
            self.line(1, &format!("plan for {}", self.who.role()), &run.unwrap_or_else(|error| error.words()));
        }
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

/// How PostgreSQL would run a statement.
async fn run_by_postgres(
    connection: &mut Connection,
    session: &Session<'_>,
    statement: &Statement<'_>,
) -> Result<String, ApiError> {
    let text = match statement.text.starts_with("EXPLAIN") {
        true => statement.text.clone(),
        false => format!("EXPLAIN {}", statement.text),
    };
    let params = texts(&statement.params);
    let explained = run_alone(connection, session, Query { params: &params, ..Query::bare(&text) }).await?;
    let lines: Vec<String> = explained.rows.into_iter().flatten().flatten().collect();
    Ok(lines.join("\n"))
}

/// The columns of a read by their paths, each with why it is fetched or not.
#[derive(Default)]
struct Columns {
    fetched: Vec<(String, String)>,
    left_out: Vec<(String, String)>,
    /// Those that the request itself does not ask for.
    unselected: Vec<String>,
}

impl Columns {
    /// A level with all that it could return, and what of it is.
    fn level(&mut self, prefix: &str, (whole, narrowed): (&Read<'_>, Option<&Read<'_>>), need: Option<&Need>) {
        for output in &whole.outputs {
            let path = format!("{prefix}{}", output.key);
            let found = narrowed.and_then(|read| read.own_outputs().find(|known| known.key == output.key));
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

    /// The columns of a level, and of what it embeds, that its request does not select.
    fn unselected(&mut self, prefix: &str, read: &Read<'_>) {
        let is_of = |output: &Output<'_>, name: &str| matches!(&output.value, Value::Column { column, .. } if column.name == name);
        let columns = read.from.relation().map_or(&[][..], |relation| &relation.columns);
        let unselected = columns.iter().filter(|known| !read.outputs.iter().any(|output| is_of(output, &known.name)));
        self.unselected.extend(unselected.map(|known| format!("{prefix}{}", known.name)));
        for (index, embed) in read.embeds.iter().enumerate() {
            let is_it = |output: &&Output<'_>| matches!(output.value, Value::Embed(known) if known == index);
            let key = read.outputs.iter().find(is_it).map(|output| &*output.key);
            // what is there for its rows alone selects nothing
            if let Some(name) = key.or(embed.spread.then_some(&*embed.target.name)) {
                self.unselected(&format!("{prefix}{name}."), &embed.read);
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
