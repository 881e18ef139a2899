//! What inflected words end on, read forward: an automaton made of the grammar.
//!
//! A word of a class is a stem and the ending of its dictionary form: 食べ and る. Each rule puts something else in place of that ending, and
//! what it puts there may inflect on: 食べ, させ and る, of the same class. So a state stands for "here the ending of a word of this class is
//! to come", an arc for a rule's text without the ending that its result has, and a text is read from where a stem may end: させられていた
//! leads from the class of 食べる over causative, passive and progressive to the past. A rule that only renames, as て for たべて, has an arc of no
//! text, which is joined with those behind it.

use crate::fold::is_hiragana;
use crate::grammar::{Class, Grammar, grammar};
use std::ops::Range;
use std::sync::LazyLock;

/// An ending is no longer than this.
pub(crate) const ENDING_CHARS_MAX: usize = 32;
/// So many arcs are followed from one place of a text: ambiguity that nobody writes ends there.
const STEPS_MAX: usize = 2048;

/// An ending that begins at some place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    /// Of the word that it is an ending of; the stem stands before it.
    pub(crate) class: u16,
    /// How many reasons there are for it.
    pub(crate) reasons: u16,
    /// Where it ends.
    pub(crate) end: u32,
    pub(crate) chain: Chain,
}

/// By which rules: a place in [`Chains`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chain(u32);

impl Chain {
    /// By none: the dictionary form.
    pub(crate) const NONE: Chain = Chain(u32::MAX);

    pub(crate) fn is_none(self) -> bool {
        self == Chain::NONE
    }
}

/// The chains of a text, which share their beginnings.
#[derive(Debug, Default)]
pub(crate) struct Chains(Vec<Link>);

#[derive(Debug, Clone, Copy)]
struct Link {
    before: Chain,
    rules: (u32, u32),
}

impl Chains {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    fn add(&mut self, before: Chain, rules: &Range<u32>) -> Chain {
        self.0.push(Link { before, rules: (rules.start, rules.end) });
        Chain(self.0.len() as u32 - 1)
    }

    /// The rules of a chain, the last first.
    pub(crate) fn rules(&self, chain: Chain) -> impl Iterator<Item = usize> + use<'_> {
        let mut at = chain;
        std::iter::from_fn(move || {
            let link = self.0.get(at.0 as usize)?;
            at = link.before;
            Some(*link)
        })
        .flat_map(|link| ENDINGS.rules[link.rules.0 as usize..link.rules.1 as usize].iter().rev())
        .map(|rule| usize::from(*rule))
    }
}

/// The automaton.
#[derive(Debug)]
pub(crate) struct Endings {
    /// Of each class, and behind them where all begin.
    states: Vec<State>,
    arcs: Vec<Arc>,
    labels: Vec<char>,
    rules: Vec<u16>,
    start: usize,
}

#[derive(Debug, Default)]
struct State {
    /// In order of the characters that they begin with.
    arcs: Range<u32>,
    /// Which kana they begin with.
    begin: u128,
    /// Whether some begin with what is no hiragana.
    begin_otherwise: bool,
    /// Where a word may end as it is.
    empty: Vec<Empty>,
}

/// An ending of no text.
#[derive(Debug, Clone)]
struct Empty {
    class: u16,
    rules: Range<u32>,
    reasons: u16,
}

#[derive(Debug, Clone)]
struct Arc {
    first: char,
    label: Range<u32>,
    /// None where the word ends.
    target: Option<u16>,
    /// From the start: which class it is an ending of.
    class: u16,
    rules: Range<u32>,
    reasons: u16,
}

pub(crate) static ENDINGS: LazyLock<Endings> = LazyLock::new(|| Endings::of(grammar()));

impl Endings {
    fn of(grammar: &Grammar) -> Endings {
        let classes = grammar.classes();
        let start = classes.len();
        let mut endings =
            Endings { states: Vec::new(), arcs: Vec::new(), labels: Vec::new(), rules: Vec::new(), start };
        for class in 0..classes.len() {
            let (mut arcs, mut empty) = (Vec::new(), Vec::new());
            endings.join(grammar, class, false, &mut arcs, &mut empty);
            endings.add_state(arcs, empty);
        }
        let (mut arcs, mut empty) = (Vec::new(), Vec::new());
        for (class, _) in classes.iter().enumerate().filter(|(_, class)| !class.parts_of_speech.is_empty()) {
            endings.join(grammar, class, true, &mut arcs, &mut empty);
        }
        endings.add_state(arcs, empty);
        endings
    }

    /// What leads on from a class: its rules, those of classes that it may be taken for without a text, and the endings of these.
    fn join(&mut self, grammar: &Grammar, class: usize, is_start: bool, arcs: &mut Vec<Arc>, empty: &mut Vec<Empty>) {
        let mut open = vec![(class, Vec::<u16>::new())];
        while let Some((at, rules)) = open.pop() {
            let this = &grammar.classes()[at];
            if this.stands && !(is_start && rules.is_empty()) {
                let (range, reasons) = self.rules(grammar, &rules);
                if this.ending.is_empty() {
                    empty.push(Empty { class: class as u16, rules: range, reasons });
                } else {
                    arcs.extend(self.arc(this.ending, None, class, range, reasons));
                }
            }
            for (number, rule) in grammar.rules().iter().enumerate().filter(|(_, rule)| rule.class == at) {
                let result = &grammar.classes()[rule.result];
                let label = rule.to.strip_suffix(result.ending).unwrap_or(rule.to);
                let rules: Vec<u16> = rules.iter().copied().chain([number as u16]).collect();
                if label.is_empty() {
                    open.push((rule.result, rules));
                } else {
                    let (range, reasons) = self.rules(grammar, &rules);
                    arcs.extend(self.arc(label, Some(rule.result as u16), class, range, reasons));
                }
            }
        }
    }

    fn rules(&mut self, grammar: &Grammar, rules: &[u16]) -> (Range<u32>, u16) {
        let from = self.rules.len() as u32;
        self.rules.extend(rules);
        let reasons = rules.iter().filter(|rule| grammar.rules()[usize::from(**rule)].reason.is_some()).count();
        (from..self.rules.len() as u32, reasons as u16)
    }

    fn arc(&mut self, label: &str, target: Option<u16>, class: usize, rules: Range<u32>, reasons: u16) -> Option<Arc> {
        let from = self.labels.len() as u32;
        self.labels.extend(label.chars());
        let first = label.chars().next()?;
        Some(Arc { first, label: from..self.labels.len() as u32, target, class: class as u16, rules, reasons })
    }

    fn add_state(&mut self, mut arcs: Vec<Arc>, empty: Vec<Empty>) {
        arcs.sort_by_key(|arc| (arc.first, arc.class));
        let from = self.arcs.len() as u32;
        let mut state = State { empty, ..State::default() };
        for arc in &arcs {
            match kana(arc.first) {
                Some(bit) => state.begin |= bit,
                None => state.begin_otherwise = true,
            }
        }
        self.arcs.extend(arcs);
        state.arcs = from..self.arcs.len() as u32;
        self.states.push(state);
    }

    /// The endings that have no text, and so begin everywhere: 食べ is a form of 食べる. Each ends where it begins.
    pub(crate) fn empty<'a>(&'a self, chains: &'a mut Chains) -> impl Iterator<Item = Ending> + use<'a> {
        self.states[self.start].empty.iter().map(|empty| {
            let chain = chains.add(Chain::NONE, &empty.rules);
            Ending { class: empty.class, reasons: empty.reasons, end: 0, chain }
        })
    }

    /// Appends the endings that begin at a place of a folded text and have some text.
    pub(crate) fn at(&self, text: &[char], from: usize, open: &mut Open, chains: &mut Chains, out: &mut Vec<Ending>) {
        let text = &text[..text.len().min(from + ENDING_CHARS_MAX)];
        let mut steps = 0;
        open.0.clear();
        self.open(&self.states[self.start], (from, Chain::NONE, 0, None), text, open);
        while let Some((arc, at, before, reasons, class)) = open.0.pop() {
            steps += 1;
            if steps > STEPS_MAX {
                return;
            }
            let arc = &self.arcs[arc as usize];
            let label = &self.labels[arc.label.start as usize..arc.label.end as usize];
            let at = at as usize;
            if !text[at..].starts_with(label) {
                continue;
            }
            let (end, class) = (at + label.len(), class.unwrap_or(arc.class));
            let chain = chains.add(before, &arc.rules);
            let reasons = reasons + arc.reasons;
            match arc.target {
                None => out.push(Ending { class, reasons, end: end as u32, chain }),
                Some(state) => {
                    self.visit(usize::from(state), (end, chain, reasons, Some(class)), text, open, chains, out)
                }
            }
        }
    }

    /// Ends in a state where a word may end as it is, and goes on from it.
    fn visit(
        &self,
        state: usize,
        (at, chain, reasons, class): (usize, Chain, u16, Option<u16>),
        text: &[char],
        open: &mut Open,
        chains: &mut Chains,
        out: &mut Vec<Ending>,
    ) {
        let state = &self.states[state];
        for empty in &state.empty {
            let chain = if empty.rules.is_empty() { chain } else { chains.add(chain, &empty.rules) };
            let class = class.unwrap_or(empty.class);
            out.push(Ending { class, reasons: reasons + empty.reasons, end: at as u32, chain });
        }
        self.open(state, (at, chain, reasons, class), text, open);
    }

    /// Opens the arcs of a state that go on with what is there.
    #[inline]
    fn open(
        &self,
        state: &State,
        (at, chain, reasons, class): (usize, Chain, u16, Option<u16>),
        text: &[char],
        open: &mut Open,
    ) {
        let Some(next) = text.get(at) else { return };
        let may_begin = match kana(*next) {
            Some(bit) => state.begin & bit != 0,
            None => state.begin_otherwise,
        };
        if !may_begin {
            return;
        }
        let arcs = &self.arcs[state.arcs.start as usize..state.arcs.end as usize];
        let from = arcs.partition_point(|arc| arc.first < *next);
        let these = arcs[from..].iter().take_while(|arc| arc.first == *next).count();
        let from = state.arcs.start + from as u32;
        open.0.extend((from..from + these as u32).rev().map(|arc| (arc, at as u32, chain, reasons, class)));
    }
}

/// Arcs to follow.
#[derive(Debug, Default)]
pub(crate) struct Open(Vec<(u32, u32, Chain, u16, Option<u16>)>);

/// Hiragana as one bit of so many.
fn kana(c: char) -> Option<u128> {
    is_hiragana(c).then(|| 1 << (c as u32 - 'ぁ' as u32))
}

/// The classes that entries of a dictionary have, in the order of their bits.
pub(crate) fn classes_of_entries() -> impl Iterator<Item = &'static Class> {
    grammar().classes().iter().filter(|class| !class.parts_of_speech.is_empty())
}
