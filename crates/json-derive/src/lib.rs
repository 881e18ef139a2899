//! `#[derive(ToJson, FromJson)]` of thalweg-json: code that writes keys and punctuation as constants, and reads fields in the order in which they
//! are most likely to come.
//!
//! ```text
//!  HTTP bytes
//!    │
//!    │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode    rows → JSON, CSV
//!    ▼ server    chunks → response                        the HTTP socket
//!    beside it: catalog (what the database holds), gauge (what it cost)
//!  ► under json, when a program is compiled
//! ```
#![doc = include_str!("../README.md")]

/// Tokens of derived code. Its locals are its own, whatever the functions are called that attributes name.
macro_rules! code {
    ($($tokens:tt)*) => {
        ::quote::quote_spanned!(::proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}

mod attributes;
mod bounds;
mod case;
mod names;
mod read;
mod shape;
mod write;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Writes the type as JSON.
#[proc_macro_derive(ToJson, attributes(json, serde))]
pub fn to_json(input: TokenStream) -> TokenStream {
    expand(parse_macro_input!(input as DeriveInput), write::to_json)
}

/// Reads the type from JSON.
#[proc_macro_derive(FromJson, attributes(json, serde))]
pub fn from_json(input: TokenStream) -> TokenStream {
    expand(parse_macro_input!(input as DeriveInput), read::from_json)
}

/// Writes the members of a struct among those of another, of which it is a field with `flatten`.
#[proc_macro_derive(ToMembers, attributes(json, serde))]
pub fn to_members(input: TokenStream) -> TokenStream {
    expand(parse_macro_input!(input as DeriveInput), write::to_members)
}

/// Reads a struct from the members of another, of which it is a field with `flatten`.
#[proc_macro_derive(FromMembers, attributes(json, serde))]
pub fn from_members(input: TokenStream) -> TokenStream {
    expand(parse_macro_input!(input as DeriveInput), read::from_members)
}

fn expand(input: DeriveInput, by: fn(&shape::Type) -> syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    let expanded = shape::Type::of(&input).and_then(|this| by(&this));
    expanded.unwrap_or_else(|error| error.into_compile_error()).into()
}

#[cfg(test)]
mod tests;
