//! Which columns of tables the columns of views stand for (embedding §2.1).
//!
//! PostgreSQL keeps a view as a parse tree, in which each column of the select list says what table's column it is,
//! if it is a plain reference: through joins, subselects and CTEs, but not through other views, which are named
//! instead. So a chain of views is followed here.

use std::collections::HashMap;
use thalweg_rows::oid::Oid;

/// A column of a relation: its OID and its `attnum`.
pub(crate) type ColumnOid = (Oid, i16);

/// What each column of a view is: its number, and the column it stands for.
pub(crate) type ViewColumns = Vec<(i16, ColumnOid)>;

/// How long a chain of views may be.
const VIEW_LEVELS_MAX: usize = 100;

/// Reads the select list of a view's rule, `pg_rewrite.ev_action` (source: PostgreSQL's `nodes/outfuncs.c`).
pub(crate) fn select_list(tree: &str) -> ViewColumns {
    // ({QUERY … :targetList ({TARGETENTRY …} …) …}): the list stands in the second level, its entries' fields in the fourth
    const LIST_LEVEL: usize = 2;
    let mut columns = Vec::new();
    let mut level = 0;
    let mut in_list = false;
    let mut field = "";
    let (mut number, mut table, mut column) = (0, 0, 0);
    for token in Tokens(tree) {
        match token {
            "(" | "{" => level += 1,
            ")" | "}" => {
                level -= 1;
                if in_list && level == LIST_LEVEL {
                    return columns;
                }
                if in_list && level == LIST_LEVEL + 1 && table != 0 && column > 0 {
                    columns.push((number, (table, column)));
                }
            }
            ":targetList" if level == LIST_LEVEL => in_list = true,
            name if name.starts_with(':') && level == LIST_LEVEL + 2 => field = name,
            value if in_list && level == LIST_LEVEL + 2 => match field {
                ":resno" => (number, table, column) = (value.parse().unwrap_or(0), 0, 0),
                ":resorigtbl" => table = value.parse().unwrap_or(0),
                ":resorigcol" => column = value.parse().unwrap_or(0),
                // what is only sorted or grouped by is no column of the view
                ":resjunk" if value == "true" => table = 0,
                _ => {}
            },
            _ => {}
        }
    }
    columns
}

/// The tokens of a node tree: brackets, and words in which a backslash takes the next character's meaning away.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start_matches([' ', '\n', '\t']);
        let bytes = text.as_bytes();
        let first = *bytes.first()?;
        let mut end = 1;
        if !matches!(first, b'(' | b')' | b'{' | b'}') {
            end = 0;
            while end < bytes.len() && !matches!(bytes[end], b' ' | b'\n' | b'\t' | b'(' | b')' | b'{' | b'}') {
                end += if bytes[end] == b'\\' { 2 } else { 1 };
            }
            // an escaped character may be longer than a byte
            end = end.min(bytes.len());
            while !text.is_char_boundary(end) {
                end += 1;
            }
        }
        let (token, rest) = text.split_at(end);
        self.0 = rest;
        Some(token)
    }
}

/// Follows columns through views until they are those of something else.
pub(crate) fn trace(views: &HashMap<Oid, ViewColumns>) -> HashMap<Oid, ViewColumns> {
    let follow = |mut column: ColumnOid| {
        for _ in 0..VIEW_LEVELS_MAX {
            let Some(view) = views.get(&column.0) else { return Some(column) };
            // a computed column of the inner view ends the chain
            column = view.iter().find(|(number, _)| *number == column.1)?.1;
        }
        None
    };
    let traced = |columns: &ViewColumns| -> ViewColumns {
        columns.iter().filter_map(|&(number, column)| Some((number, follow(column)?))).collect()
    };
    views.iter().map(|(&oid, columns)| (oid, traced(columns))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outermost_select_list_is_read() {
        let tree = "({QUERY :commandType 1 :cteList ({COMMONTABLEEXPR :ctequery {QUERY :targetList ({TARGETENTRY :expr \
                    {VAR :varno 1} :resno 1 :resname x :resorigtbl 7 :resorigcol 7 :resjunk false})}}) :rtable ({RTE \
                    :alias {ALIAS :aliasname odd\\ \\(name :colnames (\"a\" \"b\")}}) :targetList ({TARGETENTRY :expr {VAR \
                    :varno 1 :resno 9 :location 7} :resno 1 :resname id :ressortgroupref 0 :resorigtbl 16385 :resorigcol 2 \
                    :resjunk false} {TARGETENTRY :expr {CONST :constvalue 4 [ 1 0 ]} :resno 2 :resname c :resorigtbl 0 \
                    :resorigcol 0 :resjunk false} {TARGETENTRY :resno 3 :resname <> :resorigtbl 16385 :resorigcol 1 \
                    :resjunk true}) :override 0})";
        assert_eq!(select_list(tree), [(1, (16385, 2))]);
        assert_eq!(select_list("(((("), []);
        assert_eq!(select_list("\\é"), []);
    }

    #[test]
    fn chains_of_views_are_followed_to_a_table() {
        let views = HashMap::from([
            (1, vec![(1, (2, 1)), (2, (2, 2)), (3, (9, 4))]),
            (2, vec![(1, (9, 5))]),
            // cannot be, and must not hang
            (3, vec![(1, (3, 1))]),
        ]);
        let traced = trace(&views);
        assert_eq!(traced[&1], [(1, (9, 5)), (3, (9, 4))]);
        assert_eq!(traced[&2], [(1, (9, 5))]);
        assert_eq!(traced[&3], []);
    }
}
