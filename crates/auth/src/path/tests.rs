//! Paths: RFC 9535's examples, the protocol's, the older syntax, and what a search may cost.

use super::*;
use proptest::prelude::*;

fn claims(text: &str) -> Claims {
    Claims::parse(text.as_bytes()).unwrap()
}

/// The first value that a path leads to, `-` for none.
fn role(path: &str, payload: &str) -> String {
    let path = RolePath::parse(path).unwrap_or_else(|error| panic!("{error}"));
    path.role(&claims(payload)).unwrap().unwrap_or("-".to_owned())
}

fn fault(path: &str) -> String {
    RolePath::parse(path).expect_err(path).to_string()
}

#[test]
fn the_examples_of_the_protocol() {
    let club = r#"{"club":{"roles":["x","pilot"]}}"#;
    let roles = r#"{"roles":["guest","pilot"]}"#;
    for (path, payload, expected) in [
        ("$.role", r#"{"role":"pilot"}"#, "pilot"),
        ("$.club.roles[1]", club, "pilot"),
        ("$['https://soar.example/role'].key", r#"{"https://soar.example/role":{"key":"pilot"}}"#, "pilot"),
        ("$.roles[?(@ != 'guest')]", roles, "pilot"),
        ("$.roles[?search(@, '^pil')]", roles, "pilot"),
        ("$.roles[9]", roles, "-"),
        ("$.role", r#"{"role":5}"#, "5"),
        ("$.role", r#"{"role":null}"#, "null"),
        ("$.role", r#"{"role":true}"#, "true"),
        ("$.role", r#"{"role":1.0e9}"#, "1.0e9"),
        ("$.role", r#"{"role": [1, {"a" : "b\n"}]}"#, r#"[1,{"a":"b\n"}]"#),
        ("$.role", "{}", "-"),
        ("$", r#"{"a":1}"#, r#"{"a":1}"#),
    ] {
        assert_eq!(role(path, payload), expected, "{path}");
    }
    assert_eq!(RolePath::default().role(&claims(r#"{"role":"pilot"}"#)).unwrap().as_deref(), Some("pilot"));
}

#[test]
fn selectors() {
    let payload =
        r#"{"a":[0,1,2,3,4],"o":{"j j":{"k.k":3},"x":1,"y":[{"z":"deep"}]},"n":null,"\u263a":"smile","":"no name"}"#;
    for (path, expected) in [
        ("$.a[-1]", "4"),
        ("$.a[-6]", "-"),
        ("$.a[5]", "-"),
        ("$.a[1:3]", "1"),
        ("$.a[3:]", "3"),
        ("$.a[5:]", "-"),
        ("$.a[::2]", "0"),
        ("$.a[1:5:2]", "1"),
        ("$.a[5:1:-2]", "4"),
        ("$.a[::-1]", "4"),
        ("$.a[:-5:-1]", "4"),
        ("$.a[-2:]", "3"),
        ("$.a[::0]", "-"),
        ("$.a[9007199254740991:-9007199254740991:-9007199254740991]", "4"),
        ("$.a[ 1 : 3 : 1 ]", "1"),
        ("$.a[7, 2, 1]", "2"),
        ("$.a['a', 1]", "1"),
        ("$.a[*]", "0"),
        ("$.a.*", "0"),
        ("$.o.*.*", "3"),
        ("$.o['j j']['k.k']", "3"),
        ("$.o[\"j j\"][\"k.k\"]", "3"),
        ("$['o'] ['x']", "1"),
        ("$ .o .x", "1"),
        ("$\n.o\t.x", "1"),
        ("$.☺", "smile"),
        ("$['\\u263a']", "smile"),
        ("$['']", "no name"),
        ("$.n", "null"),
        ("$.n.x", "-"),
        ("$.n[0]", "-"),
        ("$..z", "deep"),
        ("$..[0]", "0"),
        ("$..['k.k']", "3"),
        ("$..*", "[0,1,2,3,4]"),
        ("$..nothing", "-"),
        ("$.o..y..z", "deep"),
        // in order: what is nearer comes first, then the first
        ("$..[?@ == 1]", "1"),
        ("$.o[?@.z, 'x']", "1"),
    ] {
        assert_eq!(role(path, payload), expected, "{path}");
    }
}

/// RFC 9535 §2.3.5.3, table 11 and 12, each by its first result.
#[test]
fn filters() {
    let payload = r#"{"a":[3,5,1,2,4,6,{"b":"j"},{"b":"k"},{"b":{}},{"b":"kilo"}],
        "o":{"p":1,"q":2,"r":3,"s":5,"t":{"u":6}},"e":"f","big":9007199254740993,"t":true,"list":[[1],[1.0]]}"#;
    for (path, expected) in [
        ("$.a[?@.b == 'kilo']", r#"{"b":"kilo"}"#),
        ("$.a[?(@.b == 'kilo')]", r#"{"b":"kilo"}"#),
        ("$.a[?@>3.5]", "5"),
        ("$.a[?@.b]", r#"{"b":"j"}"#),
        ("$[?@.*]", "[3,5,1,2,4,6,{\"b\":\"j\"},{\"b\":\"k\"},{\"b\":{}},{\"b\":\"kilo\"}]"),
        ("$.a[?@<2 || @.b == \"k\"]", "1"),
        ("$.a[?@.b == \"k\" || @<2]", "1"),
        ("$.o[?@>1 && @<4]", "2"),
        ("$.o[?@.u || @.x]", r#"{"u":6}"#),
        ("$.a[?@.b == $.x]", "3"),
        ("$.a[?@ == @]", "3"),
        ("$.a[?!@.b]", "3"),
        ("$.a[?!(@.b) && !(@ == 3)]", "5"),
        ("$.a[?! @.b]", "3"),
        ("$.a[?@.b != 'j' && @.b]", r#"{"b":"k"}"#),
        ("$.a[?search(@.b, 'k.*o')]", r#"{"b":"kilo"}"#),
        ("$.a[?search( @.b , \"^\\u006b$\" )]", r#"{"b":"k"}"#),
        ("$.a[?!search(@.b, 'j')]", "3"),
        ("$.a[?search(@, '.')]", "-"),
        ("$.a[?search('x', 'x')]", "3"),
        ("$.a[?search($.e, '\\\\p{Ll}')]", "3"),
        ("$[?@ == 9007199254740992]", "-"),
        ("$[?@ == 9007199254740993]", "9007199254740993"),
        ("$[?@ == 9.007199254740993e15]", "9007199254740993"),
        ("$[?@ == true]", "true"),
        ("$[?@ == false]", "-"),
        ("$[?@.x == null]", "-"),
        ("$.a[?@ >= 5]", "5"),
        ("$.a[?@ <= 1]", "1"),
        ("$.a[?@.b >= 'k']", r#"{"b":"k"}"#),
        ("$.a[?@.b < 'k']", r#"{"b":"j"}"#),
        ("$.a[?true <= true]", "3"),
        ("$.a[?true < true]", "-"),
        ("$.a[?1 < '2']", "-"),
        ("$.a[?null == null]", "3"),
        ("$.a[?@.x <= @.y]", "3"),
        ("$.a[?@.x < @.y]", "-"),
        ("$.list[?@ == $.list[1]]", "[1]"),
        ("$.o[?@ == $.o.t]", r#"{"u":6}"#),
        ("$.a[?@[?@ == 'kilo']]", r#"{"b":"kilo"}"#),
        ("$.a[?-1 < -0.5e-1]", "3"),
        ("$.a[?@==3, 1]", "3"),
    ] {
        assert_eq!(role(path, payload), expected, "{path}");
    }
}

#[test]
fn the_older_syntax() {
    let payload = r#"{"role":"x","club":{"roles":["guest","pilot","copilot",5]},"a.b":{"$@_1":"y"},"o":{"k":"pilot"}}"#;
    for (path, expected) in [
        (".role", "x"),
        (".club.roles[1]", "pilot"),
        (".\"a.b\".$@_1", "y"),
        (".\"a.b\".\"$@_1\"", "y"),
        (".club.roles[3]", "5"),
        (".club.roles[99999999999999999999999]", "-"),
        (".club.roles[?(@==\"pilot\")]", "pilot"),
        (".club.roles[?(@ == \"pilot\")]", "pilot"),
        (".club.roles[?(@!=\"guest\")]", "pilot"),
        (".club.roles[?(@^==\"co\")]", "copilot"),
        (".club.roles[?(@==^\"ot\")]", "pilot"),
        (".club.roles[?(@*==\"opi\")]", "copilot"),
        (".club.roles[?(@==\"5\")]", "-"),
        (".o[?(@==\"pilot\")]", "-"),
        (".nothing", "-"),
        (".role.x", "-"),
        ("[0]", "-"),
    ] {
        assert_eq!(role(path, payload), expected, "{path}");
        assert!(RolePath::parse(path).unwrap().is_deprecated());
    }
    assert!(!RolePath::parse("$.role").unwrap().is_deprecated());
    assert!(!RolePath::default().is_deprecated());
}

#[test]
fn what_is_no_path_says_where() {
    assert_eq!(fault("role"), "failed to parse role-claim-key value (role): expected '$' or '.' at byte 0");
    assert_eq!(fault(""), "failed to parse role-claim-key value (): expected '$' or '.' at byte 0");
    assert_eq!(
        fault("$.a["),
        "failed to parse role-claim-key value ($.a[): expected a name in quotes, '*', a number, ':' or '?' at byte 4"
    );
    assert_eq!(
        fault("$.a[?length(@) > 1]"),
        "failed to parse role-claim-key value ($.a[?length(@) > 1]): expected 'search(', the only function there is at byte 5"
    );
    let long = fault(&format!("$.{}", "ü".repeat(PATH_BYTES_MAX)));
    assert!(long.len() < 700 && long.contains("4096 bytes"));
}

#[test]
fn what_rfc_9535_does_not_have_is_refused() {
    for path in [
        "$.",
        "$..",
        "$...a",
        "$. a",
        "$.. a",
        "$.a ",
        " $.a",
        "$.1",
        "$.-",
        "$.a-b",
        "$a",
        "$[",
        "$[]",
        "$[a]",
        "$['a]",
        "$['a\"]",
        "$['\\x']",
        "$['\\\"']",
        "$[\"\\'\"]",
        "$['\\ud800']",
        "$['\\udc00']",
        "$['\\ud800\\u0041']",
        "$['\n']",
        "$[01]",
        "$[-0]",
        "$[-]",
        "$[1.0]",
        "$[9007199254740992]",
        "$[-9007199254740992]",
        "$[1:01]",
        "$[1:2:3:4]",
        "$[1,]",
        "$[,1]",
        "$[?]",
        "$[?@.a ==]",
        "$[?@.a = 1]",
        "$[?1]",
        "$[?'a']",
        "$[?true]",
        "$[?@.* == 1]",
        "$[?@..a == 1]",
        "$[?@[0:1] == 1]",
        "$[?@[0,1] == 1]",
        "$[?1 == @.*]",
        "$[?!@.a == 1]",
        "$[?!1]",
        "$[?@.a &&]",
        "$[?@.a & @.b]",
        "$[?(@.a]",
        "$[?@.a)]",
        "$[?@ == 01]",
        "$[?@ == 1.]",
        "$[?@ == .5]",
        "$[?@ == 1e]",
        "$[?@ == +1]",
        "$[?@ == TRUE]",
        "$[?@.b == {}]",
        "$[?search(@)]",
        "$[?search(@,)]",
        "$[?search(@, @.b)]",
        "$[?search(@.*, 'a')]",
        "$[?search(@, '[')]",
        "$[?search(@, 'a') == true]",
        "$[?search (@, 'a')]",
        "$[?match(@, 'a')]",
        "$[?count(@.*) == 1]",
        "$[?!!@.a]",
        "$[?a]",
        "$[?search(@, '(((a{100}){100}){100}){100}')]",
    ] {
        fault(path);
    }
    for path in [
        ".",
        ".a.",
        ".a b",
        "..a",
        ".a[",
        ".a[]",
        ".a[x]",
        ".a[-1]",
        ".a[1",
        ".\"a",
        ".a[?(@==\"x\")].b",
        ".a[?(@==x)]",
        ".a[?(@=\"x\")]",
        ".a[?(@==\"x\"]",
        ".a-b",
        "a",
        "[",
        "@.a",
        "a$",
    ] {
        fault(path);
    }
}

#[test]
fn nesting_of_filters_is_bounded() {
    let nested = |levels: usize| format!("$..[?{}@..a{}]", "$..[?".repeat(levels - 1), "]".repeat(levels - 1));
    let parens = |levels: usize| format!("$[?{}@.a{}]", "(".repeat(levels - 1), ")".repeat(levels - 1));
    assert!(RolePath::parse(&parens(8)).is_ok());
    assert!(fault(&parens(9)).contains("no deeper filters"));
    assert!(fault(&nested(9)).contains("no deeper filters"));
    // as deep as filters and claims can be, each filter down to the bottom: the stack holds
    let deep = claims(&format!("{{\"x\":{}{}}}", "[".repeat(63), "]".repeat(63)));
    for path in [nested(8), nested(8).replace("@..a", "!$..a")] {
        let _ = RolePath::parse(&path).unwrap().role(&deep);
    }
}

/// `$..*..*..*` reaches each value on as many ways as there are values above it to choose from. A search that has taken its steps
/// ends, and the token is refused: it is not let through as nobody's.
#[test]
fn a_search_ends() {
    let deep = format!("{{\"x\":{}{}{}}}", "[".repeat(60), "0,".repeat(5_000) + "0", "]".repeat(60));
    let wide = format!("{{\"x\":[{}],\"y\":\"{}\"}}", "\"aaaa\",".repeat(1_000) + "0", "a".repeat(3_000));
    for (path, payload) in [
        ("$..*..*..nothing", &deep),
        ("$..*..*..*..*..nothing", &deep),
        ("$..[?@..nothing]", &deep),
        ("$.x[?$.x[?@ == 1]]", &wide),
        ("$.x[?search($.y, 'a*b')]", &wide),
    ] {
        let path = RolePath::parse(path).unwrap();
        let error = path.role(&claims(payload)).unwrap_err();
        assert_eq!(error.kind(), ClaimErrorKind::RoleTooFar);
        assert_eq!(error.to_string(), "Parsing claims failed");
    }
    // what is ordinary is far from it, on the largest claims
    assert_eq!(RolePath::parse("$..nothing").unwrap().role(&claims(&deep)), Ok(None));
    assert_eq!(RolePath::parse("$.x[?search(@, 'b$')]").unwrap().role(&claims(&wide)), Ok(None));
}

proptest! {
    #[test]
    fn no_path_panics(path in "[$.\\[]{1,2}[ -~ü\\n]{0,24}") {
        if let Ok(path) = RolePath::parse(&path) {
            let _ = path.role(&claims(r#"{"a":[1,2,{"b":"x"}],"b":null}"#));
        }
    }

    #[test]
    fn no_path_of_its_words_panics(
        words in prop::collection::vec(prop::sample::select(vec![
            "$", "@", ".", "..", "*", "[", "]", "?", "(", ")", "'a'", "a", "0", "-1", ":", ",", "==", "<", "&&", "||", "!",
            "search(", "true", "null", " ", "\"", "\\", "1e9",
        ]), 0..16)
    ) {
        let path = format!("${}", words.concat());
        if let Ok(path) = RolePath::parse(&path) {
            let _ = path.role(&claims(r#"{"a":[1,2,{"a":"x"}],"b":null}"#));
        }
    }

    #[test]
    fn a_name_in_quotes_is_that_name(name in "[^\\x00]{0,12}") {
        let quoted = serde_json::to_string(&name).unwrap();
        let payload = format!("{{{quoted}:\"found\"}}");
        prop_assert_eq!(role(&format!("$[{quoted}]"), &payload), "found");
    }
}
