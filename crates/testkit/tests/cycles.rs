//! Inside a crate, modules form no cycle.
//!
//! The test reads every shipped crate's sources as tokens and draws an edge from each module to every module it names,
//! by `use`, by a path or through somebody's re-export. Within each folder (and at the top of each crate) the files
//! and subfolders must form no cycle. What stands in the folder's own file counts as one more node, so a file that
//! needs something of its parent may not be needed by it; a parent that only re-exports needs nothing.
//! What only tests name does not count, and neither do methods: they are found by type, not by module.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Crates that are never shipped.
const UNSHIPPED: [&str; 1] = ["testkit"];

/// The node for what stands in a folder's own file.
const OWN: &str = "(its own file)";

#[test]
fn modules_form_no_cycle() {
    let mut found = Vec::new();
    for (name, sources) in shipped() {
        let house = House::read(&sources);
        // An empty house would pass every check.
        assert!(house.modules.len() > 1, "no modules were found in {}", sources.display());
        for (folder, cycle) in house.cycles() {
            let folder =
                [name.as_str()].into_iter().chain(folder.iter().map(String::as_str)).collect::<Vec<_>>();
            found.push(format!("{}: {}", folder.join("/"), cycle.join(", ")));
        }
    }
    assert_eq!(found, [""; 0]);
}

#[test]
fn scripts_are_parsed_in_one_crate_alone() {
    // Everybody else asks the call for its scripts, so that each is parsed once.
    let parsers = ["read_script", "read_words"];
    for (name, sources) in shipped().into_iter().filter(|(name, _)| name != "call") {
        for (path, module) in House::read(&sources).modules {
            let imported = module.mentions.iter().flat_map(|mention| &mention.path);
            let mut named = imported.chain(&module.names).filter(|name| parsers.contains(&name.as_str()));
            assert_eq!(named.next(), None, "{name}: {}", path.join("/"));
        }
    }
}

#[test]
fn a_call_is_looked_at_by_its_door_and_read_by_everyone_else() {
    // What is in a call is found once, in its own crate; who judges it asks the `SeenCall`.
    let finders = ["paths", "hosts"];
    let mut doors = BTreeSet::new();
    for (name, sources) in shipped().into_iter().filter(|(name, _)| name != "call") {
        for (path, module) in House::read(&sources).modules {
            let place = format!("{name}/{}", path.join("/"));
            for mention in &module.mentions {
                let parts: Vec<&str> = mention.path.iter().map(String::as_str).collect();
                let is_of_call = parts.iter().any(|part| ["call", "lockgate_call"].contains(part));
                let is_finder = parts.last().is_some_and(|last| finders.contains(last));
                assert!(!(is_of_call && is_finder), "{place}: {}", parts.join("::"));
                if parts.windows(2).any(|pair| pair == ["SeenCall", "look"]) {
                    doors.insert(place.clone());
                }
            }
        }
    }
    let known = [
        "agents/guardian/client",
        "agents/hook/in_process",
        "agents/hook/process",
        "cli/commands/mcp/surroundings",
        "cli/commands/replay/world",
        "cli/commands/try_command",
        "lockgate/core",
        "server/protocol/requests",
    ];
    assert_eq!(doors.iter().map(String::as_str).collect::<Vec<_>>(), known, "the doors that look at calls");
}

#[test]
fn a_cycle_is_seen_however_it_is_written() {
    /// The files of a crate, and the cycles in it.
    type Row<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);
    let rows: &[Row<'_>] = &[
        (&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "pub struct B;")], &[]),
        (
            &[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "use crate::a::A;")],
            &["a, b"],
        ),
        (
            &[("lib.rs", "mod a; mod b;"), ("a.rs", "use super::b;"), ("b.rs", "fn f() { crate::a::g() }")],
            &["a, b"],
        ),
        (
            &[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "use crate::{b::{c, d}};"),
                ("b.rs", "x!(crate::a::g())"),
            ],
            &["a, b"],
        ),
        // By the name the crate gives it.
        (
            &[
                ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
                ("a.rs", "use crate::B;"),
                ("b.rs", "use crate::A;"),
            ],
            &["a, b"],
        ),
        (
            &[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "mod c; pub use c::*; use crate::b::B;"),
                ("a/c.rs", "pub struct C;"),
                ("b.rs", "use crate::a::C;"),
            ],
            &["a, b"],
        ),
        // Within a folder.
        (
            &[
                ("lib.rs", "mod a;"),
                ("a.rs", "mod b; mod c; pub use b::B;"),
                ("a/b.rs", "use super::c::C;"),
                ("a/c.rs", "use super::B;"),
            ],
            &["a: b, c"],
        ),
        (
            &[("lib.rs", "mod a;"), ("a.rs", "mod b; pub use b::B; fn f() {}"), ("a/b.rs", "use super::f;")],
            &[],
        ),
        (
            &[
                ("lib.rs", "mod a;"),
                ("a.rs", "mod b; pub use b::B; fn f(_: B) {}"),
                ("a/b.rs", "use super::f;"),
            ],
            &["a: (its own file), b"],
        ),
        (
            &[
                ("lib.rs", "mod a;"),
                ("a.rs", "mod b; fn f() { b::g() }"),
                ("a/b.rs", "fn g() { super::f() }"),
            ],
            &["a: (its own file), b"],
        ),
        (
            &[
                ("lib.rs", "mod a;"),
                ("a.rs", "mod b; mod c; fn f() { b::g() }"),
                ("a/b.rs", "use super::{c::C,};"),
                ("a/c.rs", "struct C;"),
            ],
            &[],
        ),
        // What tests need does not count, nor what comments and strings say.
        (
            &[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "use crate::b::B;"),
                (
                    "b.rs",
                    "// crate::a::A\nconst C: &str = \"crate::a::A\"; #[cfg(test)] mod tests { use crate::a::A; }",
                ),
            ],
            &[],
        ),
        (
            &[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "use crate::b::B;"),
                ("b.rs", "#[cfg(test)] use crate::a::A; #[cfg(test)] mod tests;"),
                ("b/tests.rs", "use crate::a::A;"),
            ],
            &[],
        ),
    ];
    for (files, cycles) in rows {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in *files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found: Vec<String> = House::read(folder.path())
            .cycles()
            .into_iter()
            .map(|(folder, cycle)| {
                let cycle = cycle.join(", ");
                if folder.is_empty() { cycle } else { format!("{}: {cycle}", folder.join("/")) }
            })
            .collect();
        assert_eq!(found, *cycles, "{files:?}");
    }
}

/// The names of the shipped crates and where their sources are.
fn shipped() -> Vec<(String, PathBuf)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found: Vec<(String, PathBuf)> = fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path().join("src")))
        .filter(|(name, sources)| !UNSHIPPED.contains(&name.as_str()) && sources.is_dir())
        .collect();
    found.sort();
    assert!(found.iter().any(|(name, _)| name == "gate"));
    found
}

/// A module by the names on the way to it; the crate itself has none.
type ModulePath = Vec<String>;

/// One `use`, or one path in the code, as it is written: `crate::a::B` as `["crate", "a", "B"]`.
struct Mention {
    path: Vec<String>,
    /// The name it has here, where it is imported; `*` for all of a module.
    alias: Option<String>,
    /// Whether it only hands a name on.
    is_reexport: bool,
}

/// What one file says.
#[derive(Default)]
struct Module {
    mentions: Vec<Mention>,
    /// Names in its code outside `use`.
    names: BTreeSet<String>,
    defined: BTreeSet<String>,
    children: BTreeSet<String>,
    /// Children that only tests have.
    test_children: BTreeSet<String>,
}

/// The modules of one crate.
struct House {
    modules: BTreeMap<ModulePath, Module>,
}

impl House {
    fn read(sources: &Path) -> Self {
        let root = ["lib.rs", "main.rs"].iter().map(|name| sources.join(name)).find(|path| path.is_file());
        let mut modules = BTreeMap::new();
        let mut waiting = vec![(ModulePath::new(), root.unwrap())];
        while let Some((path, file)) = waiting.pop() {
            let text = fs::read_to_string(&file).unwrap();
            let tokens: TokenStream =
                text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let mut module = Module::default();
            module.items(tokens);
            for child in module.children.difference(&module.test_children) {
                let base = path.iter().fold(sources.to_owned(), |folder, name| folder.join(name));
                let files = [base.join(format!("{child}.rs")), base.join(child).join("mod.rs")];
                let child_path: ModulePath = path.iter().cloned().chain([child.clone()]).collect();
                if let Some(file) = files.into_iter().find(|file| file.is_file()) {
                    waiting.push((child_path, file));
                }
            }
            modules.insert(path, module);
        }
        Self { modules }
    }

    /// The largest cycle in each folder that has one, with the folder.
    fn cycles(&self) -> Vec<(ModulePath, Vec<String>)> {
        let mut graphs: BTreeMap<ModulePath, Graph> = BTreeMap::new();
        for (from, module) in &self.modules {
            for mention in &module.mentions {
                let Some(to) = self.resolve(from, &mention.path, 0) else { continue };
                // Handing a name on needs nothing, unless the code beside it does.
                let is_used = mention.alias.as_ref().is_some_and(|alias| module.names.contains(alias));
                if mention.is_reexport && !is_used && to.starts_with(from) {
                    continue;
                }
                let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                let node = |path: &ModulePath| path.get(shared).map_or(OWN, String::as_str).to_owned();
                let (here, there) = (node(from), node(&to));
                if here != there {
                    graphs.entry(from[..shared].to_vec()).or_default().entry(here).or_default().insert(there);
                }
            }
        }
        let largest = |graph: &Graph| {
            let mut cycle = graph.keys().map(|node| cycle_of(graph, node)).max_by_key(Vec::len)?;
            cycle.sort();
            (cycle.len() > 1).then_some(cycle)
        };
        graphs.iter().filter_map(|(folder, graph)| Some((folder.clone(), largest(graph)?))).collect()
    }

    /// The module in which a path ends, followed through imports. None where it leaves the crate.
    fn resolve(&self, from: &ModulePath, path: &[String], depth: usize) -> Option<ModulePath> {
        let (first, rest) = path.split_first()?;
        if depth > 16 {
            return None;
        }
        match first.as_str() {
            "crate" => self.walk(ModulePath::new(), rest, depth),
            "self" => self.walk(from.clone(), rest, depth),
            "super" => {
                let parent = from[..from.len().checked_sub(1)?].to_vec();
                match rest.first().map(String::as_str) {
                    Some("super") => self.resolve(&parent, rest, depth + 1),
                    _ => self.walk(parent, rest, depth),
                }
            }
            name if self.modules.get(from)?.children.contains(name) => self.walk(from.clone(), path, depth),
            _ => None,
        }
    }

    fn walk(&self, at: ModulePath, rest: &[String], depth: usize) -> Option<ModulePath> {
        let Some((name, after)) = rest.split_first() else { return Some(at) };
        let module = self.modules.get(&at)?;
        let child: ModulePath = at.iter().cloned().chain([name.clone()]).collect();
        if self.modules.contains_key(&child) {
            return self.walk(child, after, depth);
        }
        if module.defined.contains(name) {
            return Some(at);
        }
        let imported = module.mentions.iter().find(|mention| mention.alias.as_ref() == Some(name));
        if let Some(import) = imported {
            let path: Vec<String> = import.path.iter().chain(after).cloned().collect();
            // What is imported from elsewhere belongs to nobody here.
            return self.resolve(&at, &path, depth + 1);
        }
        let globs = module.mentions.iter().filter(|mention| mention.alias.as_deref() == Some("*"));
        let through = globs.filter_map(|glob| {
            let target = self.resolve(&at, &glob.path, depth + 1)?;
            let has = self.modules.get(&target)?.defined.contains(name);
            has.then_some(target)
        });
        through.into_iter().next_back().or(Some(at))
    }
}

type Graph = BTreeMap<String, BTreeSet<String>>;

/// All nodes that a node reaches and that reach it, itself included.
fn cycle_of(graph: &Graph, node: &str) -> Vec<String> {
    let reach = |start: &str| {
        let mut seen = BTreeSet::from([start.to_owned()]);
        let mut waiting = vec![start.to_owned()];
        while let Some(node) = waiting.pop() {
            waiting.extend(
                graph.get(&node).into_iter().flatten().filter(|next| seen.insert((*next).clone())).cloned(),
            );
        }
        seen
    };
    reach(node).into_iter().filter(|other| reach(other).contains(node)).collect()
}

impl Module {
    /// Takes in the items of a module.
    fn items(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        let mut is_public = false;
        let mut in_tests = false;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    let inner =
                        matches!(&tokens.get(at + 1), Some(TokenTree::Punct(mark)) if mark.as_char() == '!');
                    let group = if inner { at + 2 } else { at + 1 };
                    let text =
                        tokens.get(group).map(ToString::to_string).unwrap_or_default().replace(' ', "");
                    in_tests |= text.starts_with("[cfg(test)") || text.starts_with("[cfg(all(test");
                    at = group + 1;
                }
                TokenTree::Ident(word) if word == "pub" => {
                    is_public = true;
                    let scoped = |token: &&TokenTree| is_group(token, Delimiter::Parenthesis);
                    at += if tokens.get(at + 1).as_ref().is_some_and(scoped) { 2 } else { 1 };
                }
                _ => {
                    let end = item_end(&tokens, at);
                    self.item(&tokens[at..end], is_public, in_tests);
                    (is_public, in_tests) = (false, false);
                    at = end;
                }
            }
        }
    }

    fn item(&mut self, tokens: &[TokenTree], is_public: bool, in_tests: bool) {
        let word = |at: usize| match tokens.get(at) {
            Some(TokenTree::Ident(word)) => word.to_string(),
            _ => String::new(),
        };
        match word(0).as_str() {
            "mod" => {
                if in_tests {
                    self.test_children.insert(word(1));
                }
                match tokens.last() {
                    // A module within the file is part of it.
                    Some(TokenTree::Group(body)) if !in_tests => self.code(body.stream()),
                    Some(TokenTree::Group(_)) => {}
                    _ => drop(self.children.insert(word(1))),
                }
            }
            _ if in_tests => {}
            "use" => self.imports(&[], &tokens[1..], is_public),
            _ => {
                let mut words = tokens.iter().filter_map(|token| match token {
                    TokenTree::Ident(word) => Some(word.to_string()),
                    _ => None,
                });
                const ITEMS: [&str; 8] =
                    ["fn", "struct", "enum", "trait", "const", "static", "type", "union"];
                while let Some(word) = words.next() {
                    if word == "impl" {
                        break;
                    }
                    if ITEMS.contains(&word.as_str()) {
                        match words.next() {
                            // `const fn name`.
                            Some(name) if ITEMS.contains(&name.as_str()) => self.defined.extend(words.next()),
                            name => self.defined.extend(name),
                        }
                        break;
                    }
                }
                self.code(tokens.iter().cloned().collect());
            }
        }
    }

    /// Takes in `a::{b, c as d, e::*}`.
    fn imports(&mut self, before: &[String], tokens: &[TokenTree], is_reexport: bool) {
        for tree in tokens.split(|token| is_mark(token, ',') || is_mark(token, ';')) {
            // Behind the last comma.
            if tree.is_empty() {
                continue;
            }
            let mut path = before.to_vec();
            let mut alias = None;
            let mut is_group_of = false;
            for (at, token) in tree.iter().enumerate() {
                match token {
                    TokenTree::Ident(word) if word == "as" => {
                        alias = tree.get(at + 1).map(ToString::to_string);
                        break;
                    }
                    TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
                    TokenTree::Ident(word) => path.push(word.to_string()),
                    TokenTree::Punct(mark) if mark.as_char() == '*' => alias = Some("*".into()),
                    TokenTree::Group(group) => {
                        is_group_of = true;
                        let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                        self.imports(&path, &inner, is_reexport);
                    }
                    _ => {}
                }
            }
            if !is_group_of && !path.is_empty() {
                let alias = alias.or_else(|| path.last().cloned());
                self.mentions.push(Mention { path, alias, is_reexport });
            }
        }
    }

    /// Takes in every path of some code, in macros too.
    fn code(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.code(group.stream()),
                TokenTree::Ident(word) if word == "use" => {
                    let end = at + tokens[at..].iter().take_while(|token| !is_mark(token, ';')).count();
                    self.imports(&[], &tokens[at + 1..end], false);
                    at = end;
                }
                TokenTree::Ident(word) => {
                    self.names.insert(word.to_string());
                    let mut path = vec![word.to_string()];
                    while tokens.get(at + 1).is_some_and(|token| is_mark(token, ':'))
                        && tokens.get(at + 2).is_some_and(|token| is_mark(token, ':'))
                        && let Some(TokenTree::Ident(next)) = tokens.get(at + 3)
                    {
                        path.push(next.to_string());
                        at += 3;
                    }
                    if path.len() > 1 {
                        self.mentions.push(Mention { path, alias: None, is_reexport: false });
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
}

/// Where the item ends that begins here: after its `;` or its braces.
fn item_end(tokens: &[TokenTree], start: usize) -> usize {
    let is_use = matches!(&tokens[start], TokenTree::Ident(word) if word == "use");
    let is_value = matches!(&tokens[start], TokenTree::Ident(word) if word == "const" || word == "static" || word == "type");
    let is_function = matches!(&tokens.get(start + 1), Some(TokenTree::Ident(word)) if word == "fn" || word == "unsafe" || word == "async");
    let by_mark = is_use || is_value && !is_function;
    let ends = |token: &TokenTree| is_mark(token, ';') || !by_mark && is_group(token, Delimiter::Brace);
    tokens[start..].iter().position(ends).map_or(tokens.len(), |at| start + at + 1)
}

fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(found) if found.as_char() == mark)
}

fn is_group(token: &TokenTree, delimiter: Delimiter) -> bool {
    matches!(token, TokenTree::Group(group) if Group::delimiter(group) == delimiter)
}
