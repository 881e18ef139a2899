//! The `Accept` header (representation §1.1).

/// A media type that a client accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaType<'a> {
    /// Type, subtype and parameters as they were written, without the weight.
    pub text: &'a str,
    /// Type and subtype.
    pub name: &'a str,
}

impl<'a> MediaType<'a> {
    /// A media type as it is written, without a weight.
    pub fn of(text: &'a str) -> Self {
        Self { text, name: text.split(';').next().unwrap_or(text).trim() }
    }

    /// Whether type and subtype are `name`, in any case.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The value of a parameter, without its quotes.
    pub fn parameter(&self, key: &str) -> Option<&'a str> {
        self.text.split(';').skip(1).find_map(|parameter| {
            let (name, value) = parameter.trim().split_once('=')?;
            name.trim().eq_ignore_ascii_case(key).then(|| value.trim().trim_matches('"'))
        })
    }
}

/// The accepted media types, best first; `*/*` where there is no header.
pub fn accepted(header: Option<&str>) -> Vec<MediaType<'_>> {
    let mut entries: Vec<(f64, i32, MediaType<'_>)> = header
        .unwrap_or("*/*")
        .split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            let (text, weight) = match entry.split_once(";q=").or_else(|| entry.split_once("; q=")) {
                Some((text, weight)) => {
                    let weight = weight.split(';').next().unwrap_or("").trim();
                    (text.trim_end(), weight.parse().unwrap_or(1.0))
                }
                None => (entry, 1.0),
            };
            let count = |c: char| text.matches(c).count() as i32;
            (weight, count(';') - count('*'), MediaType::of(text))
        })
        .collect();
    entries.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    if entries.is_empty() {
        return vec![MediaType { text: "*/*", name: "*/*" }];
    }
    entries.into_iter().map(|(_, _, media)| media).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_then_precision_then_order() {
        let names = |header| accepted(Some(header)).iter().map(|m| m.name).collect::<Vec<_>>();
        assert_eq!(
            names("text/csv, application/vnd.pgrst.object+json;nulls=stripped"),
            ["application/vnd.pgrst.object+json", "text/csv"]
        );
        assert_eq!(names("text/html, */*;q=0.8"), ["text/html", "*/*"]);
        assert_eq!(names("*/*, text/csv;q=0.1"), ["*/*", "text/csv"]);
        assert_eq!(names(""), ["*/*"]);
        let media = &accepted(Some("Application/JSON; nulls=\"stripped\""))[0];
        assert!(media.is("application/json"));
        assert_eq!(media.parameter("nulls"), Some("stripped"));
    }
}
