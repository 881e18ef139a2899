//! An address without one of its parameters.

use thalweg_request::Params;

/// A path with its query string, but for the pairs of this name. The others stay as they were written.
pub fn address_without(address: &str, parameter: &str) -> String {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let mut out = path.to_owned();
    for (at, pair) in Params::without(query, parameter).enumerate() {
        out.push(if at == 0 { '?' } else { '&' });
        out.push_str(pair);
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
            ("/flights?q=a;page=2;x=1", "/flights?q=a&x=1"),
            ("/flights?q=?page=2", "/flights?q=?page=2"),
            ("/flights", "/flights"),
        ] {
            assert_eq!(address_without(address, "page"), left, "{address}");
        }
    }
}
