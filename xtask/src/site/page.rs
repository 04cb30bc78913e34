//! One page: its HTML, its headings and where its links lead.

use std::collections::BTreeMap;

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

/// A page that was read.
pub(super) struct Page {
    /// The text of its first heading.
    pub(super) title: String,
    pub(super) html: String,
    /// Links to files of the repository.
    pub(super) links: Vec<Link>,
    /// The cells of its first table, as they are written, where that has three columns.
    pub(super) rows: Vec<[String; 3]>,
    headings: Vec<String>,
}

/// A link to a file of the repository.
pub(super) struct Link {
    /// As it is written.
    pub(super) written: String,
    /// The file, from docs/.
    pub(super) file: String,
    pub(super) heading: Option<String>,
}

impl Page {
    /// Reads the page of this path in docs/. Links out of docs/ lead to the repository.
    pub(super) fn read(name: &str, text: &str, repository: &str) -> Self {
        let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        let events: Vec<Event<'_>> = Parser::new_ext(text, options).collect();
        let headings = headings(&events);
        let title = headings.first().map(|(_, text)| text.clone()).unwrap_or_default();
        let mut ids = headings.iter().map(|(id, _)| id.clone());
        let mut links = Vec::new();
        let mut led = |target: CowStr<'_>| -> CowStr<'static> {
            let Some(link) = Link::read(name, &target) else { return target.into_static() };
            let address = link.address(name, repository);
            links.push(link);
            address.into()
        };
        let events = events.into_iter().map(|event| match event {
            Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                Event::Start(Tag::Heading { level, id: ids.next().map(Into::into), classes, attrs })
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) if link_type != LinkType::Email => {
                Event::Start(Tag::Link { link_type, dest_url: led(dest_url), title, id })
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                Event::Start(Tag::Image { link_type, dest_url: led(dest_url), title, id })
            }
            // What browsers would run or load is shown as it is written.
            Event::Html(text) | Event::InlineHtml(text) if !text.starts_with("<!--") => Event::Text(text),
            other => other,
        });
        let mut out = String::with_capacity(text.len() * 2);
        html::push_html(&mut out, events);
        // A wide table is scrolled by itself, also by keyboard.
        let html = out
            .replace("<table>", "<div class=\"wide\" tabindex=\"0\"><table>")
            .replace("</table>", "</table></div>");
        let headings = headings.into_iter().map(|(id, _)| id).collect();
        Self { title, html, links, rows: first_table(text), headings }
    }

    pub(super) fn has_heading(&self, id: &str) -> bool {
        self.headings.iter().any(|heading| heading == id)
    }
}

impl Link {
    /// Reads a link of the page `from`; none where it leads out of the repository.
    fn read(from: &str, written: &str) -> Option<Self> {
        if written.contains("://") || written.starts_with("mailto:") {
            return None;
        }
        let (path, heading) = match written.split_once('#') {
            Some((path, heading)) => (path, Some(heading.to_owned())),
            None => (written, None),
        };
        let file = if path.is_empty() { from.to_owned() } else { joined(from, path) };
        Some(Self { written: written.to_owned(), file, heading })
    }

    /// Where it leads from the page `from`.
    fn address(&self, from: &str, repository: &str) -> String {
        let heading = self.heading.as_ref().map(|heading| format!("#{heading}")).unwrap_or_default();
        if let Some(outside) = self.file.strip_prefix("../") {
            return format!("{repository}/{}{heading}", outside.trim_start_matches("../"));
        }
        let up = "../".repeat(from.matches('/').count());
        format!("{up}{}{heading}", address(&self.file))
    }
}

/// The address of a file of docs/ on the site.
pub(super) fn address(file: &str) -> String {
    match file.strip_suffix(".md") {
        Some(page) => format!(
            "{}.html",
            page.strip_suffix("README").map_or(page.to_owned(), |folder| format!("{folder}index"))
        ),
        None => file.to_owned(),
    }
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The path `target` as it is read on the page `from`, from docs/.
fn joined(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The headings with the ids that links to them have: those of code hosts.
fn headings(events: &[Event<'_>]) -> Vec<(String, String)> {
    let mut headings: Vec<(String, String)> = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut open: Option<String> = None;
    for event in events {
        match (event, &mut open) {
            (Event::Start(Tag::Heading { .. }), _) => open = Some(String::new()),
            (Event::Text(text) | Event::Code(text), Some(heading)) => heading.push_str(text),
            (Event::End(TagEnd::Heading(_)), _) => {
                let text = open.take().unwrap_or_default();
                let plain = text.to_lowercase();
                let kept = plain.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
                let id: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
                let count = seen.entry(id.clone()).and_modify(|count| *count += 1).or_default();
                headings.push((if *count == 0 { id } else { format!("{id}-{count}") }, text));
            }
            _ => {}
        }
    }
    headings
}

/// The rows of the first table of three columns, without its head.
fn first_table(text: &str) -> Vec<[String; 3]> {
    let rows =
        text.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    let cells = rows
        .skip(2)
        .map(|row| row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    cells.filter_map(|cells| cells.try_into().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_and_out_of_the_docs_to_the_repository() {
        for (from, written, expected) in [
            ("a.md", "b.md#c", "b.html#c"),
            ("a.md", "findings/README.md", "findings/index.html"),
            ("findings/x.md", "../rules.md", "../rules.html"),
            ("findings/x.md", "y.md", "../findings/y.html"),
            ("from/x.md", "../../spec/a.md#b", "https://r/spec/a.md#b"),
            ("a.md", "../bindings/node", "https://r/bindings/node"),
            ("from/x.md", "#c", "../from/x.html#c"),
        ] {
            assert_eq!(
                Link::read(from, written).unwrap().address(from, "https://r"),
                expected,
                "{from} {written}"
            );
        }
    }

    #[test]
    fn a_page_runs_nothing_that_is_written_on_it() {
        let page = Page::read("a.md", "# A <b>b</b>\n\n<script>alert(1)</script>\n\n`a` | b", "https://r");
        assert!(!page.html.contains("<script>") && page.html.contains("&lt;script&gt;"), "{}", page.html);
        assert_eq!(page.headings, ["a-b"]);
    }
}
