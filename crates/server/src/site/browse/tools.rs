//! The form that writes an address: what is selected, which rows, in which order.

use super::address::{Address, encode, name};
use super::level::type_name;
use thalweg_catalog::{Catalog, Function, Parameter, Relation, Volatility};
use thalweg_json::{Value, json};

/// The operators that the form offers, with what they say.
const OPERATORS: [(&str, &str); 20] = [
    ("eq", "="),
    ("neq", "≠"),
    ("lt", "<"),
    ("lte", "≤"),
    ("gt", ">"),
    ("gte", "≥"),
    ("icontains", "contains the text (any case)"),
    ("not.icontains", "does not contain the text (any case)"),
    ("ilike", "is like (any case)"),
    ("like", "is like"),
    ("not.ilike", "is not like (any case)"),
    ("imatch", "matches (any case)"),
    ("is", "is (null, true, false)"),
    ("not.is", "is not (null, true, false)"),
    ("in", "is one of"),
    ("not.in", "is none of"),
    ("cs", "contains (lists, JSON, ranges)"),
    ("cd", "is contained in"),
    ("wfts", "is found by a search for"),
    ("isdistinct", "is distinct from"),
];

/// How many filters the form shows. Others stay in the address.
const FILTERS_SHOWN_MAX: usize = 20;

/// How many columns are offered in a list for each filter; of more, there is one list for all.
const COLUMNS_LISTED_MAX: usize = 100;

/// What the form shows of an address.
pub(crate) fn tools(address: &Address, relation: Option<&Relation>, is_call: bool) -> Value {
    let columns: Vec<Value> = relation.map_or(Vec::new(), |relation| {
        relation.columns.iter().map(|column| json!({"name": &*column.name, "key": name(&column.name)})).collect()
    });
    let (mut filters, mut others) = (Vec::new(), Vec::new());
    for (key, value) in &address.pairs {
        if matches!(key.as_str(), "select" | "order" | "limit" | "offset") {
            continue;
        }
        match (Role::of(key), operator(value)) {
            (Role::Filter, Some((op, operand))) if filters.len() < FILTERS_SHOWN_MAX => {
                let without = without(address, key, value);
                filters.push(json!({"column": key, "op": op, "value": operand, "without": without,
                    "is_listed": columns.iter().any(|column| column["key"] == **key)}));
            }
            (role, operation) => {
                let is_argument = is_call && role == Role::Filter && operation.is_none();
                others.push(json!({"name": key, "value": value, "is_argument": is_argument,
                    "is_hidden": others.len() >= FILTERS_SHOWN_MAX}));
            }
        }
    }
    let operators: Vec<Value> = OPERATORS.iter().map(|(op, label)| json!({"op": op, "label": label})).collect();
    json!({
        "action": address.path,
        "select": address.value("select"), "order": address.value("order"), "limit": address.value("limit"),
        "is_counted": address.says("count").is_some(),
        "filters": filters, "others": others, "operators": operators,
        "lists": columns.len() <= COLUMNS_LISTED_MAX, "columns": columns,
    })
}

/// What a pair of the query string is.
#[derive(PartialEq)]
enum Role {
    Filter,
    Other,
}

impl Role {
    fn of(key: &str) -> Self {
        let last = key.rsplit_once('.').map_or(key, |(_, last)| last);
        match last {
            "order" | "limit" | "offset" | "and" | "or" => Self::Other,
            _ if matches!(key, "columns" | "on_conflict") => Self::Other,
            _ => Self::Filter,
        }
    }
}

/// A filter's operator and what it compares with.
fn operator(value: &str) -> Option<(&str, &str)> {
    let bare = value.strip_prefix("not.").unwrap_or(value);
    let end = bare.find('.')?;
    let word = bare[..end].split('(').next().unwrap_or_default();
    let is_word = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let at = value.len() - bare.len() + end;
    is_word.then(|| (&value[..at], &value[at + 1..]))
}

/// The address without one pair of it.
fn without(address: &Address, key: &str, value: &str) -> String {
    let mut next = address.with(&[("offset", None)]).saying(&[]);
    if let Some(at) = next.pairs.iter().position(|(known, said)| known == key && said == value) {
        next.pairs.remove(at);
    }
    next.link()
}

/// The form that calls a function, or what is said of one that only a POST may call.
pub(crate) fn call_form(catalog: &Catalog, prefix: &str, function: &Function) -> Value {
    let parameter = |parameter: &Parameter| {
        json!({"name": &*parameter.name, "key": name(&parameter.name), "required": parameter.required,
            "type": type_name(catalog, None, parameter.type_oid)})
    };
    let parameters: Vec<Value> = function.parameters.iter().map(parameter).collect();
    let mut action = format!("{prefix}/rpc/");
    encode(&mut action, &function.name);
    let is_callable = function.volatility != Volatility::Volatile && !function.takes_body();
    json!({"name": &*function.name, "comment": function.comment.as_deref(), "action": action,
        "parameters": parameters, "is_callable": is_callable,
        "returns": type_name(catalog, None, function.result_type), "returns_set": function.returns_set})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_taken_apart() {
        for (value, expected) in [
            ("eq.1", Some(("eq", "1"))),
            ("not.in.(1,2)", Some(("not.in", "(1,2)"))),
            ("like(any).{a.b}", Some(("like(any)", "{a.b}"))),
            ("fts(english).a.b", Some(("fts(english)", "a.b"))),
            ("eq.", Some(("eq", ""))),
            ("12.5", None),
            ("a", None),
            (".x", None),
        ] {
            assert_eq!(operator(value), expected, "{value}");
        }
    }

    #[test]
    fn the_form_writes_the_address_that_it_shows() {
        let query = "select=id&a=eq.1&b.c=not.in.(1)&or=(a.eq.1,b.eq.2)&order=id&limit=7";
        let address = Address::of("/x".to_owned(), query).unwrap();
        let tools = tools(&address, None, false);
        let mut form = Address { path: "/x".to_owned(), ..Address::default() };
        for name in ["select", "order", "limit"] {
            form.pairs.push((name.to_owned(), tools[name].as_str().unwrap().to_owned()));
        }
        for other in tools["others"].as_array().unwrap() {
            form.pairs.push((other["name"].as_str().unwrap().to_owned(), other["value"].as_str().unwrap().to_owned()));
        }
        form.own.push(("form".to_owned(), "1".to_owned()));
        for filter in tools["filters"].as_array().unwrap() {
            for field in super::super::address::FILTER_FIELDS {
                form.own.push((field.to_owned(), filter[field].as_str().unwrap().to_owned()));
            }
        }
        let (mut written, mut expected) = (form.of_form().unwrap().pairs, address.pairs);
        written.sort();
        expected.sort();
        assert_eq!(written, expected);
    }
}
