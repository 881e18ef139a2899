//! Whether a client would rather have a page than what the API makes (RFC 9110 section 12.5.1).

use hyper::header::{self, HeaderMap};

/// Whether a client says that it takes a page, and nothing of the API's with it more gladly. `*/*` alone is the API's.
pub(crate) fn prefers_page(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let mut entries = lines.flat_map(|line| line.split(',')).filter_map(Entry::of).enumerate().collect::<Vec<_>>();
    entries.retain(|(_, entry)| entry.whose != Whose::Nobody);
    let of_page = entries.iter().filter(|(_, entry)| entry.whose == Whose::Page && entry.weight > 0.0);
    let Some((at, page)) = of_page.max_by(|a, b| a.1.weight.total_cmp(&b.1.weight).then(b.0.cmp(&a.0))) else {
        return false;
    };
    entries.iter().all(|(other, entry)| match entry.whose {
        Whose::Api => entry.weight < page.weight || (entry.weight == page.weight && other > at),
        Whose::Anybody => entry.weight <= page.weight,
        Whose::Page | Whose::Nobody => true,
    })
}

struct Entry {
    whose: Whose,
    weight: f64,
}

/// Who makes a media type.
#[derive(PartialEq)]
enum Whose {
    Page,
    Api,
    /// It is a range.
    Anybody,
    Nobody,
}

impl Entry {
    fn of(text: &str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let name = parts.next().filter(|name| !name.is_empty())?.to_ascii_lowercase();
        let weight =
            parts.filter_map(|parameter| parameter.split_once('=')).find(|(name, _)| name.eq_ignore_ascii_case("q"));
        // what is no number is as if nothing were said
        let weight =
            weight.and_then(|(_, weight)| weight.trim().parse::<f64>().ok()).filter(|weight| weight.is_finite());
        let whose = match &*name {
            "text/html" | "application/xhtml+xml" => Whose::Page,
            "*/*" | "text/*" | "application/*" => Whose::Anybody,
            "text/csv" | "text/plain" | "application/octet-stream" | "application/json" => Whose::Api,
            name if name.ends_with("+json") || name.starts_with("application/vnd.pgrst.") => Whose::Api,
            _ => Whose::Nobody,
        };
        Some(Self { whose, weight: weight.unwrap_or(1.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn whoever_prefers_a_page() {
        for (accept, expected) in [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", true),
            ("text/html", true),
            ("TEXT/HTML; charset=utf-8", true),
            ("text/html, */*", true),
            ("text/html, application/json", true),
            ("text/html;q=0.9, application/json;q=0.8", true),
            ("image/png, text/html;q=0.1", true),
            // what the API makes
            ("*/*", false),
            ("", false),
            ("application/json", false),
            ("application/json, text/html", false),
            ("application/json, text/html;q=0.9, */*;q=0.1", false),
            ("text/html;q=0.8, application/vnd.pgrst.object+json", false),
            ("text/csv, text/html; q=0.5", false),
            ("text/html;q=0.5, */*", false),
            ("text/html;q=0", false),
            ("text/html;q=0, */*", false),
            ("image/avif,image/webp,*/*;q=0.8", false),
            ("text/html;q=NaN;q=1", true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(prefers_page(&headers), expected, "{accept}");
        }
        assert!(!prefers_page(&HeaderMap::new()));
    }
}
