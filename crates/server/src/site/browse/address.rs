//! The address of a page of the API's: a request in the API's grammar, and what it says to the page besides.
//!
//! Names that begin with a colon are the page's own (`:edit=1`): the grammar knows no such name, so that none is taken from a column.

use thalweg_request::{Params, RequestError};

/// A request's path and query string.
#[derive(Debug, Clone, Default)]
pub(crate) struct Address {
    /// The path, as a client asks for it.
    pub(crate) path: String,
    /// What the API would read.
    pub(crate) pairs: Vec<(String, String)>,
    /// What is the page's own, without the colon.
    pub(crate) own: Vec<(String, String)>,
}

/// What a filter of the form is made of, in this order.
pub(crate) const FILTER_FIELDS: [&str; 3] = ["column", "op", "value"];

impl Address {
    pub(crate) fn of(path: String, query: &str) -> Result<Self, RequestError> {
        let params = Params::decode(query)?;
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let (own, pairs): (Vec<_>, Vec<_>) = params.iter().map(owned).partition(|(name, _)| name.starts_with(':'));
        let own = own.into_iter().map(|(name, value)| (name[1..].to_owned(), value)).collect();
        Ok(Self { path, pairs, own })
    }

    /// Whether a query string says anything to the page.
    pub(crate) fn speaks_to_page(query: &str) -> bool {
        query.split(['&', ';']).any(|pair| pair.starts_with(':') || pair.get(..3).is_some_and(is_escaped_colon))
    }

    /// What it says to the page by a name.
    pub(crate) fn says(&self, name: &str) -> Option<&str> {
        self.own.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The first value of the API's by a name.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The same with other values for some names, or none of them.
    pub(crate) fn with(&self, changes: &[(&str, Option<String>)]) -> Self {
        let mut next = self.clone();
        for (name, value) in changes {
            let place = next.pairs.iter().position(|(known, _)| known == name);
            match (place, value) {
                (Some(at), Some(value)) => next.pairs[at].1.clone_from(value),
                (None, Some(value)) => next.pairs.push(((*name).to_owned(), value.clone())),
                (_, None) => next.pairs.retain(|(known, _)| known != name),
            }
        }
        next
    }

    /// The same, saying only this to the page.
    pub(crate) fn saying(&self, own: &[(&str, &str)]) -> Self {
        let own = own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { own, ..self.clone() }
    }

    /// The query string that the API reads.
    pub(crate) fn query(&self) -> String {
        Self { path: String::new(), own: Vec::new(), pairs: self.pairs.clone() }.link().split_off(1)
    }

    /// As a link has it.
    pub(crate) fn link(&self) -> String {
        let mut link = self.path.clone();
        let own = self.own.iter().map(|(name, value)| (":", name, value));
        let pairs = self.pairs.iter().map(|(name, value)| ("", name, value));
        let mut mark = '?';
        for (colon, name, value) in pairs.chain(own) {
            link.push(mark);
            mark = '&';
            link.push_str(colon);
            encode(&mut link, name);
            link.push('=');
            encode(&mut link, value);
        }
        if mark == '?' && self.path.is_empty() {
            link.push(mark);
        }
        link
    }

    /// Of a form that was sent, the address that says the same: filters made of their fields, empty fields left out. `None` if
    /// it is of none.
    pub(crate) fn of_form(&self) -> Option<Self> {
        self.says("form")?;
        let mut next = Self { path: self.path.clone(), ..Self::default() };
        let is_optional = |name: &str| !self.own.iter().any(|(own, value)| own == "required" && value == name);
        let kept = |(name, value): &&(String, String)| name != "offset" && !(value.is_empty() && is_optional(name));
        next.pairs = self.pairs.iter().filter(kept).cloned().collect();
        next.own = self.own.iter().filter(|(name, value)| name == "count" && !value.is_empty()).cloned().collect();
        let fields: Vec<(&str, &str)> = self.own.iter().map(|(name, value)| (&**name, &**value)).collect();
        let [of_column, of_op, of_value] = FILTER_FIELDS;
        for filter in fields.windows(3) {
            let &[(one, column), (two, op), (three, value)] = filter else { continue };
            if (one, two, three) == (of_column, of_op, of_value) && !column.is_empty() && !op.is_empty() {
                next.pairs.push((column.to_owned(), operation(op, value)));
            }
        }
        Some(next)
    }
}

fn is_escaped_colon(text: &str) -> bool {
    text.eq_ignore_ascii_case("%3a")
}

/// A filter's value as the grammar has it.
fn operation(op: &str, value: &str) -> String {
    let bare = op.strip_prefix("not.").unwrap_or(op);
    match bare {
        "is" if value.is_empty() => format!("{op}.null"),
        "in" | "cs" | "cd" | "ov" if value.starts_with(['(', '{', '[']) => format!("{op}.{value}"),
        "in" => format!("{op}.({value})"),
        _ => format!("{op}.{value}"),
    }
}

/// A column's name as filters and orders have it: in quotes where it could be read as something else.
pub(crate) fn name(column: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_taken =
        matches!(column, "select" | "columns" | "on_conflict" | "order" | "limit" | "offset" | "and" | "or" | "not");
    match !column.is_empty() && column.chars().all(is_plain) && !is_taken {
        true => column.to_owned(),
        false => format!("\"{}\"", column.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// Appends text with all escaped that a query string or a segment of a path would read otherwise.
pub(crate) fn encode(out: &mut String, text: &str) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => out.push(char::from(byte)),
            b'-' | b'.' | b'_' | b'~' | b'*' | b'(' | b')' | b',' | b':' | b'!' | b'$' | b'@' => {
                out.push(char::from(byte))
            }
            _ => {
                out.push('%');
                out.push(char::from(DIGITS[usize::from(byte >> 4)]));
                out.push(char::from(DIGITS[usize::from(byte & 15)]));
            }
        }
    }
}

/// The address of a relation's rows that have these values.
pub(crate) fn of_rows(prefix: &str, relation: &str, values: &[(&str, &str)]) -> Address {
    let mut path = format!("{prefix}/");
    encode(&mut path, relation);
    let pairs = values.iter().map(|(column, value)| (name(column), format!("eq.{value}"))).collect();
    Address { path, pairs, own: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(query: &str) -> Address {
        Address::of("/flights".to_owned(), query).unwrap()
    }

    #[test]
    fn a_link_says_what_the_address_says() {
        let given = address("a%26b=eq.%3D%25+x&order=id&:edit=1&%22select%22=eq.1");
        assert_eq!(given.says("edit"), Some("1"));
        assert_eq!(given.link(), "/flights?a%26b=eq.%3D%25%20x&order=id&%22select%22=eq.1&:edit=1");
        assert_eq!(address(&given.query()).pairs, given.pairs);
        assert_eq!(address("").query(), "");
        assert_eq!(given.with(&[("order", None), ("limit", Some("5".to_owned()))]).value("limit"), Some("5"));
        assert!(Address::speaks_to_page("a=1&%3Aedit=1") && Address::speaks_to_page(":x"));
        assert!(!Address::speaks_to_page("a=:1&é=1") && !Address::speaks_to_page(""));
    }

    #[test]
    fn a_form_is_the_address_that_it_writes() {
        let form = "select=&order=id.desc&limit=20&offset=40&:form=1&:column=%22a.b%22&:op=not.in&:value=1,2\
                    &:column=name&:op=is&:value=&:column=&:op=eq&:value=&:column=x&:op=eq&:value=&:count=exact";
        let written = address(form).of_form().unwrap().link();
        assert_eq!(written, "/flights?order=id.desc&limit=20&%22a.b%22=not.in.(1,2)&name=is.null&x=eq.&:count=exact");
        assert!(address("order=id").of_form().is_none());
        // an argument that must be given may be empty
        assert_eq!(address("a=&b=&:required=a&:form=1").of_form().unwrap().link(), "/flights?a=");
    }

    #[test]
    fn names_are_quoted_where_they_could_mean_something_else() {
        for (column, expected) in
            [("id", "id"), ("a.b", "\"a.b\""), ("select", "\"select\""), ("a\"\\b", "\"a\\\"\\\\b\""), ("", "\"\"")]
        {
            assert_eq!(name(column), expected);
        }
        let rows = of_rows("/api", "<a b>", &[("a&b=c", "é/%")]);
        assert_eq!(rows.link(), "/api/%3Ca%20b%3E?%22a%26b%3Dc%22=eq.%C3%A9%2F%25");
    }
}
