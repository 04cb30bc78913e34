//! Runs a case under callgrind and reads what it writes.
//!
//! [`parse`] is strict: a line it does not know is an error, and the functions must add up to the total, because a count
//! that is read wrongly would be accepted like any other. It reads only what [`count`] asks callgrind for: no compressed
//! names or places, no jumps, one kind of event.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use super::profile::Profile;

/// The function of `counted` that everything is counted in.
const COUNTED: &str = "counted::count_this";

/// How often each case is counted; the middle one counts.
const TIMES: usize = 7;

/// Keeps glibc from tidying up its heap now and then: whether it happens in what is counted is chance, and was a tenth
/// of the count of a long script.
const TUNABLES: &str = "glibc.malloc.tcache_count=65535:glibc.malloc.trim_threshold=1073741824";

/// The cases there are.
pub(crate) fn cases(program: &Path) -> Result<Vec<String>, String> {
    let told = Command::new(program).output().map_err(|why| format!("cannot start `counted`: {why}"))?;
    let names: Vec<String> = String::from_utf8_lossy(&told.stdout).lines().map(str::to_owned).collect();
    if names.is_empty() { Err("`counted` has no cases".to_owned()) } else { Ok(names) }
}

/// Counts one case.
pub(crate) fn count(program: &Path, case: &str) -> Result<Profile, String> {
    let folder = tempfile::tempdir().map_err(|why| why.to_string())?;
    let out = folder.path().join("out");
    let mut valgrind = Command::new("valgrind");
    // Whatever stands in the environment moves the stack.
    valgrind.env_clear().env("GLIBC_TUNABLES", TUNABLES);
    let kept = ["PATH", "VALGRIND_LIB", "LD_LIBRARY_PATH"];
    valgrind.envs(kept.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    valgrind.args(["-q", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no", "--demangle=yes"]);
    valgrind.arg(format!("--toggle-collect={COUNTED}")).arg(format!("--dump-after={COUNTED}"));
    valgrind.arg(format!("--callgrind-out-file={}", out.display()));
    valgrind.arg(program).arg(case).arg(TIMES.to_string());
    let ran = valgrind.output().map_err(|why| format!("cannot start valgrind: {why}"))?;
    if !ran.status.success() {
        return Err(format!("valgrind ended with {}: {}", ran.status, String::from_utf8_lossy(&ran.stderr)));
    }
    let mut profiles = Vec::new();
    for number in 1..=TIMES {
        let text = fs::read_to_string(out.with_extension(number.to_string()))
            .map_err(|why| format!("callgrind did not see `{COUNTED}` {TIMES} times: {why}"))?;
        profiles.push(parse(&text)?);
    }
    middle(profiles).ok_or_else(|| "callgrind counted nothing".to_owned())
}

fn middle(mut profiles: Vec<Profile>) -> Option<Profile> {
    profiles.sort_by_key(|profile| profile.total);
    let middle = profiles.len() / 2;
    profiles.into_iter().nth(middle).filter(|profile| profile.total > 0)
}

/// Reads one file of callgrind's.
pub(crate) fn parse(text: &str) -> Result<Profile, String> {
    let mut reader = Reader::default();
    for (number, line) in text.lines().enumerate() {
        reader
            .line(line)
            .map_err(|why| format!("line {} of callgrind's file, `{line}`: {why}", number + 1))?;
    }
    reader.finish()
}

#[derive(Default)]
struct Reader {
    functions: BTreeMap<String, u64>,
    function: Option<String>,
    totals: Vec<u64>,
    /// The next cost is that of a call: what the other function takes, which is counted there.
    is_call: bool,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.starts_with(|first: char| first.is_ascii_digit()) {
            return self.cost(line);
        }
        if self.is_call {
            return Err("a call has no cost".to_owned());
        }
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        // A name may hold `: ` or `=` itself, so the mark that comes first is the one.
        let mark = line.find([':', '=']).and_then(|place| line.split_at_checked(place + 1));
        let (key, value) = mark.ok_or("neither a field nor a cost")?;
        match (key, value.trim()) {
            ("version:", "1") | ("positions:", "line") | ("events:", "Ir") => (),
            ("creator:" | "pid:" | "cmd:" | "part:" | "desc:", _) => (),
            ("summary:" | "totals:", total) => self.totals.push(whole(total)?),
            ("ob=" | "fl=" | "fi=" | "fe=" | "cob=" | "cfi=" | "cfl=" | "cfn=", _) => (),
            ("fn=", name) if name.is_empty() || is_compressed(name) => return Err("no name".to_owned()),
            ("fn=", name) => self.function = Some(plain(name)),
            ("calls=", _) => self.is_call = true,
            _ => return Err("not known".to_owned()),
        }
        Ok(())
    }

    fn cost(&mut self, line: &str) -> Result<(), String> {
        let (place, cost) = line.split_once(' ').ok_or("a place without a cost")?;
        let (_, cost) = (whole(place)?, whole(cost)?);
        let function = self.function.as_ref().ok_or("a cost without a function")?;
        if !std::mem::take(&mut self.is_call) && cost > 0 {
            *self.functions.entry(function.clone()).or_default() += cost;
        }
        Ok(())
    }

    fn finish(self) -> Result<Profile, String> {
        let sum: u64 = self.functions.values().sum();
        if self.is_call || self.totals.len() != 2 {
            return Err("callgrind's file breaks off".to_owned());
        }
        if self.totals.iter().any(|total| *total != sum) {
            return Err(format!(
                "the functions of callgrind's file take {sum}, but it says {:?}",
                self.totals
            ));
        }
        Ok(Profile { total: sum, functions: self.functions })
    }
}

fn whole(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("`{text}` is not a number"))
}

/// `(12) name` or `(12)`.
fn is_compressed(name: &str) -> bool {
    let number = name.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    number.is_some_and(|(number, _)| !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit()))
}

/// A function's name without what changes when nothing does: hashes, and how deep it called itself.
fn plain(name: &str) -> String {
    let mut name = name;
    for (mark, is_noise) in [
        ("'", is_decimal as fn(&str) -> bool),
        (".llvm.", is_decimal),
        ("::h", |rest| rest.len() == 16 && is_hexadecimal(rest)),
    ] {
        name = match name.rsplit_once(mark) {
            Some((start, rest)) if is_noise(rest) => start,
            _ => name,
        };
    }
    if name.strip_prefix("0x").is_some_and(is_hexadecimal) {
        return "(no name)".to_owned();
    }
    without_crate_hashes(name)
}

/// `core[8fa1cd03b1d4e6a2]::iter` as `core::iter`.
fn without_crate_hashes(name: &str) -> String {
    let mut pieces = name.split('[');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once(']') {
            Some((hash, rest)) if hash.len() >= 8 && is_hexadecimal(hash) => text.push_str(rest),
            _ => text.extend(["[", piece]),
        }
    }
    text
}

fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|digit| digit.is_ascii_digit())
}

fn is_hexadecimal(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|digit| digit.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "\
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 27385
cmd:  target/release/counted judge/one-rule-of-10 5
part: 1

desc: I1 cache: 
desc: Trigger: --dump-after=counted::count_this

positions: line
events: Ir
summary: 60

ob=/usr/lib/libc.so.6
fl=./malloc/malloc.c
fn=free
3350 20
fi=./malloc/arena.c
162 3
fe=./malloc/malloc.c
cfn=_int_free
calls=4606 4417 
3385 640
3388 7

fn=counted::judge::h06db8be413d19815
cob=/usr/lib/libc.so.6
cfi=./malloc/malloc.c
cfn=free
calls=1 0
0 30
0 10

fn=counted::judge'2
0 15
fn=<A as B: C>::d
0 5
totals: 60
";

    fn functions(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
        pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn what_a_function_calls_is_not_its_own() {
        let profile = parse(SAMPLE).unwrap();
        assert_eq!(profile.total, 60);
        assert_eq!(
            profile.functions,
            functions(&[("<A as B: C>::d", 5), ("counted::judge", 25), ("free", 30)])
        );
    }

    #[test]
    fn a_file_that_is_not_understood_is_not_counted() {
        let cases = [
            ("fn=free", "fn=(12) free", "no name"),
            ("fn=free", "fn=", "no name"),
            ("fn=free", "fn2=free", "not known"),
            ("fn=free\n", "", "a cost without a function"),
            ("3350 20", "3350", "a place without a cost"),
            ("3350 20", "3350 20 1", "`20 1` is not a number"),
            ("3350 20", "+3 20", "neither a field nor a cost"),
            ("3350 20", "3350 21", "take 61, but it says [60, 60]"),
            ("totals: 60\n", "", "breaks off"),
            ("totals: 60", "totals: 61", "take 60, but it says [60, 61]"),
            ("events: Ir", "events: Ir Dr", "not known"),
            ("positions: line", "positions: instr line", "not known"),
            ("version: 1", "version: 2", "not known"),
            ("3385 640\n", "", "take 53, but it says [60, 60]"),
            ("0 30\n0 10\n", "", "a call has no cost"),
            ("0 15", "jump=1 0", "not known"),
        ];
        for (old, new, expected) in cases {
            assert!(SAMPLE.contains(old), "{old}");
            let error = parse(&SAMPLE.replacen(old, new, 1)).unwrap_err();
            assert!(error.contains(expected), "{old} -> {new}: {error}");
        }
    }

    #[test]
    fn names_lose_what_changes_with_every_build() {
        let cases = [
            ("a::b::h06db8be413d19815", "a::b"),
            ("a::b::h06db8be413d19815'2", "a::b"),
            ("a::b::h06db8be413d19815.llvm.1234'13", "a::b"),
            ("a::b::hello", "a::b::hello"),
            ("core[8fa1cd03b1d4e6a2]::iter::<[u8; 4]>", "core::iter::<[u8; 4]>"),
            ("core::ptr::drop_in_place<[(A,B)]>", "core::ptr::drop_in_place<[(A,B)]>"),
            ("0x000000000001ab70", "(no name)"),
            ("unlink_chunk.constprop.0", "unlink_chunk.constprop.0"),
        ];
        for (name, expected) in cases {
            assert_eq!(plain(name), expected);
        }
    }

    #[test]
    fn the_middle_count_counts() {
        let profile = |total| Profile { total, ..Profile::default() };
        assert_eq!(middle([9, 5, 7].map(profile).to_vec()), Some(profile(7)));
        assert_eq!(middle(vec![profile(0)]), None, "nothing is not a count");
        assert_eq!(middle(Vec::new()), None);
    }
}
