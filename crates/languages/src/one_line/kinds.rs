//! Kinds of sensitive data, as sentences name them: `mask email and phone in results of crm`.

use lockgate_policy::closest;

use super::{
    lead::Mistake,
    tokens::{Reader, TokenKind},
};

/// The words for kinds, and what the detectors call them.
const KINDS: [(&str, &[&str]); 16] = [
    ("email", &["EMAIL"]),
    ("phone", &["PHONE", "RU_PHONE"]),
    ("credit-card", &["CREDIT_CARD"]),
    ("ssn", &["SSN"]),
    ("iban", &["IBAN"]),
    ("ip-address", &["IP_ADDRESS", "IPV6"]),
    ("passport", &["PASSPORT", "RU_PASSPORT"]),
    ("date-of-birth", &["DATE_OF_BIRTH"]),
    ("inn", &["INN"]),
    ("snils", &["SNILS"]),
    ("api-key", &["API_KEY"]),
    ("jwt", &["JWT"]),
    ("private-key", &["PRIVATE_KEY"]),
    ("password", &["PASSWORD"]),
    ("bearer-token", &["BEARER"]),
    ("secret", &["API_KEY", "JWT", "PRIVATE_KEY", "PASSWORD", "BEARER"]),
];

/// Reads `email and phone` or `sensitive data`, up to `in`. Nothing is left out where all kinds are meant.
pub(super) fn kinds(reader: &mut Reader) -> Result<Vec<&'static str>, Mistake> {
    if reader.take(&["sensitive", "data"]) {
        return Ok(Vec::new());
    }
    let mut found: Vec<&'static str> = Vec::new();
    loop {
        let word = reader.peek().filter(|it| it.kind != TokenKind::Comma).map(|it| it.text.to_lowercase());
        let Some(word) = word.filter(|word| word != "in") else {
            return Err(reader.mistake(&["sensitive data", "a kind of data"], &remedy()));
        };
        // `emails`, `credit_card` and `api key` are as plain.
        let two = format!("{word}-{}", reader.ahead(1).to_lowercase());
        let three = format!("{two}-{}", reader.ahead(2).to_lowercase());
        let known = [(three, 3), (two, 2), (word.clone(), 1)].into_iter().find_map(|(words, length)| {
            let plain = words.replace('_', "-");
            let singular = plain.strip_suffix('s').unwrap_or(&plain);
            let singular =
                singular.strip_suffix("addresse").map_or(singular.to_owned(), |it| format!("{it}address"));
            let (_, kinds) = KINDS.iter().find(|(kind, _)| *kind == plain || *kind == singular)?;
            Some((kinds, length))
        });
        let Some((kinds, length)) = known else {
            let mut mistake = reader.mistake(&["a kind of data"], &remedy());
            let words = KINDS.iter().map(|(word, _)| *word);
            if let Some(meant) = closest(&word, words) {
                mistake.label = format!("did you mean `{meant}`?");
            }
            return Err(mistake);
        };
        found.extend(kinds.iter().copied());
        (0..length).for_each(|_| drop(reader.next()));
        let is_more = reader.take(&["and"]) || reader.take(&["or"]) || reader.take_comma();
        if !is_more {
            return Ok(found);
        }
        let _ = reader.take(&["and"]) || reader.take(&["or"]);
    }
}

fn remedy() -> String {
    let words: Vec<&str> = KINDS.iter().map(|(word, _)| *word).collect();
    format!("write `sensitive data` for all kinds, or some of {}", words.join(", "))
}
