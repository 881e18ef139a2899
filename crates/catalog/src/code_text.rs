//! Functions in SQL that can do no more than ask for settings, such as what most policies call:
//!
//! ```sql
//! select nullif(current_setting('request.jwt.claims', true), '')::json ->> 'sub'
//! ```
//!
//! A text says nothing of what its names mean, so that only a few are understood: those of functions, types and operators that
//! PostgreSQL ships and nothing of the database's own has (`code_sql::IN_SQL` sees to that). Such a body has one `SELECT`
//! without a table in it.

/// Words of the language that name nothing else.
const WORDS: &[&str] =
    &["select", "case", "when", "then", "else", "end", "and", "or", "not", "is", "null", "true", "false", "distinct"];
/// Functions, and what is written without parentheses.
const FUNCTIONS: &[&str] = &[
    "current_setting",
    "current_user",
    "session_user",
    "coalesce",
    "nullif",
    "lower",
    "upper",
    "btrim",
    "split_part",
    "replace",
    "json_extract_path_text",
    "jsonb_extract_path_text",
];
const TYPES: &[&str] = &[
    "text", "varchar", "uuid", "json", "jsonb", "int", "integer", "int2", "int4", "int8", "smallint", "bigint",
    "numeric", "bool", "boolean",
];
/// Operators, the longest first where one begins another.
const OPERATORS: &[&str] = &["#>>", "->>", "->", "||", "<>", "="];

/// The names that must mean what they mean in PostgreSQL. A type has another one in its catalogs, or it has not.
pub(crate) fn names() -> Vec<String> {
    FUNCTIONS.iter().chain(TYPES).chain(OPERATORS).map(|name| (*name).to_owned()).collect()
}

/// Whether a body with arguments of these names can do no more than ask for settings.
pub(crate) fn only_asks(body: &str, arguments: &[&str]) -> bool {
    let body = body.trim_matches(|character: char| character.is_ascii_whitespace());
    let body = body.strip_suffix(';').unwrap_or(body);
    let mut words = 0;
    let mut rest = body;
    while let Some(first) = rest.chars().next() {
        rest = match first {
            ' ' | '\t' | '\n' | '\r' | '(' | ')' | ',' => &rest[1..],
            '\'' => match behind_string(rest) {
                Some(rest) => rest,
                None => return false,
            },
            '$' | '0'..='9' => {
                let digits = rest[1..].trim_start_matches(|next: char| next.is_ascii_digit());
                // it could be the tag of a string, or a number that goes on as something else
                match digits.chars().next() {
                    Some(next) if next == '$' || next == '.' || is_of_word(next) => return false,
                    _ => digits,
                }
            }
            _ if is_of_word(first) => {
                let word;
                (word, rest) = split_word(rest);
                let is_known = |names: &[&str]| names.contains(&word.as_str());
                let begins = words == 0;
                words += 1;
                // what is called like an argument may be a function, or the type of a string
                let is_argument = || is_known(arguments) && !rest.trim_start().starts_with(['(', '\'']);
                // the first is the only `SELECT`, and a name may go on with `$`
                if begins != (word == "select")
                    || rest.starts_with('$')
                    || !(is_known(WORDS) || is_known(FUNCTIONS) || is_known(TYPES) || is_argument())
                {
                    return false;
                }
                rest
            }
            _ => {
                let is_cast = rest.starts_with("::");
                let symbols = OPERATORS.iter().chain(&["::"]);
                let Some(rest) = symbols.filter_map(|symbol| rest.strip_prefix(symbol)).next() else { return false };
                // an argument may be called like a type
                if is_cast && !TYPES.contains(&split_word(rest.trim_start()).0.as_str()) {
                    return false;
                }
                // what goes on as an operator is another one, or a comment
                if rest.starts_with(is_of_operator) {
                    return false;
                }
                rest
            }
        };
    }
    words > 0
}

/// A word, in lower case, and what follows it.
fn split_word(from: &str) -> (String, &str) {
    let (word, rest) = from.split_at(from.find(|next| !is_of_word(next)).unwrap_or(from.len()));
    (word.to_ascii_lowercase(), rest)
}

/// Whether a body that can do no more asks for anything that another request may answer otherwise.
pub(crate) fn asks(body: &str) -> bool {
    let body = body.to_ascii_lowercase();
    ["current_setting", "current_user", "session_user"].iter().any(|name| body.contains(name))
}

/// What follows a string. In one with a backslash it may be a matter of settings where it ends.
fn behind_string(from: &str) -> Option<&str> {
    let inside = &from[1..];
    let end = inside.find('\'')?;
    let is_plain = !inside[..end].contains('\\');
    is_plain.then_some(&inside[end + 1..])
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn is_of_operator(character: char) -> bool {
    "+-*/<>=~!@#%^&|`?:".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_policies_call_only_asks() {
        for body in [
            "select current_setting('request.jwt.claims', true)::json ->> 'sub'",
            "\n  SELECT nullif(current_setting('request.jwt.claims',true),'')::jsonb->>'sub';\n",
            "select coalesce(\n nullif(current_setting('request.jwt.claim.sub', true), ''),\n (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')\n )::uuid",
            "select current_user = 'it''s' or current_setting('a') <> 'b' is not null",
            "select case when current_setting('a', true) = '' then null else 1 end",
        ] {
            assert!(only_asks(body, &[]), "{body}");
        }
        assert!(only_asks("select current_setting('request.jwt.claims', true)::json ->> claim", &["claim"]));
        assert!(only_asks("select current_setting($1, true)", &[]));
        assert!(only_asks("select ($1::json\n) ->> claim::text, claim, $2 = claim", &["claim"]));
    }

    #[test]
    fn what_is_not_understood_may_run_anything() {
        for body in [
            "",
            ";",
            "'a'",
            "1",
            "current_setting('a')",
            "select set_config('role', 'admin', false)",
            "select auth.uid()",
            "select \"set_config\"('a', 'b', false)",
            "select 1; select set_config('a', 'b', false)",
            "select 1;; ",
            "select coalesce((select set_config('a', 'b', false)), '')",
            "select (select 1)",
            "select current_setting('a') from t",
            "select current_setting('a') into t",
            "select current_setting('a') -- '\n, pg_advisory_lock(1)",
            "select current_setting('a') /* ' */",
            "select 1 --> 2",
            "select 'a\\', set_config('a', 'b', false), ''",
            "select E'a'",
            "select U&'a'",
            "select $a$b$a$",
            "select $1$a$1$",
            "select 'a",
            "select 1 + 2",
            "select '{}'::json ->>> 'a'",
            "select 'a'::regclass",
            "select 'a'::mine",
            "select claim",
            "select x.claim",
            "select lower$1('a')",
            "select 'a'::text$1",
            "select 1.5",
            "select 1e5",
            "select a[1]",
            "select current_setting('a') collate \"C\"",
            "insert into t values (1)",
            "select current_setting('a')\u{a0}",
        ] {
            assert!(!only_asks(body, &[]), "{body}");
        }
        for body in ["f()", "f\n ('a')", "'a'::f", "'a':: \t f", "$1 :: f", "f'a'", "f 'a'", "f$1"] {
            assert!(!only_asks(&format!("select {body}"), &["f"]), "{body}");
        }
    }
}
