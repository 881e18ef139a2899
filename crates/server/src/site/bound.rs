//! The pages of a site held against a schema cache: which columns each query fetches, and which names no column has.

use super::{BoundForm, Loaded};
use crate::config::InForce;
use crate::error::{ApiError, Fault};
use crate::flow::{RequestText, context};
use crate::schema::Snapshot;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use thalweg_pages::{Error, ErrorKind, Need, Place, Query};
use thalweg_plan::{EmbedRead, Form, Narrowing, Output, Plan, Read, Value, plan};
use thalweg_request::Action;
use thalweg_rows::{Codec, Scalar};

/// All pages of a site, with one schema cache.
pub(crate) struct Bound {
    pub(crate) loaded: Arc<Loaded>,
    snapshot: u64,
    in_force: u64,
    /// In the order of the site's pages.
    pages: Vec<Result<BoundPage, Error>>,
    /// Functions by which forms sign their visitors in.
    sign_in_functions: BTreeSet<String>,
}

/// A page whose names are all those of columns.
pub(crate) struct BoundPage {
    pub(crate) queries: Vec<BoundQuery>,
    /// By their names.
    pub(crate) forms: Vec<(String, BoundForm)>,
}

/// A query with what the page needs of it.
pub(crate) struct BoundQuery {
    pub(crate) name: Arc<str>,
    pub(crate) query: Query,
    pub(crate) narrowing: Narrowing,
    /// By which reads of it are known that were prepared.
    pub(crate) number: u64,
    /// Why all columns are fetched, where they are.
    whole: Option<String>,
}

impl Bound {
    pub(super) fn of(loaded: Arc<Loaded>, in_force: &InForce, snapshot: &Snapshot) -> Self {
        let page = |page: &thalweg_pages::Page| {
            let mut names = Names::default();
            let query = |(name, query): &(String, Query)| bind(page, name, query, (in_force, snapshot), &mut names);
            let queries = page.front.queries.iter().map(query).collect::<Result<_, _>>()?;
            names.are_known()?;
            let form = |(name, form): (&String, &thalweg_pages::Form)| {
                Ok((name.clone(), BoundForm::of(page, form, in_force, snapshot)?))
            };
            Ok(BoundPage { queries, forms: page.front.forms.iter().map(form).collect::<Result<_, _>>()? })
        };
        let pages: Vec<Result<BoundPage, Error>> = loaded.pages.pages().iter().map(page).collect();
        let forms = pages.iter().flatten().flat_map(|page| &page.forms);
        let sign_in_functions = forms.filter_map(|(_, form)| form.sign_in_function.clone()).collect();
        Self { loaded, snapshot: snapshot.load, in_force: in_force.number, pages, sign_in_functions }
    }

    pub(super) fn is_of(&self, loaded: &Loaded, in_force: &InForce, snapshot: &Snapshot) -> bool {
        (self.loaded.number, self.in_force, self.snapshot) == (loaded.number, in_force.number, snapshot.load)
    }

    /// The page with this number, or what is wrong with it.
    pub(crate) fn page(&self, number: usize) -> Result<&BoundPage, ApiError> {
        match self.pages.get(number) {
            Some(Ok(page)) => Ok(page),
            Some(Err(error)) => Err(ApiError::of_page(Fault::of(error))),
            None => Err(ApiError::no_page()),
        }
    }

    /// Returns whether a form signs its visitors in by this function of the default schema.
    pub(crate) fn signs_in_by(&self, function: &str) -> bool {
        self.sign_in_functions.contains(function)
    }

    /// What is wrong with its pages.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &Error> {
        self.pages.iter().filter_map(|page| page.as_ref().err())
    }

    /// Says in the log what is wrong, if that is not said otherwise, and where all columns are fetched.
    pub(super) fn tell(&self, tells_errors: bool) {
        for error in self.errors().filter(|_| tells_errors) {
            tracing::error!(target: "notice", "a page cannot be made: {error}");
        }
        for query in self.pages.iter().flatten().flat_map(|page| &page.queries) {
            if let Some(whole) = &query.whole {
                tracing::info!(target: "notice", "all columns of {} are fetched, but binary ones: {whole}", query.name);
            }
        }
    }
}

/// Holds a query against the schema cache, with values that stand for any.
fn bind<'p>(
    page: &'p thalweg_pages::Page,
    name: &str,
    query: &Query,
    (in_force, snapshot): (&InForce, &Snapshot),
    names: &mut Names<'p>,
) -> Result<BoundQuery, Error> {
    let nothing = Need::default();
    let need = page.needs.get(name);
    let mut has_more = false;
    for sample in query.samples() {
        let of_query = |message: String| {
            let place = Place { file: page.template.clone(), line: 0, column: 0 };
            Error::new(ErrorKind::Query, place, thalweg_pages::of_query(name, &message))
        };
        let wrong = |error: ApiError| of_query(error.words());
        let text = RequestText::of_query(&sample, query).map_err(wrong)?;
        let schema = in_force.config.default_schema();
        let request = text.request(Action::Read, (&snapshot.catalog, schema)).map_err(|error| wrong(error.into()))?;
        let plan = plan(&request, None, context(in_force, snapshot, schema)).map_err(|error| wrong(error.into()))?;
        if let Some(column) = plan.read.unknown_column() {
            return Err(of_query(format!("no column is called {column}, by which it filters or orders")));
        }
        if let Some(column) = plan.read.unknown_output() {
            return Err(of_query(format!("no column is called {column}, which it selects")));
        }
        if let Some(column) = plan.read.unselected_column() {
            return Err(of_query(format!("it orders by {column} of an embed, which its select leaves out")));
        }
        match plan.form {
            Form::Rows | Form::Row => need.into_iter().for_each(|need| names.check(&plan.read, need, (name, false))),
            Form::Values | Form::Value | Form::Nothing => need.into_iter().for_each(|need| names.may_all_be(need)),
        }
        has_more = has_more_than_is_shown(&plan);
    }
    let need = need.unwrap_or(&nothing);
    static NUMBERS: AtomicU64 = AtomicU64::new(1);
    let whole = need.whole.as_ref().filter(|_| has_more);
    Ok(BoundQuery {
        name: name.into(),
        query: query.clone(),
        narrowing: narrowing(need),
        number: NUMBERS.fetch_add(1, Ordering::Relaxed),
        whole: whole.map(|whole| format!("{} at {}", whole.why, whole.place)),
    })
}

/// Whether rows have columns that a page could do without.
fn has_more_than_is_shown(plan: &Plan<'_>) -> bool {
    matches!(plan.form, Form::Rows | Form::Row) && plan.read.outputs.len() > 1
}

fn narrowing(need: &Need) -> Narrowing {
    Narrowing {
        all: need.whole.is_some(),
        all_if_one: need.whole_if_one.is_some(),
        columns: need.columns.iter().map(|(name, column)| (name.clone(), narrowing(&column.need))).collect(),
    }
}

/// The places where a page names columns: of several kinds of rows that come to a place, one must have it.
#[derive(Default)]
struct Names<'p> {
    found: BTreeSet<&'p Place>,
    missing: BTreeMap<&'p Place, String>,
}

impl<'p> Names<'p> {
    fn are_known(self) -> Result<(), Error> {
        match self.missing.into_iter().find(|(place, _)| !self.found.contains(place)) {
            Some((place, message)) => Err(Error::new(ErrorKind::Query, place.clone(), message)),
            None => Ok(()),
        }
    }

    /// Looks each name up in what is selected, here and in what is embedded. A list has none itself, but each of its rows.
    fn check(&mut self, read: &Read<'_>, need: &'p Need, (of, is_list): (&str, bool)) {
        // what a function returns may be known to the database only
        if read.outputs.is_empty() && read.from.relation().is_none() {
            return self.may_all_be(need);
        }
        for (name, column) in &need.columns {
            let Some(output) = read.outputs.iter().find(|output| *output.key == **name) else {
                self.miss(&column.named, || unknown(read, name, of));
                continue;
            };
            self.find(column.named.iter().filter(|place| !(is_list && column.of_one.contains(place))));
            if is_list {
                self.miss(&column.of_one, || format!("{of} is a list of rows: a loop finds {name} in each"));
            }
            match embedded(read, output) {
                Some(embed) => self.check(&embed.read, &column.need, (name, !embed.is_to_one())),
                None if holds_members(&output.codec) => self.may_all_be(&column.need),
                None => {
                    for (inner, column) in &column.need.columns {
                        self.miss(&column.named, || format!("{name} of {of} is a column, which has no {inner}"));
                    }
                }
            }
        }
    }

    /// Of values whose members only the database knows, any name may be one.
    fn may_all_be(&mut self, need: &'p Need) {
        for column in need.columns.values() {
            self.find(&column.named);
            self.may_all_be(&column.need);
        }
    }

    fn find(&mut self, places: impl IntoIterator<Item = &'p Arc<Place>>) {
        self.found.extend(places.into_iter().map(|place| &**place));
    }

    fn miss(&mut self, places: &'p [Arc<Place>], message: impl Fn() -> String) {
        for place in places {
            self.missing.entry(place).or_insert_with(&message);
        }
    }
}

/// The embed whose rows an output is.
pub(crate) fn embedded<'r, 'a>(read: &'r Read<'a>, output: &Output<'_>) -> Option<&'r EmbedRead<'a>> {
    match output.value {
        Value::Embed(index) | Value::Found(index, _) => read.embeds.get(index),
        Value::Lifted(index, at) => {
            let inner = &read.embeds.get(index)?.read;
            embedded(inner, inner.outputs.get(at)?)
        }
        Value::Column { .. } | Value::Row | Value::Scalar => None,
    }
}

/// Whether a value has members of its own: JSON, a row, or a list of such.
fn holds_members(codec: &Codec) -> bool {
    match codec {
        Codec::Scalar(Scalar::Json | Scalar::Jsonb) | Codec::Row(_) => true,
        Codec::Array(_) | Codec::List(_) | Codec::Values(_) => true,
        Codec::Scalar(_) | Codec::Output | Codec::Digits | Codec::Flag | Codec::Found(..) => false,
    }
}

fn unknown(read: &Read<'_>, name: &str, of: &str) -> String {
    let names = || read.outputs.iter().map(|output| &*output.key);
    let nearest = names().map(|known| (strsim::jaro_winkler(known, name), known)).max_by(|a, b| a.0.total_cmp(&b.0));
    let is_column = read.from.relation().is_some_and(|relation| relation.column(name).is_some());
    match nearest {
        _ if is_column => format!("{of} has a column {name}, which its select leaves out"),
        Some((likeness, nearest)) if likeness > 0.6 => format!("{of} has no {name}; perhaps {nearest} is meant"),
        _ => format!("{of} has no {name}, but {}", names().collect::<Vec<_>>().join(", ")),
    }
}
