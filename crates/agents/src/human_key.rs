//! The human who answers: their key, the passphrase that unlocks it, and whether a database knows it.
//!
//! [`SealedKey`] is an Ed25519 key that a passphrase unlocks, in a file of the user's folder of data, beside the database:
//! agents may not even read there. [`Attempts`] counts wrong passphrases over all processes. [`look`] compares the file
//! with the key that a database has recorded, and says what that means for answers ([`HumanSetup`]). Nothing in here
//! asks a human: that needs a terminal.

mod attempts;
mod sealed;
mod setup;

pub use self::{
    attempts::{Attempts, TooManyAttempts, delay_ms},
    sealed::{Cost, HumanKeyError, PASSPHRASE_CHARACTERS_MIN, SealedKey},
    setup::{HumanSetup, answer_trust, key_entry, look, record},
};
