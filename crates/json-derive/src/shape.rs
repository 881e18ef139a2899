//! A type with what its attributes say of it.

use crate::attributes::{Both, Default_, OfField, OfType, OfVariant};
use crate::case::Case;
use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::{Data, DeriveInput, Error, Fields, Generics, Ident, Member, Result};

/// A type for which code is made.
pub(crate) struct Type<'a> {
    pub(crate) name: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) says: OfType,
    pub(crate) kind: Kind<'a>,
    /// The path of thalweg-json.
    pub(crate) json: TokenStream,
}

pub(crate) enum Kind<'a> {
    Struct(Body<'a>),
    Enum(Vec<Variant<'a>>, Tagged),
}

/// How a variant is told from others.
pub(crate) enum Tagged {
    /// It is the only key of an object, or a string if it has nothing else.
    Outside,
    /// It is a member beside its own.
    Inside(String),
    /// It is a member beside another one with all that is its own.
    Beside(String, String),
    /// It is not: the first that fits is taken.
    Not,
}

pub(crate) struct Variant<'a> {
    pub(crate) name: &'a Ident,
    pub(crate) write: String,
    /// How it may be called.
    pub(crate) read: Vec<String>,
    pub(crate) says: OfVariant,
    pub(crate) body: Body<'a>,
}

/// What a struct or a variant has.
pub(crate) enum Body<'a> {
    Unit,
    /// One value without a name.
    Newtype(Box<Field<'a>>),
    Tuple(Vec<Field<'a>>),
    Named(Vec<Field<'a>>),
}

pub(crate) struct Field<'a> {
    pub(crate) member: Member,
    /// In which it is while it is read or written.
    pub(crate) local: Ident,
    pub(crate) ty: &'a syn::Type,
    pub(crate) write: String,
    /// The keys by which it is read, its name the first.
    pub(crate) read: Vec<String>,
    pub(crate) says: OfField,
}

impl<'a> Type<'a> {
    pub(crate) fn of(input: &'a DeriveInput) -> Result<Type<'a>> {
        let says = OfType::of(&input.attrs)?;
        if let Some(taken) = input.generics.lifetimes().find(|lifetime| lifetime.lifetime.ident == "de") {
            return Err(Error::new(
                taken.lifetime.span(),
                "`'de` is the lifetime of the text that is read: call this one otherwise",
            ));
        }
        let json = says.krate.as_ref().map_or_else(|| code!(::thalweg_json), ToTokens::to_token_stream);
        let kind = match &input.data {
            Data::Struct(data) => {
                if says.tag.is_some() || says.content.is_some() || says.untagged {
                    return Err(Error::new(input.ident.span(), "only enums have a tag here"));
                }
                Kind::Struct(Body::of(&data.fields, &says.rename_all)?)
            }
            Data::Enum(data) => {
                if says.transparent {
                    return Err(Error::new(input.ident.span(), "an enum is never transparent"));
                }
                let variants =
                    data.variants.iter().map(|variant| Variant::of(variant, &says)).collect::<Result<_>>()?;
                Kind::Enum(variants, Tagged::of(&says, input.ident.span())?)
            }
            Data::Union(_) => return Err(Error::new(input.ident.span(), "a union is nothing in JSON")),
        };
        let this = Type { name: &input.ident, generics: &input.generics, says, kind, json };
        this.check()?;
        Ok(this)
    }

    /// What cannot be made.
    fn check(&self) -> Result<()> {
        match &self.kind {
            Kind::Struct(body) => {
                if self.says.transparent && body.fields().filter(|field| !field.says.skip_write).count() != 1 {
                    return Err(Error::new(self.name.span(), "what is transparent has exactly one field"));
                }
                body.check()
            }
            Kind::Enum(variants, tagged) => variants.iter().try_for_each(|variant| {
                variant.body.check()?;
                match (tagged, &variant.body) {
                    (Tagged::Inside(tag), Body::Named(fields)) if fields.iter().any(|field| field.has_name(tag)) => {
                        Err(Error::new(variant.name.span(), format!("`{tag}` is the tag, and a field's name too")))
                    }
                    (Tagged::Inside(_), Body::Tuple(_)) => {
                        Err(Error::new(variant.name.span(), "what has no names cannot stand beside a tag"))
                    }
                    (Tagged::Outside | Tagged::Not, _) if variant.says.other => {
                        Err(Error::new(variant.name.span(), "`other` is for enums with a tag"))
                    }
                    (_, Body::Newtype(_) | Body::Tuple(_) | Body::Named(_)) if variant.says.other => {
                        Err(Error::new(variant.name.span(), "`other` is for a variant that has nothing"))
                    }
                    _ => Ok(()),
                }
            }),
        }
    }
}

impl Tagged {
    fn of(says: &OfType, span: Span) -> Result<Tagged> {
        match (says.untagged, &says.tag, &says.content) {
            (false, None, None) => Ok(Tagged::Outside),
            (false, Some(tag), None) => Ok(Tagged::Inside(tag.clone())),
            (false, Some(tag), Some(content)) if tag == content => {
                Err(Error::new(span, "`tag` and `content` are the same"))
            }
            (false, Some(tag), Some(content)) => Ok(Tagged::Beside(tag.clone(), content.clone())),
            (true, None, None) => Ok(Tagged::Not),
            (false, None, Some(_)) => Err(Error::new(span, "`content` needs a `tag`")),
            (true, ..) => Err(Error::new(span, "what is untagged has no tag")),
        }
    }
}

impl<'a> Variant<'a> {
    fn of(variant: &'a syn::Variant, of: &OfType) -> Result<Variant<'a>> {
        let says = OfVariant::of(&variant.attrs)?;
        let (write, read) = names(&variant.ident, &says.rename, &of.rename_all, Case::of_variant);
        let read = [read].into_iter().chain(says.aliases.iter().cloned()).collect();
        let cases = Both {
            write: says.rename_all.write.or(of.rename_all_fields.write),
            read: says.rename_all.read.or(of.rename_all_fields.read),
        };
        Ok(Variant { name: &variant.ident, write, read, body: Body::of(&variant.fields, &cases)?, says })
    }
}

impl<'a> Body<'a> {
    fn of(fields: &'a Fields, cases: &Both<Case>) -> Result<Body<'a>> {
        let mut all = fields
            .iter()
            .zip(fields.members())
            .enumerate()
            .map(|(at, (field, member))| Field::of(field, member, at, cases))
            .collect::<Result<Vec<_>>>()?;
        Ok(match fields {
            Fields::Unit => Body::Unit,
            Fields::Named(_) => Body::Named(all),
            Fields::Unnamed(_) if all.len() == 1 => Body::Newtype(Box::new(all.remove(0))),
            Fields::Unnamed(_) => Body::Tuple(all),
        })
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = &Field<'a>> {
        let fields = match self {
            Body::Unit => &[],
            Body::Newtype(field) => std::slice::from_ref(&**field),
            Body::Tuple(fields) | Body::Named(fields) => &fields[..],
        };
        fields.iter()
    }

    fn check(&self) -> Result<()> {
        if matches!(self, Body::Named(_)) {
            return Ok(());
        }
        for field in self.fields() {
            if field.says.flatten || field.says.skip_if.is_some() {
                return Err(Error::new_spanned(
                    field.ty,
                    "`flatten` and `skip_serializing_if` are for fields with names",
                ));
            }
        }
        Ok(())
    }
}

impl<'a> Field<'a> {
    fn of(field: &'a syn::Field, member: Member, at: usize, cases: &Both<Case>) -> Result<Field<'a>> {
        let says = OfField::of(&field.attrs)?;
        let (write, read) = match &field.ident {
            Some(name) => names(name, &says.rename, cases, Case::of_field),
            None => Default::default(),
        };
        let read = [read].into_iter().chain(says.aliases.iter().cloned()).collect();
        let local = Ident::new(&format!("field_{at}"), Span::mixed_site());
        Ok(Field { member, local, ty: &field.ty, write, read, says })
    }

    /// Whether it is written or read as the member of that name.
    fn has_name(&self, name: &str) -> bool {
        let is_written = !self.says.skip_write && self.write == name;
        let is_read = !self.says.skip_read && self.read.iter().any(|read| read == name);
        !self.says.flatten && (is_written || is_read)
    }

    /// What stands for it where it is not there, if that is said.
    pub(crate) fn default(&self) -> Option<TokenStream> {
        self.says.default.as_ref().map(default_of)
    }
}

pub(crate) fn default_of(default: &Default_) -> TokenStream {
    match default {
        Default_::Trait => code!(::core::default::Default::default()),
        Default_::Path(path) => code!(#path()),
    }
}

/// The names for writing and for reading.
fn names(ident: &Ident, rename: &Both<String>, cases: &Both<Case>, by: fn(Case, &str) -> String) -> (String, String) {
    let name = ident.to_string();
    let name = name.strip_prefix("r#").unwrap_or(&name);
    let one = |rename: &Option<String>, case: Option<Case>| {
        rename.clone().unwrap_or_else(|| case.map_or_else(|| name.to_owned(), |case| by(case, name)))
    };
    (one(&rename.write, cases.write), one(&rename.read, cases.read))
}
