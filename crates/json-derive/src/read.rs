//! `FromJson` and `FromMembers`.

use crate::bounds;
use crate::names::number_of;
use crate::shape::{Body, Field, Kind, Tagged, Type, Variant, default_of};
use crate::write::json_string;
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Error, GenericParam, Ident, Lifetime, Result, parse_quote};

pub(crate) fn from_json(this: &Type<'_>) -> Result<TokenStream> {
    let json = &this.json;
    let read = match &this.kind {
        Kind::Struct(body) => {
            let value = match body.fields().find(|field| !field.says.skip_read) {
                Some(field) if this.says.transparent => transparent(this, body, field),
                _ => value(this, body, &code!(Self), this.name.to_string().as_str(), None)?,
            };
            code!(::core::result::Result::Ok(#value))
        }
        Kind::Enum(variants, tagged) => variant(this, variants, tagged)?,
    };
    let header = header(this, &code!(#json::FromJson<'de>));
    Ok(code! {
        #[automatically_derived]
        #header {
            #[inline]
            #[allow(unreachable_code)]
            fn from_json(parser: &mut #json::Parser<'de>) -> #json::Result<Self> {
                #read
            }
        }
    })
}

/// `impl<…> Trait for Type<…> where …`, with the lifetime of the text.
fn header(this: &Type<'_>, of: &TokenStream) -> TokenStream {
    let (_, arguments, _) = this.generics.split_for_impl();
    let (arguments, mut generics) = (arguments.to_token_stream(), this.generics.clone());
    let lifetimes: Vec<Lifetime> = generics.lifetimes().map(|lifetime| lifetime.lifetime.clone()).collect();
    match &this.says.bound.read {
        Some(predicates) => generics.make_where_clause().predicates.extend(predicates.iter().cloned()),
        None => {
            for parameter in generics.type_params_mut() {
                let bounds = bounds::for_reading(this, &parameter.ident);
                parameter.bounds.extend(bounds);
            }
        }
    }
    let text: GenericParam = if lifetimes.is_empty() { parse_quote!('de) } else { parse_quote!('de: #(#lifetimes)+*) };
    generics.params.insert(0, text);
    let (parameters, _, clause) = generics.split_for_impl();
    let name = this.name;
    code!(impl #parameters #of for #name #arguments #clause)
}

/// An expression for what a body is read as.
fn value(
    this: &Type<'_>,
    body: &Body<'_>,
    constructor: &TokenStream,
    name: &str,
    tag: Option<&str>,
) -> Result<TokenStream> {
    Ok(match body {
        Body::Unit => {
            let expected = format!("unit struct {name}");
            code!(if parser.null()? { #constructor } else { return ::core::result::Result::Err(parser.expected(#expected)); })
        }
        Body::Newtype(field) => {
            let read = read_of(this, field);
            code!(#constructor { 0: #read })
        }
        Body::Tuple(fields) => tuple(this, fields, constructor, name),
        Body::Named(fields) => object(this, fields, constructor, tag)?,
    })
}

fn transparent(this: &Type<'_>, body: &Body<'_>, field: &Field<'_>) -> TokenStream {
    let (member, read) = (&field.member, read_of(this, field));
    let others = body.fields().filter(|other| other.says.skip_read).map(|other| {
        let (member, value) = (&other.member, skipped(other));
        code!(#member: #value,)
    });
    code!(Self { #member: #read, #(#others)* })
}

/// How a field's value is read.
fn read_of(this: &Type<'_>, field: &Field<'_>) -> TokenStream {
    let json = &this.json;
    match &field.says.with.read {
        Some(with) => code!(#with(parser)?),
        None => {
            let ty = field.ty;
            code!(<#ty as #json::FromJson<'de>>::from_json(parser)?)
        }
    }
}

/// What a field is that is never read.
fn skipped(field: &Field<'_>) -> TokenStream {
    field.default().unwrap_or_else(|| code!(::core::default::Default::default()))
}

fn tuple(this: &Type<'_>, fields: &[Field<'_>], constructor: &TokenStream, name: &str) -> TokenStream {
    let count = fields.iter().filter(|field| !field.says.skip_read).count();
    let expected = format!("tuple {name} with {count} elements");
    let mut length = 0_usize;
    let elements = fields.iter().map(|field| {
        let member = &field.member;
        if field.says.skip_read {
            let value = skipped(field);
            return code!(#member: #value,);
        }
        let read = read_of(this, field);
        let absent = match field.default() {
            Some(default) => default,
            None => code!(return ::core::result::Result::Err(parser.invalid_length(#length, #expected))),
        };
        length += 1;
        // behind its end nothing more is asked of an array
        code!(#member: if is_open && { is_open = parser.element(&mut is_first)?; is_open } { #read } else { #absent },)
    });
    let elements: Vec<_> = elements.collect();
    code! {{
        parser.array_start()?;
        let (mut is_first, mut is_open) = (true, true);
        let value = #constructor { #(#elements)* };
        if is_open {
            parser.array_end(&mut is_first)?;
        }
        value
    }}
}

/// The parts of code that reads fields by their keys.
struct Members {
    /// Locals for what has been read.
    locals: TokenStream,
    /// In the order in which they are expected.
    expected: TokenStream,
    /// Which field a key is: an expression of `key`, a `&str`.
    number: TokenStream,
    /// By that number.
    arms: TokenStream,
    /// The fields of the constructor.
    values: TokenStream,
}

/// What stands for the number of the tag, which is passed over.
const TAG: usize = usize::MAX - 1;

fn members(this: &Type<'_>, fields: &[Field<'_>], tag: Option<&str>) -> Members {
    let json = &this.json;
    let (mut locals, mut expected, mut arms, mut values) =
        (TokenStream::new(), TokenStream::new(), TokenStream::new(), TokenStream::new());
    let mut names: Vec<(&str, usize)> = Vec::new();
    if let Some(tag) = tag {
        let key = format!(",{}:", json_string(tag));
        expected.extend(code!(if parser.expect_next(#key, &mut is_behind, &mut is_open)? {
            parser.skip()?;
            is_behind = true;
        }));
        arms.extend(code!(#TAG => parser.skip()?,));
        names.push((tag, TAG));
    }
    let container = this.says.default.as_ref().filter(|_| matches!(this.kind, Kind::Struct(_)));
    if let Some(default) = container {
        let default = default_of(default);
        locals.extend(code!(let default: Self = #default;));
    }
    for (number, field) in fields.iter().enumerate() {
        let Field { member, local, ty, .. } = field;
        if field.says.skip_read {
            let value = if container.is_some() && field.says.default.is_none() {
                code!(default.#member)
            } else {
                skipped(field)
            };
            values.extend(code!(#member: #value,));
            continue;
        }
        if field.says.flatten {
            locals.extend(code!(let mut #local = <#ty as #json::FromMembers<'de>>::start();));
            values.extend(code!(#member: <#ty as #json::FromMembers<'de>>::finish(#local, parser)?,));
            continue;
        }
        let name = &field.read[0];
        names.extend(field.read.iter().map(|name| (name.as_str(), number)));
        locals.extend(code!(let mut #local: ::core::option::Option<#ty> = ::core::option::Option::None;));
        let read = read_of(this, field);
        // a key that is not as it is between quotes is found as any other
        if json_string(name).len() == name.len() + 2 {
            let key = format!(",\"{name}\":");
            expected.extend(code!(if parser.expect_next(#key, &mut is_behind, &mut is_open)? {
                #local = ::core::option::Option::Some(#read);
                is_behind = true;
            }));
        }
        let elsewhere = match &field.says.with.read {
            Some(_) => read,
            None => code!(#json::derived::elsewhere::<#ty>(parser)?),
        };
        arms.extend(code!(#number => {
            if #local.is_some() {
                return ::core::result::Result::Err(parser.duplicate_field(#name));
            }
            #local.replace(#elsewhere);
        }));
        let absent = match (field.default(), container) {
            (Some(default), _) => default,
            (None, Some(_)) => code!(default.#member),
            (None, None) if field.says.with.read.is_some() => {
                code!(return ::core::result::Result::Err(parser.missing_field(#name)))
            }
            (None, None) => code!(<#ty as #json::FromJson<'de>>::absent(parser, #name)?),
        };
        values.extend(code!(#member: match #local {
            ::core::option::Option::Some(value) => value,
            ::core::option::Option::None => #absent,
        },));
    }
    let number = number_of(json, &names, &code!(key));
    Members { locals, expected, number, arms, values }
}

/// An expression for an object that is read.
fn object(this: &Type<'_>, fields: &[Field<'_>], constructor: &TokenStream, tag: Option<&str>) -> Result<TokenStream> {
    let json = &this.json;
    let Members { locals, expected, number, arms, values } = members(this, fields, tag);
    let read = fields.iter().filter(|field| !field.says.skip_read);
    let (flattened, named): (Vec<_>, Vec<_>) = read.partition(|field| field.says.flatten);
    let names = named.iter().map(|field| &field.read[0]);
    let refused = code!(return ::core::result::Result::Err(parser.unknown_field(&key, &[#(#names),*])));
    let asked = flattened.iter().map(|Field { local, ty, .. }| {
        code!(if <#ty as #json::FromMembers<'de>>::member(&mut #local, (&key).into(), parser)? {} else)
    });
    let number = match (flattened.is_empty(), this.says.deny_unknown_fields) {
        (true, false) => code! {
            let key = key.as_str();
            let number: usize = #number;
            parser.colon()?;
        },
        // the key is kept, to be asked for or told
        (is_alone, is_denied) => {
            let refused = if is_alone && is_denied { code!(if number == usize::MAX { #refused; }) } else { code!() };
            code! {
                let key: ::std::borrow::Cow<'de, str> = key.into();
                let number: usize = { let key = &*key; #number };
                #refused
                parser.colon()?;
            }
        }
    };
    let other = if this.says.deny_unknown_fields { refused } else { code!(parser.skip()?) };
    Ok(code! {{
        parser.object_start()?;
        let mut is_open = parser.first_member()?;
        #locals
        // whether a value has been read, behind which nothing has been looked at yet
        let mut is_behind = false;
        #expected
        if is_behind {
            is_open = parser.last_member()?;
        }
        while is_open {
            let key = parser.key_here()?;
            #number
            match number {
                #arms
                _ => { #(#asked)* { #other } }
            }
            is_open = parser.next_member()?;
        }
        #constructor { #values }
    }})
}

/// The body of `from_json` for an enum.
fn variant(this: &Type<'_>, variants: &[Variant<'_>], tagged: &Tagged) -> Result<TokenStream> {
    let read: Vec<_> = variants.iter().filter(|variant| !variant.says.skip_read).collect();
    match tagged {
        Tagged::Outside => outside(this, &read),
        Tagged::Inside(tag) => inside(this, &read, tag),
        Tagged::Beside(tag, content) => beside(this, &read, tag, content),
        Tagged::Not => untagged(this, &read),
    }
}

/// Which variant a name is, an expression of `name`, a `&str`, and the error of one that is none.
fn numbers(this: &Type<'_>, variants: &[&Variant<'_>]) -> (TokenStream, TokenStream) {
    let numbered = variants.iter().enumerate();
    let names: Vec<_> =
        numbered.flat_map(|(number, variant)| variant.read.iter().map(move |name| (name.as_str(), number))).collect();
    let first = variants.iter().map(|variant| &variant.read[0]);
    let number = number_of(&this.json, &names, &code!(name));
    let unknown = match variants.iter().position(|variant| variant.says.other) {
        Some(other) => {
            let name = variants[other].name;
            code!(Self::#name)
        }
        None => code!(return ::core::result::Result::Err(parser.unknown_variant(&name, &[#(#first),*]))),
    };
    (number, unknown)
}

fn full_name(this: &Type<'_>, variant: &Variant<'_>) -> String {
    format!("variant {}::{}", this.name, variant.name)
}

fn outside(this: &Type<'_>, variants: &[&Variant<'_>]) -> Result<TokenStream> {
    let (number, unknown) = numbers(this, variants);
    let (mut alone, mut within) = (TokenStream::new(), TokenStream::new());
    for (at, variant) in variants.iter().enumerate() {
        let name = variant.name;
        let expected = match &variant.body {
            Body::Unit => None,
            Body::Newtype(_) => Some("newtype variant"),
            Body::Tuple(_) => Some("tuple variant"),
            Body::Named(_) => Some("struct variant"),
        };
        alone.extend(match expected {
            None => code!(#at => Self::#name,),
            Some(expected) => code!(#at => return ::core::result::Result::Err(parser.unit_variant(#expected)),),
        });
        let value = match &variant.body {
            Body::Unit => {
                code!(if parser.null()? { Self::#name } else { return ::core::result::Result::Err(parser.expected("unit")) })
            }
            body => value(this, body, &code!(Self::#name), &full_name(this, variant), None)?,
        };
        within.extend(code!(#at => #value,));
    }
    Ok(code! {
        match parser.peek() {
            ::core::option::Option::Some(b'"') => {
                let name: ::std::borrow::Cow<'de, str> = parser.string()?.into();
                let number: usize = { let name = &*name; #number };
                ::core::result::Result::Ok(match number { #alone _ => #unknown })
            }
            ::core::option::Option::Some(b'{') => {
                parser.object_start()?;
                let mut is_first = true;
                let name: ::std::borrow::Cow<'de, str> = match parser.key(&mut is_first)? {
                    ::core::option::Option::Some(name) => name.into(),
                    ::core::option::Option::None => return ::core::result::Result::Err(parser.no_name()),
                };
                let number: usize = { let name = &*name; #number };
                parser.colon()?;
                let value = match number { #within _ => #unknown };
                parser.object_end(&mut is_first)?;
                ::core::result::Result::Ok(value)
            }
            _ => ::core::result::Result::Err(parser.no_variant()),
        }
    })
}

fn inside(this: &Type<'_>, variants: &[&Variant<'_>], tag: &str) -> Result<TokenStream> {
    let (number, unknown) = numbers(this, variants);
    let mut arms = TokenStream::new();
    for (at, variant) in variants.iter().enumerate() {
        let name = variant.name;
        let value = match &variant.body {
            Body::Unit => code!({ parser.skip()?; Self::#name }),
            Body::Newtype(field) if field.says.with.read.is_none() => newtype_beside_tag(this, name, field, tag),
            body => value(this, body, &code!(Self::#name), &full_name(this, variant), Some(tag))?,
        };
        arms.extend(code!(#at => #value,));
    }
    let unknown =
        if variants.iter().any(|variant| variant.says.other) { code!({ parser.skip()?; #unknown }) } else { unknown };
    Ok(code! {
        let name = parser.tag(#tag)?;
        let number: usize = { let name = &*name; #number };
        ::core::result::Result::Ok(match number { #arms _ => #unknown })
    })
}

/// What a variant has beside its tag, which is none of its members.
fn newtype_beside_tag(this: &Type<'_>, name: &Ident, field: &Field<'_>, tag: &str) -> TokenStream {
    let (json, ty) = (&this.json, field.ty);
    let of = code!(<#ty as #json::FromMembers<'de>>);
    code! {{
        parser.object_start()?;
        let mut is_open = parser.first_member()?;
        let mut members = #of::start();
        while is_open {
            let key: ::std::borrow::Cow<'de, str> = parser.key_here()?.into();
            parser.colon()?;
            if *key == *#tag {
                parser.skip()?;
            } else if !#of::member(&mut members, (&key).into(), parser)? {
                #of::unknown((&key).into(), parser)?;
            }
            is_open = parser.next_member()?;
        }
        Self::#name(#of::finish(members, parser)?)
    }}
}

fn beside(this: &Type<'_>, variants: &[&Variant<'_>], tag: &str, content: &str) -> Result<TokenStream> {
    let (json, is_denied) = (&this.json, this.says.deny_unknown_fields);
    let (number, unknown) = numbers(this, variants);
    let unit = |name: &Ident| {
        code!({
            if is_there && !parser.null()? {
                return ::core::result::Result::Err(parser.expected("unit"));
            }
            Self::#name
        })
    };
    let unknown = variants.iter().find(|variant| variant.says.other).map_or(unknown, |other| unit(other.name));
    let mut arms = TokenStream::new();
    for (at, variant) in variants.iter().enumerate() {
        let name = variant.name;
        arms.extend(match &variant.body {
            Body::Unit => {
                let value = unit(name);
                code!(#at => #value,)
            }
            Body::Newtype(field) if field.says.with.read.is_none() => {
                let ty = field.ty;
                // what may be absent elsewhere may be so here
                code!(#at => Self::#name(match is_there {
                    true => <#ty as #json::FromJson<'de>>::from_json(parser)?,
                    false => <#ty as #json::FromJson<'de>>::absent(parser, #content)?,
                }),)
            }
            body => {
                let value = value(this, body, &code!(Self::#name), &full_name(this, variant), None)?;
                code!(#at => { if !is_there { return ::core::result::Result::Err(parser.missing_field(#content)); } #value })
            }
        });
    }
    Ok(code! {
        let (name, content) = parser.tag_and_content(#tag, #content, #is_denied)?;
        let number: usize = { let name = &*name; #number };
        let (behind, is_there) = (parser.mark(), content.is_some());
        if let ::core::option::Option::Some(content) = content {
            parser.retry(content)?;
        }
        let value = match number { #arms _ => #unknown };
        parser.jump(behind);
        ::core::result::Result::Ok(value)
    })
}

fn untagged(this: &Type<'_>, variants: &[&Variant<'_>]) -> Result<TokenStream> {
    let attempts = variants.iter().map(|variant| {
        let name = variant.name;
        let value = match &variant.body {
            Body::Unit => code!(if parser.null()? { Self::#name } else { return ::core::result::Result::Err(parser.expected("unit")) }),
            body => value(this, body, &code!(Self::#name), &full_name(this, variant), None)?,
        };
        let json = &this.json;
        Ok(code! {
            let value = parser.attempt(|parser: &mut #json::Parser<'de>| -> #json::Result<Self> {
                ::core::result::Result::Ok(#value)
            })?;
            if let ::core::option::Option::Some(value) = value {
                return ::core::result::Result::Ok(value);
            }
        })
    });
    let attempts = attempts.collect::<Result<Vec<_>>>()?;
    let message = format!("data did not match any variant of untagged enum {}", this.name);
    Ok(code! {
        #(#attempts)*
        ::core::result::Result::Err(parser.unmatched(#message))
    })
}

pub(crate) fn from_members(this: &Type<'_>) -> Result<TokenStream> {
    let json = &this.json;
    let Kind::Struct(Body::Named(fields)) = &this.kind else {
        return Err(Error::new(this.name.span(), "only a struct whose fields have names can be flattened"));
    };
    if this.says.default.is_some() {
        return Err(Error::new(this.name.span(), "a default of the whole is not known where a struct is flattened"));
    }
    let Members { number, arms, values, .. } = members(this, fields, None);
    let read: Vec<&Field<'_>> = fields.iter().filter(|field| !field.says.skip_read).collect();
    let locals: Vec<&Ident> = read.iter().map(|field| &field.local).collect();
    let types = read.iter().map(|Field { ty, says, .. }| match says.flatten {
        true => code!(<#ty as #json::FromMembers<'de>>::Members),
        false => code!(::core::option::Option<#ty>),
    });
    let starts = read.iter().map(|Field { ty, says, .. }| match says.flatten {
        true => code!(<#ty as #json::FromMembers<'de>>::start()),
        false => code!(::core::option::Option::None),
    });
    let flattened = read
        .iter()
        .filter(|field| field.says.flatten)
        .map(|Field { local, ty, .. }| code!(<#ty as #json::FromMembers<'de>>::member(#local, key, parser)? ||));
    let header = header(this, &code!(#json::FromMembers<'de>));
    let names = read.iter().filter(|field| !field.says.flatten).map(|field| &field.read[0]);
    let unknown = this.says.deny_unknown_fields.then(|| {
        code! {
            fn unknown(key: #json::Text<'de, '_>, parser: &mut #json::Parser<'de>) -> #json::Result<()> {
                ::core::result::Result::Err(parser.unknown_field(key.as_str(), &[#(#names),*]))
            }
        }
    });
    Ok(code! {
        #[automatically_derived]
        #[allow(clippy::unused_unit)]
        #header {
            type Members = (#(#types,)*);

            #unknown

            fn start() -> Self::Members {
                (#(#starts,)*)
            }

            #[allow(unreachable_code)]
            fn member(
                members: &mut Self::Members,
                key: #json::Text<'de, '_>,
                parser: &mut #json::Parser<'de>,
            ) -> #json::Result<bool> {
                let (#(#locals,)*) = members;
                let number: usize = { let key = key.as_str(); #number };
                match number {
                    #arms
                    _ => return ::core::result::Result::Ok(#(#flattened)* false),
                }
                ::core::result::Result::Ok(true)
            }

            fn finish(members: Self::Members, parser: &#json::Parser<'de>) -> #json::Result<Self> {
                let (#(#locals,)*) = members;
                ::core::result::Result::Ok(Self { #values })
            }
        }
    })
}
