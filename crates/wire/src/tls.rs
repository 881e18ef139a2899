//! TLS to PostgreSQL, with libpq's levels of trust.

use crate::config::{Config, SslMode};
use crate::error::{Error, ErrorKind};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use sha2::{Digest, Sha256, Sha384, Sha512};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// How connections to a host are encrypted.
#[derive(Debug, Clone)]
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Tls {
    pub(crate) fn new(config: &Config, host: &str) -> Result<Self, Error> {
        let config = Arc::new(client_config(config)?);
        let name = ServerName::try_from(host.to_owned())
            .map_err(|cause| Error::caused(ErrorKind::Connect(host.to_owned()), cause))?;
        Ok(Self { config, name })
    }

    /// Encrypts a connection on which the server has agreed to it.
    pub(crate) async fn encrypt(&self, stream: TcpStream) -> Result<TlsStream<TcpStream>, Error> {
        let encrypted = TlsConnector::from(self.config.clone()).connect(self.name.clone(), stream).await;
        encrypted.map_err(|cause| Error::caused(ErrorKind::Connect(self.name.to_str().into_owned()), cause))
    }
}

/// The hash of the server's certificate that SCRAM binds the channel to (RFC 5929 section 4.1).
pub(crate) fn end_point(stream: &TlsStream<TcpStream>) -> Option<Vec<u8>> {
    let certificate = stream.get_ref().1.peer_certificates()?.first()?;
    match signature_hash(certificate)? {
        Hash::Sha256 => Some(Sha256::digest(certificate).to_vec()),
        Hash::Sha384 => Some(Sha384::digest(certificate).to_vec()),
        Hash::Sha512 => Some(Sha512::digest(certificate).to_vec()),
    }
}

fn client_config(config: &Config) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let invalid = |what: String| Error::new(ErrorKind::Config(what));
    let verify = match (config.ssl_mode, &config.ssl_root_cert) {
        // as libpq: with a root certificate given, `require` checks the chain
        (Some(SslMode::Require), Some(_)) | (Some(SslMode::VerifyCa), _) => Some(false),
        (Some(SslMode::VerifyFull), _) => Some(true),
        (None | Some(SslMode::Disable | SslMode::Allow | SslMode::Prefer | SslMode::Require), _) => None,
    };
    let verifier: Arc<dyn ServerCertVerifier> = match verify {
        None => Arc::new(Trust { chain: None, name: false, provider: provider.clone() }),
        Some(name) => {
            let roots = Arc::new(roots(config)?);
            let chain = WebPkiServerVerifier::builder_with_provider(roots, provider.clone())
                .build()
                .map_err(|cause| invalid(format!("root certificates: {cause}")))?;
            Arc::new(Trust { chain: Some(chain), name, provider: provider.clone() })
        }
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|cause| invalid(cause.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    match &config.ssl_client {
        None => Ok(builder.with_no_client_auth()),
        Some((cert, key)) => {
            let certs: Result<Vec<_>, _> = CertificateDer::pem_file_iter(cert).and_then(Iterator::collect);
            let certs = certs.map_err(|cause| invalid(format!("{}: {cause}", cert.display())))?;
            let key =
                PrivateKeyDer::from_pem_file(key).map_err(|cause| invalid(format!("{}: {cause}", key.display())))?;
            builder.with_client_auth_cert(certs, key).map_err(|cause| invalid(cause.to_string()))
        }
    }
}

fn roots(config: &Config) -> Result<RootCertStore, Error> {
    let invalid = |what: String| Error::new(ErrorKind::Config(what));
    let default = || std::env::var("HOME").map(|home| format!("{home}/.postgresql/root.crt")).ok();
    let mut store = RootCertStore::empty();
    match config.ssl_root_cert.clone().or_else(default).as_deref() {
        Some("system") => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Some(path) => {
            let certs: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
            let certs = certs.map_err(|cause| invalid(format!("root certificate file \"{path}\": {cause}")))?;
            store.add_parsable_certificates(certs);
        }
        None => {}
    }
    if store.is_empty() {
        return Err(invalid("no root certificate to verify the server with; set sslrootcert".to_owned()));
    }
    Ok(store)
}

/// Checks as much of a certificate as the mode asks for: nothing, its chain, or its chain and name.
#[derive(Debug)]
struct Trust {
    chain: Option<Arc<WebPkiServerVerifier>>,
    name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        let checked = chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match checked {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.name => Ok(ServerCertVerified::assertion()),
            Ok(verified) => {
                if self.name {
                    verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                }
                Ok(verified)
            }
            Err(error) => Err(error),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[derive(Debug, PartialEq)]
enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

/// The hash of a certificate's signature algorithm, with MD5 and SHA-1 replaced by SHA-256 as the RFC says.
/// `None` where the algorithm has no hash of its own (Ed25519) or is not known: then there is no binding.
fn signature_hash(certificate: &[u8]) -> Option<Hash> {
    // Certificate ::= SEQUENCE { tbsCertificate SEQUENCE, signatureAlgorithm SEQUENCE { OBJECT IDENTIFIER … } … }
    let (_, certificate, _) = der(certificate)?;
    let (_, _, after_tbs) = der(certificate)?;
    let (_, algorithm, _) = der(after_tbs)?;
    let (tag, oid, _) = der(algorithm)?;
    if tag != 0x06 {
        return None;
    }
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA_SHA2: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
    const ECDSA_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01];
    match (oid.strip_prefix(RSA), oid.strip_prefix(ECDSA_SHA2)) {
        (Some([4 | 5 | 11]), _) | (_, Some([2])) => Some(Hash::Sha256),
        (Some([12]), _) | (_, Some([3])) => Some(Hash::Sha384),
        (Some([13]), _) | (_, Some([4])) => Some(Hash::Sha512),
        _ if oid == ECDSA_SHA1 => Some(Hash::Sha256),
        _ => None,
    }
}

/// One element of DER: its tag, its content, and what follows it.
fn der(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        if digits.len() > 4 {
            return None;
        }
        (digits.iter().fold(0, |length, &digit| length << 8 | usize::from(digit)), rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}
