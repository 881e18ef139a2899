//! What the program itself says in pages, which a site's catalogues may say otherwise.

use super::catalogue::Catalogue;
use std::sync::LazyLock;

const ENGLISH: &str = "en";
const SOURCES: [(&str, &str); 2] = [("de", include_str!("own/de.ftl")), (ENGLISH, include_str!("own/en.ftl"))];

static CATALOGUES: LazyLock<Vec<Catalogue>> = LazyLock::new(|| {
    let read =
        |(tag, text): (&str, &str)| Catalogue::read(format!("{tag}.ftl"), tag.parse().ok()?, text.to_owned()).ok();
    SOURCES.into_iter().filter_map(read).collect()
});

/// The catalogue of a language.
pub(super) fn catalogue(tag: &str) -> Option<&'static Catalogue> {
    CATALOGUES.iter().find(|known| known.language.eq_ignore_ascii_case(tag))
}

/// The one that has every message.
pub(super) fn english() -> Option<&'static Catalogue> {
    catalogue(ENGLISH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_languages_have_the_same_messages() {
        assert_eq!(CATALOGUES.len(), SOURCES.len());
        assert!(CATALOGUES.iter().all(|known| known.names().eq(english().unwrap().names())));
    }
}
