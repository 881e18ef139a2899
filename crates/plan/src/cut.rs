//! Detection of embeds of which `db-max-rows` has left out rows.
//!
//! The limit of the embed is one row more, and the encoder leaves that row out. PostgreSQL writes some embeds as JSON, of
//! which the encoder sees no rows. These keep their limit.

use crate::read::{EmbedRead, Read, Value};
use thalweg_rows::Codec;

/// Lets the embeds of a root find one row more than may be returned. Returns whether any of them does.
pub(crate) fn choose(root: &mut Read<'_>) -> bool {
    let codecs: Vec<Codec> = root.outputs.iter().map(|output| output.codec.clone()).collect();
    embeds(root, &codecs.iter().map(Some).collect::<Vec<_>>())
}

/// Does the same below a level. The encoder sees values of its outputs by these codecs.
fn embeds(read: &mut Read<'_>, codecs: &[Option<&Codec>]) -> bool {
    let Read { outputs, embeds: below, .. } = read;
    let mut any = false;
    for (index, embed) in below.iter_mut().enumerate() {
        let mut lifted: Vec<Option<&Codec>> = vec![None; embed.read.outputs.len()];
        let mut own = None;
        for (output, codec) in outputs.iter().zip(codecs) {
            match output.value {
                Value::Embed(of) if of == index => own = *codec,
                Value::Lifted(of, at) if of == index => lifted[at] = *codec,
                _ => {}
            }
        }
        let is_to_one = embed.is_to_one();
        any |= match (embed.spread, own) {
            (true, _) if is_to_one => embeds(&mut embed.read, &lifted),
            (true, _) => lifted.iter().all(|codec| matches!(codec, Some(Codec::Values(_)))) && one_more(embed),
            (false, Some(Codec::Row(fields))) if is_to_one => {
                embeds(&mut embed.read, &fields.iter().map(|field| Some(&field.codec)).collect::<Vec<_>>())
            }
            (false, Some(Codec::List(row) | Codec::Values(row))) => {
                let is_cut = one_more(embed);
                let Codec::Row(fields) = &**row else { return any || is_cut };
                embeds(&mut embed.read, &fields.iter().map(|field| Some(&field.codec)).collect::<Vec<_>>()) || is_cut
            }
            (false, _) => false,
        };
    }
    any
}

fn one_more(embed: &mut EmbedRead<'_>) -> bool {
    let read = &mut embed.read;
    read.limit_rows = read.limit_rows.map(|rows| if read.is_capped { rows.saturating_add(1) } else { rows });
    read.is_capped
}
