//! What inflected words end on, read forward: an automaton made of the grammar.
//!
//! A word of a class is a stem and the ending of its dictionary form: 食べ and る. Each rule puts something else in place of that ending, and
//! what it puts there may inflect on: 食べ, させ and る, of the same class. So a state stands for "here the ending of a word of this class is
//! to come", an arc for a rule's text without the ending that its result has, and a text is read from where a stem may end: させられていた
//! leads from the class of 食べる over causative, passive and progressive to the past. A rule that only renames, as て for たべて, has an arc of no
//! text, which is joined with those behind it.

use crate::grammar::{Class, Grammar, grammar};
use std::ops::Range;
use std::sync::LazyLock;

/// An ending is no longer than this.
pub(crate) const ENDING_CHARS_MAX: usize = 32;
/// So many arcs are followed from one place of a text: ambiguity that nobody writes ends there.
const ARCS_FOLLOWED_MAX: usize = 2048;

/// An ending that begins at some place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    /// Of the word that it is an ending of; the stem stands before it. Of several classes with one dictionary ending, the first.
    pub(crate) class: u16,
    /// All of them, as bits of those that entries have.
    pub(crate) classes: u64,
    /// How many reasons there are for it.
    pub(crate) reasons: u16,
    /// Where it ends.
    pub(crate) end: u32,
    pub(crate) chain: Chain,
}

impl Ending {
    /// One of no text, at some place.
    #[inline]
    pub(crate) fn at(self, at: usize) -> Ending {
        Ending { end: at as u32, ..self }
    }
}

/// By which rules: a place in [`Chains`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    /// What each of them is found by.
    begins: Vec<Begin>,
    labels: Vec<char>,
    rules: Vec<u16>,
    start: usize,
}

#[derive(Debug)]
struct State {
    /// In order of their first two characters.
    arcs: Range<u32>,
    /// Which of the arcs is the first that begins with each kana, or [`NO_ARC`].
    at_kana: [u16; KANA],
    /// Of those that begin with what is no hiragana, the characters' last six bits.
    begin_otherwise: u64,
    /// Where a word may end as it is.
    empty: Vec<Empty>,
}

impl State {
    /// Whether an arc may begin with a character.
    #[inline]
    fn may_begin(&self, c: char) -> bool {
        match kana_number(c) {
            Some(number) => self.at_kana[number] != NO_ARC,
            None => self.begin_otherwise & 1 << (c as u32 % 64) != 0,
        }
    }

    /// Whether there is something here before a character.
    #[inline]
    fn goes_on(&self, next: Option<&char>) -> bool {
        !self.empty.is_empty() || next.is_some_and(|next| self.may_begin(*next))
    }
}

/// No arc begins with a kana.
const NO_ARC: u16 = u16::MAX;

/// Before all characters, and none that an arc has.
const NO_CHAR: char = '\0';

/// What an arc is found by.
#[derive(Debug)]
struct Begin {
    /// Its first two characters; if it has one alone, anything may follow, and the second is [`NO_CHAR`].
    first: char,
    second: char,
    len: u16,
    target: Option<u16>,
}

/// An ending of no text.
#[derive(Debug, Clone)]
struct Empty {
    /// Where one of these follows, it is no ending.
    not_before: &'static str,
    class: u16,
    classes: u64,
    rules: Range<u32>,
    reasons: u16,
}

#[derive(Debug, Clone)]
struct Arc {
    first: char,
    label: Range<u32>,
    /// None where the word ends.
    target: Option<u16>,
    /// From the start: which class it is an ending of, and all for which it is the same.
    class: u16,
    classes: u64,
    rules: Range<u32>,
    reasons: u16,
}

pub(crate) static ENDINGS: LazyLock<Endings> = LazyLock::new(|| Endings::of(grammar()));

impl Endings {
    fn of(grammar: &Grammar) -> Endings {
        let classes = grammar.classes();
        let start = classes.len();
        let mut endings = Endings {
            states: Vec::new(),
            arcs: Vec::new(),
            begins: Vec::new(),
            labels: Vec::new(),
            rules: Vec::new(),
            start,
        };
        for class in 0..classes.len() {
            let (mut arcs, mut empty) = (Vec::new(), Vec::new());
            endings.join(grammar, class, false, &mut arcs, &mut empty);
            endings.add_state(arcs, empty);
        }
        let (mut arcs, mut empty) = (Vec::new(), Vec::new());
        for (class, _) in classes.iter().enumerate().filter(|(_, class)| !class.parts_of_speech.is_empty()) {
            endings.join(grammar, class, true, &mut arcs, &mut empty);
        }
        let label = |arc: &Arc| &endings.labels[arc.label.start as usize..arc.label.end as usize];
        let is_same_arc = |a: &Arc, b: &Arc| {
            (label(a), a.target) == (label(b), b.target)
                && endings.is_same(grammar, (a.class, &a.rules), (b.class, &b.rules))
        };
        let is_same_empty = |a: &Empty, b: &Empty| endings.is_same(grammar, (a.class, &a.rules), (b.class, &b.rules));
        let arcs = united(arcs, is_same_arc, |arc| &mut arc.classes);
        let empty = united(empty, is_same_empty, |empty| &mut empty.classes);
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
                    empty.push(Empty {
                        not_before: this.not_before,
                        class: class as u16,
                        classes: bit(grammar, class),
                        rules: range,
                        reasons,
                    });
                } else {
                    arcs.extend(self.arc(this.ending, None, (class, bit(grammar, class)), range, reasons));
                }
            }
            for number in grammar.rules_of(at) {
                let rule = &grammar.rules()[usize::from(*number)];
                let label = grammar.consumed(rule);
                let rules: Vec<u16> = rules.iter().copied().chain([*number]).collect();
                if label.is_empty() {
                    open.push((rule.result, rules));
                } else {
                    let (range, reasons) = self.rules(grammar, &rules);
                    arcs.extend(self.arc(
                        label,
                        Some(rule.result as u16),
                        (class, bit(grammar, class)),
                        range,
                        reasons,
                    ));
                }
            }
        }
    }

    /// Whether words of two classes look the same before an ending, and have it for the same reasons.
    fn is_same(&self, grammar: &Grammar, a: (u16, &Range<u32>), b: (u16, &Range<u32>)) -> bool {
        let class = |class: u16| {
            let class = &grammar.classes()[usize::from(class)];
            (class.ending, class.after_kanji)
        };
        let reasons = |rules: &Range<u32>| {
            let rules = self.rules[rules.start as usize..rules.end as usize].iter();
            rules.filter_map(|rule| grammar.rules()[usize::from(*rule)].reason).collect::<Vec<_>>()
        };
        class(a.0) == class(b.0) && reasons(a.1) == reasons(b.1)
    }

    fn rules(&mut self, grammar: &Grammar, rules: &[u16]) -> (Range<u32>, u16) {
        let from = self.rules.len() as u32;
        self.rules.extend(rules);
        let reasons = rules.iter().filter(|rule| grammar.rules()[usize::from(**rule)].reason.is_some()).count();
        (from..self.rules.len() as u32, reasons as u16)
    }

    fn arc(
        &mut self,
        label: &str,
        target: Option<u16>,
        (class, classes): (usize, u64),
        rules: Range<u32>,
        reasons: u16,
    ) -> Option<Arc> {
        let from = self.labels.len() as u32;
        self.labels.extend(label.chars());
        let first = label.chars().next()?;
        Some(Arc { first, label: from..self.labels.len() as u32, target, class: class as u16, classes, rules, reasons })
    }

    fn add_state(&mut self, mut arcs: Vec<Arc>, empty: Vec<Empty>) {
        arcs.sort_by_key(|arc| (arc.first, self.label(arc).get(1).copied(), arc.class));
        let from = self.arcs.len() as u32;
        let arcs_at = from..from + arcs.len() as u32;
        let mut state = State { arcs: arcs_at, at_kana: [NO_ARC; KANA], begin_otherwise: 0, empty };
        for (at, arc) in arcs.iter().enumerate().rev() {
            match kana_number(arc.first) {
                Some(number) => state.at_kana[number] = at as u16,
                None => state.begin_otherwise |= 1 << (arc.first as u32 % 64),
            }
        }
        for arc in &arcs {
            let label = self.label(arc);
            let (second, len) = (label.get(1).copied().unwrap_or(NO_CHAR), label.len() as u16);
            self.begins.push(Begin { first: arc.first, second, len, target: arc.target });
        }
        self.arcs.extend(arcs);
        self.states.push(state);
    }

    /// The endings that have no text, and so begin everywhere: 食べ is a form of 食べる. Each ends where it begins.
    pub(crate) fn empty<'a>(&'a self, chains: &'a mut Chains) -> impl Iterator<Item = Ending> + use<'a> {
        self.states[self.start].empty.iter().map(|empty| {
            let chain = chains.add(Chain::NONE, &empty.rules);
            Ending { class: empty.class, classes: empty.classes, reasons: empty.reasons, end: 0, chain }
        })
    }

    /// Appends the endings that begin at a place of a folded text and have some text.
    pub(crate) fn at(&self, text: &[char], from: usize, open: &mut Open, chains: &mut Chains, out: &mut Vec<Ending>) {
        let text = &text[..text.len().min(from + ENDING_CHARS_MAX)];
        let mut steps = 0;
        open.0.clear();
        self.open(
            self.start,
            Begun { at: from as u32, chain: Chain::NONE, reasons: 0, class: NO_CLASS, classes: 0 },
            text,
            open,
        );
        while let Some((arc, begun)) = open.0.pop() {
            steps += 1;
            if steps > ARCS_FOLLOWED_MAX {
                return;
            }
            let arc = &self.arcs[arc as usize];
            let (class, classes) =
                if begun.class == NO_CLASS { (arc.class, arc.classes) } else { (begun.class, begun.classes) };
            let at = begun.at + (arc.label.end - arc.label.start);
            let chain = chains.add(begun.chain, &arc.rules);
            let begun = Begun { at, chain, reasons: begun.reasons + arc.reasons, class, classes };
            let Some(state) = arc.target else {
                out.push(Ending { class, classes, reasons: begun.reasons, end: at, chain });
                continue;
            };
            for empty in &self.states[usize::from(state)].empty {
                let follows = |c: char| text.get(at as usize) == Some(&c);
                if empty.not_before.chars().any(follows) {
                    continue;
                }
                let chain = if empty.rules.is_empty() { chain } else { chains.add(chain, &empty.rules) };
                out.push(Ending { class, classes, reasons: begun.reasons + empty.reasons, end: at, chain });
            }
            self.open(state.into(), begun, text, open);
        }
    }

    /// Opens the arcs of a state whose text is there.
    #[inline]
    fn open(&self, state: usize, begun: Begun, text: &[char], open: &mut Open) {
        let state = &self.states[state];
        if let Some([next, ..]) = text.get(begun.at as usize..)
            && state.may_begin(*next)
        {
            self.open_begun(state, begun, &text[begun.at as usize..], open);
        }
    }

    fn open_begun(&self, state: &State, begun: Begun, behind: &[char], open: &mut Open) {
        let (next, second) = (behind[0], behind.get(1).copied().unwrap_or(NO_CHAR));
        let begins = &self.begins[state.arcs.start as usize..state.arcs.end as usize];
        let from = match kana_number(next) {
            Some(number) => state.at_kana[number],
            None => begins.partition_point(|begin| begin.first < next) as u16,
        };
        let these = begins.get(usize::from(from)..).unwrap_or_default();
        for (number, begin) in (state.arcs.start + u32::from(from)..).zip(these) {
            // those of one character come first, then in order of the second
            if begin.first != next || begin.second > second {
                return;
            }
            if begin.second != second && begin.second != NO_CHAR {
                continue;
            }
            let is_there = begin.len <= 2 || behind.starts_with(self.label(&self.arcs[number as usize]));
            let goes_on = |state: u16| self.states[usize::from(state)].goes_on(behind.get(usize::from(begin.len)));
            if is_there && begin.target.is_none_or(goes_on) {
                open.0.push((number, begun));
            }
        }
    }

    fn label(&self, arc: &Arc) -> &[char] {
        &self.labels[arc.label.start as usize..arc.label.end as usize]
    }
}

/// Arcs to follow.
#[derive(Debug, Default)]
pub(crate) struct Open(Vec<(u32, Begun)>);

/// What has been read of an ending.
#[derive(Debug, Clone, Copy)]
struct Begun {
    at: u32,
    chain: Chain,
    reasons: u16,
    class: u16,
    classes: u64,
}

/// Before the first arc, which says of which class it is an ending.
const NO_CLASS: u16 = u16::MAX;

/// What several classes have that looks and means the same made one, with the classes of all.
fn united<T>(all: Vec<T>, is_same: impl Fn(&T, &T) -> bool, classes: impl Fn(&mut T) -> &mut u64) -> Vec<T> {
    let mut united = Vec::<T>::new();
    for mut this in all {
        match united.iter_mut().find(|known| is_same(known, &this)) {
            Some(known) => *classes(known) |= *classes(&mut this),
            None => united.push(this),
        }
    }
    united
}

/// So many hiragana there are.
const KANA: usize = 'ゖ' as usize - 'ぁ' as usize + 1;

/// Which of them a character is.
#[inline]
fn kana_number(c: char) -> Option<usize> {
    (c as usize).checked_sub('ぁ' as usize).filter(|number| *number < KANA)
}

/// The classes that entries of a dictionary have, in the order of their bits.
pub(crate) fn classes_of_entries() -> impl Iterator<Item = &'static Class> {
    grammar().classes().iter().filter(|class| !class.parts_of_speech.is_empty())
}

/// The bit of a class, if entries have it.
fn bit(grammar: &Grammar, class: usize) -> u64 {
    let has_entries = |class: &&Class| !class.parts_of_speech.is_empty();
    let classes = &grammar.classes()[..class];
    if grammar.classes().get(class).is_some_and(|class| has_entries(&class)) {
        1 << classes.iter().filter(has_entries).count()
    } else {
        0
    }
}
