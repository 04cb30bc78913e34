//! What is known about programs is in one table.
//!
//! The test reads every shipped source as tokens and fails where one outside of the table's folder names a program in a
//! string: alone, if the name means nothing but the program, or in a list, if most of the list are names of programs.
//! A second table cannot grow unseen. A comparison with one name that is an ordinary word too (`"find"`, `"test"`) is
//! not noticed: such words are keys and verbs everywhere.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Where the table is.
const TABLE: &str = "call/src/programs/table/";

/// Names that mean something else where they are, or do not decide anything about a call.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("agents/src/edit/command.rs", "sh", "runs the command line of a hook"),
    ("agents/src/processes/records.rs", "sh", "a word behind the name of a process"),
    ("call/src/places/hosts/address.rs", "http https ftp", "schemes of URLs"),
    ("call/src/fields.rs", "sh zsh", "names of fields"),
    ("call/src/places/git.rs", "git rm", "the grammar of git, and a verb of it"),
    ("call/src/places/paths/finder.rs", "sudo", "a wrapper that may go to another folder first"),
    ("call/src/places/versions.rs", "git", "the program that a door asks"),
    ("call/src/sensitive/addresses.rs", "git", "a user in an address"),
    ("call/src/sensitive/attack_patterns.rs", "http https ftp", "schemes of URLs"),
    ("call/src/shell/environment.rs", "tar", "a variable holds its options"),
    ("call/src/shell/written.rs", "php", "the ending of a file"),
    ("call/src/tools/table.rs", "ls", "a tool of an agent"),
    ("call/src/shell/reader/run.rs", "git", "has programs of its own for its verbs"),
    ("cli/src/commands/doctor/hook_trial.rs", "ls", "the command of a trial"),
    ("gate/src/protection/git.rs", "mv rm", "verbs of git"),
    ("gate/src/protection/tables.rs", "cp mv rm rmdir unlink", "words in the names of tools"),
    (
        "gate/src/protection/tables.rs",
        "gdb kill killall lldb ltrace pkill strace",
        "end others or look into them, which only protection asks",
    ),
    ("call/src/effects.rs", "rmdir unlink", "names of functions in code of other languages"),
    ("call/src/effects.rs", "cat ls", "prints nothing of an empty file; what other programs are told"),
    ("cli/src/lasting.rs", "npx uvx", "has run us, out of its cache"),
    ("cli/src/service.rs", "systemctl", "runs it, to install our own service"),
    ("gate/src/protection/wide.rs", "git", "a word in the names of tools"),
    ("policy/src/statement.rs", "rm", "an example in a message"),
    ("prover/src/proof/samples/inputs.rs", "cat", "the command of a sample"),
];

/// How many names make a list.
const LIST_MIN: usize = 3;

#[test]
fn programs_are_named_in_one_table() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let table = Names::of_table(&crates.join(TABLE));
    assert!(table.all.len() > 500 && table.only.len() > 100, "the table was not found");
    let mut unused: BTreeSet<(&str, &str)> = EXCEPTIONS
        .iter()
        .flat_map(|(file, names, _)| names.split(' ').map(move |name| (*file, name)))
        .collect();
    let mut found = Vec::new();
    for path in shipped(crates) {
        let file = path.strip_prefix(crates).unwrap().to_str().unwrap().to_owned();
        if file.starts_with(TABLE) {
            continue;
        }
        for name in table.named_in(&fs::read_to_string(&path).unwrap()) {
            let excepted = EXCEPTIONS.iter().find(|(other, names, _)| {
                *other == file && names.split(' ').any(|excepted| excepted == name)
            });
            match excepted {
                Some((other, names, _)) => {
                    let name = names.split(' ').find(|excepted| *excepted == name).unwrap();
                    unused.remove(&(*other, name));
                }
                None => found.push(format!("{file}: `{name}`")),
            }
        }
    }
    assert!(found.is_empty(), "ask the row of the program instead of its name:\n{}", found.join("\n"));
    assert!(unused.is_empty(), "exceptions that nothing needs: {unused:?}");
}

#[test]
fn a_second_table_is_seen_however_it_is_written() {
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
    let table = Names { all: names(&["git", "find", "test", "make", "env"]), only: names(&["git"]) };
    let rows: &[(&str, &[&str])] = &[
        ("fn f() { p == \"git\" }", &["git"]),
        ("fn f() { p == \"find\" }", &[]),
        ("const A: &[&str] = &[\"find\", \"test\", \"make\"];", &["find", "make", "test"]),
        ("const A: &str = \"find test make env\";", &["env", "find", "make", "test"]),
        ("fn f() { matches!(p, \"find\" | \"test\" | \"make\" | \"x\") }", &["find", "make", "test"]),
        ("fn f() { match p { \"find\" => 1, \"test\" => 2, \"make\" => 3 } }", &["find", "make", "test"]),
        (
            "const A: &[(&str, u8)] = &[(\"find\", 1), (\"test\", 2), (\"make\", 3)];",
            &["find", "make", "test"],
        ),
        ("const KEYS: &[&str] = &[\"a\", \"b\", \"c\", \"env\", \"test\", \"find\"];", &[]),
        ("const A: &[A] = &[a(\"find\", 1), a(\"find\", 2), a(\"find\", 3)];", &[]),
        ("fn f() { json!({\"test\": 1, \"env\": 2, \"make\": 3}) }", &[]),
        ("const A: &str = \"find out whether the test can make it\";", &[]),
        ("// git\n/// git\n#[cfg(test)] mod tests { const A: &str = \"git\"; }", &[]),
    ];
    for (source, expected) in rows {
        let found: Vec<String> = table.named_in(source).into_iter().collect();
        assert_eq!(found, *expected, "{source}");
    }
}

/// The names of programs.
struct Names {
    all: BTreeSet<String>,
    /// Those that mean nothing else.
    only: BTreeSet<String>,
}

impl Names {
    fn of_table(folder: &Path) -> Self {
        let mut found = Self { all: BTreeSet::new(), only: BTreeSet::new() };
        for path in sources(folder) {
            let tokens: TokenStream = fs::read_to_string(path).unwrap().parse().unwrap();
            found.rows(tokens);
        }
        found
    }

    fn rows(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            let TokenTree::Group(group) = token else { continue };
            let is_row = at > 0 && tokens[at - 1].to_string() == "Program";
            if is_row && group.delimiter() == Delimiter::Brace {
                let fields: Vec<TokenTree> = group.stream().into_iter().collect();
                let value = |field: &str| {
                    let at = fields.iter().position(|token| token.to_string() == field)?;
                    fields.get(at + 2)
                };
                let names = value("names").and_then(text).unwrap();
                let is_only = value("is_only_a_program").is_some();
                for name in names.split_whitespace() {
                    self.all.insert(name.to_owned());
                    if is_only {
                        self.only.insert(name.to_owned());
                    }
                }
            } else {
                self.rows(group.stream());
            }
        }
    }

    /// The programs that a source names.
    fn named_in(&self, source: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        self.look_at(source.parse().unwrap(), false, &mut found);
        found
    }

    /// Looks at the strings of one bracket, and at those in it; gives the first string of it.
    fn look_at(&self, tokens: TokenStream, is_list: bool, found: &mut BTreeSet<String>) -> Option<String> {
        let tokens: Vec<TokenTree> = without_tests(tokens);
        let mut strings = Vec::new();
        let mut listed = Vec::new();
        let mut firsts = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => {
                    let is_list = group.delimiter() == Delimiter::Bracket;
                    let first = self.look_at(group.stream(), is_list, found);
                    let is_call = at > 0 && matches!(tokens[at - 1], TokenTree::Ident(_));
                    let is_tuple = group.delimiter() == Delimiter::Parenthesis && !is_call;
                    // A list of tuples is a list of their first strings.
                    firsts.extend(first.filter(|_| is_tuple));
                }
                token => {
                    let Some(string) = text(token) else { continue };
                    let is_mark = |token: Option<&TokenTree>| {
                        token.is_some_and(|token| ["|", "=", "if"].contains(&token.to_string().as_str()))
                    };
                    // An element of a list, or a pattern: `"a" | "b"`, `"a" => …`.
                    if is_list || is_mark(tokens.get(at + 1)) {
                        listed.push(string.clone());
                    }
                    strings.push(string);
                }
            }
        }
        found.extend(strings.iter().filter(|string| self.only.contains(*string)).cloned());
        self.list(&listed, found);
        if is_list {
            self.list(&firsts, found);
        }
        for string in &strings {
            let words: Vec<String> = string.split_whitespace().map(ToOwned::to_owned).collect();
            self.list(&words, found);
        }
        strings.into_iter().next()
    }

    /// Takes in a list, if most of it are programs.
    fn list(&self, list: &[String], found: &mut BTreeSet<String>) {
        let names: Vec<&String> = list.iter().filter(|text| self.all.contains(*text)).collect();
        if names.len() >= LIST_MIN && names.len() * 2 > list.len() {
            found.extend(names.into_iter().cloned());
        }
    }
}

/// The text of a string.
fn text(token: &TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = token else { return None };
    let literal = literal.to_string();
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    Some(inner.replace("\\\n", " "))
}

/// Without attributes, and without what only tests see.
fn without_tests(tokens: TokenStream) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_attribute = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
        match tokens.peek() {
            Some(TokenTree::Group(group)) if is_attribute && group.delimiter() == Delimiter::Bracket => {
                let attribute = group.stream().to_string().replace(' ', "");
                tokens.next();
                if attribute.starts_with("cfg(test") || attribute.starts_with("cfg(all(test") {
                    // Up to the end of the item.
                    for token in tokens.by_ref() {
                        let is_body = matches!(&token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
                        let ends = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ';');
                        if is_body || ends {
                            break;
                        }
                    }
                }
            }
            _ => kept.push(token),
        }
    }
    kept
}

/// The sources of every crate that is shipped, without files of tests.
fn shipped(crates: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path());
    let is_test = |path: &PathBuf| path.file_stem().unwrap().to_str().unwrap().ends_with("tests");
    folders
        .filter(|folder| !folder.ends_with("testkit") && folder.join("src").is_dir())
        .flat_map(|folder| sources(&folder.join("src")))
        .filter(|path| !is_test(path))
        .collect()
}

/// The Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}
