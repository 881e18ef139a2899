//! What the parameters of a type must be able to do, so that its fields can be read or written.

use crate::attributes::Default_;
use crate::shape::{Body, Field, Kind, Tagged, Type};
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{TypeParamBound, parse_quote};

/// Of a parameter of a type that is written.
pub(crate) fn for_writing(this: &Type<'_>, parameter: &Ident) -> Vec<TypeParamBound> {
    let json = &this.json;
    let (mut is_value, mut is_members) = (false, false);
    each(this, parameter, |field, has_members| {
        let is_written = !field.says.skip_write && field.says.with.write.is_none();
        *(if has_members { &mut is_members } else { &mut is_value }) |= is_written;
    });
    let value = is_value.then(|| parse_quote!(#json::ToJson));
    let members = is_members.then(|| parse_quote!(#json::ToMembers));
    value.into_iter().chain(members).collect()
}

/// Of a parameter of a type that is read.
pub(crate) fn for_reading(this: &Type<'_>, parameter: &Ident) -> Vec<TypeParamBound> {
    let json = &this.json;
    let (mut is_value, mut is_members, mut is_default) = (false, false, false);
    each(this, parameter, |field, has_members| {
        let is_read = !field.says.skip_read && field.says.with.read.is_none();
        *(if has_members { &mut is_members } else { &mut is_value }) |= is_read;
        is_default |= match &field.says.default {
            Some(Default_::Trait) => true,
            Some(Default_::Path(_)) => false,
            None => field.says.skip_read && this.says.default.is_none(),
        };
    });
    let value = is_value.then(|| parse_quote!(#json::FromJson<'de>));
    let members = is_members.then(|| parse_quote!(#json::FromMembers<'de>));
    let default = is_default.then(|| parse_quote!(::core::default::Default));
    value.into_iter().chain(members).chain(default).collect()
}

/// Tells each field whose type has the parameter, and whether its members stand among others.
fn each(this: &Type<'_>, parameter: &Ident, mut tell: impl FnMut(&Field<'_>, bool)) {
    let mut body = |body: &Body<'_>, is_beside_tag: bool| {
        let is_beside_tag = is_beside_tag && matches!(body, Body::Newtype(_));
        let fields = body.fields().filter(|field| has(field.ty.to_token_stream(), parameter));
        fields.for_each(|field| tell(field, field.says.flatten || is_beside_tag));
    };
    match &this.kind {
        Kind::Struct(fields) => body(fields, false),
        Kind::Enum(variants, tagged) => {
            variants.iter().for_each(|variant| body(&variant.body, matches!(tagged, Tagged::Inside(_))));
        }
    }
}

/// Whether a type has a parameter in it. `PhantomData` has nothing of its own.
fn has(ty: TokenStream, parameter: &Ident) -> bool {
    let mut tokens = ty.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(name) if name == "PhantomData" => {
                let is_open = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '<');
                let mut levels = usize::from(tokens.next_if(is_open).is_some());
                while levels > 0 {
                    match tokens.next() {
                        Some(TokenTree::Punct(punct)) if punct.as_char() == '<' => levels += 1,
                        Some(TokenTree::Punct(punct)) if punct.as_char() == '>' => levels -= 1,
                        Some(_) => {}
                        None => return false,
                    }
                }
            }
            TokenTree::Ident(name) if name == *parameter => return true,
            TokenTree::Group(group) if has(group.stream(), parameter) => return true,
            TokenTree::Ident(_) | TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    false
}
