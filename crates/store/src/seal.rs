//! The seal of a row: a MAC over its content, its version and its place.
//!
//! [`Sealer::seal`] makes it, for a row of any table. The key of the MAC is derived from the seed of the key that signs
//! the audit log and from the database's id, so one file holds every secret, and a row of another database, another
//! table or another primary key has another seal. A seal says that we wrote this row, not that it is the latest one:
//! that is the roster's (`sqlite/roster.rs`). HMAC-SHA-256, because SHA-256 is here for the chain already and processors
//! have instructions for it; a keyed BLAKE3 would be a second hash with a build of its own, for rows of a few kilobytes.
//!
//! The bytes that are sealed: the number of the table, the number of columns of the primary key, those columns, the
//! version, the number of the other columns, those columns. Numbers are 8 bytes, the highest first. A column is its kind
//! (one byte) and its number, or the number of its bytes and the bytes. There is no SQL in here.

use ed25519_dalek::SigningKey;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The seal of a row.
pub(crate) type Seal = [u8; 32];

/// What a place is listed under: the first bytes of a MAC, so choosing where it is listed needs the key.
pub(crate) type PlaceDigest = [u8; 16];

const KEY_TAG: &[u8] = b"lockgate/seal/v1\0";

/// What is sealed. The numbers are part of what is sealed and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Table {
    Session = 1,
    SharedState = 2,
    Answer = 3,
    ShortId = 4,
    Head = 5,
    /// A node of the roster.
    Roster = 6,
    /// A line of the anchor file.
    Anchor = 7,
    /// Not a row: where a row is listed in the roster.
    Place = 8,
    /// The human's public key.
    Human = 9,
}

/// One column of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column<'a> {
    Number(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// A table, and the primary key of a row in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) table: Table,
    pub(crate) key: &'a [Column<'a>],
}

/// Seals the rows of one database.
#[derive(Clone)]
pub(crate) struct Sealer {
    /// Keyed already; each seal begins with a copy.
    mac: Hmac<Sha256>,
}

impl Sealer {
    /// The sealer of a database, by the key that signs its audit log.
    pub(crate) fn new(key: &SigningKey, database: &[u8; 16]) -> Self {
        let mut derive = keyed(&key.to_bytes());
        derive.update(KEY_TAG);
        derive.update(database);
        Self { mac: keyed(&derive.finalize().into_bytes().into()) }
    }

    /// The seal of a row.
    pub(crate) fn seal(&self, place: &Place<'_>, version: u64, columns: &[Column<'_>]) -> Seal {
        self.mac(place, version, columns).finalize().into_bytes().into()
    }

    /// Whether a row has the seal it should have. How long the comparison takes does not tell where they differ.
    pub(crate) fn is_sealed(
        &self,
        place: &Place<'_>,
        version: u64,
        columns: &[Column<'_>],
        seal: &[u8],
    ) -> bool {
        self.mac(place, version, columns).verify_slice(seal).is_ok()
    }

    fn mac(&self, place: &Place<'_>, version: u64, columns: &[Column<'_>]) -> Hmac<Sha256> {
        let mut mac = self.mac.clone();
        mac.update(&[place.table as u8]);
        add_columns(&mut mac, place.key);
        mac.update(&version.to_be_bytes());
        add_columns(&mut mac, columns);
        mac
    }

    /// Where a row is listed in the roster.
    pub(crate) fn digest(&self, place: &Place<'_>) -> PlaceDigest {
        let listed = Place { table: Table::Place, key: &[Column::Number(place.table as i64)] };
        let seal = self.seal(&listed, 0, place.key);
        let mut digest = PlaceDigest::default();
        digest.iter_mut().zip(seal).for_each(|(to, from)| *to = from);
        digest
    }
}

/// HMAC with a key of 32 bytes, which fills a block together with zeros.
fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    let mut block = [0; 64];
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    Hmac::new(&block.into())
}

fn add_columns(mac: &mut Hmac<Sha256>, columns: &[Column<'_>]) {
    mac.update(&(columns.len() as u64).to_be_bytes());
    for column in columns {
        let (kind, number, bytes): (u8, u64, &[u8]) = match column {
            Column::Number(number) => (1, number.cast_unsigned(), &[]),
            Column::Text(text) => (2, text.len() as u64, text.as_bytes()),
            Column::Bytes(bytes) => (3, bytes.len() as u64, bytes),
        };
        mac.update(&[kind]);
        mac.update(&number.to_be_bytes());
        mac.update(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealer(seed: u8, database: u8) -> Sealer {
        Sealer::new(&SigningKey::from_bytes(&[seed; 32]), &[database; 16])
    }

    #[test]
    fn a_seal_is_what_other_tools_compute() {
        // In Python: key = hmac.digest(bytes([3]) * 32, b"lockgate/seal/v1\0" + bytes([9]) * 16, "sha256"); see docs/audit.md.
        let place = Place { table: Table::Session, key: &[Column::Text("s")] };
        let columns = [Column::Number(5), Column::Number(-1), Column::Bytes(b"xy")];
        let seal = sealer(3, 9).seal(&place, 7, &columns);
        assert_eq!(
            crate::audit::to_hex(&seal),
            "bdebc1950986cd17d37b86e9b8eeb596abbb09bda186a0ff04291f7bfc8543f5"
        );
        assert!(sealer(3, 9).is_sealed(&place, 7, &columns, &seal));
        assert!(!sealer(3, 9).is_sealed(&place, 7, &columns, &seal[..31]));
    }

    #[test]
    fn whatever_differs_has_another_seal() {
        use Column::*;
        type Sealed<'a> = (u8, u8, Table, &'a [Column<'a>], u64, &'a [Column<'a>]);
        let base: Sealed<'_> = (1, 1, Table::Session, &[Text("a")], 1, &[Bytes(b"bc"), Number(2)]);
        let others: &[Sealed<'_>] = &[
            (2, 1, Table::Session, &[Text("a")], 1, &[Bytes(b"bc"), Number(2)]),
            (1, 2, Table::Session, &[Text("a")], 1, &[Bytes(b"bc"), Number(2)]),
            (1, 1, Table::Answer, &[Text("a")], 1, &[Bytes(b"bc"), Number(2)]),
            (1, 1, Table::Session, &[Text("b")], 1, &[Bytes(b"bc"), Number(2)]),
            (1, 1, Table::Session, &[Text("a"), Bytes(b"bc")], 1, &[Number(2)]),
            (1, 1, Table::Session, &[Text("ab")], 1, &[Bytes(b"c"), Number(2)]),
            (1, 1, Table::Session, &[Bytes(b"a")], 1, &[Bytes(b"bc"), Number(2)]),
            (1, 1, Table::Session, &[Text("a")], 2, &[Bytes(b"bc"), Number(2)]),
            (1, 1, Table::Session, &[Text("a")], 1, &[Number(2), Bytes(b"bc")]),
            (1, 1, Table::Session, &[Text("a")], 1, &[Bytes(b"bc"), Number(2), Number(0)]),
            (1, 1, Table::Session, &[Text("a")], 1, &[Bytes(b"b"), Bytes(b"c"), Number(2)]),
        ];
        let seal = |&(seed, database, table, key, version, columns): &Sealed<'_>| {
            sealer(seed, database).seal(&Place { table, key }, version, columns)
        };
        let mut seals: Vec<Seal> = others.iter().chain([&base]).map(seal).collect();
        seals.sort();
        seals.dedup();
        assert_eq!(seals.len(), others.len() + 1);
    }
}
