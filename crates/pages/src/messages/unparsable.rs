//! What Fluent's parser must not be given, since it would end the program.

/// How many braces and parentheses a message may open: its parser follows them by calling itself.
pub const MESSAGE_BRACKETS_MAX: usize = 100;

/// The first such thing, and where.
pub(super) fn fault(text: &str) -> Option<(usize, String)> {
    let brackets = || format!("a message has at most {MESSAGE_BRACKETS_MAX} braces and parentheses");
    let escape = || "an escape is \\u and four digits, or \\U and six, of 0 to 9 and A to F".to_owned();
    too_many_brackets(text).map(|at| (at, brackets())).or_else(|| broken_escape(text).map(|at| (at, escape())))
}

/// Where a message has more than it may. What a line begins with `name =` is a new one: in no other can that stand, or the parser
/// comes back from all that it has followed.
fn too_many_brackets(text: &str) -> Option<usize> {
    let (mut offset, mut brackets) = (0, 0);
    for line in text.split_inclusive('\n') {
        if begins_entry(line) {
            brackets = 0;
        }
        if !line.starts_with('#') {
            brackets += line.bytes().filter(|byte| matches!(byte, b'{' | b'(')).count();
        }
        if brackets > MESSAGE_BRACKETS_MAX {
            return Some(offset);
        }
        offset += line.len();
    }
    None
}

fn begins_entry(line: &str) -> bool {
    let Some((name, _)) = line.split_once('=') else { return false };
    let name = name.trim_end_matches(' ');
    let name = name.strip_prefix('-').unwrap_or(name);
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Where an escape ends too early and before a character of several bytes, which the parser would cut for its error.
fn broken_escape(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let escapes = text.match_indices("\\u").chain(text.match_indices("\\U"));
    let broken = escapes.filter(|(at, escape)| {
        let digits_max = if *escape == "\\u" { 4 } else { 6 };
        let behind = &bytes[at + escape.len()..];
        let digits = behind.iter().take(digits_max).take_while(|byte| byte.is_ascii_hexdigit()).count();
        digits < digits_max && behind.get(digits).is_some_and(|byte| !byte.is_ascii())
    });
    broken.map(|(at, _)| at).min()
}

#[cfg(test)]
mod tests {
    use crate::messages::{Messages, argument};
    use fluent_bundle::FluentArgs;
    use minijinja::Value;
    use proptest::prelude::*;

    const PIECES: [&str; 36] = [
        "a",
        "b = ",
        "\n",
        " ",
        "{",
        "}",
        "\"",
        "(",
        ")",
        "->",
        "[one]",
        "*[other]",
        ".t = ",
        "-c",
        "$n",
        "NUMBER",
        ",",
        ":",
        "1.50",
        "0",
        "#",
        "\\u12",
        "\\U00FFFF",
        "\\",
        "é",
        "\r\n",
        "x",
        "\n    ",
        "a = ",
        "\n-c = ",
        "[",
        "]",
        "-",
        "minimumFractionDigits: 15",
        "99999999999999999999999999",
        "type: \"ordinal\"",
    ];
    const BEGIN: &str = "z = { $n ->\n [one] 1\n *[other] { $n }\n }\nb = x\n";

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_text_and_no_number_end_the_program(
            pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..40),
            float: f64,
            integer: i64,
        ) {
            let text = BEGIN.to_owned() + &pieces.concat();
            let Ok(messages) = Messages::read(vec![("messages/ar.ftl".to_owned(), text)], None) else { return Ok(()) };
            for value in [Value::from(float), Value::from(integer), Value::from("x")] {
                let mut arguments = FluentArgs::new();
                arguments.set("n", argument("n", &value).unwrap());
                prop_assert!(messages.text("ar", "z", &arguments).is_ok());
                for id in ["a", "b", "a.t", "b.t"] {
                    let _ = messages.text("ar", id, &arguments);
                }
            }
        }
    }
}
