//! How the values of a type travel: in binary where Thalweg writes their JSON itself.

use crate::plan::Context;
use std::sync::Arc;
use thalweg_catalog::TypeKind;
use thalweg_rows::oid::{self, Oid};
use thalweg_rows::{Codec, Field, Scalar};

/// How deep types may be nested before PostgreSQL is asked to write their JSON.
const TYPE_LEVELS_MAX: u32 = 16;

/// The codec of a type's values, or `None` where PostgreSQL must write the JSON.
pub(crate) fn codec_of(context: &Context<'_>, type_oid: Oid) -> Option<Codec> {
    nested(context, type_oid, 0)
}

/// The codec and type of a cast's result, known for the built-in names only.
pub(crate) fn codec_of_cast(context: &Context<'_>, name: &str) -> Option<(Codec, Oid)> {
    let type_oid = type_of_cast(name)?;
    Some((codec_of(context, type_oid)?, type_oid))
}

/// The type that a cast names, if it is a built-in one.
pub(crate) fn type_of_cast(name: &str) -> Option<Oid> {
    Some(match name.to_ascii_lowercase().as_str() {
        "bool" | "boolean" => oid::BOOL,
        "int2" | "smallint" => oid::INT2,
        "int4" | "int" | "integer" => oid::INT4,
        "int8" | "bigint" => oid::INT8,
        "float4" | "real" => oid::FLOAT4,
        "float8" | "double precision" => oid::FLOAT8,
        "numeric" | "decimal" => oid::NUMERIC,
        "text" => oid::TEXT,
        "varchar" => oid::VARCHAR,
        "date" => oid::DATE,
        "timestamp" => oid::TIMESTAMP,
        "timestamptz" => oid::TIMESTAMPTZ,
        "uuid" => oid::UUID,
        "json" => oid::JSON,
        "jsonb" => oid::JSONB,
        _ => return None,
    })
}

/// The type below any domains over it.
pub(crate) fn base_type(context: &Context<'_>, type_oid: Oid) -> Oid {
    if Scalar::of(type_oid).is_some() {
        return type_oid;
    }
    context.catalog.base_type(type_oid)
}

/// Whether PostgreSQL would write the scalar as Thalweg does, under the settings that the request runs with.
fn written_as_by_default(context: &Context<'_>, scalar: Scalar) -> bool {
    let depends =
        matches!(scalar, Scalar::TimestampTz | Scalar::Interval | Scalar::Bytea | Scalar::Float4 | Scalar::Float8);
    !depends
        || (!context.formats_are_changed
            && context.catalog.session().standard(scalar)
            && (scalar != Scalar::TimestampTz || context.zone_is_known))
}

fn nested(context: &Context<'_>, type_oid: Oid, level: u32) -> Option<Codec> {
    if let Some(scalar) = Scalar::of(type_oid) {
        return written_as_by_default(context, scalar).then_some(Codec::Scalar(scalar));
    }
    if level >= TYPE_LEVELS_MAX {
        return None;
    }
    match &context.catalog.type_of(type_oid)?.kind {
        TypeKind::Base | TypeKind::Range | TypeKind::Multirange => None,
        TypeKind::Enum(_) => Some(Codec::Scalar(Scalar::Text)),
        TypeKind::Domain(base) => nested(context, *base, level + 1),
        TypeKind::Array(element) => Some(Codec::Array(Box::new(nested(context, *element, level + 1)?))),
        TypeKind::Composite(attributes) => {
            let fields: Option<Vec<Field>> = attributes
                .iter()
                .map(|attribute| {
                    let codec = nested(context, attribute.type_oid, level + 1)?;
                    Some(Field { name: attribute.name.clone(), codec, type_oid: attribute.type_oid })
                })
                .collect();
            Some(Codec::Row(Arc::from(fields?)))
        }
    }
}
