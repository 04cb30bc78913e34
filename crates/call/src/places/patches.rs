//! The files that a patch in a text would change.

/// What stands before a file's name in a patch.
const HEADERS: &[&str] = &[
    "+++ ",
    "--- ",
    "*** Update File:",
    "*** Add File:",
    "*** Delete File:",
    "*** Move to:",
    "*** ",
    "rename from ",
    "rename to ",
    "copy from ",
    "copy to ",
    "Index: ",
];

/// The names of the files, as they stand and without the `a/` and `b/` that git puts in front.
#[must_use]
pub fn patched_files(text: &str) -> Vec<&str> {
    let mut files = Vec::new();
    for line in text.lines() {
        let line = line.trim_start();
        if let Some(names) = line.strip_prefix("diff --git ") {
            // Both names may hold blanks; each way to part them gives names to compare.
            let parts = names.match_indices(' ').filter_map(|(at, _)| names.split_at_checked(at));
            parts.for_each(|(one, other)| [one, other].iter().for_each(|name| add(name, &mut files)));
            continue;
        }
        let name = HEADERS.iter().find_map(|header| line.strip_prefix(header));
        if let Some(name) = name {
            add(name.split('\t').next().unwrap_or(name), &mut files);
        }
    }
    files
}

fn add<'t>(name: &'t str, files: &mut Vec<&'t str>) {
    let name = name.trim().trim_matches('"');
    if !name.is_empty() && name != "/dev/null" {
        files.push(name);
        files.extend(["a/", "b/"].iter().find_map(|side| name.strip_prefix(side)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_every_kind_of_patch() {
        let unified = "--- a/.lockgate/p.rules\t2026\n+++ b/.lockgate/p.rules\n@@ -1 +1 @@\n-a\n+b\n";
        assert!(patched_files(unified).contains(&".lockgate/p.rules"));
        let context =
            "*** .lockgate/p.rules\t2026\n--- .lockgate/p.rules\t2026\n***************\n*** 1 ****\n";
        assert!(patched_files(context).contains(&".lockgate/p.rules"));
        let mode = "diff --git a/.lockgate/p.rules b/.lockgate/p.rules\ndeleted file mode 100644\n";
        assert!(patched_files(mode).contains(&".lockgate/p.rules"));
        let of_agents =
            "*** Begin Patch\n*** Update File: src/a.rs\n*** Move to:  .lockgate/x\n*** End Patch";
        let files = patched_files(of_agents);
        assert!(files.contains(&"src/a.rs") && files.contains(&".lockgate/x"), "{files:?}");
        assert_eq!(patched_files("--- /dev/null\nnothing here"), [""; 0]);
    }
}
