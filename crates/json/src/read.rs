//! Reading values whose shape is known when the program is compiled: [`FromJson`].

mod parser;
mod skip;
mod values;

#[doc(hidden)]
pub use parser::Mark;
pub use parser::{Parser, Text};

use crate::error::Result;

/// A value that can be read from JSON, of which it may borrow strings.
///
/// ```
/// use thalweg_json::{FromJson, Parser, Result, read};
///
/// #[derive(Debug, PartialEq)]
/// struct Celsius(f64);
///
/// impl<'de> FromJson<'de> for Celsius {
///     fn from_json(parser: &mut Parser<'de>) -> Result<Self> {
///         let mut degrees = None;
///         parser.object_start()?;
///         let mut is_first = true;
///         while let Some(key) = parser.key(&mut is_first)? {
///             let is_degrees = key.as_str() == "celsius";
///             parser.colon()?;
///             if is_degrees {
///                 degrees = Some(parser.float()?);
///             } else {
///                 parser.skip()?;
///             }
///         }
///         degrees.map(Self).ok_or_else(|| parser.missing_field("celsius"))
///     }
/// }
///
/// assert_eq!(read::<Celsius>(br#"{"place":"Bex","celsius":21.5}"#)?, Celsius(21.5));
/// assert_eq!(read::<Celsius>(b"{}").unwrap_err().to_string(), "missing field `celsius` at line 1 column 2");
/// # Ok::<(), thalweg_json::Error>(())
/// ```
pub trait FromJson<'de>: Sized {
    /// Reads the value that comes next.
    fn from_json(parser: &mut Parser<'de>) -> Result<Self>;

    /// What stands for a field that is not there.
    #[doc(hidden)]
    #[inline]
    fn absent(parser: &Parser<'de>, field: &'static str) -> Result<Self> {
        Err(parser.missing_field(field))
    }
}

/// A value that can be read from the key of an object.
pub trait FromJsonKey<'de>: Sized {
    /// Reads it from the text between the quotes.
    fn from_json_key(key: Text<'de, '_>) -> Result<Self>;
}

/// Reads a text that is one value.
// not in line, as `write`: whoever reads many types would be one function of them all
#[inline(never)]
pub fn read<'de, T: FromJson<'de>>(text: &'de [u8]) -> Result<T> {
    let mut parser = Parser::new(text);
    let value = T::from_json(&mut parser);
    // by `?` it would be moved once more
    if value.is_ok() {
        parser.end()?;
    }
    value
}

#[cfg(test)]
mod tests;
