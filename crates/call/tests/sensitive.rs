//! What is sensitive in a text or a value, what is left of it, and what is not sensitive at all, as tables.

use lockgate_call::sensitive::{AttackPattern, Detectors, Mask, find_attack};
use proptest::prelude::*;
use regex::Regex;
use serde_json::{Value, json};

fn kinds(text: &str) -> String {
    let (_, kinds) = Detectors::standard().mask_text(text, Mask::Edges);
    kinds.each().join(" ")
}

fn masked(text: &str) -> String {
    Detectors::standard().mask_text(text, Mask::Edges).0.into_owned()
}

fn masked_value(value: &Value) -> Value {
    Detectors::standard().mask_value(value, Mask::Edges).0.unwrap_or_else(|| value.clone())
}

#[test]
fn personal_data_keeps_its_two_first_and_last_characters() {
    let rows = [
        ("mail john.doe@example.com now", "mail jo****************om now", "EMAIL"),
        ("mail a@b.com", "mail a@***om", "EMAIL"),
        ("ssn 123-45-6789", "ssn 12*******89", "SSN"),
        (
            "4111 1111 1111 1111 / 4111 1111 1111 1112",
            "41***************11 / 4111 1111 1111 1112",
            "CREDIT_CARD",
        ),
        ("release 2026-03-04 and 1.2.3", "release 20******04 and 1.2.3", "DATE_OF_BIRTH"),
        (
            "DE89370400440532013000 GB82WEST12345698765432",
            "DE******************00 GB******************32",
            "IBAN IBAN",
        ),
        (
            "7707083893; 112-233-445 95; 45 08 123456; +7 (916) 123-45-67",
            "77******93; 11**********95; 45********56; +7**************67",
            "PHONE INN SNILS RU_PASSPORT RU_PHONE",
        ),
        ("+79161234567", "+7********67", "PHONE RU_PHONE"),
        ("jörg.müller@exämple.de", "jö******************de", "EMAIL"),
        ("hello", "hello", ""),
        ("john%40example.com j o h n @ example . com", "john%40example.com j o h n @ example . com", ""),
    ];
    for (text, left, found) in rows {
        assert_eq!((masked(text).as_str(), kinds(text).as_str()), (left, found), "{text}");
    }
}

#[test]
fn every_kind_is_found_in_its_spellings() {
    let rows = [
        ("EMAIL", "<a.b+c@sub.example.co.uk>."),
        ("EMAIL", "почта@пример.рф"),
        ("PHONE", "call +1 (555) 123-4567 today"),
        ("PHONE", "+49 30 901820"),
        ("PHONE", "+442071838750"),
        ("CREDIT_CARD", "1 4111111111111111"),
        ("CREDIT_CARD", "12 2024 4111-1111-1111-1111 737"),
        ("CREDIT_CARD", "3782 822463 10005"),
        ("CREDIT_CARD", "card_4111111111111111."),
        ("CREDIT_CARD", "6304000000000000000"),
        ("CREDIT_CARD", "4222222222222"),
        ("CREDIT_CARD", "4111\u{a0}1111\u{a0}1111\u{a0}1111"),
        ("SSN", "(123-45-6789)"),
        ("IBAN", "DE89 3704 0044 0532 0130 00, please"),
        ("IBAN", "nl91abna0417164300"),
        ("IBAN", "NO93 8601 1117 947 10 EUR"),
        ("IP_ADDRESS", "from 1.2.3.4:80"),
        ("IP_ADDRESS", "10.0.0.0/8"),
        ("IP_ADDRESS", "at 192.168.1.1."),
        ("IPV6", "fe80::1%eth0"),
        ("IPV6", "[2001:db8::1]:80"),
        ("IPV6", "from 2001:db8:0:0:0:0:0:1: ok"),
        ("IPV6", "::ffff:1.2.3.4x ::1"),
        ("PASSPORT", "AB1234567"),
        ("DATE_OF_BIRTH", "born 4.3.1980"),
        ("DATE_OF_BIRTH", "12/31/1980"),
        ("DATE_OF_BIRTH", "1.2.30"),
        ("DATE_OF_BIRTH", "1980-03-04T00:00:00Z"),
        ("INN", "500100732259"),
        ("INN", "ИНН 1650002039"),
        ("SNILS", "11223344595"),
        ("RU_PASSPORT", "4508 123456"),
        ("RU_PHONE", "8 (916) 123-45-67"),
        ("RU_PHONE", "89161234567"),
        ("API_KEY", "sk-abcdefghijklmnopqrstuvwx"),
        ("API_KEY", "sk-ant-api03-abcDEF_ghi-jkl012345"),
        ("API_KEY", "AKIAABCDEFGHIJKLMNOP"),
        ("API_KEY", "x=ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
        ("API_KEY", "github_pat_11AAAAAAA0abcdefghij_klmnop"),
        ("API_KEY", "glpat-abcdefghij0123456789"),
        ("API_KEY", "xoxb-123456789012-abcdefghijkl"),
        ("API_KEY", "AIzaSyA0123456789abcdefghijklmnopqrstuv"),
        ("API_KEY", "npm_abcdefghijklmnopqrstuvwxyz0123456789"),
        ("API_KEY", "pypi-AgEIcHlwaS5vcmcCJDAw"),
        ("API_KEY", "hf_abcdefghijklmnopqrstuvwxyz"),
        ("API_KEY", "SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz"),
        ("API_KEY", "rk_live_0123456789abcdef"),
        ("JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_123"),
        ("JWT", "x-eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0."),
        ("PRIVATE_KEY", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"),
        ("PRIVATE_KEY", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXkt"),
        ("PASSWORD", "password=hunter2"),
        ("PASSWORD", "DB_PASSWORD = \"correct horse\""),
        ("PASSWORD", "{\"api_key\": \"abc\"}"),
        ("PASSWORD", "{\\\"apiKey\\\": \\\"abc\\\"}"),
        ("PASSWORD", "mysql --password hunter2 -u x"),
        ("PASSWORD", "https://x.com/?access_token=abc123&y=1"),
        ("PASSWORD", "postgres://me:hunter2@db/x"),
        ("PASSWORD", "Authorization: Basic dXNlcjpwYXNz"),
        ("PASSWORD", "Cookie: sid=31d4d96e407aad42"),
        ("BEARER", "-H 'Authorization: Bearer abc.def-123'"),
        ("BEARER", "bearer 0123456789abcdef"),
    ];
    for (kind, text) in rows {
        let hits = Detectors::standard().find(text);
        let found: Vec<_> = hits.iter().map(|hit| &*hit.kind).collect();
        assert!(found.contains(&kind), "{text}: {found:?}");
        assert!(
            found.iter().all(|found| found == &kind || kind == "RU_PHONE" || text.contains("ffff")),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn what_only_looks_like_it_is_left_alone() {
    let rows = [
        "550e8400-e29b-41d4-a716-446655440000",
        "4111-1111 is half a card, 41111111111111110000 too long",
        "00000000-4111-1111-1111-111111111111",
        "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "1.2.3 v1.2.3.4 1.2.3.4.5 libfoo-1.2.3.4.so 256.1.1.1",
        "localhost:8080, port 5432, id 1234567890123, at 1700000000000",
        "/usr/lib/x86_64-linux-gnu/libc-2.31.so logs/2026/03/04/app.log",
        "2026-03-04T12:00:00Z 12:34:56 99.99.2020",
        "3.141592653589793 0.4111111111111111",
        "std::vec::Vec a::b x[1::2] x[::2] 00:1a:2b:3c:4d:5e",
        "git@github.com:owner/repo.git lodash@4.17.21 @app.route user@localhost",
        "000-12-3456 666-12-3456 123-45-67890 1-123-45-6789",
        "C++11 1e+10 10:00+0100 +1 +12",
        "DE00370400440532013000 ABC1234567 AB12345678",
        "sk-learn-contrib-something-long is a package",
        "let token = lexer.next(); if password == other { secret: bool }",
        "password: string, PWD=/home/me, --token $TOKEN, api_key=${API_KEY}, next_page_token=abcdef123456",
        "curl -H 'Authorization: Bearer $TOKEN' and the bearer of this letter",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "max_tokens=4096",
        "7707083894 1700000008 11223344596 45 50 123456",
        "",
    ];
    for text in rows {
        let hits = Detectors::standard().find(text);
        assert!(hits.is_empty(), "{text}: {hits:?}");
    }
}

#[test]
fn no_end_of_a_secret_is_shown_and_no_length() {
    let rows = [
        (
            "sk-abcdefghijklmnopqrstuvwx password=hunter2 AKIAABCDEFGHIJKLMNOP",
            "******** password=******** ********",
        ),
        ("{\"password\": \"a\\\"b\"}", "{\"password\": \"********\"}"),
        ("password=hun;ter2 x", "password=******** x"),
        ("Password=hunter2;Server=x", "Password=********;Server=x"),
        ("Authorization: Basic dXNlcjpwYXNz\nAccept: x", "Authorization: Basic ********\nAccept: x"),
        ("https://me:p@ss@h.com/", "https://me:********/"),
        ("a -----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY----- b", "a ******** b"),
        ("a -----BEGIN PRIVATE KEY-----\nMII", "a ********"),
    ];
    for (text, left) in rows {
        assert_eq!(masked(text), left, "{text}");
    }
}

#[test]
fn what_goes_on_too_long_to_be_weighed_is_a_secret() {
    let call = |length: usize| format!("token=f({}", "x".repeat(length - 2));
    assert_eq!((kinds(&call(256)).as_str(), kinds(&call(257)).as_str()), ("", "PASSWORD"));
    assert_eq!(kinds(&format!("{}_password=hunter2", "x".repeat(100))), "PASSWORD");
    let option = |length: usize| format!("--{}-password hunter2", "x".repeat(length - "-password".len()));
    assert_eq!((kinds(&option(63)).as_str(), kinds(&option(64)).as_str()), ("PASSWORD", ""));
}

#[test]
fn a_mask_can_be_stars_or_the_kind() {
    let detectors = Detectors::standard();
    let text = "1.2.3.4 and grün@x.de password=hunter2";
    assert_eq!(detectors.mask_text(text, Mask::Stars).0, "******* and ********* password=********");
    assert_eq!(detectors.mask_text(text, Mask::Label).0, "[IP_ADDRESS] and [EMAIL] password=[PASSWORD]");
}

#[test]
fn hits_that_overlap_or_touch_are_covered_as_one() {
    let custom = [("LEFT", "abcdef"), ("RIGHT", "defghi"), ("NEXT", "jklmno")];
    let custom = custom.map(|(name, pattern)| (name.to_owned(), Regex::new(pattern).unwrap()));
    let detectors = Detectors::with_patterns(custom);
    let (left, kinds) = detectors.mask_text("abcdefghijklmno", Mask::Edges);
    assert_eq!(left, "ab***********no");
    assert_eq!(kinds.each().join(" "), "LEFT RIGHT NEXT");
    assert_eq!(detectors.find("xx abcdef")[0].range, 3..9);
}

#[test]
fn values_are_masked_with_their_keys_however_deep() {
    let rows = [
        (json!({"a@b.com": "x"}), json!({"a@***om": "x"})),
        (json!({"a": {"user.email": "a@b.com"}}), json!({"a": {"user.email": "a@***om"}})),
        (json!(["a@b.com", ["a@b.com"]]), json!(["a@***om", ["a@***om"]])),
        (json!({"card": 4_111_111_111_111_111_u64}), json!({"card": "41************11"})),
        (
            json!({"at": 1_700_000_008, "id": 7_707_083_893_u64, "x": 3.5}),
            json!({"at": 1_700_000_008, "id": 7_707_083_893_u64, "x": 3.5}),
        ),
        (json!({"inn": 7_707_083_893_u64}), json!({"inn": "77******93"})),
        (
            json!({"password": "x", "apiKey": "y", "X-API-Key": "z"}),
            json!({"password": "********", "apiKey": "********", "X-API-Key": "********"}),
        ),
        (
            json!({"db": {"secrets": {"a": ["b", 1, null, true]}}}),
            json!({"db": {"secrets": {"a": ["********", "********", null, true]}}}),
        ),
        (
            json!({"pin_token": 1234, "tokens": 5, "password": null}),
            json!({"pin_token": "********", "tokens": 5, "password": null}),
        ),
        (
            json!({"token": "${TOKEN}", "max_tokens": 3, "page_token": "abc", "PWD": "/srv"}),
            json!({"token": "${TOKEN}", "max_tokens": 3, "page_token": "abc", "PWD": "/srv"}),
        ),
    ];
    for (value, left) in &rows {
        assert_eq!(&masked_value(value), left, "{value}");
    }
}

#[test]
fn keys_that_become_equal_keep_their_values() {
    let value = json!({"aa@b.com": 1, "aa****om": 2, "aa@d.com": 3, "aa****om (2)": 4});
    let left = json!({"aa****om (3)": 1, "aa****om": 2, "aa****om (4)": 3, "aa****om (2)": 4});
    assert_eq!(masked_value(&value), left);
}

#[test]
fn kinds_are_told_for_each_hit_or_once() {
    let value = json!({"a": "a@b.com 1.2.3.4 c@d.com", "b": ["e@f.com"]});
    let kinds = Detectors::standard().kinds_in(&value);
    assert_eq!(kinds.each().join(" "), "EMAIL EMAIL IP_ADDRESS EMAIL");
    assert_eq!(kinds.distinct().join(" "), "EMAIL IP_ADDRESS");
    assert!(Detectors::standard().kinds_in(&json!({"a": 1})).is_empty());
}

#[test]
fn nothing_is_too_long_or_too_much_to_be_searched() {
    let text = format!("{}a@b.com", "x ".repeat(500_000));
    assert_eq!(kinds(&text), "EMAIL");
    let many = "u00@ex.com ".repeat(2_000);
    assert_eq!(masked(&many), "u0******om ".repeat(2_000));
    let list: Vec<Value> = (0..5_000).map(|_| json!("a@b.com")).collect();
    assert_eq!(masked_value(&Value::from(list)), Value::from(vec!["a@***om"; 5_000]));
}

/// Texts that would be read again from every word, if a search were not linear.
#[test]
fn a_text_made_to_be_slow_is_searched_all_the_same() {
    let parts = [
        "eyJ-",
        "sk-",
        "-",
        "--token",
        "token=(",
        "password=$(",
        "cookie: ",
        "4111 ",
        "1.",
        "a@",
        "1:",
        "+1 ",
        "-----BEGIN ",
        "bearer ",
        "DE89",
        "http:[",
        "//",
        "..;",
        "`",
        "'",
        "a://",
        "8 ",
        "\\",
        "%2",
        "/*",
        "@",
        "password=a;",
        "token=token,",
    ];
    for part in parts {
        let text = part.repeat(50_000 / part.len());
        let _ = masked(&text);
        let _ = find_attack(json!({ "a": text }).as_object().unwrap(), &SUSPICIONS);
    }
}

const SUSPICIONS: [AttackPattern; 6] = [
    AttackPattern::PathTraversal,
    AttackPattern::ShellInjection,
    AttackPattern::SqlInjection,
    AttackPattern::Ssrf,
    AttackPattern::UrlScheme,
    AttackPattern::Secret,
];

#[test]
fn input_made_to_break_out_is_suspicious() {
    let rows = [
        ("path_traversal", json!({"p": "../../x"})),
        ("path_traversal", json!({"p": "a\\..\\b"})),
        ("path_traversal", json!({"p": "..%2f..%2fx"})),
        ("path_traversal", json!({"p": "%252e%252e%252fx"})),
        ("path_traversal", json!({"p": "%2525252525252e%2525252525252e/x"})),
        ("path_traversal", json!({"p": "%25%32%65%25%32%65/x"})),
        ("path_traversal", json!({"p": "．．／x"})),
        ("path_traversal", json!({"p": "a/.."})),
        ("path_traversal", json!({"p": ".."})),
        ("path_traversal", json!({"../x": 1})),
        ("path_traversal", json!({"a": [{"b": "/ETC/passwd"}]})),
        ("shell_injection", json!({"t": "use `foo` here"})),
        ("shell_injection", json!({"t": "run `rm x`"})),
        ("shell_injection", json!({"t": "a; rm -rf /"})),
        ("shell_injection", json!({"t": "x $(id)"})),
        ("shell_injection", json!({"t": "a|SH"})),
        ("shell_injection", json!({"t": "a\nrm -rf /"})),
        ("shell_injection", json!({"t": "x;", "u": "rm -rf /"})),
        ("shell_injection", json!({"t": "ｘ；ｒｍ -rf /"})),
        ("shell_injection", json!({"t": format!("{}; rm -rf /", "#".repeat(200_000))})),
        ("sql_injection", json!({"q": "' OR '1'='1"})),
        ("sql_injection", json!({"q": "x' or 1=1 --"})),
        ("sql_injection", json!({"q": "1 UNION/**/SELECT a"})),
        ("sql_injection", json!({"q": "1; DROP TABLE x"})),
        ("sql_injection", json!({"q": "un/**/ion", "r": "union", "s": "select a"})),
        ("ssrf", json!({"u": "http://169.254.169.254/latest"})),
        ("ssrf", json!({"u": "see http://2130706433/ there"})),
        ("ssrf", json!({"u": "http://0x7f.1:80"})),
        ("ssrf", json!({"u": "HTTP://0177.0.0.1"})),
        ("ssrf", json!({"u": "http://[::1]:80/"})),
        ("ssrf", json!({"u": "http://[::ffff:10.0.0.1]"})),
        ("ssrf", json!({"u": "https:localhost"})),
        ("ssrf", json!({"u": "https://good.com@10.1.2.3/"})),
        ("ssrf", json!({"u": "https://good.com\\@10.1.2.3/"})),
        ("ssrf", json!({"u": "https://good.com#@10.1.2.3/"})),
        ("ssrf", json!({"u": format!("https://{}@10.1.2.3/", "a".repeat(9_000))})),
        ("ssrf", json!({"u": "http://10.0.\n0.1/"})),
        ("ssrf", json!({"u": "x?to=http%3A%2F%2F192.168.0.1"})),
        ("ssrf", json!({"u": "http://127.0.0.1.nip.io"})),
        ("ssrf", json!({"url": "127.0.0.1:8080/x"})),
        ("ssrf", json!({"host": 2_130_706_433})),
        ("ssrf", json!({"command": "curl localhost:3000"})),
        ("url_schemes", json!({"u": "file:///etc/hosts"})),
        ("url_schemes", json!({"u": "gopher://x"})),
        ("url_schemes", json!({"u": "dict://x"})),
        ("url_schemes", json!({"u": "JavaScript:alert(1)"})),
        ("url_schemes", json!({"u": "java\nscript:alert(1)"})),
        ("url_schemes", json!({"u": "data:text/html,<script>"})),
        ("secret_detection", json!({"t": "AKIAABCDEFGHIJKLMNOP"})),
        ("secret_detection", json!({"a": {"password": "x"}})),
    ];
    for (name, input) in rows {
        let wanted = AttackPattern::from_name(name).unwrap();
        let found = find_attack(input.as_object().unwrap(), &[wanted]).map(|(found, _)| found.to_string());
        assert_eq!(found.as_deref(), Some(name), "{input}");
    }
}

#[test]
fn ordinary_input_is_not_suspicious() {
    let rows = [
        json!({"path": "src/a..b/c.rs", "text": "wait... what? 1/2; ok"}),
        json!({"query": "select the union of both sets, or one of them; and more"}),
        json!({"url": "https://example.com/a?b=10#c", "host": "example.com"}),
        json!({"text": "a file: notes, a dict: words, data: 5, ratio 16:9"}),
        json!({"text": "It's a dog's life & more | less"}),
        json!({"text": "mail a@b.com, https://8.8.8.8/, // comment, token"}),
        json!({"n": 5, "b": true, "list": [1, null]}),
    ];
    for input in rows {
        assert_eq!(find_attack(input.as_object().unwrap(), &SUSPICIONS), None, "{input}");
    }
}

#[test]
fn the_field_of_a_suspicion_is_told_in_short() {
    let field = |input: Value| find_attack(input.as_object().unwrap(), &SUSPICIONS).unwrap().1;
    assert_eq!(field(json!({"a": {"b": [{"c": "../x"}]}})), "a.b.c");
    assert_eq!(field(json!({"a": "x;", "b": "rm y"})), "all of it");
    assert_eq!(field(json!({ "k".repeat(500): "../x" })).chars().count(), 81);
    assert_eq!(field(json!({"a\u{1b}": "../x"})), "a\\u{1b}");
}

fn sensitive_texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("4111 1111 1111 1111".to_owned()),
        Just("a@b.com".to_owned()),
        Just("1.2.3.4".to_owned()),
        Just("2026-03-04".to_owned()),
        Just("+79161234567".to_owned()),
        Just("password=".to_owned()),
        Just("sk-abcdefghijklmnopqrstuvwx1".to_owned()),
        Just("Bearer ".to_owned()),
        Just("DE89 3704 0044 0532 0130 00".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----".to_owned()),
        Just("fe80::1".to_owned()),
        "[0-9 .:/@+()\"'=-]{0,12}",
        "\\PC{0,4}",
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        sensitive_texts().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let key = prop_oneof![sensitive_texts(), Just("password".to_owned())];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn same_shape(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_shape(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.values().zip(other.values()).all(|(one, other)| same_shape(one, other))
        }
        (Value::String(_) | Value::Number(_), Value::String(_)) => true,
        (one, other) => one == other,
    }
}

proptest! {
    #[test]
    fn what_is_masked_holds_nothing_to_mask(text in sensitive_texts()) {
        for mask in [Mask::Edges, Mask::Stars, Mask::Label] {
            let once = Detectors::standard().mask_text(&text, mask).0.into_owned();
            let (twice, kinds) = Detectors::standard().mask_text(&once, mask);
            prop_assert!(kinds.is_empty(), "{text:?} {once:?} {kinds:?}");
            prop_assert_eq!(&twice, &once);
        }
    }

    #[test]
    fn a_secret_is_nowhere_in_what_is_left(secret in "[a-z0-9]{24}", text in "[A-Z ,.]{0,20}") {
        let text = format!("{text} sk-{secret}x1 {text}");
        let left = masked(&text);
        for run in secret.as_bytes().windows(3) {
            prop_assert!(!left.as_bytes().windows(3).any(|left| left == run), "{left}");
        }
    }

    #[test]
    fn hits_lie_within_the_text_in_order(text in sensitive_texts()) {
        let hits = Detectors::standard().find(&text);
        for hit in &hits {
            prop_assert!(text.get(hit.range.clone()).is_some_and(|hit| !hit.is_empty()));
        }
        prop_assert!(hits.is_sorted_by_key(|hit| hit.range.start));
    }

    #[test]
    fn any_text_can_be_searched(text in "\\PC{0,64}") {
        let _ = masked(&text);
        let _ = find_attack(json!({ "a": text }).as_object().unwrap(), &SUSPICIONS);
    }

    #[test]
    fn a_masked_value_keeps_its_shape(value in values()) {
        let once = masked_value(&value);
        prop_assert!(same_shape(&value, &once), "{value} {once}");
        prop_assert_eq!(masked_value(&once), once);
    }
}
