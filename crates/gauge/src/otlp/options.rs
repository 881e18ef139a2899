//! Where sums are sent to, how often, and in whose name: as a program says, or OpenTelemetry's environment variables.

use http::uri::{Scheme, Uri};
use http::{HeaderName, HeaderValue};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

const PATH: &str = "/v1/metrics";
/// More often nothing is sent.
const INTERVAL_MIN: Duration = Duration::from_millis(10);

/// Attributes of whoever is measured.
pub(super) type Resource = Arc<[(String, String)]>;

/// Where sums are sent to.
#[derive(Debug, Clone)]
pub struct Options {
    endpoint: Uri,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) interval: Duration,
    pub(super) timeout: Duration,
    pub(super) resource: Resource,
}

impl Options {
    /// To a collector on this machine, at its usual port 4318, once a minute, in the name of a service.
    pub fn new(service_name: &str) -> Options {
        Options {
            endpoint: Uri::from_static("http://127.0.0.1:4318/v1/metrics"),
            headers: Vec::new(),
            interval: Duration::from_secs(60),
            timeout: Duration::from_secs(10),
            resource: [("service.name".to_owned(), service_name.to_owned())].into(),
        }
    }

    /// The same, as far as OpenTelemetry's variables do not say otherwise: `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`,
    /// `OTEL_EXPORTER_OTLP_ENDPOINT` (a base, as `http://collector:4318`), `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT` (a whole address),
    /// `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_EXPORTER_OTLP_TIMEOUT` (both also with `METRICS_` before the last word) and
    /// `OTEL_METRIC_EXPORT_INTERVAL` (in milliseconds).
    ///
    /// # Errors
    ///
    /// If one of them cannot be read.
    pub fn of_environment(service_name: &str) -> Result<Options, OptionsError> {
        Options::of_variables(service_name, |name| std::env::var(name).ok())
    }

    fn of_variables(service_name: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Options, OptionsError> {
        // one that is empty is none
        let said = |name: &'static str| variable(name).filter(|value| !value.is_empty()).map(|value| (name, value));
        let wrong = |(name, value): &(&'static str, String), why: &str| OptionsError(format!("{name}={value}: {why}"));
        let mut options = Options::new(service_name);

        let mut resource = said("OTEL_RESOURCE_ATTRIBUTES").map(|(_, text)| pairs(&text)).unwrap_or_default();
        let own_name = resource.iter().position(|(key, _)| key == "service.name").map(|at| resource.swap_remove(at).1);
        let name = said("OTEL_SERVICE_NAME").map(|(_, name)| name).or(own_name);
        resource.insert(0, ("service.name".to_owned(), name.unwrap_or_else(|| service_name.to_owned())));
        options.resource = resource.into();

        if let Some(whole) = said("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") {
            options = options.at(&whole.1).map_err(|OptionsError(why)| wrong(&whole, &why))?;
        } else if let Some(base) = said("OTEL_EXPORTER_OTLP_ENDPOINT") {
            let whole = format!("{}{PATH}", base.1.trim_end_matches('/'));
            options = options.at(&whole).map_err(|OptionsError(why)| wrong(&base, &why))?;
        }
        let headers = said("OTEL_EXPORTER_OTLP_METRICS_HEADERS").or_else(|| said("OTEL_EXPORTER_OTLP_HEADERS"));
        if let Some((name, text)) = headers {
            for (key, value) in pairs(&text) {
                // the value may be a secret
                options =
                    options.header(&key, &value).map_err(|OptionsError(why)| OptionsError(format!("{name}: {why}")))?;
            }
        }
        let milliseconds = |said: Option<(&'static str, String)>| match said {
            None => Ok(None),
            Some(said) => match said.1.trim().parse() {
                Ok(number) if Duration::from_millis(number) >= INTERVAL_MIN => Ok(Some(Duration::from_millis(number))),
                _ => Err(wrong(&said, "it is a number of milliseconds, 10 or more")),
            },
        };
        let timeout = said("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT").or_else(|| said("OTEL_EXPORTER_OTLP_TIMEOUT"));
        options.timeout = milliseconds(timeout)?.unwrap_or(options.timeout);
        options.interval = milliseconds(said("OTEL_METRIC_EXPORT_INTERVAL"))?.unwrap_or(options.interval);
        Ok(options)
    }

    /// To another address, as `http://collector:4318/v1/metrics`.
    ///
    /// # Errors
    ///
    /// If it is none of plain HTTP.
    pub fn at(self, endpoint: &str) -> Result<Options, OptionsError> {
        let endpoint: Uri = endpoint.parse().map_err(|error| OptionsError(format!("it is no address: {error}")))?;
        match (endpoint.scheme() == Some(&Scheme::HTTP), endpoint.authority()) {
            (true, Some(authority)) if !authority.as_str().contains('@') => Ok(Options { endpoint, ..self }),
            _ => Err(OptionsError("it is no address of plain HTTP, as http://collector:4318/v1/metrics".to_owned())),
        }
    }

    /// With a header, as `authorization`.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn header(mut self, name: &str, value: &str) -> Result<Options, OptionsError> {
        let wrong = || OptionsError(format!("`{name}` is no header, or its value is not one's"));
        let key = name.parse::<HeaderName>().map_err(|_| wrong())?;
        let mut value = value.parse::<HeaderValue>().map_err(|_| wrong())?;
        value.set_sensitive(true);
        self.headers.push((key, value));
        Ok(self)
    }

    /// So often, at least 10 ms apart.
    #[must_use]
    pub fn every(self, interval: Duration) -> Options {
        Options { interval: interval.max(INTERVAL_MIN), ..self }
    }

    /// For so long a collector is waited for.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Options {
        Options { timeout, ..self }
    }

    pub(super) fn endpoint(&self) -> &Uri {
        &self.endpoint
    }

    /// Host and port, the host without the brackets that an address of IPv6 has in a URI.
    pub(super) fn address(&self) -> (&str, u16) {
        let host = self.endpoint.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        (host, self.endpoint.port_u16().unwrap_or(80))
    }

    pub(super) fn authority(&self) -> &str {
        self.endpoint.authority().map_or("", |authority| authority.as_str())
    }

    pub(super) fn target(&self) -> &str {
        self.endpoint.path_and_query().map_or("/", |target| target.as_str())
    }
}

/// Pairs as W3C Baggage writes them: `key=value,other=value`, percent-encoded.
fn pairs(text: &str) -> Vec<(String, String)> {
    // the same as a form, but for what a form means by these
    let pairs = text.split(',').map(|pair| pair.trim().replace('&', "%26").replace('+', "%2B"));
    let pairs = pairs.filter(|pair| pair.contains('='));
    pairs
        .flat_map(|pair| form_urlencoded::parse(pair.as_bytes()).into_owned().collect::<Vec<_>>())
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

/// What cannot be read of the options.
#[derive(Debug, Clone)]
pub struct OptionsError(String);

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OptionsError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Options, OptionsError> {
        Options::of_variables("shop", |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_say_where_and_how_often() {
        let options = of(&[]).unwrap();
        assert_eq!(options.endpoint().to_string(), "http://127.0.0.1:4318/v1/metrics");
        assert_eq!(*options.resource, [("service.name".to_owned(), "shop".to_owned())]);
        assert_eq!((options.interval, options.timeout), (Duration::from_secs(60), Duration::from_secs(10)));
        let options = of(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://[::1]:1234/base/"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,deployment.environment.name=test%20one"),
            ("OTEL_SERVICE_NAME", "b"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20YQ==, x-tenant=a+b&c"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "500"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", ""),
        ])
        .unwrap();
        assert_eq!((options.address(), options.target()), (("::1", 1234), "/base/v1/metrics"));
        assert_eq!((options.resource[0].1.as_str(), options.resource[1].1.as_str()), ("b", "test one"));
        assert_eq!((options.interval, options.timeout), (Duration::from_millis(500), Duration::from_millis(1500)));
        let headers: Vec<_> =
            options.headers.iter().map(|(key, value)| (key.as_str(), value.to_str().unwrap())).collect();
        assert_eq!(headers, [("authorization", "Basic YQ=="), ("x-tenant", "a+b&c")]);
        let whole = of(&[("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://collector/x")]).unwrap();
        assert_eq!((whole.address(), whole.target()), (("collector", 80), "/x"));
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318"),
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "collector:4318"),
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://a:b@collector"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "0"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c"),
        ] {
            let error = of(&[(name, value)]).unwrap_err().to_string();
            assert!(error.starts_with(name), "{error}");
        }
        let error = of(&[("OTEL_EXPORTER_OTLP_HEADERS", "authorization=a%0Asecret")]).unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}
