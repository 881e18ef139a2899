//! One page of a list: which one, how many there are, and the links to the others.

use crate::address::address_without;
use minijinja::value::Value;
use std::fmt::Write;
use std::sync::Arc;

/// Where in a list a page of it is.
#[derive(Clone, Debug)]
pub struct Pager {
    /// The number of the page, from 1 on; `None` where the list has no pages.
    pub page: Option<u64>,
    /// How many rows a page has.
    pub per_page: u64,
    /// How many rows there are in all, if that was asked for.
    pub total: Option<u64>,
    /// The path of the page that shows the list, and its query string.
    pub address: Arc<str>,
    /// The parameter of that which names the page.
    pub parameter: Arc<str>,
}

/// The names that a list of rows has in templates.
pub(crate) const NAMES: [&str; 8] =
    ["total", "page", "pages", "per_page", "previous", "next", "first_page", "last_page"];

impl Pager {
    /// How many rows are shown at most.
    pub(crate) fn rows_max(&self) -> usize {
        self.page.map_or(usize::MAX, |_| usize::try_from(self.per_page).unwrap_or(usize::MAX))
    }

    /// What a name means of a list of which so many rows were fetched, one more than are shown if there are more.
    pub(crate) fn value(&self, name: &str, fetched: usize) -> Option<Value> {
        if name == "total" {
            return Some(Value::from(self.total));
        }
        let page = self.page?;
        let pages = self.total.map(|total| total.div_ceil(self.per_page.max(1)).max(1));
        let link = |page: Option<u64>| Value::from(page.map(|page| self.link(page)));
        Some(match name {
            "page" => Value::from(page),
            "per_page" => Value::from(self.per_page),
            "pages" => Value::from(pages),
            "previous" => link((page > 1).then(|| pages.map_or(page - 1, |pages| pages.min(page - 1)))),
            "next" => link((fetched > self.rows_max()).then_some(page + 1)),
            "first_page" => link(Some(1)),
            "last_page" => link(pages),
            _ => return None,
        })
    }

    /// The address of the last page, if it is known and precedes this one.
    pub fn last_before(&self) -> Option<String> {
        let pages = self.total?.div_ceil(self.per_page.max(1)).max(1);
        (pages < self.page?).then(|| self.link(pages))
    }

    /// The address with another number in it.
    fn link(&self, page: u64) -> String {
        let mut link = address_without(&self.address, &self.parameter);
        if page != 1 {
            let mark = if link.contains('?') { '&' } else { '?' };
            let _ = write!(link, "{mark}{}={page}", self.parameter);
        }
        link
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pager(page: u64, total: Option<u64>) -> Pager {
        Pager {
            page: Some(page),
            per_page: 20,
            total,
            address: "/flights?q=a%26b&page=7&x=".into(),
            parameter: "page".into(),
        }
    }

    #[test]
    fn links_keep_the_rest_of_the_address() {
        let value = |pager: &Pager, name, fetched| pager.value(name, fetched).unwrap().to_string();
        let middle = pager(2, Some(41));
        assert_eq!(value(&middle, "next", 21), "/flights?q=a%26b&x=&page=3");
        assert_eq!(value(&middle, "previous", 21), "/flights?q=a%26b&x=");
        assert_eq!(value(&middle, "last_page", 21), "/flights?q=a%26b&x=&page=3");
        assert_eq!(value(&middle, "pages", 21), "3");
        // the last one, and one behind it
        assert_eq!(value(&pager(3, Some(41)), "next", 1), "None");
        assert_eq!(value(&pager(9, Some(41)), "previous", 0), "/flights?q=a%26b&x=&page=3");
        assert_eq!(pager(9, Some(41)).last_before().as_deref(), Some("/flights?q=a%26b&x=&page=3"));
        assert_eq!(pager(9, Some(0)).last_before().as_deref(), Some("/flights?q=a%26b&x="));
        assert_eq!((pager(3, Some(41)).last_before(), pager(9, None).last_before()), (None, None));
        // without a total
        assert_eq!(value(&pager(9, None), "previous", 0), "/flights?q=a%26b&x=&page=8");
        assert_eq!(value(&pager(1, None), "previous", 21), "None");
        assert!(pager(1, None).value("title", 3).is_none());
    }
}
