//! `ToJson` and `ToMembers`.

use crate::bounds;
use crate::shape::{Body, Field, Kind, Tagged, Type, Variant};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Error, Result};

pub(crate) fn to_json(this: &Type<'_>) -> Result<TokenStream> {
    let json = &this.json;
    let written = match &this.kind {
        Kind::Struct(body) => {
            let access = |field: &Field<'_>| {
                let member = &field.member;
                code!(&self.#member)
            };
            let mut text = Text::new(json);
            match body.fields().find(|field| !field.says.skip_write) {
                Some(field) if this.says.transparent => text.value(field, &access(field)),
                _ => text.body(body, &access),
            }
            text.end()
        }
        Kind::Enum(variants, tagged) => {
            let arms = variants.iter().map(|variant| arm(this, variant, tagged));
            // an enum without variants is matched as what it is, not as a reference
            let matched = if variants.is_empty() { code!(*self) } else { code!(self) };
            code!(match #matched { #(#arms)* })
        }
    };
    let header = header(this, &code!(#json::ToJson));
    Ok(code! {
        #[automatically_derived]
        #header {
            #[inline]
            fn to_json<'json_out>(&self, out: #json::Writer<'json_out>) -> #json::Writer<'json_out> {
                #written
            }
        }
    })
}

pub(crate) fn to_members(this: &Type<'_>) -> Result<TokenStream> {
    let json = &this.json;
    let Kind::Struct(Body::Named(fields)) = &this.kind else {
        return Err(Error::new(this.name.span(), "only a struct whose fields have names can be flattened"));
    };
    let mut text = Text { state: State::Unknown, is_declared: true, ..Text::new(json) };
    text.fields(fields, &|field| {
        let member = &field.member;
        code!(&self.#member)
    });
    let written = text.end_members();
    let header = header(this, &code!(#json::ToMembers));
    Ok(code! {
        #[automatically_derived]
        #header {
            #[inline]
            fn to_members<'json_out>(
                &self,
                out: #json::Writer<'json_out>,
                is_first: &mut bool,
            ) -> #json::Writer<'json_out> {
                #written
            }
        }
    })
}

/// `impl<…> Trait for Type<…> where …`.
fn header(this: &Type<'_>, of: &TokenStream) -> TokenStream {
    let mut generics = this.generics.clone();
    match &this.says.bound.write {
        Some(predicates) => generics.make_where_clause().predicates.extend(predicates.iter().cloned()),
        None => {
            for parameter in generics.type_params_mut() {
                let bounds = bounds::for_writing(this, &parameter.ident);
                parameter.bounds.extend(bounds);
            }
        }
    }
    let (parameters, arguments, clause) = generics.split_for_impl();
    let (arguments, name) = (arguments.to_token_stream(), this.name);
    code!(impl #parameters #of for #name #arguments #clause)
}

/// A variant of an enum.
fn arm(this: &Type<'_>, variant: &Variant<'_>, tagged: &Tagged) -> TokenStream {
    let (name, json) = (variant.name, &this.json);
    let pattern = match &variant.body {
        Body::Unit => code!(Self::#name),
        Body::Newtype(_) | Body::Tuple(_) | Body::Named(_) => {
            let members = variant.body.fields().map(|field| (&field.member, &field.local));
            let bound = members.map(|(member, local)| code!(#member: #local));
            code!(Self::#name { #(#bound),* })
        }
    };
    if variant.says.skip_write {
        let message = format!("the enum variant {}::{name} cannot be serialized", this.name);
        return code!(#[allow(unused_variables)] #pattern => ::core::panic!(#message),);
    }
    let access = |field: &Field<'_>| field.local.to_token_stream();
    let mut text = Text::new(json);
    let quoted = json_string(&variant.write);
    match (tagged, &variant.body) {
        (Tagged::Outside, Body::Unit) => text.constant(&quoted),
        (Tagged::Outside, body) => {
            text.constant(&format!("{{{quoted}:"));
            text.body(body, &access);
            text.constant("}");
        }
        (Tagged::Not, body) => text.body(body, &access),
        (Tagged::Inside(tag), body) => {
            text.constant(&format!("{{{}:{quoted}", json_string(tag)));
            text.state = State::Later;
            match body {
                Body::Named(fields) => text.fields(fields, &access),
                Body::Newtype(field) => text.members(&access(field)),
                Body::Unit | Body::Tuple(_) => {}
            }
            text.constant("}");
        }
        (Tagged::Beside(tag, content), body) => {
            text.constant(&format!("{{{}:{quoted}", json_string(tag)));
            if !matches!(body, Body::Unit) {
                text.constant(&format!(",{}:", json_string(content)));
                text.body(body, &access);
            }
            text.constant("}");
        }
    }
    let written = text.end();
    code!(#[allow(unused_variables)] #pattern => { #written })
}

/// Code that writes a text: constants that follow each other are one.
struct Text<'a> {
    json: &'a TokenStream,
    constant: String,
    code: TokenStream,
    state: State,
    /// Whether the code knows by `is_first` if a member comes first.
    is_declared: bool,
}

/// Whether the next member is the first of its object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    First,
    Later,
    /// Only the code knows.
    Unknown,
}

impl<'a> Text<'a> {
    fn new(json: &'a TokenStream) -> Self {
        Text { json, constant: String::new(), code: TokenStream::new(), state: State::First, is_declared: false }
    }

    fn constant(&mut self, text: &str) {
        self.constant.push_str(text);
    }

    /// Up to here the constant is written.
    fn flush(&mut self) {
        if !self.constant.is_empty() {
            let constant = std::mem::take(&mut self.constant);
            self.code.extend(code!(let out = out.literal(#constant);));
        }
    }

    fn value(&mut self, field: &Field<'_>, access: &TokenStream) {
        self.flush();
        let json = self.json;
        let written = match &field.says.with.write {
            Some(with) => code!(#with(#access, out)),
            None => code!(#json::ToJson::to_json(#access, out)),
        };
        self.code.extend(code!(let out = #written;));
    }

    fn body(&mut self, body: &Body<'_>, access: &dyn Fn(&Field<'_>) -> TokenStream) {
        match body {
            Body::Unit => self.constant("null"),
            Body::Newtype(field) => self.value(field, &access(field)),
            Body::Tuple(fields) => {
                self.constant("[");
                for (at, field) in fields.iter().filter(|field| !field.says.skip_write).enumerate() {
                    self.constant(if at == 0 { "" } else { "," });
                    self.value(field, &access(field));
                }
                self.constant("]");
            }
            Body::Named(fields) => {
                self.constant("{");
                self.state = State::First;
                self.fields(fields, access);
                self.constant("}");
            }
        }
    }

    fn fields(&mut self, fields: &[Field<'_>], access: &dyn Fn(&Field<'_>) -> TokenStream) {
        for field in fields.iter().filter(|field| !field.says.skip_write) {
            let access = access(field);
            match &field.says.skip_if {
                _ if field.says.flatten => self.members(&access),
                None => {
                    self.key(field);
                    self.value(field, &access);
                    self.state = State::Later;
                }
                Some(skip) => self.optional(field, &access, skip),
            }
        }
    }

    /// A member that may be left out.
    fn optional(&mut self, field: &Field<'_>, access: &TokenStream, skip: &syn::ExprPath) {
        self.flush();
        self.declare();
        let before = self.state;
        let mut inner = Text { state: before, is_declared: true, ..Text::new(self.json) };
        inner.key(field);
        inner.value(field, access);
        inner.code.extend(if before == State::Later { TokenStream::new() } else { code!(*is_first = false;) });
        let written = inner.end();
        self.code.extend(code!(let out = if #skip(#access) { out } else { #written };));
        if before != State::Later {
            self.state = State::Unknown;
        }
    }

    /// The members of a value among these.
    fn members(&mut self, access: &TokenStream) {
        self.flush();
        if self.state == State::Later && self.is_declared {
            self.code.extend(code!(*is_first = false;));
        }
        self.declare();
        let json = self.json;
        self.code.extend(code!(let out = #json::ToMembers::to_members(#access, out, is_first);));
        if self.state != State::Later {
            self.state = State::Unknown;
        }
    }

    /// From here on the code knows whether a member comes first.
    fn declare(&mut self) {
        if !std::mem::replace(&mut self.is_declared, true) {
            let is_first = self.state == State::First;
            self.code.extend(code!(#[allow(unused_variables)] let is_first = &mut #is_first;));
        }
    }

    fn key(&mut self, field: &Field<'_>) {
        let first = format!("{}:", json_string(&field.write));
        match self.state {
            State::First => self.constant(&first),
            State::Later => self.constant(&format!(",{first}")),
            State::Unknown => {
                self.flush();
                let later = format!(",{first}");
                self.code.extend(code!(let out = out.literal(if *is_first { #first } else { #later });));
            }
        }
    }

    fn end(mut self) -> TokenStream {
        self.flush();
        let code = self.code;
        code!({ #code out })
    }

    /// Where the caller asks whether anything was written.
    fn end_members(mut self) -> TokenStream {
        self.flush();
        let told = if self.state == State::Later { code!(*is_first = false;) } else { TokenStream::new() };
        let code = self.code;
        code!(#code #told out)
    }
}

/// A string as JSON writes it.
pub(crate) fn json_string(text: &str) -> String {
    let mut json = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\0'..='\u{1f}' => json.push_str(&format!("\\u{:04x}", c as u32)),
            _ => json.push(c),
        }
    }
    json + "\""
}
