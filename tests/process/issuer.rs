//! An issuer of tokens over TLS, and what an operator sees of it.

use crate::program::{Directory, Program, eventually};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use nix::sys::signal::Signal;
use rcgen::generate_simple_self_signed;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use thalweg_testkit::{Client, Database, Response};

/// One key, published for as long as the test runs at a name that a certificate is for.
struct Issuer {
    port: u16,
    pair: Ed25519KeyPair,
    certificate: String,
    asked: Arc<AtomicUsize>,
}

impl Issuer {
    fn new() -> Self {
        let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(pair.as_ref()).unwrap();
        let x = BASE64_URL_SAFE_NO_PAD.encode(pair.public_key());
        let document = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "x": x, "kid": "one" }] }).to_string();
        let own = generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![own.cert.der().clone()], key).unwrap();
        let (config, asked) = (Arc::new(config), Arc::new(AtomicUsize::new(0)));
        // localhost may be ::1 too, where nobody listens
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let counted = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let connection = ServerConnection::new(config.clone()).unwrap();
                // who does not trust the certificate goes away
                let _ = publish(StreamOwned::new(connection, stream), &document, &counted);
            }
        });
        Self { port, pair, certificate: own.cert.pem(), asked }
    }

    fn token(&self) -> String {
        let [header, claims] = [json!({ "alg": "EdDSA", "kid": "one" }), json!({ "role": "postgres", "sub": "me" })]
            .map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string()));
        let text = format!("{header}.{claims}");
        format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(self.pair.sign(text.as_bytes())))
    }
}

fn publish(
    mut stream: StreamOwned<ServerConnection, TcpStream>,
    document: &str,
    asked: &AtomicUsize,
) -> std::io::Result<()> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    asked.fetch_add(1, Ordering::SeqCst);
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{document}", document.len())?;
    stream.conn.send_close_notify();
    stream.flush()
}

fn ask(address: SocketAddr, token: &str) -> Response {
    Client::connect(address).request("GET", "/me", &[("authorization", &format!("Bearer {token}"))])
}

/// A file's path.
fn written(directory: &Directory, name: &str, text: &str) -> String {
    let path = directory.0.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

const SCHEMA: &str = "create schema api;
    create view api.me as select current_setting('request.jwt.claims', true)::json ->> 'sub' as sub;";

#[test]
fn keys_come_from_an_issuer_whose_certificate_is_trusted() {
    let (database, issuer, directory) = (Database::new(SCHEMA), Issuer::new(), Directory::new("trusted"));
    let trusted = written(&directory, "issuer.crt", &issuer.certificate);
    let uri = format!("https://localhost:{}/jwks.json", issuer.port);
    let mut program = Program::launch(Program::serving(
        &database.uri(),
        &[("THALWEG_JWT_JWKS_URI", &uri), ("SSL_CERT_FILE", &trusted), ("PGRST_ADMIN_SERVER_PORT", "0")],
    ));
    let admin = program.line("Admin server listening on ");
    let admin: SocketAddr = admin.rsplit_once(' ').unwrap().1.parse().unwrap();
    let address = program.address();
    program.line(&format!("Keys of tokens fetched from {uri}"));
    assert_eq!(ask(address, &issuer.token()).json()[0]["sub"], "me");
    let metrics = Client::connect(admin).request("GET", "/metrics", &[]);
    for sample in
        ["thalweg_jwks_fetches_total{result=\"success\"} 1", "thalweg_jwks_keys 1", "thalweg_jwks_age_seconds "]
    {
        assert!(metrics.text().lines().any(|line| line.starts_with(sample)), "{sample}: {}", metrics.text());
    }
    // who asks for the configuration to be read again has the keys fetched again
    assert_eq!(issuer.asked.load(Ordering::SeqCst), 1);
    program.signal(Signal::SIGUSR2);
    eventually("it is asked again", || issuer.asked.load(Ordering::SeqCst) == 2);
}

#[test]
fn no_key_comes_from_an_issuer_whose_certificate_is_not_trusted() {
    let (database, issuer, directory) = (Database::new(SCHEMA), Issuer::new(), Directory::new("untrusted"));
    let others = written(&directory, "other.crt", &Issuer::new().certificate);
    let own = written(&directory, "issuer.crt", &issuer.certificate);
    for (host, trusted) in [("localhost", &others), ("127.0.0.1", &own)] {
        let uri = format!("https://{host}:{}/jwks.json", issuer.port);
        let mut program = Program::launch(Program::serving(
            &database.uri(),
            &[("THALWEG_JWT_JWKS_URI", &uri), ("SSL_CERT_FILE", trusted)],
        ));
        program.line("its TLS is not trusted");
        let refused = ask(program.address(), &issuer.token());
        assert_eq!((refused.status, &refused.json()["code"]), (503, &json!("TWG08")), "{host}");
    }
    assert_eq!(issuer.asked.load(Ordering::SeqCst), 0);
}
