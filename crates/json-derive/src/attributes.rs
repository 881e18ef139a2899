//! What stands in `#[json(…)]` and `#[serde(…)]`. What is not known is an error where it stands.

use crate::case::{CASES, Case};
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr, ExprPath, LitStr, Result, Token, WherePredicate, punctuated::Punctuated};

/// A name or a case for writing and one for reading.
#[derive(Clone)]
pub(crate) struct Both<T> {
    pub(crate) write: Option<T>,
    pub(crate) read: Option<T>,
}

impl<T> Default for Both<T> {
    fn default() -> Self {
        Both { write: None, read: None }
    }
}

/// Where a value comes from that is not there.
#[derive(Clone)]
pub(crate) enum Default_ {
    /// `Default::default`
    Trait,
    Path(ExprPath),
}

/// Of a type.
#[derive(Default)]
pub(crate) struct OfType {
    pub(crate) rename_all: Both<Case>,
    pub(crate) rename_all_fields: Both<Case>,
    pub(crate) deny_unknown_fields: bool,
    pub(crate) default: Option<Default_>,
    pub(crate) tag: Option<String>,
    pub(crate) content: Option<String>,
    pub(crate) untagged: bool,
    pub(crate) transparent: bool,
    pub(crate) bound: Both<Vec<WherePredicate>>,
    pub(crate) krate: Option<syn::Path>,
}

/// Of a variant of an enum.
#[derive(Default)]
pub(crate) struct OfVariant {
    pub(crate) rename: Both<String>,
    pub(crate) rename_all: Both<Case>,
    pub(crate) aliases: Vec<String>,
    pub(crate) skip_write: bool,
    pub(crate) skip_read: bool,
    pub(crate) other: bool,
}

/// Of a field.
#[derive(Default, Clone)]
pub(crate) struct OfField {
    pub(crate) rename: Both<String>,
    pub(crate) aliases: Vec<String>,
    pub(crate) default: Option<Default_>,
    pub(crate) flatten: bool,
    pub(crate) skip_write: bool,
    pub(crate) skip_read: bool,
    pub(crate) skip_if: Option<ExprPath>,
    pub(crate) with: Both<ExprPath>,
}

impl OfType {
    pub(crate) fn of(attributes: &[Attribute]) -> Result<OfType> {
        let mut this = OfType::default();
        each(attributes, |meta| {
            match name(meta).as_str() {
                "rename_all" => this.rename_all = both(meta, case)?,
                "rename_all_fields" => this.rename_all_fields = both(meta, case)?,
                "deny_unknown_fields" => this.deny_unknown_fields = true,
                "default" => this.default = Some(default(meta)?),
                "tag" => this.tag = Some(text(meta)?.value()),
                "content" => this.content = Some(text(meta)?.value()),
                "untagged" => this.untagged = true,
                "transparent" => this.transparent = true,
                "bound" => this.bound = both(meta, predicates)?,
                "crate" => this.krate = Some(text(meta)?.parse()?),
                // the name of a type is nowhere in JSON; what else says how others read it is nothing to us
                "rename" => drop(both(meta, |text| Ok(text.value()))?),
                "expecting" => drop(text(meta)?),
                _ => return Err(unknown(meta, "a type")),
            }
            Ok(())
        })?;
        Ok(this)
    }
}

impl OfVariant {
    pub(crate) fn of(attributes: &[Attribute]) -> Result<OfVariant> {
        let mut this = OfVariant::default();
        each(attributes, |meta| {
            match name(meta).as_str() {
                "rename" => this.rename = both(meta, |text| Ok(text.value()))?,
                "rename_all" => this.rename_all = both(meta, case)?,
                "alias" => this.aliases.push(text(meta)?.value()),
                "skip" => (this.skip_write, this.skip_read) = (true, true),
                "skip_serializing" => this.skip_write = true,
                "skip_deserializing" => this.skip_read = true,
                "other" => this.other = true,
                _ => return Err(unknown(meta, "a variant")),
            }
            Ok(())
        })?;
        Ok(this)
    }
}

impl OfField {
    pub(crate) fn of(attributes: &[Attribute]) -> Result<OfField> {
        let mut this = OfField::default();
        each(attributes, |meta| {
            match name(meta).as_str() {
                "rename" => this.rename = both(meta, |text| Ok(text.value()))?,
                "alias" => this.aliases.push(text(meta)?.value()),
                "default" => this.default = Some(default(meta)?),
                "flatten" => this.flatten = true,
                "skip" => (this.skip_write, this.skip_read) = (true, true),
                "skip_serializing" => this.skip_write = true,
                "skip_deserializing" => this.skip_read = true,
                "skip_serializing_if" => this.skip_if = Some(text(meta)?.parse()?),
                "with" => {
                    let module: ExprPath = text(meta)?.parse()?;
                    this.with =
                        Both { write: Some(within(&module, "to_json")), read: Some(within(&module, "from_json")) };
                }
                "serialize_with" | "to_json_with" => this.with.write = Some(text(meta)?.parse()?),
                "deserialize_with" | "from_json_with" => this.with.read = Some(text(meta)?.parse()?),
                // what can be borrowed is borrowed
                "borrow" => {
                    if meta.input.peek(Token![=]) {
                        text(meta)?;
                    }
                }
                _ => return Err(unknown(meta, "a field")),
            }
            Ok(())
        })?;
        Ok(this)
    }
}

/// What is said in all attributes, one after the other.
fn each(attributes: &[Attribute], mut take: impl FnMut(&ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    let ours = |attribute: &&Attribute| attribute.path().is_ident("json") || attribute.path().is_ident("serde");
    attributes.iter().filter(ours).try_for_each(|attribute| attribute.parse_nested_meta(|meta| take(&meta)))
}

fn name(meta: &ParseNestedMeta<'_>) -> String {
    meta.path.get_ident().map(ToString::to_string).unwrap_or_default()
}

fn unknown(meta: &ParseNestedMeta<'_>, of: &str) -> syn::Error {
    meta.error(format_args!(
        "`{}` is not supported here: it is no attribute of {of} that ToJson and FromJson know",
        name(meta)
    ))
}

fn text(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    match meta.value()?.parse::<Expr>()? {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Ok(text),
        other => Err(syn::Error::new_spanned(other, "a string is expected here")),
    }
}

/// `name = "…"`, or `name(serialize = "…", deserialize = "…")`.
fn both<T: Clone>(meta: &ParseNestedMeta<'_>, parse: fn(&LitStr) -> Result<T>) -> Result<Both<T>> {
    if meta.input.peek(Token![=]) {
        let value = parse(&text(meta)?)?;
        return Ok(Both { write: Some(value.clone()), read: Some(value) });
    }
    let mut both = Both::default();
    meta.parse_nested_meta(|meta| {
        let value = parse(&text(&meta)?)?;
        match name(&meta).as_str() {
            "serialize" => both.write = Some(value),
            "deserialize" => both.read = Some(value),
            _ => return Err(meta.error("`serialize` or `deserialize` is expected here")),
        }
        Ok(())
    })?;
    Ok(both)
}

fn case(text: &LitStr) -> Result<Case> {
    let known = CASES.iter().find(|(name, _)| *name == text.value());
    let names = || CASES.map(|(name, _)| format!("{name:?}")).join(", ");
    known
        .map(|(_, case)| *case)
        .ok_or_else(|| syn::Error::new(text.span(), format!("unknown case, expected one of {}", names())))
}

fn default(meta: &ParseNestedMeta<'_>) -> Result<Default_> {
    if meta.input.peek(Token![=]) { Ok(Default_::Path(text(meta)?.parse()?)) } else { Ok(Default_::Trait) }
}

fn predicates(text: &LitStr) -> Result<Vec<WherePredicate>> {
    let predicates = text.parse_with(Punctuated::<WherePredicate, Token![,]>::parse_terminated)?;
    Ok(predicates.into_iter().collect())
}

fn within(module: &ExprPath, function: &str) -> ExprPath {
    let mut path = module.clone();
    path.path.segments.push(syn::Ident::new(function, proc_macro2::Span::call_site()).into());
    path
}
