//! An address without one of its parameters.

/// A path with its query string, but for the pairs of this name. What is left stays as it was written.
pub fn address_without(address: &str, parameter: &str) -> String {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let is_other =
        |pair: &&str| !pair.is_empty() && decoded(pair.split('=').next().unwrap_or_default()) != parameter.as_bytes();
    let mut out = path.to_owned();
    for (at, pair) in query.split('&').filter(is_other).enumerate() {
        out.push(if at == 0 { '?' } else { '&' });
        out.push_str(pair);
    }
    out
}

/// The bytes of a name in a query string.
fn decoded(name: &str) -> Vec<u8> {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let (bytes, mut at, mut out) = (name.as_bytes(), 0, Vec::with_capacity(name.len()));
    while let Some(&byte) = bytes.get(at) {
        let escaped = if byte == b'%' { digit(bytes.get(at + 1)).zip(digit(bytes.get(at + 2))) } else { None };
        out.push(match (escaped, byte) {
            (Some((high, low)), _) => (high * 16 + low) as u8,
            (None, b'+') => b' ',
            (None, byte) => byte,
        });
        at += if escaped.is_some() { 3 } else { 1 };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_parameters_stay_as_they_are() {
        for (address, left) in [
            ("/flights?page=2&q=a%26b&&page=7&pages=1&x=", "/flights?q=a%26b&pages=1&x="),
            ("/flights?page", "/flights"),
            ("/flights?p%61ge=2&%70%61%67%65=3&p%2561ge=4&%zz=%", "/flights?p%2561ge=4&%zz=%"),
            ("/flights?q=?page=2", "/flights?q=?page=2"),
            ("/flights", "/flights"),
        ] {
            assert_eq!(address_without(address, "page"), left, "{address}");
        }
    }
}
