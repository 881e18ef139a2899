//! The schema cache as JSON, for people (operations §§8, 11).

use std::sync::Arc;
use thalweg_catalog::{Catalog, Column, Key, Link, Relation, RelationId, RelationKind, Returns, Runs, Volatility};
use thalweg_json::{Value, json};
use thalweg_rows::oid::Oid;

/// All that the schema cache holds that requests can meet.
pub(crate) fn described(catalog: &Catalog) -> Vec<u8> {
    let mut text = Vec::with_capacity(64 * 1024);
    let tables = catalog.relations().iter().map(|relation| table(catalog, relation));
    array(&mut text, "{\"dbTables\":", tables);
    let relationships = catalog.all_relationships().map(|known| {
        json!({
            "origin": name_of(catalog, known.origin),
            "target": name_of(catalog, known.target),
            "cardinality": known.cardinality.name(),
            "by": link(catalog, (known.origin, known.target), &known.link),
        })
    });
    array(&mut text, ",\"dbRelationships\":", relationships);
    let functions = catalog.all_functions();
    let routines = functions.into_iter().map(|known| {
        let parameters = known.parameters.iter().map(|parameter| {
            json!({
                "name": &*parameter.name,
                "type": type_name(catalog, parameter.type_oid),
                "required": parameter.required,
                "variadic": parameter.variadic,
            })
        });
        json!({
            "schema": &*known.schema,
            "name": &*known.name,
            "comment": known.comment,
            "parameters": parameters.collect::<Vec<Value>>(),
            "returns": returns(catalog, &known.returns),
            "returnsSet": known.returns_set,
            "volatility": volatility(known.volatility),
            "settings": known.settings.iter().map(|(name, value)| json!([&**name, &**value])).collect::<Vec<Value>>(),
        })
    });
    array(&mut text, ",\"dbRoutines\":", routines);
    let named = |name: &Option<(Arc<str>, Arc<str>)>| name.as_ref().map(|(schema, name)| json!([&**schema, &**name]));
    let representations = catalog.all_representations().into_iter().map(|(domain, known)| {
        json!({
            "domain": type_name(catalog, domain),
            "toJson": named(&known.to_json),
            "fromText": named(&known.from_text),
            "fromJson": named(&known.from_json),
        })
    });
    array(&mut text, ",\"dbRepresentations\":", representations);
    let handlers = catalog.media_handlers().iter().map(|known| {
        json!({
            "mediaType": type_name(catalog, known.domain),
            "schema": &*known.schema,
            "name": &*known.name,
            "of": known.of.map(|of| match catalog.of_row_type(of) {
                Some(relation) => name_of(catalog, relation),
                None => Value::String(type_name(catalog, of)),
            }),
        })
    });
    array(&mut text, ",\"dbMediaHandlers\":", handlers);
    text.push(b'}');
    text
}

/// Appends a member, item by item: all of a large schema as values would take many times what its text does.
fn array(text: &mut Vec<u8>, before: &str, items: impl Iterator<Item = Value>) {
    text.extend_from_slice(before.as_bytes());
    text.push(b'[');
    for (at, item) in items.enumerate() {
        if at > 0 {
            text.push(b',');
        }
        text.extend_from_slice(item.to_string().as_bytes());
    }
    text.push(b']');
}

fn table(catalog: &Catalog, relation: &Relation) -> Value {
    let name = |at: &u16| &*relation.columns[usize::from(*at)].name;
    let column = |column: &Column| {
        json!({
            "name": &*column.name,
            "type": column.modified_type.as_deref().map_or_else(|| type_name(catalog, column.type_oid), str::to_owned),
            "nullable": !column.not_null,
            "default": column.default,
            "generated": column.generated,
            "identity": column.identity,
            "comment": column.comment,
        })
    };
    let (insertable, updatable, deletable) = relation.writable;
    json!({
        "schema": &*relation.schema,
        "name": &*relation.name,
        "kind": kind(relation.kind),
        "comment": relation.comment,
        "insertable": insertable,
        "updatable": updatable,
        "deletable": deletable,
        "rowSecurity": relation.row_security,
        "readingRuns": runs(relation.reading),
        "writingRuns": runs(relation.writing),
        "primaryKey": relation.primary_key.iter().map(name).collect::<Vec<_>>(),
        "columns": relation.columns.iter().map(column).collect::<Vec<Value>>(),
    })
}

fn runs(runs: Runs) -> &'static str {
    match runs {
        Runs::Nothing => "nothing",
        Runs::Questions => "questions",
        Runs::Anything => "anything",
    }
}

fn kind(kind: RelationKind) -> &'static str {
    match kind {
        RelationKind::Table => "table",
        RelationKind::PartitionedTable => "partitioned table",
        RelationKind::View => "view",
        RelationKind::MaterializedView => "materialized view",
        RelationKind::ForeignTable => "foreign table",
    }
}

fn volatility(volatility: Volatility) -> &'static str {
    match volatility {
        Volatility::Immutable => "immutable",
        Volatility::Stable => "stable",
        Volatility::Volatile => "volatile",
    }
}

fn name_of(catalog: &Catalog, id: RelationId) -> Value {
    let relation = catalog.relation(id);
    json!([&*relation.schema, &*relation.name])
}

fn link(catalog: &Catalog, (origin, target): (RelationId, RelationId), link: &Link) -> Value {
    match link {
        Link::Key(key) => json!({"key": key_columns(catalog, (origin, target), key)}),
        Link::Junction { relation, near, far } => json!({
            "junction": name_of(catalog, *relation),
            "near": key_columns(catalog, (origin, *relation), near),
            "far": key_columns(catalog, (*relation, target), far),
        }),
        Link::Function { schema, name, .. } => json!({"function": [&**schema, &**name]}),
    }
}

fn key_columns(catalog: &Catalog, (from, to): (RelationId, RelationId), key: &Key) -> Value {
    let name = |relation: RelationId, column: u16| {
        let columns = &catalog.relation(relation).columns;
        columns.get(usize::from(column)).map(|column| column.name.to_string())
    };
    let columns = key.columns.iter().map(|&(a, b)| json!([name(from, a), name(to, b)]));
    json!({"constraint": &*key.constraint, "columns": columns.collect::<Vec<Value>>()})
}

fn returns(catalog: &Catalog, returns: &Returns) -> Value {
    match returns {
        Returns::Void => json!("void"),
        Returns::Record => json!("record"),
        Returns::Scalar(oid) => json!(type_name(catalog, *oid)),
        Returns::Row(oid) => match catalog.of_row_type(*oid) {
            Some(relation) => name_of(catalog, relation),
            None => json!(type_name(catalog, *oid)),
        },
        Returns::Columns(columns) => {
            let column = columns.iter().map(|column| json!([&*column.name, type_name(catalog, column.type_oid)]));
            column.collect()
        }
    }
}

/// A type as SQL writes it.
fn type_name(catalog: &Catalog, oid: Oid) -> String {
    match (catalog.type_of(oid), catalog.of_row_type(oid)) {
        (Some(known), _) => known.format.to_string(),
        (None, Some(relation)) => {
            let relation = catalog.relation(relation);
            format!("{}.{}", relation.schema, relation.name)
        }
        (None, None) => format!("type {oid}"),
    }
}
