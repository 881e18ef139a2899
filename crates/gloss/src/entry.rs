//! An entry as a source has it, before it is compiled.

/// One entry: what is said of a word or of a name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// The number by which the source knows it (`ent_seq`), 0 where it has none.
    pub number: u32,
    /// Whether it is a name of somebody or of some place.
    pub is_name: bool,
    /// As it is written with kanji (`keb`), in the source's order; empty where it is written in kana alone.
    pub headwords: Vec<Headword>,
    /// As it is read (`reb`), in the source's order.
    pub readings: Vec<Reading>,
    /// What it means, in the source's order.
    pub senses: Vec<Sense>,
}

/// A way to write an entry with kanji.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Headword {
    /// As it is written.
    pub text: String,
    /// What is said of it (`ke_inf`), by the source's codes: `iK`, `oK`, `rK`, `io`, `ateji`.
    pub marks: Vec<String>,
    /// How common it is.
    pub priority: Priority,
}

/// A way to read an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// In kana.
    pub text: String,
    /// What is said of it (`re_inf`), by the source's codes: `ik`, `ok`, `gikun`, `uK`.
    pub marks: Vec<String>,
    /// How common it is.
    pub priority: Priority,
    /// Which headwords are read so (`re_restr`), by their places; empty means all.
    pub of: Vec<u16>,
    /// Whether it is no reading of the headwords but another way to write the word (`re_nokanji`).
    pub is_apart: bool,
}

/// How common a form is, as the source says (`ke_pri`, `re_pri`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Priority {
    /// Whether it is marked as common: `news1`, `ichi1`, `spec1`, `spec2`, `gai1`, EDICT's `(P)`.
    pub is_common: bool,
    /// Which 500 of the words in newspapers it is among, 1 the most frequent (`nf01` to `nf48`); 0 where it is not said.
    pub band: u8,
}

/// One meaning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sense {
    /// Parts of speech by the source's codes: `n`, `v5k`, `adj-i`. JMdict leaves them out where they are those of the sense before; here
    /// they are written out.
    pub parts_of_speech: Vec<String>,
    /// Fields, dialects and other remarks by the source's codes: `comp`, `ksb`, `uk`, `arch`; the kind of a name: `surname`, `place`.
    pub notes: Vec<String>,
    /// A remark in words (`s_inf`).
    pub remark: Option<String>,
    /// Which headwords have it (`stagk`), by their places; empty means all.
    pub of_headwords: Vec<u16>,
    /// Which readings have it (`stagr`), by their places; empty means all.
    pub of_readings: Vec<u16>,
    /// In the reader's language.
    pub glosses: Vec<String>,
}
