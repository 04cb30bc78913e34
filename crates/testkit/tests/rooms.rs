//! Which crate may name which.
//!
//! Every crate is a room with one secret, and a wall holds only where nobody walks through it. The tests read
//! `cargo metadata` and name each edge that [`ROOMS`] or [`SECRETS`] does not allow; ARCHITECTURE.md tells the same
//! in words. Dev-dependencies are free: a test may look into any room, and nobody ships it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use cargo_metadata::{CargoOpt, DependencyKind, MetadataCommand};

/// Our crates, bottom up: the name, which of ours it may name, and why no others.
const ROOMS: &[(&str, &[&str], &str)] = &[
    ("lockgate-petri", &[], "knows tokens, not tools"),
    ("lockgate-call", &[], "the most attacked room stands alone, to be fuzzed alone"),
    ("lockgate-pattern", &[], "compares texts, and knows nothing else of ours"),
    (
        "lockgate-policy",
        &["lockgate-petri", "lockgate-pattern", "lockgate-call"],
        "compiles rules, and never meets a session",
    ),
    (
        "lockgate-languages",
        &["lockgate-pattern", "lockgate-call", "lockgate-policy"],
        "turns text into the one form, and never meets a session",
    ),
    (
        "lockgate-gate",
        &["lockgate-petri", "lockgate-call", "lockgate-policy"],
        "decides, and never learns where sessions rest or who asks",
    ),
    (
        "lockgate-prover",
        &["lockgate-petri", "lockgate-pattern", "lockgate-call", "lockgate-policy", "lockgate-gate"],
        "proves what the gate does, and reads no file",
    ),
    ("lockgate-store", &["lockgate-gate"], "implements a trait of the gate, and decides nothing"),
    (
        "lockgate",
        &[
            "lockgate-petri",
            "lockgate-pattern",
            "lockgate-call",
            "lockgate-policy",
            "lockgate-languages",
            "lockgate-gate",
            "lockgate-prover",
            "lockgate-store",
        ],
        "offers the rooms below as one library, and adds no logic",
    ),
    ("lockgate-agents", &["lockgate"], "a door; doors never meet"),
    ("lockgate-mcp", &["lockgate"], "a door; doors never meet"),
    ("lockgate-server", &["lockgate"], "the line protocol and its server; doors never meet"),
    (
        "lockgate-cli",
        &["lockgate", "lockgate-agents", "lockgate-mcp", "lockgate-server"],
        "mounts the doors, and asks the library for everything else",
    ),
    ("lockgate-bindings", &["lockgate"], "holds what both packages translate alike"),
    (
        "lockgate-node",
        &["lockgate", "lockgate-bindings"],
        "translates the public API for Node, and decides nothing",
    ),
    (
        "lockgate-python",
        &["lockgate", "lockgate-bindings"],
        "translates the public API for Python, and decides nothing",
    ),
    ("lockgate-playground", &["lockgate"], "asks the library in a browser, and keeps nothing"),
    (
        "lockgate-testkit",
        &["lockgate", "lockgate-store", "lockgate-agents", "lockgate-mcp", "lockgate-server", "lockgate-cli"],
        "tries every door, and is never shipped",
    ),
    ("lockgate-e2e", &["lockgate-testkit"], "meets the program from outside, as the programs of others do"),
    ("lockgate-bench", &["lockgate"], "measures what a user would call"),
    (
        "xtask",
        &["lockgate-bench", "lockgate-testkit"],
        "does what the project needs besides being built, and is not part of it",
    ),
];

/// Never shipped, so [`SECRETS`] are not kept from them; that no shipped crate names them follows from [`ROOMS`].
const UNSHIPPED: [&str; 4] = ["lockgate-testkit", "lockgate-bench", "lockgate-e2e", "xtask"];

/// Libraries that belong to one room, or to a few: no shipped crate may reach them except through these.
const SECRETS: &[(&str, &[&str])] = &[
    ("argon2", &["lockgate-agents"]),
    ("axum", &["lockgate-server"]),
    ("chacha20poly1305", &["lockgate-agents"]),
    ("clap", &["lockgate-cli"]),
    ("clap_complete", &["lockgate-cli"]),
    ("clap_mangen", &["lockgate-cli"]),
    ("fancy-regex", &["lockgate-pattern"]),
    ("granit-parser", &["lockgate-languages"]),
    ("hyper", &["lockgate-mcp", "lockgate-server"]),
    ("maud", &["lockgate-server"]),
    ("postgres", &["lockgate-store"]),
    ("rable", &["lockgate-call"]),
    ("redis", &["lockgate-store"]),
    ("roxmltree", &["lockgate-petri"]),
    ("rusqlite", &["lockgate-store"]),
];

#[test]
fn every_edge_between_our_crates_is_allowed() {
    let house = House::read().unwrap();
    // An empty house would pass every check.
    assert!(house.ours.contains("lockgate-gate") && house.names("lockgate-gate", "lockgate-policy"));
    assert_eq!(house.forbidden_edges(), [""; 0]);
}

#[test]
fn every_secret_stays_in_its_room() {
    let house = House::read().unwrap();
    assert_eq!(house.leaked_secrets(), [""; 0]);
}

#[test]
fn every_row_is_about_crates_and_libraries_that_exist() {
    let house = House::read().unwrap();
    let rooms: Vec<&str> = ROOMS.iter().map(|(room, ..)| *room).collect();
    let mut sorted = rooms.clone();
    sorted.sort_unstable();
    assert!(sorted.iter().eq(&house.ours), "ROOMS has {sorted:?}, the workspace has {:?}", house.ours);
    for (number, (room, allowed, _)) in ROOMS.iter().enumerate() {
        let above = rooms.get(..number).unwrap();
        assert!(
            allowed.iter().all(|name| above.contains(name)),
            "`{room}` names a crate that is not above it"
        );
    }
    for (library, owners) in SECRETS {
        for owner in *owners {
            assert!(house.names(owner, library), "`{owner}` does not use `{library}`");
        }
    }
}

#[test]
fn a_forbidden_edge_is_named_with_its_reason() {
    let cases: &[(Edges, &[&str])] = &[
        (&[("lockgate-gate", "lockgate-policy")], &[]),
        (
            &[("lockgate-policy", "lockgate-gate")],
            &["`lockgate-policy` must not name `lockgate-gate`: compiles rules, and never meets a session"],
        ),
        (
            &[("lockgate-mcp", "lockgate-agents"), ("lockgate-mcp", "lockgate")],
            &["`lockgate-mcp` must not name `lockgate-agents`: a door; doors never meet"],
        ),
        (
            &[("lockgate-call", "lockgate-testkit")],
            &["`lockgate-call` must not name `lockgate-testkit`: \
                 the most attacked room stands alone, to be fuzzed alone"],
        ),
        (
            &[("lockgate-attic", "lockgate-gate")],
            &["`lockgate-attic` has no row in ROOMS: say there and in ARCHITECTURE.md what its secret is"],
        ),
    ];
    for (edges, expected) in cases {
        assert_eq!(House::built_of(edges).forbidden_edges(), *expected, "{edges:?}");
    }
}

#[test]
fn a_leaked_secret_is_named_with_its_way_out() {
    let cases: &[(Edges, &[&str])] = &[
        (&[("lockgate-cli", "clap"), ("lockgate-testkit", "lockgate-cli")], &[]),
        (&[("lockgate", "lockgate-store"), ("lockgate-store", "rusqlite")], &[]),
        (&[("lockgate-testkit", "clap")], &[]),
        (&[("lockgate-gate", "clap")], &["`clap` belongs to `lockgate-cli`, but: lockgate-gate -> clap"]),
        (
            &[("lockgate-call", "shell-reader"), ("shell-reader", "clap")],
            &["`clap` belongs to `lockgate-cli`, but: lockgate-call -> shell-reader -> clap"],
        ),
    ];
    for (edges, expected) in cases {
        assert_eq!(House::built_of(edges).leaked_secrets(), *expected, "{edges:?}");
    }
}

/// Who names whom, as a test writes it down.
type Edges<'a> = &'a [(&'a str, &'a str)];

/// Who names whom outside of tests, by package name: all versions of a library count as one.
struct House {
    ours: BTreeSet<String>,
    edges: BTreeMap<String, BTreeSet<String>>,
}

impl House {
    /// The house as it stands, with every feature and for every platform.
    fn read() -> Result<Self, cargo_metadata::Error> {
        let metadata = MetadataCommand::new()
            .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"))
            .features(CargoOpt::AllFeatures)
            .other_options(["--locked".into()])
            .exec()?;
        let name_of: BTreeMap<_, _> =
            metadata.packages.iter().map(|package| (&package.id, package.name.to_string())).collect();
        let mut edges = BTreeMap::<String, BTreeSet<String>>::new();
        for node in metadata.resolve.iter().flat_map(|resolve| &resolve.nodes) {
            let named = node
                .deps
                .iter()
                .filter(|dep| dep.dep_kinds.iter().any(|how| how.kind != DependencyKind::Development))
                .filter_map(|dep| name_of.get(&dep.pkg).cloned());
            edges.entry(name_of.get(&node.id).cloned().unwrap_or_default()).or_default().extend(named);
        }
        let ours = metadata.workspace_packages().iter().map(|package| package.name.to_string()).collect();
        Ok(Self { ours, edges })
    }

    /// A house of these edges; whatever is called after us is ours.
    fn built_of(edges: Edges) -> Self {
        let mut house = Self { ours: BTreeSet::new(), edges: BTreeMap::new() };
        for &(from, to) in edges {
            house
                .ours
                .extend([from, to].into_iter().filter(|name| name.starts_with("lockgate")).map(Into::into));
            house.edges.entry(from.into()).or_default().insert(to.into());
        }
        house
    }

    /// One complaint for each edge between ours that [`ROOMS`] does not allow.
    fn forbidden_edges(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        for from in &self.ours {
            let named = self.named_by(from).filter(|name| self.ours.contains(*name));
            match ROOMS.iter().find(|(room, ..)| room == from) {
                Some((_, allowed, why)) => complaints.extend(
                    named
                        .filter(|to| !allowed.contains(to))
                        .map(|to| format!("`{from}` must not name `{to}`: {why}")),
                ),
                None => complaints.push(format!(
                    "`{from}` has no row in ROOMS: say there and in ARCHITECTURE.md what its secret is"
                )),
            }
        }
        complaints
    }

    /// One complaint for each way by which a library of [`SECRETS`] gets past its room.
    fn leaked_secrets(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        for (library, owners) in SECRETS {
            let others = self.shipped().filter(|room| !owners.contains(&room.as_str()));
            let ways = others.filter_map(|room| self.way(room, library, owners));
            complaints.extend(ways.map(|way| {
                let (way, owners) = (way.join(" -> "), owners.join(" and "));
                format!("`{library}` belongs to `{owners}`, but: {way}")
            }));
        }
        complaints
    }

    /// The shortest way from one crate to another that does not lead through an owner.
    fn way<'a>(&'a self, from: &'a str, to: &str, owners: &[&'a str]) -> Option<Vec<&'a str>> {
        let mut seen: BTreeSet<&str> = owners.iter().copied().chain([from]).collect();
        let mut ways = VecDeque::from([vec![from]]);
        while let Some(way) = ways.pop_front() {
            let last = *way.last()?;
            if last == to {
                return Some(way);
            }
            let new = self.named_by(last).filter(|next| seen.insert(next));
            ways.extend(new.map(|next| [way.as_slice(), &[next]].concat()));
        }
        None
    }

    fn names(&self, from: &str, to: &str) -> bool {
        self.named_by(from).any(|name| name == to)
    }

    fn named_by(&self, from: &str) -> impl Iterator<Item = &str> {
        self.edges.get(from).into_iter().flatten().map(String::as_str)
    }

    fn shipped(&self) -> impl Iterator<Item = &String> {
        self.ours.iter().filter(|room| !UNSHIPPED.contains(&room.as_str()))
    }
}
