//! Which language a reader gets: by what the path says, a cookie, or what the browser prefers (RFC 4647, section 3.4; RFC 9110, section 12.5.4).

use crate::format::LOCALE_BYTES_MAX;

/// How many languages of an `Accept-Language` are looked at.
pub const LANGUAGE_RANGES_MAX: usize = 32;

/// The language that is asked for first and is there, exactly or less exactly: `de-CH` finds `de`.
pub fn choose<'a>(
    available: &[&'a str],
    path: Option<&str>,
    cookie: Option<&str>,
    accept_language: Option<&str>,
) -> Option<&'a str> {
    let said = path.into_iter().chain(cookie).find_map(|tag| lookup(available, tag));
    said.or_else(|| accept_language.and_then(|header| accepted(available, header)))
}

/// A tag, and then what it says less exactly. A part of one letter only begins what is behind it, so that it goes along.
pub(super) fn shorter(tag: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(tag), |tag| {
        let (shorter, _) = tag.rsplit_once('-')?;
        Some(match shorter.rsplit_once('-') {
            Some((before, single)) if single.len() == 1 => before,
            _ => shorter,
        })
    })
}

fn lookup<'a>(available: &[&'a str], tag: &str) -> Option<&'a str> {
    let tag = Some(tag).filter(|tag| tag.len() <= LOCALE_BYTES_MAX)?;
    shorter(tag).find_map(|tag| available.iter().find(|known| known.eq_ignore_ascii_case(tag)).copied())
}

fn accepted<'a>(available: &[&'a str], header: &str) -> Option<&'a str> {
    let mut ranges: Vec<(&str, u16)> = header.split(',').take(LANGUAGE_RANGES_MAX).filter_map(range).collect();
    ranges.sort_by_key(|(_, quality)| std::cmp::Reverse(*quality));
    let is_refused = |language: &str| ranges.iter().any(|(tag, q)| *q == 0 && tag.eq_ignore_ascii_case(language));
    let wanted = ranges.iter().take_while(|(_, quality)| *quality > 0);
    wanted.filter_map(|(tag, _)| lookup(available, tag)).find(|language| !is_refused(language))
}

/// A language with its quality in thousandths.
fn range(text: &str) -> Option<(&str, u16)> {
    let Some((tag, weight)) = text.split_once(';') else { return Some((text.trim(), 1000)) };
    let (name, value) = weight.trim().split_once('=')?;
    let is_weight = name.eq_ignore_ascii_case("q") && (1..=5).contains(&value.len());
    let value: f32 = is_weight.then(|| value.parse().ok()).flatten()?;
    (0.0..=1.0).contains(&value).then_some((tag.trim(), (value * 1000.0).round() as u16))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AVAILABLE: [&str; 4] = ["de", "en", "pt-BR", "zh-Hant"];

    fn browser(header: &str) -> Option<&'static str> {
        choose(&AVAILABLE, None, None, Some(header))
    }

    #[test]
    fn what_is_said_first_is_chosen() {
        assert_eq!(choose(&AVAILABLE, Some("de"), Some("en"), Some("pt-BR")), Some("de"));
        assert_eq!(choose(&AVAILABLE, Some("flights"), Some("EN"), Some("pt-BR")), Some("en"));
        assert_eq!(choose(&AVAILABLE, None, Some("xx"), Some("pt-BR")), Some("pt-BR"));
        assert_eq!(choose(&AVAILABLE, None, None, None), None);
        assert_eq!(choose(&[], Some("de"), Some("de"), Some("de")), None);
    }

    #[test]
    fn languages_are_looked_up_from_exact_to_general() {
        for (header, language) in [
            ("de-CH", Some("de")),
            ("de-Latn-CH-1996", Some("de")),
            ("zh-Hant-TW", Some("zh-Hant")),
            ("zh-Hant-a-xyz", Some("zh-Hant")),
            ("ZH-HANT", Some("zh-Hant")),
            ("zh", None),
            ("pt, de", Some("de")),
            ("fr, en;q=0.5, de;q=0.8", Some("de")),
            ("en;q=0.5, de ; q=0.500", Some("en")),
            ("de;q=0, en;q=0.001", Some("en")),
            ("de-CH, de;q=0, en;q=0.1", Some("en")),
            ("*, de;q=0.1", Some("de")),
            ("*", None),
        ] {
            assert_eq!(browser(header), language, "{header}");
        }
    }

    #[test]
    fn what_is_no_preference_is_passed_over() {
        for header in
            ["", ",,,;", "de;q=2", "de;q=-1", "de;q=NaN", "de;level=1", "de;q", "é-\u{0}", "-", "--", &"de-".repeat(30)]
        {
            assert_eq!(browser(header), None, "{header}");
        }
        assert_eq!(browser(&format!("{}de", "fr,".repeat(LANGUAGE_RANGES_MAX - 1))), Some("de"));
        assert_eq!(browser(&format!("{}de", "fr,".repeat(LANGUAGE_RANGES_MAX))), None);
    }
}
