//! Select lists, filters and trees as text that reads back as what they are.

use crate::filter::{Comparison, Field, Filter, FtsOperator, IsWord, Operand, Operation, Quantifier, Tree};
use crate::select::{Embed, Item, Join};
use std::fmt::{self, Display, Formatter, Write};

/// A name or value between double quotes.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            if matches!(c, '"' | '\\') {
                f.write_char('\\')?;
            }
            f.write_char(c)?;
        }
        f.write_char('"')
    }
}

fn separated<T: Display>(f: &mut Formatter<'_>, items: &[T]) -> fmt::Result {
    for (at, item) in items.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { "," })?;
        item.fmt(f)?;
    }
    Ok(())
}

impl Display for Field<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Quoted(&self.name).fmt(f)?;
        for step in &self.path {
            f.write_str(if step.as_text { "->>" } else { "->" })?;
            match &step.operand {
                Operand::Key(key) => Quoted(key).fmt(f)?,
                Operand::Index(index) => index.fmt(f)?,
            }
        }
        Ok(())
    }
}

impl Display for Item<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let cast = |f: &mut Formatter<'_>, cast: &Option<&str>| cast.map_or(Ok(()), |cast| write!(f, "::{cast}"));
        match self {
            Self::All => f.write_char('*'),
            Self::CountRows { alias, cast: of_result } => {
                alias.as_ref().map_or(Ok(()), |alias| write!(f, "{}:", Quoted(alias)))?;
                f.write_str("count()")?;
                cast(f, of_result)
            }
            Self::Column { field, alias, cast: of_column, aggregate } => {
                alias.as_ref().map_or(Ok(()), |alias| write!(f, "{}:", Quoted(alias)))?;
                field.fmt(f)?;
                cast(f, of_column)?;
                let Some((aggregate, of_result)) = aggregate else { return Ok(()) };
                write!(f, ".{}()", aggregate.name())?;
                cast(f, of_result)
            }
            Self::Embed(embed) => embed.fmt(f),
        }
    }
}

impl Display for Embed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.spread { "..." } else { "" })?;
        self.alias.as_ref().map_or(Ok(()), |alias| write!(f, "{}:", Quoted(alias)))?;
        Quoted(&self.target).fmt(f)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "!{}", Quoted(hint)))?;
        f.write_str(if self.join == Join::Inner { "!inner(" } else { "(" })?;
        separated(f, &self.items)?;
        f.write_char(')')
    }
}

/// An operation, with its value in quotes or as it is.
struct Said<'a> {
    negated: bool,
    operation: &'a Operation<'a>,
    quoted: bool,
}

impl Display for Said<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let value = |f: &mut Formatter<'_>, value: &str| match self.quoted {
            true => Quoted(value).fmt(f),
            false => f.write_str(value),
        };
        f.write_str(if self.negated { "not." } else { "" })?;
        match self.operation {
            Operation::In(elements) => {
                let elements: Vec<Quoted<'_>> = elements.iter().map(|element| Quoted(element)).collect();
                f.write_str("in.(")?;
                separated(f, &elements)?;
                f.write_char(')')
            }
            Operation::Is(word) => f.write_str(match word {
                IsWord::Null => "is.null",
                IsWord::NotNull => "is.not_null",
                IsWord::True => "is.true",
                IsWord::False => "is.false",
                IsWord::Unknown => "is.unknown",
            }),
            Operation::Distinct(text) => {
                f.write_str("isdistinct.")?;
                match text {
                    Some(text) => value(f, text),
                    None => f.write_str("null"),
                }
            }
            Operation::Fts { operator, config, value: text } => {
                f.write_str(match operator {
                    FtsOperator::Fts => "fts",
                    FtsOperator::Plfts => "plfts",
                    FtsOperator::Phfts => "phfts",
                    FtsOperator::Wfts => "wfts",
                })?;
                config.as_ref().map_or(Ok(()), |config| write!(f, "({config})"))?;
                f.write_char('.')?;
                value(f, text)
            }
            Operation::Compare { operator, quantifier, value: text } => {
                f.write_str(operator.name())?;
                f.write_str(match quantifier {
                    Some(Quantifier::Any) => "(any).",
                    Some(Quantifier::All) => "(all).",
                    None => ".",
                })?;
                value(f, text)
            }
        }
    }
}

impl Comparison {
    /// Its name in the protocol.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, operator)| *operator == self).map_or("", |(name, _)| name)
    }
}

impl Filter<'_> {
    /// What stands behind the `=` of a parameter whose key is the field.
    pub fn value(&self) -> String {
        Said { negated: self.negated, operation: &self.operation, quoted: false }.to_string()
    }
}

/// The tree as it stands within another.
impl Display for Tree<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter(filter) => {
                let said = Said { negated: filter.negated, operation: &filter.operation, quoted: true };
                write!(f, "{}.{said}", filter.field)
            }
            Self::Node { negated, all, children } => {
                f.write_str(if *negated { "not." } else { "" })?;
                f.write_str(if *all { "and(" } else { "or(" })?;
                separated(f, children)?;
                f.write_char(')')
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{self, JsonStep};
    use crate::select::{self, Aggregate};
    use proptest::collection::vec;
    use proptest::option::of;
    use proptest::prelude::*;
    use std::borrow::Cow;

    fn name() -> impl Strategy<Value = Cow<'static, str>> {
        prop_oneof!["[a-z_]{1,6}", "[^\u{0}]{1,8}", "[\"\\\\.,:()*! >-]{1,6}"].prop_map(Cow::Owned)
    }

    fn value() -> impl Strategy<Value = Cow<'static, str>> {
        prop_oneof!["[^\u{0}]{0,8}", "[\"\\\\.,:(){}*! -]{0,6}"].prop_map(Cow::Owned)
    }

    fn cast() -> impl Strategy<Value = Option<&'static str>> {
        of(prop_oneof![Just("text"), Just("double precision"), Just("_int4"), Just("größe$")])
    }

    fn field() -> impl Strategy<Value = Field<'static>> {
        let operand = prop_oneof![value().prop_map(Operand::Key), any::<i32>().prop_map(Operand::Index)];
        let step = (any::<bool>(), operand).prop_map(|(as_text, operand)| JsonStep { as_text, operand });
        (name(), vec(step, 0..3)).prop_map(|(name, path)| Field { name, path })
    }

    fn aggregate() -> impl Strategy<Value = Aggregate> {
        use Aggregate::*;
        prop_oneof![Just(Sum), Just(Avg), Just(Count), Just(Max), Just(Min)]
    }

    fn items() -> impl Strategy<Value = Vec<Item<'static>>> {
        let leaf = prop_oneof![
            Just(Item::All),
            (of(name()), cast()).prop_map(|(alias, cast)| Item::CountRows { alias, cast }),
            (field(), of(name()), cast(), of((aggregate(), cast())))
                .prop_map(|(field, alias, cast, aggregate)| Item::Column { field, alias, cast, aggregate }),
        ];
        let item = leaf.prop_recursive(4, 24, 4, |inner| {
            let join = prop_oneof![Just(Join::Left), Just(Join::Inner)];
            (name(), of(name()), of(name()), join, any::<bool>(), vec(inner, 0..4)).prop_map(
                |(target, alias, hint, join, spread, items)| {
                    let alias = alias.filter(|_| !spread);
                    Item::Embed(Embed { target, alias, hint, join, spread, items })
                },
            )
        });
        vec(item, 1..5)
    }

    fn operation() -> impl Strategy<Value = Operation<'static>> {
        use Comparison::*;
        let quantified = prop_oneof![Just(Eq), Just(Gt), Just(Lte), Just(Like), Just(Imatch)];
        let plain =
            prop_oneof![Just(Neq), Just(Cs), Just(Ov), Just(Adj), Just(Nxl), Just(Eq), Just(Ilike), Just(Icontains)];
        let quantifier = prop_oneof![Just(Quantifier::Any), Just(Quantifier::All)];
        let words = prop_oneof![
            Just(IsWord::Null),
            Just(IsWord::NotNull),
            Just(IsWord::True),
            Just(IsWord::False),
            Just(IsWord::Unknown)
        ];
        let fts = prop_oneof![
            Just(FtsOperator::Fts),
            Just(FtsOperator::Plfts),
            Just(FtsOperator::Phfts),
            Just(FtsOperator::Wfts)
        ];
        prop_oneof![
            vec(value(), 0..4).prop_map(Operation::In),
            words.prop_map(Operation::Is),
            of(value()).prop_map(Operation::Distinct),
            (fts, of("[a-z]{1,5}"), value()).prop_map(|(operator, config, value)| Operation::Fts {
                operator,
                config: config.map(Cow::Owned),
                value
            }),
            (plain, value()).prop_map(|(operator, value)| Operation::Compare { operator, quantifier: None, value }),
            (quantified, quantifier, value()).prop_map(|(operator, quantifier, value)| Operation::Compare {
                operator,
                quantifier: Some(quantifier),
                value
            }),
        ]
    }

    fn one_filter() -> impl Strategy<Value = Filter<'static>> {
        (field(), any::<bool>(), operation()).prop_map(|(field, negated, operation)| Filter {
            field,
            negated,
            operation,
        })
    }

    fn tree() -> impl Strategy<Value = Tree<'static>> {
        one_filter().prop_map(Tree::Filter).prop_recursive(5, 32, 4, |inner| {
            (any::<bool>(), any::<bool>(), vec(inner, 1..4)).prop_map(|(negated, all, children)| Tree::Node {
                negated,
                all,
                children,
            })
        })
    }

    proptest! {
        #[test]
        fn select_lists_read_back_as_themselves(items in items()) {
            let texts: Vec<String> = items.iter().map(Item::to_string).collect();
            let text = texts.join(",");
            prop_assert_eq!(select::select(&text).unwrap(), items, "{}", text);
        }

        #[test]
        fn trees_read_back_as_themselves(tree in tree(), negated: bool, all: bool) {
            let text = format!("({tree})");
            let wanted = Tree::Node { negated, all, children: vec![tree] };
            prop_assert_eq!(filter::tree(negated, all, &text).unwrap(), wanted, "{}", text);
        }

        #[test]
        fn filters_read_back_as_themselves(filter in one_filter()) {
            let text = filter.value();
            prop_assert_eq!(&filter::top_level(filter.field.clone(), &text).unwrap(), &filter, "{}", text);
        }
    }
}
