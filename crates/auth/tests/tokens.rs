//! Tokens of other libraries and of the RFCs, what is refused of them and in which words.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use ring::hmac;
use serde_json::{Value, json};
use std::sync::LazyLock;
use thalweg_auth::{
    ClaimErrorKind, Claims, Keys, Refusal, RolePath, TOKEN_BYTES_MAX, TokenErrorKind, Verifier, www_authenticate,
};

/// The protocol's own secret and tokens.
const SECRET: &[u8] = b"thermals-over-the-ridge-at-noon!";
const PILOT: &str =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJyb2xlIjoicGlsb3QifQ.fyAqry7tzVoo3oxdR2TtallcZ6nkVV1Pl92gystZCr0";
const EXPIRED: &str =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJyb2xlIjoicGlsb3QiLCJleHAiOjF9.fvczEqmd0b7bWYfRE5p3SMLz0qMa2gcrZOpHQeXASlY";
const NOW: i64 = 1_700_000_000;

/// What `make.py` has made.
static FIXTURES: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("tokens/tokens.json")).expect("the fixtures are JSON"));

fn keys(secret: impl AsRef<[u8]>) -> Keys {
    Keys::parse(secret.as_ref()).unwrap()
}

fn verify(secret: &Value, token: &str) -> Result<Claims, Refusal> {
    keys(secret.to_string()).verify(token.as_bytes())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn role(claims: &Claims) -> Option<String> {
    RolePath::default().role(claims).unwrap()
}

/// Signs with HMAC, as whoever has the bytes can.
fn sign(secret: &[u8], header: &str, payload: impl AsRef<[u8]>) -> String {
    let hash = match header {
        header if header.contains("HS384") => hmac::HMAC_SHA384,
        header if header.contains("HS512") => hmac::HMAC_SHA512,
        _ => hmac::HMAC_SHA256,
    };
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(payload));
    let signature = hmac::sign(&hmac::Key::new(hash, secret), signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn hs256(payload: impl AsRef<[u8]>) -> String {
    sign(SECRET, r#"{"alg":"HS256"}"#, payload)
}

fn kind(result: Result<Claims, Refusal>) -> TokenErrorKind {
    match result {
        Err(Refusal::Token(error)) => error.kind(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_vectors_of_the_protocol() {
    let verifier = Verifier::new(keys(SECRET), RolePath::default(), None);
    let refused = |token: &str| {
        let refusal = verifier.identify(token.as_bytes(), NOW).unwrap_err();
        let code = match refusal {
            Refusal::Token(_) => "PGRST301",
            Refusal::Claims(_) => "PGRST303",
        };
        (code, refusal.to_string(), refusal.details())
    };
    let identity = verifier.identify(PILOT.as_bytes(), NOW).unwrap();
    assert_eq!(identity.role(), Some("pilot"));
    assert_eq!(identity.claims_as("pilot"), r#"{"role":"pilot"}"#);
    assert_eq!(refused(EXPIRED), ("PGRST303", "JWT expired".into(), None));
    let not_ours = Some("None of the keys was able to decode the JWT");
    assert_eq!(
        refused(&PILOT.replace(".fyA", ".gyA")),
        ("PGRST301", "No suitable key or wrong key type".into(), not_ours)
    );
    assert_eq!(refused("a.b"), ("PGRST301", "Expected 3 parts in JWT; got 2".into(), None));
}

#[test]
fn every_message_of_the_protocol() {
    let b64 = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let with_header = |header: &str| format!("{}.e30.AAAA", b64(header));
    let no_key = "No suitable key or wrong key type";
    let none_of_the_keys = Some("None of the keys was able to decode the JWT");
    let undecodable = "JWT couldn't be decoded";
    let unreadable = "JWT cryptographic operation failed";
    for (token, message, details) in [
        (String::new(), "Empty JWT is sent in Authorization header", None),
        ("a".into(), "Expected 3 parts in JWT; got 1", None),
        ("a.b.c.d.e".into(), "Expected 3 parts in JWT; got 5", None),
        ("....".into(), "Expected 3 parts in JWT; got 5", None),
        ("..".into(), unreadable, None),
        ("&.e30.AAAA".into(), unreadable, None),
        (with_header("{"), unreadable, None),
        (with_header("[]"), undecodable, None),
        (with_header("{}"), undecodable, None),
        (with_header(r#"{"alg":5}"#), undecodable, None),
        (with_header(r#"{"alg":"hs256"}"#), undecodable, None),
        (with_header(r#"{"alg":"HS257"}"#), undecodable, None),
        (with_header(r#"{"alg":"HS256","kid":5}"#), undecodable, None),
        (with_header(r#"{"alg":"dir","enc":"A128GCM"}"#), "Unsupported token type", None),
        (
            with_header(r#"{"alg":"none"}"#),
            "Wrong or unsupported encoding algorithm",
            Some("JWT is unsecured but expected 'alg' was not 'none'"),
        ),
        (
            format!("{}.e30.", b64(r#"{"alg":"none"}"#)),
            "Wrong or unsupported encoding algorithm",
            Some("JWT is unsecured but expected 'alg' was not 'none'"),
        ),
        (with_header(r#"{"alg":"NONE"}"#), undecodable, None),
        (with_header(r#"{"alg":"HS256"}"#), no_key, none_of_the_keys),
        (with_header(r#"{"alg":"RS256"}"#), no_key, none_of_the_keys),
        (with_header(r#"{"alg":"HS256","kid":"x"}"#), no_key, none_of_the_keys),
        (format!("{}.e30.", b64(r#"{"alg":"HS256"}"#)), no_key, none_of_the_keys),
        (format!("{PILOT}="), no_key, none_of_the_keys),
        (format!("{PILOT} "), no_key, none_of_the_keys),
        (format!("{PILOT}\0"), no_key, none_of_the_keys),
        ("x".repeat(TOKEN_BYTES_MAX + 1), undecodable, None),
    ] {
        let refusal = keys(SECRET).verify(token.as_bytes()).unwrap_err();
        assert!(matches!(refusal, Refusal::Token(_)), "{token}");
        assert_eq!((refusal.to_string().as_str(), refusal.details()), (message, details), "{token}");
    }
    // no key at all
    let refusal = keys(r#"{"keys":[]}"#).verify(PILOT.as_bytes()).unwrap_err();
    assert_eq!(refusal.to_string(), no_key);
    assert_eq!(refusal.details(), Some("No suitable key was found to decode the JWT"));
    // the payload is looked at once it is signed
    for payload in ["[]", "5", "null", "", "{\"a\":", "{}x"] {
        let refusal = keys(SECRET).verify(hs256(payload).as_bytes()).unwrap_err();
        assert_eq!(refusal.to_string(), "Parsing claims failed");
        assert!(matches!(refusal, Refusal::Claims(error) if error.kind() == ClaimErrorKind::Unreadable));
    }
    let refusal = keys(SECRET).verify(hs256(b"{\"a\":\"\xff\"}").as_bytes()).unwrap_err();
    assert_eq!(
        www_authenticate(Some(&refusal.to_string())),
        r#"Bearer error="invalid_token", error_description="Parsing claims failed""#
    );
    // what only the issuer can do: to sign what is no base64url
    let header = b64(r#"{"alg":"HS256"}"#);
    let signed = format!("{header}.e30=");
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SECRET), signed.as_bytes());
    let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature));
    assert_eq!(kind(keys(SECRET).verify(token.as_bytes())), TokenErrorKind::Undecodable);
}

/// What a token is refused for, of which no key is named and none has signed it: another public key may have.
fn signed_by_none(alg: &Value) -> TokenErrorKind {
    if text(alg).starts_with("HS") { TokenErrorKind::NotSigned } else { TokenErrorKind::UnknownKey }
}

#[test]
fn tokens_that_another_library_has_signed() {
    let tokens = FIXTURES["tokens"].as_array().unwrap();
    let mut algorithms = Vec::new();
    for one in tokens {
        algorithms.push(text(&one["alg"]));
        let name = format!("{} {}", one["alg"], one["note"]);
        for key in [&one["public"], &one["private"]] {
            let claims = verify(key, text(&one["token"])).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
            assert_eq!(role(&claims).as_deref(), Some("pilot"), "{name}");
            claims.check(NOW, None).unwrap();
            assert!(claims.as_role("x").contains(r#""n":12345678901234567890"#), "{name}");
            assert_eq!(kind(verify(key, text(&one["signed_by_another"]))), signed_by_none(&one["alg"]), "{name}");
        }
    }
    for alg in "HS256 HS384 HS512 RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA".split(' ') {
        assert!(algorithms.contains(&alg), "{alg}");
    }
}

#[test]
fn a_token_is_checked_with_keys_of_its_kind_only() {
    let tokens = FIXTURES["tokens"].as_array().unwrap();
    // each with every key but its own
    for token in tokens {
        for key in tokens.iter().filter(|key| key["public"] != token["public"]) {
            assert_eq!(kind(verify(&key["public"], text(&token["token"]))), signed_by_none(&token["alg"]));
        }
    }
    // a key that has an algorithm is for no other, even of its own kind
    for (alg, other) in
        [("RS256", "PS256"), ("PS256", "RS256"), ("RS384", "RS512"), ("HS256", "HS512"), ("HS512", "HS256")]
    {
        let of = |alg: &str| tokens.iter().find(|one| one["alg"] == alg).unwrap();
        let mut key = of(alg)["public"].clone();
        key["alg"] = alg.into();
        assert!(verify(&key, text(&of(alg)["token"])).is_ok());
        assert_eq!(kind(verify(&key, text(&of(other)["token"]))), signed_by_none(&json!(other)), "{alg} {other}");
    }
}

#[test]
fn no_hmac_is_checked_with_a_public_key() {
    for one in FIXTURES["tokens"].as_array().unwrap().iter().filter(|one| !text(&one["alg"]).starts_with("HS")) {
        let public = &one["public"];
        let mut secrets = vec![public.to_string().into_bytes(), serde_json::to_vec_pretty(public).unwrap()];
        for member in ["n", "x", "y"].iter().filter_map(|name| public[*name].as_str()) {
            secrets.push(member.as_bytes().to_vec());
            secrets.push(URL_SAFE_NO_PAD.decode(member).unwrap());
        }
        secrets.push(Vec::new());
        for alg in ["HS256", "HS384", "HS512"] {
            for secret in &secrets {
                let forged = sign(secret, &format!(r#"{{"alg":"{alg}"}}"#), r#"{"role":"root"}"#);
                assert_eq!(kind(verify(public, &forged)), TokenErrorKind::NotSigned);
                assert_eq!(kind(verify(&json!({ "keys": [public] }), &forged)), TokenErrorKind::NotSigned);
            }
        }
    }
}

#[test]
fn a_signature_of_zeros_is_none() {
    for one in FIXTURES["tokens"].as_array().unwrap() {
        let (signed, signature) = text(&one["token"]).rsplit_once('.').unwrap();
        let length = URL_SAFE_NO_PAD.decode(signature).unwrap().len();
        for forged in [vec![0; length], vec![0xff; length], vec![0; length - 1], vec![0; length + 1], Vec::new()] {
            let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(forged));
            assert_eq!(kind(verify(&one["public"], &token)), signed_by_none(&one["alg"]), "{}", one["alg"]);
        }
    }
}

#[test]
fn what_a_secret_signs_it_accepts_and_a_public_key_signs_nothing() {
    let claims = r#"{"role":"pilot"}"#;
    assert_eq!(
        Keys::parse(SECRET).unwrap().sign(claims.as_bytes()).unwrap(),
        sign(SECRET, r#"{"alg":"HS256"}"#, claims)
    );
    let public = &FIXTURES["named"][0]["public"];
    assert_eq!(Keys::parse(public.to_string().as_bytes()).unwrap().sign(claims.as_bytes()), None);
    let oct = |alg: &str| json!({ "kty": "oct", "k": URL_SAFE_NO_PAD.encode(SECRET), "kid": "a \"name\"", "alg": alg });
    assert_eq!(Keys::parse(oct("HS512").to_string().as_bytes()).unwrap().sign(claims.as_bytes()), None);
    let keys = Keys::parse(json!({ "keys": [public, oct("HS512"), oct("HS256")] }).to_string().as_bytes()).unwrap();
    let token = keys.sign(claims.as_bytes()).unwrap();
    assert!(keys.verify(token.as_bytes()).is_ok());
    assert!(keys.verify(&token.as_bytes()[..token.len() - 1]).is_err());
}

#[test]
fn rsa_keys_of_1024_bits_are_refused() {
    let small = &FIXTURES["rsa_of_1024_bits"];
    assert!(Keys::parse(small["public"].to_string().as_bytes()).is_err());
    let set = json!({ "keys": [small["public"]] });
    assert_eq!(kind(verify(&set, text(&small["token"]))), TokenErrorKind::NoKey);
}

#[test]
fn a_kid_chooses_its_key_and_no_other() {
    let [first, second] = FIXTURES["named"].as_array().unwrap().as_slice() else { panic!() };
    let set = json!({ "keys": [first["public"], second["public"]] });
    for one in [first, second] {
        assert!(verify(&set, text(&one["token"])).is_ok());
        // no kid: each is tried
        assert!(verify(&set, text(&one["unnamed"])).is_ok());
    }
    // the right key under a wrong name, no name, and one that differs in case
    for kid in [json!("second"), Value::Null, json!("First"), json!("first "), json!("")] {
        let mut key = first["public"].clone();
        key["kid"] = kid;
        assert_eq!(kind(verify(&key, text(&first["token"]))), TokenErrorKind::UnknownKey);
        assert!(verify(&key, text(&first["unnamed"])).is_ok());
    }
    // another key under the name: the name is known, and no other key is worth asking for
    let mut another = second["public"].clone();
    another["kid"] = "first".into();
    assert_eq!(kind(verify(&another, text(&first["token"]))), TokenErrorKind::NotSigned);
    // two keys of one name: each is tried
    let mut renamed = second["public"].clone();
    renamed["kid"] = "first".into();
    assert!(verify(&json!({ "keys": [renamed, first["public"]] }), text(&first["token"])).is_ok());
    // a text has no name
    let kid = sign(SECRET, r#"{"alg":"HS256","kid":""}"#, "{}");
    assert_eq!(kind(keys(SECRET).verify(kid.as_bytes())), TokenErrorKind::NotSigned);
    let null = sign(SECRET, r#"{"alg":"HS256","kid":null}"#, "{}");
    assert!(keys(SECRET).verify(null.as_bytes()).is_ok());
}

#[test]
fn a_text_is_for_hs256_only() {
    assert!(keys(SECRET).verify(sign(SECRET, r#"{"alg":"HS256"}"#, "{}").as_bytes()).is_ok());
    for alg in ["HS384", "HS512"] {
        let token = sign(SECRET, &format!(r#"{{"alg":"{alg}"}}"#), "{}");
        assert_eq!(kind(keys(SECRET).verify(token.as_bytes())), TokenErrorKind::NotSigned);
        let jwk = json!({ "kty": "oct", "k": URL_SAFE_NO_PAD.encode(SECRET) });
        assert!(verify(&jwk, &token).is_ok());
    }
}

#[test]
fn other_members_of_the_header_have_no_effect() {
    let jwk = json!({ "kty": "oct", "k": URL_SAFE_NO_PAD.encode(b"mine") });
    for more in [
        r#""typ":5"#.to_owned(),
        r#""cty":"JWT","exp":1"#.to_owned(),
        r#""enc":"A128GCM""#.to_owned(),
        format!(r#""jwk":{jwk},"jku":"https://soar.example","x5u":"x","x5c":[]"#),
    ] {
        let header = format!(r#"{{"alg":"HS256",{more}}}"#);
        assert!(keys(SECRET).verify(sign(SECRET, &header, "{}").as_bytes()).is_ok(), "{more}");
        // the key that a token brings is nobody's
        assert_eq!(kind(keys(SECRET).verify(sign(b"mine", &header, "{}").as_bytes())), TokenErrorKind::NotSigned);
    }
}

/// RFC 7515 section 4.1.11 and RFC 7797. Tokens with `crit` or `b64: false` were accepted, although
/// their signer requires readers that do not support these members to refuse them.
#[test]
fn a_header_that_changes_what_the_token_means_is_refused() {
    for more in [
        r#""crit":["exp"],"exp":1"#,
        r#""crit":["b64"],"b64":false"#,
        r#""crit":["b64"],"b64":true"#,
        r#""b64":false"#,
        r#""b64":true"#,
        r#""crit":[]"#,
        r#""crit":null"#,
        r#""crit":"exp""#,
        r#""\u0063rit":["exp"]"#,
        r#""zip":"DEF""#,
    ] {
        let token = sign(SECRET, &format!(r#"{{"alg":"HS256",{more}}}"#), "{}");
        assert_eq!(kind(keys(SECRET).verify(token.as_bytes())), TokenErrorKind::NotUnderstood, "{more}");
    }
    // Names are compared with regard to case, so these members are others.
    let token = sign(SECRET, r#"{"alg":"HS256","CRIT":["exp"],"B64":false}"#, "{}");
    assert!(keys(SECRET).verify(token.as_bytes()).is_ok());
}

/// RFC 7515 section 4: names in a header are unique. Readers differ on which of two equal members
/// counts.
#[test]
fn a_header_that_is_no_object_or_has_a_name_twice_is_refused() {
    for header in [
        r#"{"alg":"none","alg":"HS256"}"#,
        r#"{"alg":"HS256","alg":"none"}"#,
        r#"{"alg":"HS256","crit":["exp"],"crit":null}"#,
        r#"{"alg":"HS256","kid":"a","\u006bid":"b"}"#,
        r#"{"alg":"HS256","jwk":{"k":"a","k":"b"}}"#,
        r#"{"alg":"HS256"}x"#,
        r#"{"alg":"HS256"}{}"#,
        "{\"alg\":\"HS256\"}\0",
    ] {
        let kind = kind(keys(SECRET).verify(sign(SECRET, header, "{}").as_bytes()));
        assert_eq!(kind, TokenErrorKind::UnreadableHeader, "{header}");
    }
    for header in
        [r#"["alg","HS256"]"#, r#""HS256""#, "null", r#"{"alg":"hs256"}"#, r#"{"alg":["HS256"]}"#, r#"{"ALG":"HS256"}"#]
    {
        let kind = kind(keys(SECRET).verify(sign(SECRET, header, "{}").as_bytes()));
        assert_eq!(kind, TokenErrorKind::Undecodable, "{header}");
    }
}

/// RFC 7515 A.1, A.3 and A.4, RFC 8037 A.4. A payload that is no JSON is only looked at once the signature is right.
#[test]
fn the_examples_of_the_rfcs() {
    const JOE: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    let k = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    let token = format!("eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.{JOE}.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    let claims = verify(&json!({ "kty": "oct", "k": k }), &token).unwrap();
    assert_eq!(claims.check(NOW, None).unwrap_err().to_string(), "JWT expired");
    assert!(claims.check(1_300_819_380 + 30, None).is_ok());
    assert_eq!(claims.as_role("x"), r#"{"iss":"joe","exp":1300819380,"http://example.com/is_root":true,"role":"x"}"#);

    let es256 = json!({
        "kty": "EC", "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    });
    let signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    assert!(verify(&es256, &format!("eyJhbGciOiJFUzI1NiJ9.{JOE}.{signature}")).is_ok());

    let es512 = json!({
        "kty": "EC", "crv": "P-521",
        "x": "AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk",
        "y": "ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2",
    });
    let token = "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA.AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI\
                 -KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn";
    assert_eq!(verify(&es512, token).unwrap_err().to_string(), "Parsing claims failed");

    let ed25519 = json!({ "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" });
    let token = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.\
                 hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    assert_eq!(verify(&ed25519, token).unwrap_err().to_string(), "Parsing claims failed");
}

#[test]
fn a_token_is_as_large_as_it_may_be() {
    let of_size = |pad: usize| hs256(format!(r#"{{"role":"pilot","x":"{}"}}"#, "x".repeat(pad)));
    let mut pad = 12_000;
    while of_size(pad + 3).len() <= TOKEN_BYTES_MAX {
        pad += 3;
    }
    assert!(of_size(pad).len() > TOKEN_BYTES_MAX - 4);
    assert!(keys(SECRET).verify(of_size(pad).as_bytes()).is_ok());
    assert_eq!(kind(keys(SECRET).verify(of_size(pad + 4).as_bytes())), TokenErrorKind::TooLarge);
}

/// For every algorithm one token and its key.
fn one_of_each() -> Vec<(Keys, Vec<u8>)> {
    let mut known = Vec::new();
    let mut each = Vec::new();
    for one in FIXTURES["tokens"].as_array().unwrap() {
        if !known.contains(&&one["alg"]) {
            known.push(&one["alg"]);
            each.push((keys(one["public"].to_string()), text(&one["token"]).as_bytes().to_vec()));
        }
    }
    each
}

#[test]
fn no_token_of_which_a_bit_is_flipped_is_signed() {
    for (keys, token) in one_of_each() {
        // P-521 takes its time in a debug build
        let step = if token.len() > 400 && token.starts_with(b"eyJhbGciOiJFUzUxMiI") { 7 } else { 1 };
        for at in (0..token.len()).step_by(step) {
            let mut changed = token.clone();
            changed[at] ^= 1 << (at % 8);
            assert!(keys.verify(&changed).is_err(), "byte {at} of {}", String::from_utf8_lossy(&token));
        }
        // the last one has bits that are no part of the signature: they must be zeros
        let last = token.len() - 1;
        for byte in (0..=255).filter(|byte| *byte != token[last]) {
            let mut changed = token.clone();
            changed[last] = byte;
            assert!(keys.verify(&changed).is_err());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_token_panics(token: Vec<u8>) {
        prop_assert!(keys(SECRET).verify(&token).is_err());
    }

    #[test]
    fn no_header_panics(header in r#"\{"alg":"(HS256|none|ES512|x)"(,"kid":("a"|1|null|"\\ud800"))?[ -~]{0,8}\}?"#, payload: Vec<u8>) {
        let token = sign(b"not the secret", &header, payload);
        prop_assert!(keys(SECRET).verify(token.as_bytes()).is_err());
    }

    #[test]
    fn no_signed_payload_panics(payload: Vec<u8>) {
        if let Ok(claims) = keys(SECRET).verify(hs256(&payload).as_bytes()) {
            let _ = claims.check(NOW, None);
        }
    }

    #[test]
    fn claims_are_json_whatever_they_hold(name in ".{0,8}", value in ".{0,8}", role in ".{0,8}") {
        prop_assume!(!name.contains('\0') && !value.contains('\0'));
        let payload = json!({ name.clone(): value, "z": [1, 2.5, null] });
        let claims = Claims::parse(payload.to_string().as_bytes()).unwrap();
        let written: Value = serde_json::from_str(&claims.as_role(&role)).unwrap();
        let mut expected = payload;
        expected["role"] = role.into();
        prop_assert_eq!(written, expected);
    }
}
