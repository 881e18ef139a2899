//! The plan of a request.

use crate::error::{ErrorKind, PlanError};
use crate::gather;
use crate::media::{Delivery, Media};
use crate::read::{self, Output, Read};
use std::sync::Arc;
use thalweg_catalog::Catalog;
use thalweg_request::{ApiRequest, Count};
use thalweg_rows::Shape;

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
}

/// A read, resolved.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The schema it runs in.
    pub schema: &'a str,
    /// The root level.
    pub read: Read<'a>,
    /// What becomes of the rows.
    pub media: Media,
    /// When the head may be sent.
    pub delivery: Delivery,
    /// How the total is found.
    pub count: Option<Count>,
    /// Whether its levels are better fetched flat and joined by Thalweg.
    pub gathers: bool,
}

/// Resolves a request for the rows of `relation`.
pub fn plan<'a>(request: &'a ApiRequest<'a>, relation: &str, context: Context<'a>) -> Result<Plan<'a>, PlanError> {
    let schema = context.schema;
    let id = context.catalog.find(schema, relation).ok_or_else(|| ErrorKind::Relation {
        schema: schema.to_owned(),
        name: relation.to_owned(),
        nearest: context.catalog.nearest_relation(schema, relation).map(str::to_owned),
    })?;
    // The rows do not depend on the media type but for CSV, whose fields PostgreSQL writes. What can be wrong
    // with the select is reported before what can be wrong with the media type.
    let media = Media::negotiate(&request.accept);
    let read = read::root(&context, id, request, matches!(media, Ok(Media::Csv)))?;
    let media = media?;
    let delivery = match media {
        _ if request.head_only => Delivery::HeadOnly,
        Media::Object => Delivery::Buffered,
        Media::Json | Media::Csv => Delivery::Streamed,
    };
    let gathers = media == Media::Json && delivery == Delivery::Streamed && gather::pays(&context, &read);
    Ok(Plan { schema, read, media, delivery, count: request.preferences.count, gathers })
}

impl Plan<'_> {
    /// What the rows of the plan's statement look like.
    pub fn shape(&self) -> Shape {
        Shape { fields: self.read.outputs.iter().map(Output::column).collect() }
    }
}

/// A name as it is kept in shapes.
pub(crate) fn shared(name: &str) -> Arc<str> {
    Arc::from(name)
}
