//! Whether what a read returns is large, as far as that can be known before it is run.

use crate::read::{EmbedRead, From, Read};
use thalweg_catalog::Relation;

/// A response from relations that are together no larger than this is not large, in bytes.
const SMALL_BYTES_MAX: u64 = 1024 * 1024;
/// Nor is one of so many rows, unless a row is.
const FEW_ROWS_MAX: i64 = 100;

impl Read<'_> {
    /// Whether it returns all rows of large tables. How much a filter leaves, and what views and functions return, is not
    /// known.
    pub fn is_large(&self) -> bool {
        let are_few = self.limit_rows.is_some_and(|rows| rows <= FEW_ROWS_MAX);
        match &self.from {
            From::Relation(relation) => {
                self.conditions.is_empty() && !are_few && self.bytes(relation) > SMALL_BYTES_MAX
            }
            From::Call(_) => false,
        }
    }

    fn bytes(&self, relation: &Relation) -> u64 {
        let of_embed = |embed: &EmbedRead<'_>| embed.read.bytes(embed.target);
        self.embeds.iter().map(of_embed).fold(relation.size_bytes.unwrap_or(0), u64::saturating_add)
    }
}
