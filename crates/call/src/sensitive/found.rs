//! What a detector has found, before it is told apart.

use std::ops::Range;

/// What is known about a text from where it stands.
#[derive(Clone, Copy, Default)]
pub(super) struct Label<'a> {
    /// The key above it.
    pub(super) key: &'a str,
    /// Whether it is a number of JSON, which is an ordinary id far more often than a text is.
    pub(super) is_number: bool,
}

/// What a detector found.
pub(super) struct Found {
    pub(super) sort: Sort,
    pub(super) range: Range<usize>,
}

/// The kinds we know. Their order is the order in which they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Email,
    Phone,
    CreditCard,
    Ssn,
    Iban,
    IpAddress,
    Passport,
    DateOfBirth,
    Inn,
    Snils,
    RuPassport,
    RuPhone,
    Ipv6,
    ApiKey,
    Jwt,
    PrivateKey,
    Password,
    Bearer,
}

impl Sort {
    pub(super) const ALL: [Self; 18] = [
        Self::Email,
        Self::Phone,
        Self::CreditCard,
        Self::Ssn,
        Self::Iban,
        Self::IpAddress,
        Self::Passport,
        Self::DateOfBirth,
        Self::Inn,
        Self::Snils,
        Self::RuPassport,
        Self::RuPhone,
        Self::Ipv6,
        Self::ApiKey,
        Self::Jwt,
        Self::PrivateKey,
        Self::Password,
        Self::Bearer,
    ];

    /// From here on they are secrets.
    pub(super) const FIRST_SECRET: usize = Self::ApiKey as usize;

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Email => "EMAIL",
            Self::Phone => "PHONE",
            Self::CreditCard => "CREDIT_CARD",
            Self::Ssn => "SSN",
            Self::Iban => "IBAN",
            Self::IpAddress => "IP_ADDRESS",
            Self::Passport => "PASSPORT",
            Self::DateOfBirth => "DATE_OF_BIRTH",
            Self::Inn => "INN",
            Self::Snils => "SNILS",
            Self::RuPassport => "RU_PASSPORT",
            Self::RuPhone => "RU_PHONE",
            Self::Ipv6 => "IPV6",
            Self::ApiKey => "API_KEY",
            Self::Jwt => "JWT",
            Self::PrivateKey => "PRIVATE_KEY",
            Self::Password => "PASSWORD",
            Self::Bearer => "BEARER",
        }
    }
}

/// The character right before a place.
pub(super) fn before(text: &str, at: usize) -> Option<char> {
    text.get(..at)?.chars().next_back()
}

/// The character at a place.
pub(super) fn after(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

/// Whether a character belongs to a word, so that what touches it is only a part of something.
pub(super) fn is_wordy(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphanumeric)
}
