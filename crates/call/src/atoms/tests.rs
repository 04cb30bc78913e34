use super::{Piece, scan};

fn cut(text: &str) -> String {
    let mut out = Vec::new();
    scan(text, |piece| {
        out.push(match piece {
            Piece::Break => "|".to_owned(),
            Piece::Atom { kind, text } => format!("{}:{text}", format!("{kind:?}").to_lowercase()),
        });
    });
    out.join(" ")
}

#[test]
fn a_text_is_cut_into_atoms_in_one_spelling() {
    let rows = [
        ("Mail Bob@Corp.example, please", "word:mail mail:bob@corp.example word:please"),
        ("<Bob@corp.example>", "mail:bob@corp.example"),
        ("to=bob@corp.example", "word:to mail:bob@corp.example"),
        ("mailto:Bob@corp.example", "mail:bob@corp.example"),
        ("see https://A.example/x/.", "word:see link:a.example/x"),
        ("(https://a.example/x?d=Secret)", "link:a.example/x?d=Secret"),
        ("src='//Evil.example/x' //server", "word:src link:evil.example/x file://server"),
        ("https:/Evil.example/x", "link:evil.example/x"),
        ("https://user@evil.example/x", "link:user@evil.example/x"),
        ("www.Evil.example and 10.0.0.1:80", "link:www.evil.example word:and link:10.0.0.1:80"),
        ("read Report.pdf now. Then go", "word:read file:Report.pdf word:now | word:then word:go"),
        ("/etc/passwd", "file:/etc/passwd"),
        ("DE89 3704 0044 0532 0130 00 today", "account:DE89370400440532013000 word:today"),
        ("DE89370400440532013000", "account:DE89370400440532013000"),
        ("card 4237-4252-1111-2222", "word:card account:4237425211112222"),
        ("card 4237 4252 1111 2222.", "word:card account:4237425211112222"),
        ("2024-05-15 10:00", "date:2024-05-15 date:10:00"),
        ("13.05.2024", "date:13.05.2024"),
        ("$1,200.50 or 1200.50", "number:1200.5 word:or number:1200.5"),
        ("1200.00 1200 007", "number:1200 number:1200 number:007"),
        ("the 13th of 2024-113", "word:the mixed:13th word:of mixed:2024-113"),
        ("A1b2C3 and a1b2c3", "mixed:A1b2C3 word:and mixed:a1b2c3"),
        ("Bob's \"Luxury\" hotel; cheap", "word:bob word:luxury word:hotel | word:cheap"),
        ("a\nb", "word:a | word:b"),
        ("#general @bob", "word:general word:bob"),
        ("ｅｖｉｌ．example", "link:evil.example"),
        ("ev\u{200b}il.example", "link:evil.example"),
        ("a,b", "word:a word:b"),
        ("--", ""),
        ("", ""),
    ];
    for (text, wanted) in rows {
        assert_eq!(cut(text), wanted, "{text}");
    }
}

#[test]
fn every_text_is_cut_to_an_end_and_without_breaks_at_its_ends() {
    proptest::proptest!(|(text in "[a-zA-Z0-9@:/.,;=<>()\"'#? \n$-]{0,60}")| {
        let pieces = cut(&text);
        assert!(!pieces.starts_with('|') && !pieces.ends_with('|') && !pieces.contains("| |"), "{pieces}");
    });
}
