//! Keys that an issuer publishes (`jwt-jwks-uri`): an issuer on a real socket, as good or as bad as a test wants it.

use crate::auth::ask;
use crate::configuration::Login;
use crate::served::{GRANTS, ROLE, Served, config, eventually};
use crate::signed::{SECRET, token};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use thalweg_server::{Config, Secret};
use thalweg_testkit::{Database, Response};

const SCHEMA: &str = "
    create schema api;
    create view api.me as select current_user::text as role;
";
/// Roles belong to the whole cluster, and other tests make theirs.
const PILOTS: &str = "
    do $$ begin create role pilot nologin; exception when duplicate_object or unique_violation then null; end $$;
    grant usage on schema api to pilot; grant select on api.me to pilot;
";

fn database() -> Database {
    Database::new(&format!("{SCHEMA}{GRANTS}{PILOTS}"))
}

fn with_issuer(database: &Database, issuer: &Issuer) -> Config {
    Config { jwt_jwks_uri: Some(issuer.uri().parse().unwrap()), ..config(&database.uri()) }
}

/// The same, where keys are fetched again each second, and a token of an unknown key may have them fetched as often.
fn with_quick_issuer(database: &Database, issuer: &Issuer) -> Config {
    Config { jwt_jwks_refresh: Duration::from_secs(1), ..with_issuer(database, issuer) }
}

/// What becomes of a token.
fn status(served: &Served, token: &str) -> (u16, String) {
    let response = ask(served, "GET", "/me", token);
    let code = response.json()["code"].as_str().unwrap_or_default().to_owned();
    (response.status, code)
}

fn refused() -> (u16, String) {
    (401, "PGRST301".to_owned())
}

fn accepted() -> (u16, String) {
    (200, String::new())
}

/// A key that signs.
struct Signer {
    kid: String,
    pair: Ed25519KeyPair,
}

impl Signer {
    fn new(kid: &str) -> Self {
        let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self { kid: kid.to_owned(), pair: Ed25519KeyPair::from_pkcs8(pair.as_ref()).unwrap() }
    }

    fn jwk(&self) -> Value {
        let x = BASE64_URL_SAFE_NO_PAD.encode(self.pair.public_key());
        json!({ "kty": "OKP", "crv": "Ed25519", "x": x, "kid": self.kid, "use": "sig" })
    }

    fn token(&self) -> String {
        self.token_of(&json!({ "alg": "EdDSA", "kid": self.kid }))
    }

    fn token_of(&self, header: &Value) -> String {
        let [header, claims] = [header, &json!({ "role": "pilot" })].map(|part| base64url(part.to_string()));
        let text = format!("{header}.{claims}");
        format!("{text}.{}", base64url(self.pair.sign(text.as_bytes())))
    }
}

fn base64url(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

fn set(keys: &[&Signer]) -> String {
    json!({ "keys": keys.iter().map(|key| key.jwk()).collect::<Vec<_>>() }).to_string()
}

/// What an issuer does with who asks.
#[derive(Clone)]
enum Manner {
    Publishes(String),
    /// These bytes, and the end of the connection.
    Says(Vec<u8>),
    /// The first bytes, and then the second for ever, as fast as they are taken.
    NeverEnds(&'static str, Vec<u8>),
    /// A byte at a time.
    Drips,
    /// Nothing, until it behaves otherwise.
    Hangs,
}

/// An issuer. It counts who asks.
struct Issuer {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    manner: Mutex<Manner>,
    asked: AtomicUsize,
    hanging: AtomicUsize,
    sent_bytes: AtomicUsize,
    heads: Mutex<Vec<String>>,
    has_ended: AtomicBool,
}

impl Issuer {
    fn new(manner: Manner) -> Self {
        Self::at(TcpListener::bind("127.0.0.1:0").unwrap(), manner)
    }

    fn at(listener: TcpListener, manner: Manner) -> Self {
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            manner: Mutex::new(manner),
            asked: AtomicUsize::new(0),
            hanging: AtomicUsize::new(0),
            sent_bytes: AtomicUsize::new(0),
            heads: Mutex::default(),
            has_ended: AtomicBool::new(false),
        });
        let serving = shared.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serving.has_ended.load(Ordering::SeqCst) {
                    return;
                }
                let shared = serving.clone();
                std::thread::spawn(move || _ = shared.serve(stream));
            }
        });
        Self { address, shared, thread: Some(thread) }
    }

    fn uri(&self) -> String {
        format!("http://{}/.well-known/jwks.json?p=1", self.address)
    }

    fn behave(&self, manner: Manner) {
        *self.shared.manner.lock().unwrap() = manner;
    }

    fn publish(&self, keys: &[&Signer]) {
        self.behave(Manner::Publishes(set(keys)));
    }

    fn asked(&self) -> usize {
        self.shared.asked.load(Ordering::SeqCst)
    }

    /// Once at the start, and once each ten seconds.
    fn was_not_asked_often(&self, begun: Instant) {
        let asked = self.asked();
        let allowed = 1 + begun.elapsed().as_secs() as usize / 10;
        assert!(asked <= allowed, "{asked} > {allowed}");
    }

    fn is_hanging(&self) -> bool {
        self.shared.hanging.load(Ordering::SeqCst) == 1
    }

    /// Waits until what was asked from now on has been answered once at least: there is one fetch at a time.
    fn wait_for_another(&self) {
        let before = self.asked();
        eventually("it is asked again", || self.asked() >= before + 2);
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the issuer ended in order");
        }
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        self.heads.lock().unwrap().push(String::from_utf8(head).unwrap());
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut manner = self.manner();
        if matches!(manner, Manner::Hangs) {
            self.hanging.fetch_add(1, Ordering::SeqCst);
            while matches!(manner, Manner::Hangs) && !self.has_ended.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
                manner = self.manner();
            }
            self.hanging.fetch_sub(1, Ordering::SeqCst);
        }
        match manner {
            Manner::Publishes(document) => stream.write_all(answer("200 OK", "", &document).as_bytes()),
            Manner::Says(bytes) => stream.write_all(&bytes),
            Manner::NeverEnds(first, then) => {
                stream.write_all(first.as_bytes())?;
                while !self.has_ended.load(Ordering::SeqCst) {
                    stream.write_all(&then)?;
                    self.sent_bytes.fetch_add(then.len(), Ordering::SeqCst);
                }
                Ok(())
            }
            Manner::Drips => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")?;
                while !self.has_ended.load(Ordering::SeqCst) {
                    stream.write_all(b" ")?;
                    std::thread::sleep(Duration::from_millis(50));
                }
                Ok(())
            }
            Manner::Hangs => Ok(()),
        }
    }

    fn manner(&self) -> Manner {
        self.manner.lock().unwrap().clone()
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}

#[test]
fn tokens_are_verified_with_what_the_issuer_publishes() {
    let (database, key, stranger) = (database(), Signer::new("one"), Signer::new("one"));
    let issuer = Issuer::new(Manner::Publishes(set(&[&key])));
    let secret = Some(Secret::new(SECRET));
    let begun = Instant::now();
    let served = Served::start(Config { jwt_secret: secret, ..with_issuer(&database, &issuer) });
    // who comes before they have been fetched waits for them
    assert_eq!(ask(&served, "GET", "/me", &key.token()).json()[0]["role"], "pilot");
    assert_eq!(status(&served, &key.token_of(&json!({ "alg": "EdDSA" }))), accepted());
    // those of the configuration count too
    assert_eq!(status(&served, &token(&json!({ "role": "pilot" }))), accepted());
    // another key under a name that is known
    assert_eq!(status(&served, &stranger.token()), refused());
    // what is public is no secret, in whatever form
    let jwk = key.jwk();
    let x = jwk["x"].as_str().unwrap();
    for secret in [BASE64_URL_SAFE_NO_PAD.decode(x).unwrap(), x.into(), jwk.to_string().into(), set(&[&key]).into()] {
        for header in [json!({ "alg": "HS256" }), json!({ "alg": "HS256", "kid": "one" })] {
            let text = format!("{}.{}", base64url(header.to_string()), base64url(r#"{"role":"pilot"}"#));
            let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &secret), text.as_bytes());
            assert_eq!(status(&served, &format!("{text}.{}", base64url(signature))), refused());
        }
    }
    // none of them was worth asking again at once
    issuer.was_not_asked_often(begun);
    let head = issuer.shared.heads.lock().unwrap()[0].to_ascii_lowercase();
    assert!(head.starts_with("get /.well-known/jwks.json?p=1 http/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("\r\nhost: {}\r\n", issuer.address)) && !head.contains("authorization"), "{head}");
    let refused = ask(&served, "GET", "/me", &stranger.token());
    assert_eq!(refused.json()["message"], "No suitable key or wrong key type");
    assert!(refused.header("www-authenticate").is_some_and(|challenge| challenge.contains("invalid_token")));
}

#[test]
fn keys_that_are_withdrawn_are_refused_although_their_tokens_are_remembered() {
    let (database, old, new) = (database(), Signer::new("old"), Signer::new("new"));
    let issuer = Issuer::new(Manner::Publishes(set(&[&old])));
    let served = Served::start(with_quick_issuer(&database, &issuer));
    (0..3).for_each(|_| assert_eq!(status(&served, &old.token()), accepted()));
    // both for a while, as issuers do it
    issuer.publish(&[&old, &new]);
    eventually("the new one is known", || status(&served, &new.token()) == accepted());
    (0..3).for_each(|_| assert_eq!(status(&served, &old.token()), accepted()));
    // nobody has to ask for it
    issuer.publish(&[&new]);
    issuer.wait_for_another();
    (0..3).for_each(|_| assert_eq!(status(&served, &old.token()), refused()));
    assert_eq!(status(&served, &new.token()), accepted());
}

#[test]
fn tokens_of_keys_that_there_are_not_do_not_have_the_issuer_asked_often() {
    let (database, key) = (database(), Signer::new("one"));
    let issuer = Issuer::new(Manner::Publishes(set(&[&key])));
    let begun = Instant::now();
    let served = Served::start(with_issuer(&database, &issuer));
    assert_eq!(status(&served, &key.token()), accepted());
    std::thread::scope(|scope| {
        for client in 0..8 {
            let (served, key) = (&served, &key);
            scope.spawn(move || {
                for request in 0..40 {
                    let stranger = Signer::new(&format!("{client}-{request}"));
                    assert_eq!(status(served, &stranger.token()), refused());
                    assert_eq!(status(served, &stranger.token_of(&json!({ "alg": "EdDSA" }))), refused());
                    assert_eq!(status(served, &key.token()), accepted());
                }
            });
        }
    });
    issuer.was_not_asked_often(begun);
}

#[test]
fn a_key_that_is_known_waits_for_nobody() {
    let (database, old, new) = (database(), Signer::new("old"), Signer::new("new"));
    let issuer = Issuer::new(Manner::Publishes(set(&[&old])));
    let served = Served::start(with_quick_issuer(&database, &issuer));
    assert_eq!(status(&served, &old.token()), accepted());
    issuer.behave(Manner::Hangs);
    eventually("it hangs", || issuer.is_hanging());
    let asked = issuer.asked();
    std::thread::scope(|scope| {
        let unknown = scope.spawn(|| {
            let begun = Instant::now();
            (status(&served, &new.token()), begun.elapsed())
        });
        // one that was remembered, one that was not, and nobody's
        assert_eq!(status(&served, &old.token()), accepted());
        assert_eq!(status(&served, &old.token_of(&json!({ "alg": "EdDSA", "kid": "old", "x": 1 }))), accepted());
        assert_eq!(served.get("/me").json()[0]["role"], ROLE);
        assert!(issuer.is_hanging() && issuer.asked() == asked, "they were answered before the issuer has answered");
        issuer.publish(&[&old, &new]);
        // and who is not known yet has waited for as long as anybody does, or until the key is known
        let (unknown, waited) = unknown.join().unwrap();
        assert!(unknown == accepted() || waited >= Duration::from_secs(5), "{unknown:?} after {waited:?}");
    });
}

#[test]
fn an_issuer_that_is_away_at_the_start_keeps_nobody_from_starting() {
    let (database, key) = (database(), Signer::new("one"));
    // a port of its own, at which nobody listens
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let served = Served::start(Config {
        jwt_secret: Some(Secret::new(SECRET)),
        jwt_jwks_uri: Some(format!("http://{address}/jwks").parse().unwrap()),
        jwt_jwks_refresh: Duration::from_secs(1),
        session_cookie: Some("session".to_owned()),
        ..config(&database.uri())
    });
    assert_eq!(served.get("/me").json()[0]["role"], ROLE);
    assert_eq!(status(&served, &token(&json!({ "role": "pilot" }))), accepted());
    // it may be good: nobody is told to throw it away
    let unknown = |response: Response| {
        assert_eq!((response.status, &response.json()["code"]), (503, &json!("TWG08")));
        assert_eq!((response.header("retry-after"), response.header("set-cookie")), (Some("1"), None));
    };
    unknown(ask(&served, "GET", "/me", &key.token()));
    unknown(served.request("GET", "/me", &[("cookie", &format!("session={}", key.token()))]));
    // what no key could have signed is wrong now and later
    assert_eq!(status(&served, "a.b"), refused());
    socket.listen(128).unwrap();
    let _issuer = Issuer::at(socket.into(), Manner::Publishes(set(&[&key])));
    eventually("it has come", || status(&served, &key.token()) == accepted());
    assert_eq!(status(&served, &Signer::new("x").token()), refused());
}

/// Whatever the issuer does, the keys that are known stay, and it is asked again.
fn keys_stay_known(manners: Vec<(&str, Manner)>) {
    let (database, key, other) = (database(), Signer::new("one"), Signer::new("other"));
    let issuer = Issuer::new(Manner::Publishes(set(&[&key])));
    let served = Served::start(with_quick_issuer(&database, &issuer));
    assert_eq!(status(&served, &key.token()), accepted());
    for (what, manner) in manners {
        let before = issuer.asked();
        issuer.behave(manner);
        issuer.wait_for_another();
        assert_eq!(status(&served, &key.token()), accepted(), "{what}");
        let sent_bytes = issuer.shared.sent_bytes.swap(0, Ordering::SeqCst);
        let taken_bytes = sent_bytes / (issuer.asked() - before);
        assert!(taken_bytes < TAKEN_BYTES_MAX, "{what}: {taken_bytes} bytes were taken each time");
    }
    issuer.publish(&[&key, &other]);
    eventually("it is good again", || status(&served, &other.token()) == accepted());
}

/// What the buffers of two sockets take, and not what is sent in ten seconds.
const TAKEN_BYTES_MAX: usize = 12 * 1024 * 1024;

#[test]
fn a_wrong_answer_leaves_the_keys_that_are_known() {
    let other = Signer::new("other");
    let elsewhere = Issuer::new(Manner::Publishes(set(&[&other])));
    let says = |text: String| Manner::Says(text.into_bytes());
    let good = set(&[&other]);
    keys_stay_known(vec![
        ("an error", says(answer("500 Internal Server Error", "", &good))),
        ("no content", says("HTTP/1.1 204 No Content\r\n\r\n".to_owned())),
        ("a redirect", says(answer("302 Found", &format!("location: {}\r\n", elsewhere.uri()), &good))),
        ("cut short", says(format!("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{good}"))),
        ("no HTTP", says(format!("\x16\x03\x01\0{good}"))),
        ("a closed connection", says(String::new())),
    ]);
    assert_eq!(elsewhere.asked(), 0);
}

#[test]
fn a_wrong_document_leaves_the_keys_that_are_known() {
    let other = Signer::new("other");
    let ok = |body: &str| Manner::Says(answer("200 OK", "", body).into_bytes());
    let secret = json!({ "keys": [{ "kty": "oct", "kid": "other", "k": base64url([7; 32]) }] });
    let mut private = other.jwk();
    private["d"] = json!(base64url([7; 32]));
    keys_stay_known(vec![
        ("a page", ok("<html>sign in</html>")),
        ("nothing", ok("")),
        ("no set", ok(&other.jwk().to_string())),
        ("an empty set", ok(r#"{"keys":[]}"#)),
        ("a secret", ok(&secret.to_string())),
        ("a private key", ok(&json!({ "keys": [private] }).to_string())),
        ("too many keys", ok(&json!({ "keys": vec![other.jwk(); 65] }).to_string())),
        ("too large", ok(&format!("{}{}", set(&[&other]), " ".repeat(256 * 1024)))),
        ("nested", ok(&format!(r#"{{"keys":{}"#, "[".repeat(100_000)))),
    ]);
}

/// As much as makes a write worth it.
fn many(bytes: &[u8]) -> Vec<u8> {
    bytes.repeat(16 * 1024 / bytes.len())
}

#[test]
fn an_answer_without_end_leaves_the_keys_that_are_known() {
    keys_stay_known(vec![
        ("a body", Manner::NeverEnds("HTTP/1.1 200 OK\r\n\r\n", many(b" "))),
        (
            "chunks",
            Manner::NeverEnds(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
                many(b"10\r\n                \r\n"),
            ),
        ),
        ("a head", Manner::NeverEnds("HTTP/1.1 200 OK\r\n", many(b"x: 0123456789\r\n"))),
        ("a line", Manner::NeverEnds("HTTP/1.1 200 OK\r\nx: ", many(b"x"))),
        ("preliminaries", Manner::NeverEnds("", many(b"HTTP/1.1 100 Continue\r\n\r\n"))),
    ]);
}

#[test]
fn an_issuer_that_takes_its_time_leaves_the_keys_that_are_known() {
    std::thread::scope(|scope| {
        for manner in [("drops", Manner::Drips), ("silence", Manner::Hangs)] {
            scope.spawn(|| keys_stay_known(vec![manner]));
        }
    });
}

#[test]
fn another_issuer_takes_the_place_of_one_with_a_reload() {
    let (database, of_first, of_second) = (database(), Signer::new("one"), Signer::new("one"));
    let (first, second) =
        (Issuer::new(Manner::Publishes(set(&[&of_first]))), Issuer::new(Manner::Publishes(set(&[&of_second]))));
    let login = Login::new(&database, "issued");
    database.execute("grant pilot to issued");
    login.set("jwt_jwks_uri", &first.uri());
    let served = Served::start(config(&login.uri()));
    assert_eq!(status(&served, &of_first.token()), accepted());
    assert_eq!(status(&served, &of_second.token()), refused());
    login.set("jwt_jwks_uri", &second.uri());
    database.execute("notify pgrst, 'reload config'");
    eventually("the second counts", || status(&served, &of_second.token()) == accepted());
    assert_eq!(status(&served, &of_first.token()), refused());
    // one that is none is dropped
    login.set("jwt_jwks_uri", "issuer.example");
    database.execute("notify pgrst, 'reload config'");
    database.execute("create table api.late (id int); grant select on api.late to test_reader; notify pgrst");
    eventually("the schema is loaded all the same", || served.get("/late").status == 200);
    assert_eq!(status(&served, &of_second.token()), accepted());
    // and without any there is nothing to verify with
    login.set("jwt_jwks_uri", "");
    database.execute("notify pgrst, 'reload config'");
    eventually("there is none", || status(&served, &of_second.token()) == (500, "PGRST300".to_owned()));
}
