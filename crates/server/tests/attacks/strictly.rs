//! A strict reader of requests, written from RFC 9112 and sharing nothing with the server.

/// Method, target and body.
pub(crate) type Request = (String, String, Vec<u8>);

/// What a strict reader makes of a stream.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub(crate) struct Strictly {
    /// Those that there are.
    pub(crate) requests: Vec<Request>,
    /// Whether what follows them must be refused.
    pub(crate) refused: bool,
    /// Whether the last body goes on behind the stream's end.
    pub(crate) is_short: bool,
}

/// Why a strict reader stops.
enum Stop {
    Wrong,
    Short,
}

/// Reads a stream of which nothing is missing.
pub(crate) fn strictly(mut stream: &[u8]) -> Strictly {
    let mut read = Strictly::default();
    loop {
        while let Some(rest) = stream.strip_prefix(b"\r\n") {
            stream = rest;
        }
        if stream.is_empty() {
            return read;
        }
        let Some((method, target, headers, rest)) = head(stream) else {
            read.refused = true;
            return read;
        };
        let (body, rest) = match body(&headers, rest) {
            Ok(read) => read,
            Err(stop) => {
                (read.refused, read.is_short) = (true, matches!(stop, Stop::Short));
                return read;
            }
        };
        read.requests.push((method, target, body));
        let is_last = headers.iter().any(|(name, value)| name == "connection" && value == "close");
        if is_last {
            return read;
        }
        stream = rest;
    }
}

type Head<'a> = (String, String, Vec<(String, String)>, &'a [u8]);

fn head(stream: &[u8]) -> Option<Head<'_>> {
    let end = stream.windows(4).position(|four| four == b"\r\n\r\n")?;
    let text: String = stream[..end].iter().map(|&byte| char::from(byte)).collect();
    let token = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c))
    };
    let mut lines = text.split("\r\n");
    let mut line = lines.next()?.split(' ');
    let (method, target, version) = (line.next()?, line.next()?, line.next()?);
    let known = ["HTTP/1.1", "HTTP/1.0"].contains(&version) && line.next().is_none();
    if !known || !token(method) || method == "CONNECT" || target.is_empty() {
        return None;
    }
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':')?;
        if !token(name) || value.chars().any(|c| c.is_ascii_control() && c != '\t') {
            return None;
        }
        headers.push((name.to_ascii_lowercase(), value.trim_matches([' ', '\t']).to_owned()));
    }
    let hosts: Vec<&String> = headers.iter().filter(|(name, _)| name == "host").map(|(_, value)| value).collect();
    let has_one = match hosts[..] {
        [] => version == "HTTP/1.0",
        [host] => is_host(host),
        _ => false,
    };
    let is_target = target.starts_with('/') || target.starts_with("http://") || target == "*" && method == "OPTIONS";
    if !has_one || !is_target {
        return None;
    }
    if version == "HTTP/1.0" && headers.iter().any(|(name, _)| name == "transfer-encoding") {
        return None;
    }
    Some((method.to_owned(), target.to_owned(), headers, &stream[end + 4..]))
}

/// Returns whether a value of `Host` is a name with a port or without (RFC 3986 section 3.2.2). No
/// test sends an address in brackets.
fn is_host(value: &str) -> bool {
    let (name, port) = value.rfind(':').map_or((value, ""), |at| (&value[..at], &value[at + 1..]));
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=".contains(c);
    let is_port = port.chars().all(|c| c.is_ascii_digit()) && (port.is_empty() || port.parse::<u16>().is_ok());
    !name.is_empty() && name.chars().all(is_name) && is_port
}

fn body<'a>(headers: &[(String, String)], stream: &'a [u8]) -> Result<(Vec<u8>, &'a [u8]), Stop> {
    let framing: Vec<_> =
        headers.iter().filter(|(name, _)| name == "content-length" || name == "transfer-encoding").collect();
    match framing[..] {
        [] => Ok((Vec::new(), stream)),
        [(name, length)] if name == "content-length" => {
            let is_length = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
            let length = length.parse::<usize>().ok().filter(|_| is_length).ok_or(Stop::Wrong)?;
            Ok((stream.get(..length).ok_or(Stop::Short)?.to_vec(), &stream[length..]))
        }
        [(_, coding)] if coding.eq_ignore_ascii_case("chunked") => chunks(stream),
        _ => Err(Stop::Wrong),
    }
}

fn chunks(mut stream: &[u8]) -> Result<(Vec<u8>, &[u8]), Stop> {
    let mut body = Vec::new();
    loop {
        let (line, rest) = line(stream).ok_or(Stop::Wrong)?;
        let digits = line.split(';').next().unwrap_or_default();
        if digits.is_empty() || digits.len() > 15 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Stop::Wrong);
        }
        let size = usize::from_str_radix(digits, 16).map_err(|_| Stop::Wrong)?;
        stream = rest;
        if size == 0 {
            break;
        }
        body.extend_from_slice(stream.get(..size).ok_or(Stop::Short)?);
        stream = stream[size..].strip_prefix(b"\r\n").ok_or(Stop::Wrong)?;
    }
    loop {
        let (line, rest) = line(stream).ok_or(Stop::Wrong)?;
        stream = rest;
        if line.is_empty() {
            return Ok((body, stream));
        }
        let (name, _) = line.split_once(':').ok_or(Stop::Wrong)?;
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err(Stop::Wrong);
        }
    }
}

fn line(stream: &[u8]) -> Option<(String, &[u8])> {
    let end = stream.iter().position(|&byte| byte == b'\n')?;
    let line: String = stream[..end].strip_suffix(b"\r")?.iter().map(|&byte| char::from(byte)).collect();
    (!line.chars().any(|c| c.is_ascii_control() && c != '\t')).then_some((line, &stream[end + 1..]))
}
