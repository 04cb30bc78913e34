//! `cargo xtask site`: the pages of docs/ as a site, with navigation and checked links.
//!
//! The order and the groups of the navigation are those of the table in docs/README.md. A link to a file outside of docs/ leads to the
//! repository; one that leads nowhere, or to a heading that is not there, is an error, and so is a page that no other page leads to.

mod page;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use page::{Page, escaped};

const STYLE: &str = include_str!("site/style.css");

/// Build the documentation as a site, and check its links
#[derive(Debug, clap::Args)]
pub(crate) struct Site {
    /// The folder to write
    #[arg(long, default_value = "target/site")]
    out: PathBuf,
    /// Where links to files of the repository lead
    #[arg(long, default_value = "https://github.com/lockgate/lockgate/blob/main")]
    repository: String,
    /// The playground, to be part of the site
    #[arg(long, value_name = "FILE")]
    playground: Option<PathBuf>,
}

impl Site {
    pub(crate) fn run(&self) -> ExitCode {
        match self.build() {
            Ok(pages) => {
                println!("{}: {pages} pages", self.out.join("index.html").display());
                ExitCode::SUCCESS
            }
            Err(faults) => {
                faults.iter().for_each(|fault| eprintln!("error: {fault}"));
                ExitCode::FAILURE
            }
        }
    }

    fn build(&self) -> Result<usize, Vec<String>> {
        let docs = Docs::read(Path::new("."), &self.repository).map_err(|why| vec![why])?;
        let faults = docs.faults();
        if !faults.is_empty() {
            return Err(faults);
        }
        let written = docs.write(&self.out).and_then(|()| match &self.playground {
            Some(file) => copied(file, &self.out.join("playground/index.html")),
            None => Ok(()),
        });
        written.map(|()| docs.pages.len()).map_err(|why| vec![why])
    }
}

/// Every page, by its path in docs/, and what else lies there.
struct Docs {
    top: PathBuf,
    pages: BTreeMap<String, Page>,
    /// Pictures and examples that pages show.
    files: Vec<String>,
}

/// The page that leads to all others.
const FIRST: &str = "README.md";

impl Docs {
    fn read(top: &Path, repository: &str) -> Result<Self, String> {
        let mut docs = Self { top: top.to_path_buf(), pages: BTreeMap::new(), files: Vec::new() };
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let place = top.join("docs").join(&folder);
            let said = |why: std::io::Error| format!("cannot read {}: {why}", place.display());
            for entry in fs::read_dir(&place).map_err(said)? {
                let entry = entry.map_err(said)?;
                let name = format!("{folder}{}", entry.file_name().to_string_lossy());
                if entry.path().is_dir() {
                    folders.push(format!("{name}/"));
                } else if name.ends_with(".md") {
                    let text = fs::read_to_string(entry.path()).map_err(said)?;
                    docs.pages.insert(name.clone(), Page::read(&name, &text, repository));
                } else {
                    docs.files.push(name);
                }
            }
        }
        Ok(docs)
    }

    /// Links that lead nowhere, and pages that no link leads to.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut reached = BTreeSet::from([FIRST]);
        for (name, page) in &self.pages {
            for link in &page.links {
                let place = format!("docs/{name}: `{}`", link.written);
                match self.pages.get_key_value(&link.file) {
                    Some((file, found)) => {
                        reached.insert(file);
                        if link.heading.as_ref().is_some_and(|heading| !found.has_heading(heading)) {
                            faults.push(format!("{place} leads to a heading that is not there"));
                        }
                    }
                    None if !self.top.join("docs").join(&link.file).exists() => {
                        faults.push(format!("{place} leads nowhere"));
                    }
                    None => {}
                }
            }
        }
        let lonely = self.pages.keys().filter(|name| !reached.contains(name.as_str()));
        faults.extend(lonely.map(|name| format!("docs/{name}: no page leads to it")));
        faults
    }

    fn write(&self, out: &Path) -> Result<(), String> {
        let groups = self.groups();
        for (name, page) in &self.pages {
            write_file(&out.join(page::address(name)), &whole(name, page, &groups))?;
        }
        for file in &self.files {
            copied(&self.top.join("docs").join(file), &out.join(file))?;
        }
        write_file(&out.join("style.css"), STYLE)
    }

    /// The pages of the navigation, in groups: the rows of the first table of the first page.
    fn groups(&self) -> Vec<(String, Vec<Entry>)> {
        let mut groups: Vec<(String, Vec<Entry>)> = Vec::new();
        for [title, group, _] in self.pages.get(FIRST).into_iter().flat_map(|first| &first.rows) {
            let Some(entry) = Entry::read(title) else { continue };
            match groups.iter_mut().find(|(name, _)| name == group) {
                Some((_, entries)) => entries.push(entry),
                None => groups.push((group.clone(), vec![entry])),
            }
        }
        groups
    }
}

/// A page in the navigation.
struct Entry {
    title: String,
    file: String,
}

impl Entry {
    /// Reads `[title](file.md)`.
    fn read(cell: &str) -> Option<Self> {
        let (title, rest) = cell.strip_prefix('[')?.split_once("](")?;
        let file = rest.strip_suffix(')')?;
        Some(Self { title: title.to_owned(), file: file.to_owned() })
    }
}

/// A page with everything around it. It loads one style and no script.
fn whole(name: &str, page: &Page, groups: &[(String, Vec<Entry>)]) -> String {
    let up = "../".repeat(name.matches('/').count());
    let mut nav = String::new();
    for (group, entries) in groups {
        nav.push_str(&format!("<h2>{}</h2>\n<ul>\n", escaped(group)));
        for entry in entries {
            let here = if entry.file == name { " aria-current=\"page\"" } else { "" };
            let address = page::address(&entry.file);
            nav.push_str(&format!(
                "<li><a href=\"{up}{address}\"{here}>{}</a></li>\n",
                escaped(&entry.title)
            ));
        }
        nav.push_str("</ul>\n");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'self' file:; img-src 'self' file:\">\n\
         <title>{title} · Lockgate</title>\n<link rel=\"stylesheet\" href=\"{up}style.css\">\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#content\">Skip to the page</a>\n\
         <header><a class=\"brand\" href=\"{up}index.html\">Lockgate</a></header>\n\
         <div class=\"columns\">\n<nav aria-label=\"Pages\"><details open><summary>Pages</summary>\n{nav}</details></nav>\n\
         <main id=\"content\">\n{body}</main>\n</div>\n</body>\n</html>\n",
        title = escaped(&page.title),
        body = page.html,
    )
}

fn write_file(file: &Path, text: &str) -> Result<(), String> {
    let made = file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(file, text));
    made.map_err(|why| format!("cannot write {}: {why}", file.display()))
}

fn copied(from: &Path, to: &Path) -> Result<(), String> {
    let made = to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::copy(from, to));
    made.map(|_| ()).map_err(|why| format!("cannot copy {} to {}: {why}", from.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn docs() -> Docs {
        Docs::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), "https://example.com/blob/main")
            .unwrap()
    }

    #[test]
    fn every_link_of_the_docs_leads_to_a_page_and_a_heading() {
        let docs = docs();
        assert!(docs.pages.len() > 60, "the docs have lost their pages");
        assert_eq!(docs.faults(), [""; 0]);
    }

    #[test]
    fn the_site_has_every_page_and_its_navigation_leads_to_pages() {
        let (docs, out) = (docs(), tempfile::tempdir().unwrap());
        docs.write(out.path()).unwrap();
        for name in docs.pages.keys() {
            let text = fs::read_to_string(out.path().join(page::address(name))).unwrap();
            assert_eq!(text.matches("<h1").count(), 1, "{name}");
        }
        let groups = docs.groups();
        assert!(groups.len() > 3 && groups.iter().all(|(_, entries)| !entries.is_empty()));
        for entry in groups.iter().flat_map(|(_, entries)| entries) {
            assert!(docs.pages.contains_key(&entry.file), "{}", entry.file);
        }
    }

    #[test]
    fn a_link_that_leads_nowhere_is_named() {
        let read = |text: &str| {
            let page = Page::read("a.md", text, "https://example.com");
            let pages = BTreeMap::from([
                (FIRST.to_owned(), Page::read(FIRST, "# A\n[a](a.md)", "https://example.com")),
                ("a.md".to_owned(), page),
                (
                    "b.md".to_owned(),
                    Page::read("b.md", "# B\n## One thing\n## One thing", "https://example.com"),
                ),
            ]);
            Docs { top: PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(".."), pages, files: Vec::new() }
                .faults()
        };
        for (text, expected) in [
            ("[b](b.md) [b](b.md#one-thing) [b](b.md#one-thing-1) [c](https://c.example)", vec![]),
            ("[b](b.md#two)", vec!["docs/a.md: `b.md#two` leads to a heading that is not there"]),
            ("[b](b.md) [x](#here)", vec!["docs/a.md: `#here` leads to a heading that is not there"]),
            ("[b](b.md) [s](../spec) ![p](missing.svg)", vec!["docs/a.md: `missing.svg` leads nowhere"]),
            ("[b](../b.md)", vec!["docs/a.md: `../b.md` leads nowhere", "docs/b.md: no page leads to it"]),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
