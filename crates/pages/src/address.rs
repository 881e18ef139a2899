//! An address without one of its parameters.

/// A path with its query string, but for the pairs of this name. What is left stays as it was written.
pub fn address_without(address: &str, parameter: &str) -> String {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let is_other = |pair: &&str| !pair.is_empty() && pair.split('=').next() != Some(parameter);
    let mut out = path.to_owned();
    for (at, pair) in query.split('&').filter(is_other).enumerate() {
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
            ("/flights?q=?page=2", "/flights?q=?page=2"),
            ("/flights", "/flights"),
        ] {
            assert_eq!(address_without(address, "page"), left, "{address}");
        }
    }
}
