//! The files that a patch in a text would change.

/// What stands before a file's name in a patch.
const HEADERS: &[&str] = &[
    "+++ ",
    "--- ",
    "*** Update File: ",
    "*** Add File: ",
    "*** Delete File: ",
    "*** Move to: ",
    "rename from ",
    "rename to ",
    "copy to ",
    "Index: ",
];

/// The names of the files, as they stand and without the `a/` and `b/` that git puts in front.
pub(super) fn files(text: &str) -> Vec<&str> {
    let mut files = Vec::new();
    for line in text.lines() {
        let line = line.trim_start();
        let name = HEADERS.iter().find_map(|header| line.strip_prefix(header));
        let name = name.map(|name| name.split('\t').next().unwrap_or(name).trim().trim_matches('"'));
        for name in name.into_iter().filter(|name| !name.is_empty() && *name != "/dev/null") {
            files.push(name);
            files.extend(["a/", "b/"].iter().find_map(|side| name.strip_prefix(side)));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_every_kind_of_patch() {
        let unified = "--- a/.lockgate/p.rules\t2026\n+++ b/.lockgate/p.rules\n@@ -1 +1 @@\n-a\n+b\n";
        assert!(files(unified).contains(&".lockgate/p.rules"));
        let of_agents = "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: .lockgate/x\n*** End Patch";
        assert_eq!(files(of_agents), ["src/a.rs", ".lockgate/x"]);
        assert_eq!(files("--- /dev/null\nnothing here"), [""; 0]);
    }
}
