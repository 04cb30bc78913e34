//! The roster: which rows there must be, each with its seal.
//!
//! A row can be sealed and still be wrong: taken from an older copy, or not there at all. [`Roster::find`] says what seal
//! the row of a place must have, or that there must be none. The roster is a tree by the digests of places, 16 ways at
//! each step: a leaf lists at most [`LEAF_MAX`] rows, an inner node has the seals of its children. The seal of the root is
//! in the signed head, so without the key no part of it can be changed, dropped or brought back alone, and a look costs one
//! node for every factor of 16 in the number of rows. The root itself rests in the head's row, which every decision
//! writes anyway: up to [`LEAF_MAX`] rows cost no further page.
//!
//! Leaves are never joined again: a tree that lost most of its rows stays as deep as it was.

use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    error::Fault,
    seal::{Column, Place, PlaceDigest, Seal, Sealer, Table},
};

/// A leaf lists so many rows at most.
pub(crate) const LEAF_MAX: usize = 32;

/// How many children an inner node has: one for each hex digit.
const WAYS: usize = 16;

/// As many hex digits as a digest has.
const DEPTH_MAX: usize = 2 * size_of::<PlaceDigest>();

const LEAF: u8 = 0;
const INNER: u8 = 1;
const ENTRY_BYTES: usize = 1 + size_of::<PlaceDigest>() + size_of::<Seal>();

/// A row that must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The number of its table.
    pub(crate) table: u8,
    /// Its place.
    pub(crate) digest: PlaceDigest,
    /// Its seal.
    pub(crate) seal: Seal,
}

/// The roster, by its root; everything below is in the database.
#[derive(Clone, Debug)]
pub(crate) struct Roster {
    root: Node,
}

/// Where the nodes are, and what seals them.
#[derive(Clone, Copy)]
pub(crate) struct Nodes<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) sealer: &'a Sealer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Leaf(Vec<Entry>),
    /// Zeros where there is no child.
    Inner(Box<[Seal; WAYS]>),
}

/// No MAC is all zeros in practice; one that were would only block.
const NO_CHILD: Seal = [0; 32];

impl Roster {
    /// A roster without a row.
    pub(crate) fn empty() -> Self {
        Self { root: Node::Leaf(Vec::new()) }
    }

    /// Reads a root; none if it is not the one with this seal.
    pub(crate) fn read(bytes: &[u8], sealer: &Sealer, seal: &Seal) -> Option<Self> {
        let place = Place { table: Table::Roster, key: &[Column::Bytes(&[])] };
        let root = sealer.is_sealed(&place, 0, &[Column::Bytes(bytes)], seal).then(|| Node::read(bytes));
        root.flatten().map(|root| Self { root })
    }

    /// The root as it is stored, and its seal, which vouches for all that is below.
    pub(crate) fn sealed(&self, sealer: &Sealer) -> (Vec<u8>, Seal) {
        let bytes = self.root.to_bytes();
        let seal = seal_of(sealer, &[], &bytes);
        (bytes, seal)
    }

    /// The row that must be at a place.
    pub(crate) fn find(&self, nodes: Nodes<'_>, digest: &PlaceDigest) -> Result<Option<Entry>, Fault> {
        let mut below;
        let mut node = &self.root;
        for depth in 0..=DEPTH_MAX {
            match node {
                Node::Leaf(entries) => {
                    return Ok(entries.iter().find(|entry| entry.digest == *digest).copied());
                }
                Node::Inner(children) => match child(children, digest, depth) {
                    NO_CHILD => return Ok(None),
                    seal => below = nodes.load(&path_of(digest, depth + 1), &seal)?,
                },
            }
            node = &below;
        }
        Err(damaged())
    }

    /// Lists a row, in the place of an older one if there is one.
    pub(crate) fn put(&mut self, nodes: Nodes<'_>, entry: Entry) -> Result<(), Fault> {
        self.root = nodes.changed(&self.root, 0, &entry.digest, Some(entry))?;
        Ok(())
    }

    /// Lists a row no more.
    pub(crate) fn remove(&mut self, nodes: Nodes<'_>, digest: &PlaceDigest) -> Result<(), Fault> {
        self.root = nodes.changed(&self.root, 0, digest, None)?;
        Ok(())
    }

    /// Shows every row there must be, and how many nodes are below the root. A node that is not as it was written is told
    /// by its path; what is below it is not shown.
    pub(crate) fn walk(
        &self,
        nodes: Nodes<'_>,
        show: &mut dyn FnMut(Entry),
        tell: &mut dyn FnMut(&[u8]),
    ) -> Result<u64, Fault> {
        nodes.walk(&self.root, &mut Vec::new(), show, tell)
    }
}

impl Nodes<'_> {
    fn load(&self, path: &[u8], seal: &Seal) -> Result<Node, Fault> {
        let bytes: Option<Vec<u8>> = self
            .connection
            .prepare_cached("SELECT bytes FROM roster WHERE path = ?1")?
            .query_row([path], |row| row.get(0))
            .optional()?;
        let place = Place { table: Table::Roster, key: &[Column::Bytes(path)] };
        bytes
            .filter(|bytes| self.sealer.is_sealed(&place, 0, &[Column::Bytes(bytes)], seal))
            .and_then(|bytes| Node::read(&bytes))
            .ok_or_else(damaged)
    }

    fn store(&self, path: &[u8], node: &Node) -> Result<Seal, Fault> {
        let bytes = node.to_bytes();
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO roster VALUES (?1, ?2)")?
            .execute(params![path, bytes])?;
        Ok(seal_of(self.sealer, path, &bytes))
    }

    /// The same node with one row changed; all below it is stored.
    fn changed(
        &self,
        node: &Node,
        depth: usize,
        digest: &PlaceDigest,
        new: Option<Entry>,
    ) -> Result<Node, Fault> {
        match node {
            Node::Leaf(entries) => {
                let kept = entries.iter().filter(|entry| entry.digest != *digest).copied();
                self.grown(kept.chain(new).collect(), depth)
            }
            Node::Inner(children) => {
                let path = path_of(digest, depth + 1);
                let below = match child(children, digest, depth) {
                    NO_CHILD => Node::Leaf(Vec::new()),
                    seal => self.load(&path, &seal)?,
                };
                let below = self.changed(&below, depth + 1, digest, new)?;
                let mut children = children.clone();
                let seal = if below.is_empty() {
                    self.connection.prepare_cached("DELETE FROM roster WHERE path = ?1")?.execute([&path])?;
                    NO_CHILD
                } else {
                    self.store(&path, &below)?
                };
                children.iter_mut().skip(digit(digest, depth)).take(1).for_each(|child| *child = seal);
                let is_empty = children.iter().all(|child| *child == NO_CHILD);
                Ok(if is_empty { Node::Leaf(Vec::new()) } else { Node::Inner(children) })
            }
        }
    }

    /// A leaf, or an inner node where it would become too large.
    fn grown(&self, entries: Vec<Entry>, depth: usize) -> Result<Node, Fault> {
        if entries.len() <= LEAF_MAX || depth >= DEPTH_MAX {
            return Ok(Node::Leaf(entries));
        }
        let mut children = [NO_CHILD; WAYS];
        for (way, child) in children.iter_mut().enumerate() {
            let entries: Vec<Entry> =
                entries.iter().filter(|entry| digit(&entry.digest, depth) == way).copied().collect();
            if let Some(first) = entries.first() {
                let path = path_of(&first.digest, depth + 1);
                *child = self.store(&path, &self.grown(entries, depth + 1)?)?;
            }
        }
        Ok(Node::Inner(Box::new(children)))
    }

    fn walk(
        &self,
        node: &Node,
        path: &mut Vec<u8>,
        show: &mut dyn FnMut(Entry),
        tell: &mut dyn FnMut(&[u8]),
    ) -> Result<u64, Fault> {
        let children = match node {
            Node::Leaf(entries) => {
                entries.iter().for_each(|entry| show(*entry));
                return Ok(0);
            }
            Node::Inner(_) if path.len() >= DEPTH_MAX => {
                tell(path);
                return Ok(0);
            }
            Node::Inner(children) => children,
        };
        let mut count = 0;
        for (way, seal) in (0..).zip(children.iter()).filter(|(_, seal)| **seal != NO_CHILD) {
            path.push(way);
            count += 1;
            match self.load(path, seal) {
                Ok(node) => count += self.walk(&node, path, show, tell)?,
                Err(Fault::Tampered(_)) => tell(path),
                Err(fault) => return Err(fault),
            }
            path.pop();
        }
        Ok(count)
    }
}

impl Node {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Leaf(entries) if entries.is_empty())
    }

    fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Leaf(entries) => {
                let mut bytes = Vec::with_capacity(1 + entries.len() * ENTRY_BYTES);
                bytes.push(LEAF);
                for Entry { table, digest, seal } in entries {
                    bytes.push(*table);
                    bytes.extend(digest);
                    bytes.extend(seal);
                }
                bytes
            }
            Self::Inner(children) => {
                let mut bytes = Vec::with_capacity(1 + WAYS * size_of::<Seal>());
                bytes.push(INNER);
                children.iter().for_each(|child| bytes.extend(child));
                bytes
            }
        }
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        match *kind {
            LEAF => {
                let (entries, []) = rest.as_chunks::<ENTRY_BYTES>() else { return None };
                let read = |bytes: &[u8; ENTRY_BYTES]| {
                    let (table, rest) = bytes.split_first()?;
                    let (digest, seal) = rest.split_first_chunk()?;
                    Some(Entry { table: *table, digest: *digest, seal: seal.try_into().ok()? })
                };
                entries.iter().map(read).collect::<Option<_>>().map(Self::Leaf)
            }
            INNER => {
                let (children, []) = rest.as_chunks() else { return None };
                children.try_into().ok().map(|children| Self::Inner(Box::new(children)))
            }
            _ => None,
        }
    }
}

fn seal_of(sealer: &Sealer, path: &[u8], bytes: &[u8]) -> Seal {
    let place = Place { table: Table::Roster, key: &[Column::Bytes(path)] };
    sealer.seal(&place, 0, &[Column::Bytes(bytes)])
}

/// The hex digit of a digest that chooses the way at a depth.
fn digit(digest: &PlaceDigest, depth: usize) -> usize {
    let byte = digest.get(depth / 2).copied().unwrap_or_default();
    usize::from(if depth.is_multiple_of(2) { byte >> 4 } else { byte & 15 })
}

fn child(children: &[Seal; WAYS], digest: &PlaceDigest, depth: usize) -> Seal {
    children.get(digit(digest, depth)).copied().unwrap_or(NO_CHILD)
}

/// The name of a node: the digits that lead to it.
fn path_of(digest: &PlaceDigest, depth: usize) -> Vec<u8> {
    (0..depth).map(|depth| digit(digest, depth) as u8).collect()
}

fn damaged() -> Fault {
    Fault::tampered("has a damaged roster of its rows, so the state of some sessions is not known")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ed25519_dalek::SigningKey;

    use super::*;

    fn place(sealer: &Sealer, n: i64) -> PlaceDigest {
        sealer.digest(&Place { table: Table::ShortId, key: &[Column::Number(n)] })
    }

    #[test]
    fn a_roster_lists_what_a_map_would() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE roster(path BLOB PRIMARY KEY, bytes BLOB NOT NULL)").unwrap();
        let sealer = Sealer::new(&SigningKey::from_bytes(&[3; 32]), &[9; 16]);
        let nodes = Nodes { connection: &connection, sealer: &sealer };
        let mut roster = Roster::empty();
        let mut map = BTreeMap::new();
        // A fixed order that puts, replaces and removes; about a third of the places is there at a time.
        let mut luck = 7_u64;
        for step in 0..6_000_u64 {
            luck = luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let n = (luck >> 40) as i64 % 1_500;
            let digest = place(&sealer, n);
            if luck >> 62 == 0 || step >= 5_000 {
                roster.remove(nodes, &digest).unwrap();
                map.remove(&n);
            } else {
                let mut seal = [1; 32];
                seal[..8].copy_from_slice(&luck.to_be_bytes());
                roster.put(nodes, Entry { table: 4, digest, seal }).unwrap();
                map.insert(n, seal);
            }
            assert_eq!(roster.find(nodes, &digest).unwrap().map(|entry| entry.seal), map.get(&n).copied());
            let (bytes, seal) = roster.sealed(&sealer);
            assert_eq!(Roster::read(&bytes, &sealer, &seal).unwrap().root, roster.root);
        }
        for n in 0..1_500 {
            let found = roster.find(nodes, &place(&sealer, n)).unwrap();
            assert_eq!(found.map(|entry| entry.seal), map.get(&n).copied(), "{n}");
        }
        let mut shown = 0;
        let count = roster
            .walk(nodes, &mut |_| shown += 1, &mut |path| assert!(path.is_empty(), "{path:?}"))
            .unwrap();
        let stored: i64 = connection.query_row("SELECT count(*) FROM roster", [], |row| row.get(0)).unwrap();
        assert_eq!((shown, count), (map.len(), stored as u64));
        for n in map.into_keys() {
            roster.remove(nodes, &place(&sealer, n)).unwrap();
        }
        let stored: i64 = connection.query_row("SELECT count(*) FROM roster", [], |row| row.get(0)).unwrap();
        assert!(roster.root.is_empty() && stored == 0);
    }

    #[test]
    fn a_node_that_was_changed_swapped_or_brought_back_is_found() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE roster(path BLOB PRIMARY KEY, bytes BLOB NOT NULL)").unwrap();
        let sealer = Sealer::new(&SigningKey::from_bytes(&[3; 32]), &[9; 16]);
        let nodes = Nodes { connection: &connection, sealer: &sealer };
        let mut roster = Roster::empty();
        let put = |roster: &mut Roster, n: i64, seal: u8| {
            let entry = Entry { table: 4, digest: place(&sealer, n), seal: [seal; 32] };
            roster.put(nodes, entry).unwrap();
        };
        (0..200).for_each(|n| put(&mut roster, n, 1));
        connection.execute_batch("CREATE TABLE old AS SELECT * FROM roster").unwrap();
        (0..200).for_each(|n| put(&mut roster, n, 2));
        connection.execute_batch("CREATE TABLE new AS SELECT * FROM roster").unwrap();
        for spoil in [
            "UPDATE roster SET bytes = (SELECT bytes FROM old WHERE old.path = roster.path)",
            "UPDATE roster SET bytes = (SELECT bytes FROM new WHERE new.path != roster.path)",
            "UPDATE roster SET bytes = x'00'",
            "UPDATE roster SET bytes = x''",
            "DELETE FROM roster",
        ] {
            connection.execute_batch(spoil).unwrap();
            for n in 0..200 {
                let found = roster.find(nodes, &place(&sealer, n));
                assert!(matches!(found, Err(Fault::Tampered(_))), "{spoil}");
            }
            let mut told = 0;
            roster.walk(nodes, &mut |_| {}, &mut |_| told += 1).unwrap();
            assert_eq!(told, WAYS, "{spoil}");
            connection.execute_batch("DELETE FROM roster; INSERT INTO roster SELECT * FROM new").unwrap();
        }
    }
}
