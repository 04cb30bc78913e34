//! What every reader needs of a page, with eyes or with a screen reader: names, headings, contrast.

use serde_json::Value;

use crate::driver::Browser;

/// Everything that is wrong with the page that a browser shows.
pub(crate) fn faults(browser: &Browser) -> Result<Vec<String>, String> {
    let found = browser.run(CHECK)?;
    let found = found.as_array().cloned().unwrap_or_default();
    Ok(found.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

const CHECK: &str = r##"
const found = [];
const all = (selector) => [...document.querySelectorAll(selector)];
const named = (node) => `${node.tagName.toLowerCase()} "${(node.textContent || node.name || "").trim().slice(0, 40)}"`;
const isShown = (node) => node.getClientRects().length > 0 && getComputedStyle(node).visibility === "visible";
const nameOf = (node) =>
  node.getAttribute("aria-label") || (node.labels && [...node.labels].map((label) => label.textContent).join(" ")) || node.textContent;

if (!document.documentElement.lang) found.push("the page has no language");
if (!document.title) found.push("the page has no title");
if (all("main").length !== 1) found.push("the page has not one main part");
if (all("h1").length !== 1) found.push(`the page has ${all("h1").length} first headings`);
let level = 0;
for (const heading of all("h1, h2, h3, h4").filter(isShown)) {
  const next = Number(heading.tagName[1]);
  if (next > level + 1) found.push(`a level is left out before ${named(heading)}`);
  if (!heading.textContent.trim()) found.push("a heading is empty");
  level = next;
}
for (const field of all("input:not([type=hidden]), textarea, select").filter(isShown)) {
  if (!nameOf(field).trim()) found.push(`no label: ${field.outerHTML.slice(0, 80)}`);
}
for (const node of all("a[href], button").filter(isShown)) {
  if (!nameOf(node).trim()) found.push(`no name: ${node.outerHTML.slice(0, 80)}`);
  const { height } = node.getBoundingClientRect();
  if (node.tagName === "BUTTON" && height < 24) found.push(`too small to hit: ${named(node)}`);
}
for (const picture of all("svg, img").filter(isShown)) {
  if (!picture.querySelector("title") && !picture.alt) found.push("a picture has no name");
}
for (const table of all("table")) if (!table.querySelector("th[scope]")) found.push("a table has no headings");
const ids = all("[id]").map((node) => node.id);
for (const id of new Set(ids.filter((id, place) => ids.indexOf(id) !== place))) found.push(`the id ${id} is there twice`);
for (const node of all("[aria-labelledby], [aria-describedby], label[for]")) {
  const of = node.getAttribute("aria-labelledby") || node.getAttribute("aria-describedby") || node.htmlFor;
  if (!document.getElementById(of)) found.push(`nothing has the id ${of}`);
}
for (const region of all("*").filter((node) => node.scrollHeight > node.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(node).overflowY))) {
  if (region.tabIndex < 0 && region.tagName !== "TEXTAREA") found.push(`scrolls without the keyboard: ${named(region)}`);
}

const numbers = (color) => (color.match(/[\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => {
  const part = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
};
const groundOf = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const color = numbers(getComputedStyle(at).backgroundColor);
    if (color.length === 3 || color[3] > 0.99) return color;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const told = new Set();
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !isShown(node) || node.closest("svg, script, .skip")) continue;
  const style = getComputedStyle(node);
  const [one, other] = [light(numbers(style.color)), light(groundOf(node))];
  const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
  const size = parseFloat(style.fontSize);
  const enough = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
  const key = `${style.color} on ${groundOf(node)}`;
  if (ratio < enough && !told.has(key)) {
    told.add(key);
    found.push(`contrast ${ratio.toFixed(1)}: ${named(node)}, ${key}`);
  }
}
return found;
"##;
