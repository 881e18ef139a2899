//! The plan of a request.

use crate::call::Form;
use crate::code;
use crate::cut;
use crate::error::{ErrorKind, PlanError};
use crate::flat;
use crate::from_end;
use crate::level;
use crate::media::{Delivery, Media};
use crate::narrow::{self, Narrowing};
use crate::never_analysed;
use crate::once_per_key;
use crate::read::{EmbedRead, Fetch, From, Output, Read, Value};
use crate::weight;
use crate::write::{self, Source, Write};
use std::sync::Arc;
use thalweg_catalog::{Catalog, Runs, Volatility};
use thalweg_request::{Action, ApiRequest, Count, Handling, Payload};
use thalweg_rows::oid;
use thalweg_rows::{Codec, Field, Format, Scalar, Shape};

/// What a plan depends on besides the request.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The snapshot.
    pub catalog: &'a Catalog,
    /// The schema that was chosen, one of the exposed ones.
    pub schema: &'a str,
    /// How many rows any level may return.
    pub rows_max: Option<u64>,
    /// Whether Thalweg knows the session's time zone, so that `timestamptz` may come in binary.
    pub zone_is_known: bool,
    /// Whether the request runs under settings that change how values are written.
    pub formats_are_changed: bool,
    /// `db-aggregates-enabled`
    pub aggregates_are_on: bool,
    /// `db-plan-enabled`
    pub plans_are_on: bool,
    /// `url-use-legacy-target-names`
    pub legacy_target_names: bool,
    /// Whether a function runs before every request, which may set the response's status and headers.
    pub has_pre_request: bool,
    /// Whether levels may be fetched flat, and joined by Thalweg.
    pub is_flat_allowed: bool,
    /// Which columns whoever reads the rows can touch, where that is known.
    pub narrowing: Option<&'a Narrowing>,
    /// Whether it is the same limit each time, by which PostgreSQL may plan.
    pub limit_is_fixed: bool,
}

/// A read, a write or a call, resolved.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The schema it runs in.
    pub schema: &'a str,
    /// The root level; of a write, what is returned of the rows that were written.
    pub read: Read<'a>,
    /// What is written.
    pub write: Option<Write<'a>>,
    /// Whether it runs in a transaction that is read only.
    pub is_read_only: bool,
    /// What becomes of what a function returns; of a relation, rows.
    pub form: Form,
    /// What the rows are turned into.
    pub media: Media<'a>,
    /// When the head may be sent.
    pub delivery: Delivery,
    /// How the total is found.
    pub count: Option<Count>,
    /// How many rows are returned although more are asked for: `db-max-rows`, where it is less than the request's own
    /// limit. One more is fetched, to know whether any was left out.
    pub rows_cut: Option<u64>,
    /// The largest number of rows of each embed that may have more.
    pub embedded_cut: Option<u64>,
    /// How many rows a call may return or a write affect.
    pub affected_max: Option<i64>,
    /// Whether the database may set the response's status and headers.
    pub response_is_set: bool,
    /// What it may run: if anything, then nothing of the session can be relied on afterwards.
    pub runs: Runs,
    /// The bare names that address embeds with an alias, each with the alias.
    pub deprecated_names: Vec<(String, String)>,
}

/// Resolves a request for rows, with what is known of the body that it brings.
pub fn plan<'a>(
    request: &'a ApiRequest<'a>,
    payload: Option<&'a Payload<'a>>,
    context: Context<'a>,
) -> Result<Plan<'a>, PlanError> {
    // `db-max-rows` bounds what is read, and a write returns all that it has written.
    let rows_max = context.rows_max.filter(|_| !request.action.is_write());
    let context = Context { rows_max, ..context };
    let (mut read, form, deprecated_names) = level::root(&context, request, payload)?;
    weight::check(&read)?;
    if let Some(wanted) = context.narrowing {
        narrow::narrow(&mut read, form, wanted);
    }
    let mut write = match read.from {
        From::Relation(relation) if request.action.is_write() => {
            let conditions = level::written(&context, relation, &request.query);
            read.conditions.clear();
            Some(write::write(&context, (request, payload), relation, conditions)?)
        }
        _ => None,
    };
    let media = Media::negotiate(&context, request, &read, form)?;
    let strict = request.preferences.handling == Some(Handling::Strict);
    let is_limited = matches!(request.action, Action::Update | Action::Delete) || matches!(read.from, From::Call(_));
    let affected_max = request.preferences.max_affected.filter(|_| strict && is_limited);
    if affected_max.is_some() && !matches!(form, Form::Rows | Form::Values) {
        return Err(ErrorKind::NoSet.into());
    }
    match media.of_statement() {
        Media::Csv => read.write_output_forms(),
        Media::GeoJson => read.embeds.iter_mut().for_each(EmbedRead::write_json),
        Media::Handler(handler) if handler.aggregate.is_some() => {
            read.embeds.iter_mut().for_each(EmbedRead::write_json);
        }
        Media::Json { stripped: true } | Media::Object { stripped: true } => read.strip(),
        _ => {}
    }
    let runs = code::runs(&context, &read, write.as_ref(), &media);
    let response_is_set = runs == Runs::Anything && context.catalog.session().response_is_set;
    let is_read_only = match &read.from {
        From::Relation(_) => write.is_none(),
        From::Call(call) => request.action == Action::Read || call.function.volatility != Volatility::Volatile,
    };
    let delivery = match (&media, form) {
        _ if write.is_some() || !is_read_only => Delivery::Buffered,
        _ if request.head_only && matches!(form, Form::Rows | Form::Values) => Delivery::HeadOnly,
        // one row is not worth a count
        _ if request.head_only || response_is_set || affected_max.is_some() => Delivery::Buffered,
        (Media::Object { .. }, _) | (_, Form::Nothing | Form::Row | Form::Value) => Delivery::Buffered,
        _ => Delivery::Streamed,
    };
    let rows_cut = rows_max.filter(|most| request.window.limit_rows.is_none_or(|limit| limit > *most));
    let rows_cut = rows_cut.filter(|_| matches!(form, Form::Rows | Form::Values) && !media.is_one_value());
    if let (Some(most), Some(limit)) = (rows_cut, &mut read.limit_rows) {
        *limit = i64::try_from(most).unwrap_or(i64::MAX).saturating_add(1);
    }
    let is_encoded = matches!(media, Media::Json { .. } | Media::Object { .. } | Media::Csv);
    let embedded_cut = rows_max.filter(|_| is_encoded && context.is_flat_allowed && cut::choose(&mut read));
    let count = request.preferences.count.filter(|_| !matches!(media, Media::Explain { .. }));
    let plain = media == Media::Json { stripped: false } && delivery == Delivery::Streamed;
    match &mut write {
        Some(write) => write.settle(&context, (request, payload), &read, &media),
        None if plain && flat::choose(&context, &mut read) => {}
        None => once_per_key::choose(&mut read),
    }
    if write.is_none() {
        never_analysed::choose(&mut read);
    }
    if write.is_none() && count == Some(Count::Exact) && delivery != Delivery::HeadOnly {
        from_end::choose(&mut read);
    }
    Ok(Plan {
        schema: context.schema,
        read,
        write,
        is_read_only,
        form,
        media,
        delivery,
        count,
        rows_cut,
        embedded_cut,
        affected_max,
        response_is_set,
        runs,
        deprecated_names,
    })
}

impl Plan<'_> {
    /// What the rows of the plan's statement look like.
    pub fn shape(&self) -> Shape {
        let one = |name: &str, codec, type_oid| Shape { fields: vec![Field { name: shared(name), codec, type_oid }] };
        match &self.media {
            Media::Explain { .. } => one("QUERY PLAN", Codec::Output, 0),
            Media::GeoJson => one("feature", Codec::Scalar(Scalar::Json), oid::JSON),
            Media::Handler(handler) => {
                let codec = match handler.format {
                    Format::Text => Codec::Output,
                    Format::Binary => Codec::Scalar(Scalar::Bytea),
                };
                one("value", codec, 0)
            }
            _ => Shape { fields: self.read.outputs.iter().map(Output::column).collect() },
        }
    }

    /// Whether each level comes by a statement of its own, to be joined by Thalweg.
    pub fn is_flat(&self) -> bool {
        self.read.embeds.iter().any(|embed| embed.fetch == Fetch::Flat)
    }

    /// Whether its rows are sent by COPY.
    pub fn copies(&self) -> bool {
        self.write.as_ref().is_some_and(|write| matches!(write.source, Source::Copy(_)))
    }

    /// Whether it shows how PostgreSQL would run its statement.
    pub fn explains(&self) -> bool {
        matches!(self.media, Media::Explain { .. })
    }

    /// Whether it changes something, and what it has changed stays only if there are as many rows as there may be.
    pub fn is_checked(&self) -> bool {
        let is_set = matches!(self.form, Form::Rows | Form::Values);
        let is_one = matches!(self.media, Media::Object { .. }) && is_set;
        let replaces = self.write.as_ref().is_some_and(|write| write.action == Action::Replace);
        !self.is_read_only && !self.explains() && (is_one || replaces || self.affected_max.is_some())
    }

    /// Whether its statement makes one value of all rows, behind their number.
    pub fn is_made_of_rows(&self) -> bool {
        matches!(&self.media, Media::Handler(handler) if handler.aggregate.is_some())
    }

    /// The call, if it is one.
    pub fn call(&self) -> Option<&crate::call::Call<'_>> {
        match &self.read.from {
            From::Call(call) => Some(call),
            From::Relation(_) => None,
        }
    }
}

impl Read<'_> {
    /// Lets values come in the form in which PostgreSQL shows them, as in CSV; what is embedded stays JSON.
    fn write_output_forms(&mut self) {
        let embedded: Vec<bool> = self.outputs.iter().map(|output| self.is_embedded(output)).collect();
        for (output, _) in self.outputs.iter_mut().zip(embedded).filter(|(_, embedded)| !embedded) {
            (output.codec, output.to_json, output.base_oid, output.type_oid) = (Codec::Output, false, 0, 0);
        }
        for below in self.embeds.iter_mut().filter(|below| below.spread && below.is_to_one()) {
            below.read.write_output_forms();
        }
    }

    /// Whether an output is rows of another level, or an array of their values, lifted or not.
    fn is_embedded(&self, output: &Output<'_>) -> bool {
        match output.value {
            Value::Embed(_) => true,
            Value::Lifted(index, at) => {
                let below = &self.embeds[index];
                !below.is_to_one() || below.read.is_embedded(&below.read.outputs[at])
            }
            Value::Column { .. } | Value::Row | Value::Scalar | Value::Found(..) => false,
        }
    }

    /// Leaves null members out of objects, down to those in JSON values, which PostgreSQL has to write anew.
    fn strip(&mut self) {
        fn holds_json(codec: &Codec) -> bool {
            match codec {
                Codec::Scalar(scalar) => matches!(scalar, Scalar::Json | Scalar::Jsonb),
                Codec::Array(element) | Codec::List(element) | Codec::Values(element) => holds_json(element),
                Codec::Row(fields) => fields.iter().any(|field| holds_json(&field.codec)),
                Codec::Found(first, _) => holds_json(&first.codec),
                Codec::Output | Codec::Digits | Codec::Flag => false,
            }
        }
        self.embeds.iter_mut().for_each(|below| below.read.strip());
        for output in &mut self.outputs {
            match output.value {
                Value::Found(..) => {}
                Value::Embed(index) => output.codec = self.embeds[index].codec(),
                // what is lifted from one row has been stripped there
                Value::Lifted(index, at) if self.embeds[index].is_to_one() => {
                    let inner = &self.embeds[index].read.outputs[at];
                    (output.codec, output.type_oid, output.base_oid) =
                        (inner.codec.lifted(), inner.type_oid, inner.base_oid);
                    continue;
                }
                Value::Column { .. } | Value::Row | Value::Scalar | Value::Lifted(..) => {
                    let scalar = matches!(output.codec, Codec::Scalar(_));
                    if !scalar && holds_json(&output.codec) {
                        (output.codec, output.type_oid, output.base_oid) =
                            (Codec::Scalar(Scalar::Json), oid::JSON, oid::JSON);
                        output.to_json = !matches!(output.value, Value::Lifted(..));
                    }
                }
            }
            output.stripped = matches!(output.codec, Codec::Scalar(Scalar::Json | Scalar::Jsonb));
        }
    }
}

/// A name as it is kept in shapes.
pub(crate) fn shared(name: &str) -> Arc<str> {
    Arc::from(name)
}
