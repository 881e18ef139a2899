//! The forms of `jwt-secret`.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use serde_json::{Value, json};
use thalweg_auth::{JWKS_KEYS_MAX, KeyErrorKind, Keys, SECRET_BYTES_MIN};

fn refused(secret: impl AsRef<[u8]>) -> String {
    Keys::parse(secret.as_ref()).unwrap_err().to_string()
}

fn b64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// An odd number of so many bits.
fn modulus(bits: usize) -> Vec<u8> {
    let mut bytes = vec![0x55; bits.div_ceil(8)];
    bytes[0] = 1 << ((bits - 1) % 8);
    *bytes.last_mut().unwrap() |= 1;
    bytes
}

fn rsa(n: &[u8], e: &[u8]) -> Value {
    json!({ "kty": "RSA", "n": b64(n), "e": b64(e) })
}

#[test]
fn a_text_has_at_least_32_bytes() {
    assert!(Keys::parse(&[b'x'; SECRET_BYTES_MIN]).is_ok());
    assert_eq!(refused([b'x'; SECRET_BYTES_MIN - 1]), "The JWT secret must be at least 32 characters long.");
    assert_eq!(refused(""), "The JWT secret must be at least 32 characters long.");
    // bytes are counted, and need be no text
    assert!(Keys::parse(&[0xff; SECRET_BYTES_MIN]).is_ok());
    assert!(Keys::parse("ü".repeat(16).as_bytes()).is_ok());
}

#[test]
fn what_is_no_json_or_no_key_is_a_text() {
    for text in [r#"{"keys":[{"kty":"oct","k":"AAAA"}"#, r#"{"a":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#] {
        let keys = Keys::parse(text.as_bytes()).unwrap();
        assert_eq!(
            keys.warnings(),
            ["jwt-secret begins like a JSON Web Key and is none: all of it is the secret of HS256 tokens."]
        );
    }
    assert!(Keys::parse(br#"["xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]"#).unwrap().warnings().is_empty());
    assert_eq!(refused(r#"{"a":1}"#), "The JWT secret must be at least 32 characters long.");
    // but what says that it is a key is never one: a public key as a secret is everybody's
    for key in [
        r#"{"kty":"RSA","n":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","e":"AQAB"}"#,
        r#"{"kty":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#,
        r#"{"keys":{"kty":"RSA","n":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","e":"AQAB"}}"#,
    ] {
        assert!(refused(key).starts_with("The JWT secret is a key that cannot be used: "), "{key}");
    }
    assert!(refused(format!("{}{}", "[".repeat(100), "]".repeat(100))).contains("nested too deep"));
}

#[test]
fn base64_is_decoded_in_both_alphabets() {
    let decoded = |text: &str| Keys::decode_base64(text.as_bytes());
    for text in ["-_8=", "+/8=", " +/8=\n", "-_8.", "\t-/8."] {
        assert_eq!(decoded(text).unwrap(), [0xfb, 0xff], "{text}");
    }
    assert_eq!(decoded("").unwrap(), b"");
    for text in ["-_8", "a b=", "*", "-_9=", "=", "AAAAA", "AA==AA==", "ü"] {
        let error = decoded(text).unwrap_err();
        assert_eq!(error.kind(), KeyErrorKind::NotBase64, "{text}");
        assert_eq!(error.to_string(), "The JWT secret is not base64.");
    }
}

#[test]
fn jwks_that_cannot_be_used() {
    let point = |crv: &str, x: usize, y: usize| json!({ "kty": "EC", "crv": crv, "x": b64(&vec![1; x]), "y": b64(&vec![2; y]) });
    let with = |mut jwk: Value, name: &str, value: Value| {
        jwk[name] = value;
        jwk
    };
    let oct = || json!({ "kty": "oct", "k": "AAAA" });
    let ed25519 = |bytes: usize| json!({ "kty": "OKP", "crv": "Ed25519", "x": b64(&vec![3; bytes]) });
    for (jwk, fault) in [
        (json!({ "kty": 5 }), "'kty' is no string"),
        (json!({ "kty": "DSA" }), "its 'kty' is not known"),
        (json!({ "kty": "oct" }), "its 'k' is not base64url"),
        (json!({ "kty": "oct", "k": "" }), "its 'k' is empty"),
        (json!({ "kty": "oct", "k": "AAA=" }), "its 'k' is not base64url"),
        (json!({ "kty": "oct", "k": "AAB" }), "its 'k' is not base64url"),
        (with(oct(), "alg", "RS256".into()), "its 'alg' is not one of its 'kty'"),
        (with(oct(), "alg", "none".into()), "its 'alg' is not one that tokens are checked with"),
        (with(oct(), "alg", 5.into()), "'alg' is no string"),
        (with(oct(), "kid", 5.into()), "'kid' is no string"),
        (with(oct(), "use", "enc".into()), "its 'use' is not 'sig'"),
        (with(oct(), "use", "SIG".into()), "its 'use' is not 'sig'"),
        (rsa(&modulus(2047), &[1, 0, 1]), "its modulus has fewer than 2048 bits"),
        (rsa(&modulus(8193), &[1, 0, 1]), "its modulus has more than 8192 bits"),
        (rsa(&modulus(8_000_000), &[1, 0, 1]), "its modulus has more than 8192 bits"),
        (rsa(&modulus(2048), &[1; 256]), "its exponent has more than 33 bits"),
        (rsa(&modulus(2048), &[1]), "its modulus and exponent are no RSA key"),
        (rsa(&modulus(2048), &[2]), "its modulus and exponent are no RSA key"),
        (rsa(&modulus(2048), &[]), "its modulus and exponent are no RSA key"),
        (rsa(&[&[1][..], &[0; 256]].concat(), &[3]), "its modulus and exponent are no RSA key"),
        (rsa(&[], &[3]), "its modulus has fewer than 2048 bits"),
        (json!({ "kty": "RSA", "n": b64(&modulus(2048)) }), "its 'e' is not base64url"),
        (json!({ "kty": "EC" }), "it has no 'crv'"),
        (point("secp256k1", 32, 32), "its 'crv' is not known"),
        (point("P-256", 31, 32), "its 'x' and 'y' are not as long as its curve needs"),
        (point("P-384", 48, 49), "its 'x' and 'y' are not as long as its curve needs"),
        (point("P-521", 65, 66), "its 'x' and 'y' are not as long as its curve needs"),
        (point("P-521", 66, 66), "its 'x' and 'y' are not on its curve"),
        (with(point("P-256", 32, 32), "alg", "ES384".into()), "its 'alg' is not one of its 'kty'"),
        (ed25519(31), "its 'x' does not have 32 bytes"),
        (with(ed25519(32), "crv", "Ed448".into()), "its 'crv' is not known"),
        (with(ed25519(32), "crv", "X25519".into()), "its 'crv' is not known"),
    ] {
        assert_eq!(refused(jwk.to_string()), format!("The JWT secret is a key that cannot be used: {fault}."), "{jwk}");
        // in a set it is left out, and said
        let set = json!({ "keys": [oct(), with(jwk.clone(), "kid", "k\"1".into())] });
        let keys = Keys::parse(set.to_string().as_bytes()).unwrap();
        if jwk["kid"].is_number() {
            continue;
        }
        assert_eq!(keys.warnings(), [format!("Key 2 of jwt-secret, \"k\\\"1\", is not used: {fault}.")]);
    }
    for jwk in [
        oct(),
        with(oct(), "use", "sig".into()),
        with(oct(), "alg", Value::Null),
        rsa(&modulus(2048), &[3]),
        rsa(&modulus(8192), &[1, 0, 1]),
        rsa(&[&[0, 0][..], &modulus(2048)].concat(), &[0, 1, 0, 1]),
        rsa(&modulus(2048), &[1, 0xff, 0xff, 0xff, 0xff]),
        point("P-256", 32, 32),
        ed25519(32),
    ] {
        assert!(Keys::parse(jwk.to_string().as_bytes()).is_ok(), "{jwk}");
    }
}

#[test]
fn a_set_is_bounded_and_may_be_empty() {
    let set = |count: usize| json!({ "keys": vec![json!({ "kty": "oct", "k": "AAAA" }); count] }).to_string();
    assert!(Keys::parse(set(JWKS_KEYS_MAX).as_bytes()).unwrap().warnings().is_empty());
    assert_eq!(refused(set(JWKS_KEYS_MAX + 1)), "The set has more than 64 keys.");
    assert_eq!(
        Keys::parse(set(0).as_bytes()).unwrap().warnings(),
        ["jwt-secret has no key that tokens can be checked with: every token is refused."]
    );
    let odd = Keys::parse(br#"{"keys":[5,null,{"kty":"x"},{}]}"#).unwrap();
    assert_eq!(odd.warnings().len(), 5);
}

#[test]
fn of_what_an_issuer_publishes_only_public_keys_count() {
    let published = |document: &Value| Keys::parse_public(document.to_string().as_bytes(), "the set");
    let with = |mut jwk: Value, name: &str, value: &str| {
        jwk[name] = value.into();
        jwk
    };
    let public = || rsa(&modulus(2048), &[1, 0, 1]);
    let secret = json!({ "kty": "oct", "k": b64(&[7; 32]), "kid": "s" });
    let private = with(public(), "d", "AAAA");
    let encrypting = with(public(), "use", "enc");
    let keys = published(&json!({ "keys": [secret, public(), private, encrypting] })).unwrap();
    assert_eq!(keys.count(), 1);
    assert_eq!(
        keys.warnings(),
        [
            "Key 1 of the set, \"s\", is not used: it is a secret, with which everybody who reads it can sign.",
            "Key 3 of the set is not used: it is a private key, with which everybody who reads it can sign.",
            "Key 4 of the set is not used: its 'use' is not 'sig'.",
        ]
    );
    // nobody writes our log
    let long = with(secret.clone(), "kid", &"k".repeat(65));
    assert!(!published(&json!({ "keys": [long, public()] })).unwrap().warnings()[0].contains("kkk"));
    let refused = |document: Value| published(&document).unwrap_err().kind();
    assert_eq!(refused(json!({ "keys": [secret] })), KeyErrorKind::NoneUsable);
    assert_eq!(refused(json!({ "keys": [] })), KeyErrorKind::NoneUsable);
    assert_eq!(refused(json!({ "keys": vec![public(); JWKS_KEYS_MAX + 1] })), KeyErrorKind::TooMany);
    for no_set in [public(), json!({ "keys": public() }), json!([public()]), json!("x"), json!({})] {
        assert_eq!(refused(no_set), KeyErrorKind::NoSet);
    }
    // what would be a secret if it stood in the configuration is none here
    let text = Keys::parse_public(&[b'x'; SECRET_BYTES_MIN], "the set");
    assert_eq!(text.unwrap_err().kind(), KeyErrorKind::NoSet);
}

#[test]
fn nothing_of_a_secret_is_shown() {
    let shown = format!("{:?}", Keys::parse(b"thermals-over-the-ridge-at-noon!").unwrap());
    assert_eq!(shown, "Keys { count: 1, .. }");
}

proptest! {
    #[test]
    fn no_secret_panics(secret: Vec<u8>) {
        let _ = Keys::parse(&secret);
        let _ = Keys::decode_base64(&secret);
    }

    #[test]
    fn no_jwk_panics(
        kty in "(oct|RSA|EC|OKP)", crv in "(P-256|P-384|P-521|Ed25519)",
        n in "[A-Za-z0-9_-]{0,100}", e in "[A-Za-z0-9_=-]{0,8}", alg in "(HS256|ES512|RS256)?",
    ) {
        let jwk = json!({ "kty": kty, "crv": crv, "n": n, "e": e, "x": n, "y": n, "k": n, "alg": alg });
        let _ = Keys::parse(jwk.to_string().as_bytes());
    }
}
