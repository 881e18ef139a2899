//! Whatever a request says, it is in the SQL as a quoted identifier, as a parameter, or as the name of a type.

use crate::cases::CASES;
use crate::planned::{catalog, context, request};
use crate::served::GRANTS;
use proptest::prelude::*;
use std::path::Path;
use std::sync::OnceLock;
use thalweg_catalog::Catalog;
use thalweg_plan::plan;
use thalweg_request::{Action, Params, Target};
use thalweg_testkit::Database;

/// What stands in names and values of these requests, and nowhere else.
const MARK: &str = "zQv";

fn known() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| {
        let schema = std::fs::read_to_string(Path::new(CASES).join("schema.sql")).unwrap();
        catalog(&Database::new(&format!("{schema}{GRANTS}")).uri())
    })
}

/// The statements that a request leads to, if it leads to any.
fn statements(target: Target<'_>, query: &str, accept: &str, count: &str) -> Vec<String> {
    let Ok(params) = Params::decode(query) else { return Vec::new() };
    let headers = [("Accept", accept), ("Prefer", count)];
    let Ok(request) = request(Action::Read, target, &params, &headers) else { return Vec::new() };
    let Ok(plan) = plan(&request, None, context(known())) else { return Vec::new() };
    let mut texts = vec![
        thalweg_sql::rows(&plan).text,
        thalweg_sql::head(&plan).text,
        thalweg_sql::count(&plan, Some(5)).text,
        thalweg_sql::estimate(&plan).text,
    ];
    if plan.call().is_some() {
        texts.extend([thalweg_sql::rows_and_total(&plan).text, thalweg_sql::head_and_total(&plan).text]);
    }
    if plan.is_flat() {
        texts.extend(thalweg_sql::flat(&plan).into_iter().map(|(statement, _)| statement.text));
    }
    texts
}

/// The statement without its quoted identifiers, and without the types of its casts.
fn bare(sql: &str) -> String {
    let mut bare = String::new();
    for (at, piece) in sql.split('"').enumerate() {
        // a doubled quote ends and begins one: both halves are inside
        if at % 2 == 0 {
            bare.push_str(piece);
        }
    }
    assert_eq!(sql.matches('"').count() % 2, 0, "an identifier is open: {sql}");
    let mut rest = bare.as_str();
    let mut without_casts = String::new();
    while let Some(at) = rest.find(" AS ") {
        let (before, after) = rest.split_at(at + 4);
        without_casts.push_str(before);
        let end = after.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ' ' | '$')).unwrap_or(after.len());
        // a cast's type ends at the parenthesis that closes it
        rest = if after[end..].starts_with(')') { &after[end..] } else { after };
    }
    without_casts + rest
}

fn check(target: Target<'_>, query: &str, accept: &str, count: &str) -> Result<(), TestCaseError> {
    for sql in statements(target, query, accept, count) {
        let bare = bare(&sql);
        prop_assert!(!bare.contains(MARK), "{} in {}", query, sql);
        let literals = bare.replace("'{}'", "").replace("'[]'", "");
        prop_assert!(!literals.contains(['\'', ';', '\\', '\0']) && !literals.contains("--"), "{} in {}", query, sql);
    }
    Ok(())
}

/// Text that has the mark, and whatever may end an identifier or a literal.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![Just(MARK.to_owned()), "zQv['\";\\\\()\\[\\]{},.:$ -]{0,6}", "['\";\\\\]{1,3}zQv['\";\\\\ -]{0,3}",]
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn names_are_quoted_and_values_are_parameters(
        name in hostile(), other in hostile(), value in hostile(), shape in 0..16,
        accept in prop_oneof![Just("*/*"), Just("text/csv"), Just("application/geo+json"), Just("application/vnd.pgrst.plan")],
        count in prop_oneof![Just("count=exact"), Just("")],
    ) {
        let (name, other, raw) = (quoted(&name), quoted(&other), value.clone());
        let value = quoted(&value);
        let pairs = match shape {
            0 => vec![("select".into(), format!("{name},{other}:{name}::text,{name}->{value}->>{value}"))],
            1 => vec![(name.clone(), format!("eq.{raw}"))],
            2 => vec![(format!("{name}->{value}"), format!("in.({value},{raw})"))],
            3 => vec![("or".into(), format!("({name}.eq.{value},not.and({other}.like.{value},{name}.is.null))"))],
            4 => vec![("order".into(), format!("{name}->{value}.desc,{other}.nullslast"))],
            5 => vec![("select".into(), format!("id,{name}:pilots({other})")), (format!("{name}.{other}"), format!("cs.{raw}"))],
            6 => vec![("select".into(), format!("{name}:pilots({other})")), ("order".into(), format!("{name}({other})"))],
            7 => vec![("select".into(), format!("id,...pilots({name},{other}.max())"))],
            8 => vec![("select".into(), format!("{name}.sum()::int4,{other}::text,count()"))],
            9 => vec![("select".into(), format!("id,{name}:tags({other})")), (name.clone(), "is.null".into())],
            10 => vec![(name.clone(), format!("fts(english).{raw}")), (other.clone(), format!("not.wfts.{raw}"))],
            11 => vec![(name.clone(), format!("eq(any).{raw}")), (other.clone(), format!("isdistinct.{raw}"))],
            12 => vec![("limit".into(), raw.clone()), ("offset".into(), "3".into()), ("select".into(), name.clone())],
            13 => vec![("select".into(), format!("id,takeoff({name},...flights!takeoff({other}:id))"))],
            14 => vec![("select".into(), format!("id::{}", raw.replace('"', "")))],
            _ => vec![("select".into(), format!("...tags({name}:label)")), ("tags.or".into(), format!("(label.eq.{value})"))],
        };
        let query: Vec<String> = pairs.iter().map(|(key, value)| format!("{}={}", escaped(key), escaped(value))).collect();
        let query = query.join("&");
        // the type of a cast is the one thing that stands in the text: its alphabet cannot leave its place
        if matches!(shape, 0..=4 | 10 | 11) {
            prop_assert!(!statements(Target::Relation("flights"), &query, accept, count).is_empty(), "{}", query);
        }
        if shape != 14 {
            check(Target::Relation("flights"), &query, accept, count)?;
            check(Target::Function("flights_of"), &format!("pilot=zQv';--&{query}"), accept, count)?;
        } else {
            for sql in statements(Target::Relation("flights"), &query, accept, count) {
                prop_assert!(!bare(&sql).contains(['\'', ';', '\\', '-']), "{}", sql);
            }
        }
    }

    #[test]
    fn no_text_whatever_makes_a_panic(
        query in "(select=|order=|or=|and=|not\\.|id|pilots|tags|[a-z.!():,&=*\"\\\\{}>\\[\\]%' -]|\\.\\.\\.|count\\(\\)|::|->|eq\\.|in\\.|is\\.null|limit=|-?[0-9]){0,60}",
        odd: String,
    ) {
        for text in [query.as_str(), odd.as_str()] {
            check(Target::Relation("flights"), text, "*/*", "count=exact")?;
            check(Target::Function("flights_of"), &format!("pilot=1&{text}"), "text/csv", "")?;
        }
    }
}
