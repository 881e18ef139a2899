//! JSONPath as RFC 9535 writes it.

use super::Fault;
use super::query::{Comparison, Condition, Operand, Origin, Query, Segment, Selector, Slice};
use crate::number::Number;
use crate::tree::Value;
use regex::{Regex, RegexBuilder};

/// How deep filters and parentheses may be nested. Whoever follows the path calls itself as often, and each filter may walk the
/// claims to their bottom.
const NESTING_LEVELS_MAX: usize = 8;
/// RFC 9535 §2.1: indexes are exact in a float.
const INDEX_MAX: i64 = (1 << 53) - 1;
/// What a pattern may become. That is enough for some thousand characters.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Reads a whole path.
pub(super) fn query(text: &str) -> Result<Query, Fault> {
    let mut parser = Parser { text, at: 0, nesting: 0 };
    parser.expect("$", "'$'")?;
    let query = Query { from: Origin::Root, segments: parser.segments()? };
    if parser.rest().is_empty() { Ok(query) } else { Err(parser.fault("'.', '[' or the end")) }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    nesting: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn fault(&self, expected: &'static str) -> Fault {
        Fault { at: self.at, expected }
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn accept(&mut self, token: &str) -> bool {
        let is_next = self.rest().starts_with(token);
        if is_next {
            self.at += token.len();
        }
        is_next
    }

    fn expect(&mut self, token: &str, expected: &'static str) -> Result<(), Fault> {
        if self.accept(token) { Ok(()) } else { Err(self.fault(expected)) }
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !wanted(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn blanks(&mut self) {
        self.take_while(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.nesting == NESTING_LEVELS_MAX {
            return Err(self.fault("no deeper filters and parentheses"));
        }
        self.nesting += 1;
        let read = read(self)?;
        self.nesting -= 1;
        Ok(read)
    }

    fn segments(&mut self) -> Result<Vec<Segment>, Fault> {
        let mut segments = Vec::new();
        loop {
            let before = self.at;
            self.blanks();
            if self.accept("..") {
                let selectors = if self.rest().starts_with('[') { self.brackets()? } else { vec![self.shorthand()?] };
                segments.push(Segment { is_deep: true, selectors });
            } else if self.accept(".") {
                segments.push(Segment::of(self.shorthand()?));
            } else if self.rest().starts_with('[') {
                segments.push(Segment { is_deep: false, selectors: self.brackets()? });
            } else {
                self.at = before;
                return Ok(segments);
            }
        }
    }

    /// What may stand behind a dot.
    fn shorthand(&mut self) -> Result<Selector, Fault> {
        if self.accept("*") {
            return Ok(Selector::Any);
        }
        let is_first = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
        if !self.next().is_some_and(is_first) {
            return Err(self.fault("a name or '*'"));
        }
        Ok(Selector::Name(self.take_while(|c| is_first(c) || c.is_ascii_digit()).to_owned()))
    }

    fn brackets(&mut self) -> Result<Vec<Selector>, Fault> {
        self.expect("[", "'['")?;
        let mut selectors = Vec::new();
        loop {
            self.blanks();
            selectors.push(self.selector()?);
            self.blanks();
            if self.accept("]") {
                return Ok(selectors);
            }
            self.expect(",", "',' or ']'")?;
        }
    }

    fn selector(&mut self) -> Result<Selector, Fault> {
        match self.next() {
            Some('\'' | '"') => Ok(Selector::Name(self.string()?)),
            Some('*') => {
                self.at += 1;
                Ok(Selector::Any)
            }
            Some('?') => {
                self.at += 1;
                self.blanks();
                Ok(Selector::Filter(self.nested(Self::any_of)?))
            }
            Some('-' | ':' | '0'..='9') => self.index_or_slice(),
            _ => Err(self.fault("a name in quotes, '*', a number, ':' or '?'")),
        }
    }

    fn index_or_slice(&mut self) -> Result<Selector, Fault> {
        let start = self.index()?;
        let behind_start = self.at;
        self.blanks();
        if !self.accept(":") {
            self.at = behind_start;
            return start.map(Selector::Index).ok_or(self.fault("an index"));
        }
        self.blanks();
        let end = self.index()?;
        let behind_end = self.at;
        self.blanks();
        let mut step = None;
        if self.accept(":") {
            let behind_colon = self.at;
            self.blanks();
            step = self.index()?;
            if step.is_none() {
                self.at = behind_colon;
            }
        } else {
            self.at = behind_end;
        }
        Ok(Selector::Slice(Slice { start, end, step: step.unwrap_or(1) }))
    }

    /// A whole number, if one stands here.
    fn index(&mut self) -> Result<Option<i64>, Fault> {
        let from = self.at;
        let is_negative = self.accept("-");
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() && !is_negative {
            return Ok(None);
        }
        let is_written = !digits.is_empty() && (!digits.starts_with('0') || digits == "0" && !is_negative);
        let index = digits.parse().ok().filter(|index: &i64| is_written && *index <= INDEX_MAX);
        match index {
            Some(index) => Ok(Some(if is_negative { -index } else { index })),
            None => Err(Fault { at: from, expected: "a whole number of at most 53 bits, without zeros before it" }),
        }
    }

    /// RFC 9535 §2.3.1: in either quotes, with JSON's escapes.
    fn string(&mut self) -> Result<String, Fault> {
        let quote = if self.accept("'") {
            '\''
        } else {
            self.expect("\"", "a text in quotes")?;
            '"'
        };
        let mut text = String::new();
        loop {
            let Some(c) = self.next() else { return Err(self.fault("a quote")) };
            self.at += c.len_utf8();
            match c {
                '\\' => text.push(self.escaped(quote)?),
                c if c == quote => return Ok(text),
                '\0'..='\u{1f}' => {
                    self.at -= 1;
                    return Err(self.fault("control characters escaped"));
                }
                c => text.push(c),
            }
        }
    }

    fn escaped(&mut self, quote: char) -> Result<char, Fault> {
        let expected = "an escape that JSON has";
        let Some(c) = self.next() else { return Err(self.fault(expected)) };
        let character = match c {
            'b' => '\u{8}',
            't' => '\t',
            'n' => '\n',
            'f' => '\u{c}',
            'r' => '\r',
            '/' | '\\' => c,
            'u' => {
                self.at += 1;
                return self.unicode();
            }
            c if c == quote => c,
            _ => return Err(self.fault(expected)),
        };
        self.at += 1;
        Ok(character)
    }

    fn unicode(&mut self) -> Result<char, Fault> {
        let from = self.at;
        let fault = Fault { at: from, expected: "four hexadecimal digits that are a character, or a pair" };
        let high = self.hex().ok_or(fault)?;
        let code = if (0xd800..0xdc00).contains(&high) && self.accept("\\u") {
            let low = self.hex().filter(|low| (0xdc00..0xe000).contains(low)).ok_or(fault)?;
            0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
        } else {
            high
        };
        char::from_u32(code).ok_or(fault)
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.rest().get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    /// `a || b`, of which each is `c && d`.
    fn any_of(&mut self) -> Result<Condition, Fault> {
        self.separated("||", |parser| parser.separated("&&", Self::basic, Condition::All), Condition::Any)
    }

    fn separated(
        &mut self,
        by: &str,
        read: impl Fn(&mut Self) -> Result<Condition, Fault>,
        join: impl FnOnce(Vec<Condition>) -> Condition,
    ) -> Result<Condition, Fault> {
        let first = read(self)?;
        let mut conditions = vec![first];
        loop {
            let before = self.at;
            self.blanks();
            if !self.accept(by) {
                self.at = before;
                break;
            }
            self.blanks();
            conditions.push(read(self)?);
        }
        Ok(join(conditions))
    }

    fn basic(&mut self) -> Result<Condition, Fault> {
        let is_negated = self.accept("!");
        if is_negated {
            self.blanks();
        }
        let condition = if self.accept("(") {
            self.blanks();
            let condition = self.nested(Self::any_of)?;
            self.blanks();
            self.expect(")", "')'")?;
            condition
        } else {
            self.test_or_comparison(is_negated)?
        };
        Ok(if is_negated { Condition::Not(Box::new(condition)) } else { condition })
    }

    fn test_or_comparison(&mut self, is_negated: bool) -> Result<Condition, Fault> {
        if self.rest().starts_with(|c: char| c.is_ascii_lowercase()) && !self.is_word() {
            return self.search();
        }
        let from = self.at;
        let left = self.operand()?;
        let behind = self.at;
        self.blanks();
        let Some(comparison) = self.comparison().filter(|_| !is_negated) else {
            self.at = behind;
            return match left {
                Operand::Query(query) => Ok(Condition::Exists(query)),
                Operand::Literal(_) => Err(self.fault("a comparison")),
            };
        };
        self.blanks();
        let is_one_value = |operand: &Operand| match operand {
            Operand::Query(query) => query.is_singular(),
            Operand::Literal(_) => true,
        };
        let expected = "a path to one value at most, since it is compared";
        if !is_one_value(&left) {
            return Err(Fault { at: from, expected });
        }
        let from = self.at;
        let right = self.operand()?;
        if is_one_value(&right) {
            Ok(Condition::Compare(left, comparison, right))
        } else {
            Err(Fault { at: from, expected })
        }
    }

    /// Whether `true`, `false` or `null` stands here.
    fn is_word(&self) -> bool {
        let rest = self.rest();
        let word = &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())];
        ["true", "false", "null"].contains(&word)
    }

    fn comparison(&mut self) -> Option<Comparison> {
        const COMPARISONS: [(&str, Comparison); 6] = [
            ("==", Comparison::Equal),
            ("!=", Comparison::Differs),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        COMPARISONS.iter().find(|(token, _)| self.accept(token)).map(|(_, comparison)| *comparison)
    }

    fn operand(&mut self) -> Result<Operand, Fault> {
        let literal = |value| Ok(Operand::Literal(value));
        match self.next() {
            Some('\'' | '"') => literal(Value::String(self.string()?)),
            Some('-' | '0'..='9') => literal(Value::Number(self.number()?)),
            Some('$') => Ok(Operand::Query(self.subquery(Origin::Root)?)),
            Some('@') => Ok(Operand::Query(self.subquery(Origin::Current)?)),
            Some(_) if self.is_word() => literal(match self.take_while(|c| c.is_ascii_lowercase()) {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                _ => Value::Null,
            }),
            _ => Err(self.fault("a path, a text in quotes, a number, true, false or null")),
        }
    }

    fn subquery(&mut self, from: Origin) -> Result<Query, Fault> {
        self.at += 1;
        Ok(Query { from, segments: self.segments()? })
    }

    /// RFC 9535 §2.3.5.1: JSON's numbers.
    fn number(&mut self) -> Result<Number, Fault> {
        let from = self.at;
        let fault = Fault { at: from, expected: "a number" };
        self.accept("-");
        let whole = self.take_while(|c| c.is_ascii_digit());
        if whole.is_empty() || whole.len() > 1 && whole.starts_with('0') {
            return Err(fault);
        }
        if self.accept(".") && self.take_while(|c| c.is_ascii_digit()).is_empty() {
            return Err(fault);
        }
        if self.accept("e") || self.accept("E") {
            let _is_signed = self.accept("-") || self.accept("+");
            if self.take_while(|c| c.is_ascii_digit()).is_empty() {
                return Err(fault);
            }
        }
        Ok(Number::of_json(self.text[from..self.at].to_owned()))
    }

    /// The only function: `search(value, 'pattern')`.
    fn search(&mut self) -> Result<Condition, Fault> {
        self.expect("search(", "'search(', the only function there is")?;
        self.blanks();
        let from = self.at;
        let value = self.operand()?;
        if let Operand::Query(query) = &value
            && !query.is_singular()
        {
            return Err(Fault { at: from, expected: "a path to one value at most, since it is searched" });
        }
        self.blanks();
        self.expect(",", "','")?;
        self.blanks();
        let from = self.at;
        let pattern = self.string().map_err(|fault| Fault { expected: "a pattern in quotes", ..fault })?;
        let regex: Option<Regex> = RegexBuilder::new(&pattern).size_limit(PATTERN_BYTES_MAX).build().ok();
        let regex = regex.ok_or(Fault { at: from, expected: "a regular expression that can be read" })?;
        self.blanks();
        self.expect(")", "')'")?;
        Ok(Condition::Search(value, regex))
    }
}
