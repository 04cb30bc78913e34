//! Nets as PNML, the file format that tools for Petri nets share.
//!
//! [`from_pnml`] reads place/transition nets: pages within pages, reference nodes, names, initial markings and
//! weights. What lies outside of that and would change what the net does (inhibitor and reset arcs, coloured nets,
//! capacities) is refused with its place; what does not (graphics, what tools keep for themselves) is passed over.
//! [`to_pnml`] writes what it reads: a net that was written and read again is the same net. A file holds one net;
//! split a file that has several.
//!
//! Files come from strangers. A document type is refused, and with it every entity trick, and all sizes are bounded.

use std::fmt::Write;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use roxmltree::{Document, Node, ParsingOptions};

use crate::{
    builder::NetBuilder,
    error::NetError,
    net::{Firing, Net},
};

/// Most bytes a file may have.
pub const PNML_BYTES_MAX: usize = 32 << 20;
/// Most elements, texts and comments a file may have.
pub const PNML_NODES_MAX: u32 = 2_000_000;
/// Most attributes one element may have; no element of the format has more than four.
pub const PNML_ATTRIBUTES_MAX: usize = 256;
/// Most namespaces that a file may declare, all elements together.
pub const PNML_NAMESPACES_MAX: usize = 1_024;
/// Most pages within each other, and most references that lead to each other.
pub const PNML_DEPTH_MAX: usize = 64;

/// The namespace of the format. Files of before it was settled have another one or none.
const NAMESPACE: &str = "http://www.pnml.org/version-2009/grammar/pnml";
/// The type of a place/transition net.
const TYPE: &str = "http://www.pnml.org/version-2009/grammar/ptnet";
/// What a place/transition net is called by older files.
const OLDER_TYPES: [&str; 4] = [
    "http://www.informatik.hu-berlin.de/top/pntd/ptNetb",
    "http://www.informatik.hu-berlin.de/top/pnml/ptNetb",
    "http://www.yasper.org/specs/epnml-1.1",
    "P/T net",
];
/// The name under which we keep what the format has no words for.
const TOOL: &str = "lockgate";

/// Why a file is no net that we can run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {why}")]
pub struct PnmlError {
    line: u32,
    column: u32,
    why: String,
}

/// Why a net cannot be written: a name that a reader would not get back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the name {name:?} cannot be written as PNML; it must not be empty, begin or end with a space, \
     or hold control characters"
)]
pub struct UnwritableName {
    name: String,
}

impl PnmlError {
    /// The line of the mistake, from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The column of the mistake in characters, from 1.
    pub fn column(&self) -> u32 {
        self.column
    }

    fn at_the_start(why: impl Into<String>) -> Self {
        Self { line: 1, column: 1, why: why.into() }
    }
}

/// Reads a net.
///
/// Its places are called by their names if all have one and no two share one, otherwise by their ids; so are its
/// transitions. All transitions are [called](Firing::Called), except those that [`to_pnml`] wrote as structural.
///
/// # Errors
/// The first thing in the file that is no place/transition net.
pub fn from_pnml(text: &str) -> Result<Net, PnmlError> {
    if text.len() > PNML_BYTES_MAX {
        return Err(PnmlError::at_the_start(format!("the file has more than {PNML_BYTES_MAX} bytes")));
    }
    check_repetition(text)?;
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: PNML_NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(unreadable)?;
    let reader = Reader { document: &document };
    let mut parts = Parts::default();
    reader.read_page(reader.net()?, &mut parts)?;
    reader.build(&parts)
}

/// Writes a net.
///
/// # Errors
/// A name that would not be read back as it is.
pub fn to_pnml(net: &Net) -> Result<String, UnwritableName> {
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<pnml xmlns=\"{NAMESPACE}\">\n  <net id=\"net\" type=\"{TYPE}\">\n    <page id=\"page\">\n"
    );
    for place in net.places() {
        let name = escaped(net.place_name(place))?;
        put(
            &mut text,
            format_args!("      <place id=\"p{}\"><name><text>{name}</text></name>", place.index()),
        );
        match net.initial().tokens(place) {
            0 => {}
            tokens => put(&mut text, format_args!("<initialMarking><text>{tokens}</text></initialMarking>")),
        }
        text.push_str("</place>\n");
    }
    for transition in net.transitions() {
        let index = transition.index();
        let name = escaped(net.transition_name(transition))?;
        put(&mut text, format_args!("      <transition id=\"t{index}\"><name><text>{name}</text></name>"));
        if net.firing(transition) == Firing::Structural {
            put(
                &mut text,
                format_args!("<toolspecific tool=\"{TOOL}\" version=\"1\"><structural/></toolspecific>"),
            );
        }
        text.push_str("</transition>\n");
        for (place, weight) in net.inputs(transition) {
            let place = place.index();
            put_arc(
                &mut text,
                &format!("a{index}-from{place}"),
                &format!("p{place}"),
                &format!("t{index}"),
                *weight,
            );
        }
        for (place, weight) in net.outputs(transition) {
            let place = place.index();
            put_arc(
                &mut text,
                &format!("a{index}-to{place}"),
                &format!("t{index}"),
                &format!("p{place}"),
                *weight,
            );
        }
    }
    text.push_str("    </page>\n  </net>\n</pnml>\n");
    Ok(text)
}

/// What the XML reader says, in our words where its own do not say what to do.
fn unreadable(error: roxmltree::Error) -> PnmlError {
    let place = error.pos();
    let why = match error {
        roxmltree::Error::DtdDetected => "a document type is not read; remove the `<!DOCTYPE …>`".to_owned(),
        roxmltree::Error::NodesLimitReached => {
            format!("the file has more than {PNML_NODES_MAX} elements, texts and comments")
        }
        // The reader puts its place behind its reason; ours stands before.
        other => {
            let why = other.to_string();
            why.strip_suffix(&format!(" at {place}")).map_or(why.clone(), Into::into)
        }
    };
    PnmlError { line: place.row, column: place.col, why }
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing into a text cannot fail.
    let _ = text.write_fmt(what);
}

fn put_arc(text: &mut String, id: &str, source: &str, target: &str, weight: u64) {
    put(text, format_args!("      <arc id=\"{id}\" source=\"{source}\" target=\"{target}\""));
    match weight {
        1 => text.push_str("/>\n"),
        weight => put(text, format_args!("><inscription><text>{weight}</text></inscription></arc>\n")),
    }
}

fn escaped(name: &str) -> Result<String, UnwritableName> {
    let is_unwritable = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    if name.is_empty() || name.trim() != name || name.contains(is_unwritable) {
        return Err(UnwritableName { name: name.to_owned() });
    }
    Ok(name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

/// The reader compares every attribute of an element with every other, and copies the namespaces of an element to
/// what stands in it, so many of either are refused before it sees them.
fn check_repetition(text: &str) -> Result<(), PnmlError> {
    if text.matches("xmlns").count() > PNML_NAMESPACES_MAX {
        let why = format!("the file declares more than {PNML_NAMESPACES_MAX} namespaces");
        return Err(PnmlError::at_the_start(why));
    }
    let mut line = 1;
    // No value of an attribute holds a `<`, so all attributes of an element stand before the next one. Text behind
    // the element is counted with them: better a file too many refused than one that takes hours.
    for element in text.split('<') {
        if !element.starts_with(['!', '?']) && element.matches('=').count() > PNML_ATTRIBUTES_MAX {
            let why = format!("an element has more than {PNML_ATTRIBUTES_MAX} attributes");
            return Err(PnmlError { line, column: 1, why });
        }
        line = line.saturating_add(element.matches('\n').count() as u32);
    }
    Ok(())
}

/// What a file says, as far as it was read.
#[derive(Default)]
struct Parts<'a> {
    nodes: HashMap<&'a str, Member, RandomState>,
    places: Vec<Part<'a>>,
    transitions: Vec<Part<'a>>,
    references: Vec<Reference<'a>>,
    arcs: Vec<Node<'a, 'a>>,
}

struct Part<'a> {
    node: Node<'a, 'a>,
    id: &'a str,
    name: Option<String>,
    tokens: u64,
    firing: Firing,
}

struct Reference<'a> {
    node: Node<'a, 'a>,
    to: &'a str,
    is_place: bool,
}

#[derive(Clone, Copy)]
enum Member {
    Place(usize),
    Transition(usize),
    Reference(usize),
}

struct Reader<'a> {
    document: &'a Document<'a>,
}

type Read<T> = Result<T, PnmlError>;

impl<'a> Reader<'a> {
    /// The one net of the file.
    fn net(&self) -> Read<Node<'a, 'a>> {
        let root = self.document.root_element();
        let is_known = root.tag_name().namespace().is_none_or(|it| it == NAMESPACE || it.contains("pnml"));
        if root.tag_name().name() != "pnml" || !is_known {
            return Err(self.mistake(root, "this is not a PNML file: its outermost element must be `pnml`"));
        }
        let mut nets = elements(root).filter(|node| is(*node, "net"));
        let net = nets.next().ok_or_else(|| self.mistake(root, "there is no `net` in this file"))?;
        if let Some(second) = nets.next() {
            return Err(self.mistake(second, "a second net in one file; give each a file of its own"));
        }
        match net.attribute("type").map(str::trim) {
            Some(kind) if kind == TYPE || OLDER_TYPES.contains(&kind) => Ok(net),
            Some(kind) => {
                let why = format!(
                    "nets of the type `{kind}` are not read; only place/transition nets are: `{TYPE}`"
                );
                Err(self.mistake(net, why))
            }
            None => Err(self.mistake(net, format!("the net does not say its type; write `type=\"{TYPE}\"`"))),
        }
    }

    /// Collects what stands on a page and on the pages within it; a net is the outermost page.
    fn read_page(&self, outermost: Node<'a, 'a>, parts: &mut Parts<'a>) -> Read<()> {
        let mut pages = vec![(outermost, 0)];
        while let Some((page, depth)) = pages.pop() {
            if depth > PNML_DEPTH_MAX {
                return Err(self.mistake(page, format!("more than {PNML_DEPTH_MAX} pages within each other")));
            }
            for node in elements(page) {
                match self.name_of(node) {
                    "page" => pages.push((node, depth + 1)),
                    "place" => self.read_place(node, parts)?,
                    "transition" => self.read_transition(node, parts)?,
                    "referencePlace" => self.read_reference(node, true, parts)?,
                    "referenceTransition" => self.read_reference(node, false, parts)?,
                    "arc" => parts.arcs.push(node),
                    "name" | "graphics" | "toolspecific" => {}
                    other => return Err(self.unknown(node, other)),
                }
            }
        }
        Ok(())
    }

    fn read_place(&self, node: Node<'a, 'a>, parts: &mut Parts<'a>) -> Read<()> {
        let id = self.declare(node, Member::Place(parts.places.len()), parts)?;
        let mut part = Part { node, id, name: None, tokens: 0, firing: Firing::Called };
        self.check_labels(node)?;
        for label in elements(node) {
            match self.name_of(label) {
                "name" => part.name = label_text(label),
                "initialMarking" => part.tokens = self.number(label)?,
                "graphics" | "toolspecific" => {}
                other => return Err(self.unknown(label, other)),
            }
        }
        parts.places.push(part);
        Ok(())
    }

    fn read_transition(&self, node: Node<'a, 'a>, parts: &mut Parts<'a>) -> Read<()> {
        let id = self.declare(node, Member::Transition(parts.transitions.len()), parts)?;
        let mut part = Part { node, id, name: None, tokens: 0, firing: Firing::Called };
        self.check_labels(node)?;
        for label in elements(node) {
            match self.name_of(label) {
                "name" => part.name = label_text(label),
                "toolspecific" if is_ours(label) => part.firing = Firing::Structural,
                "graphics" | "toolspecific" => {}
                other => return Err(self.unknown(label, other)),
            }
        }
        parts.transitions.push(part);
        Ok(())
    }

    fn read_reference(&self, node: Node<'a, 'a>, is_place: bool, parts: &mut Parts<'a>) -> Read<()> {
        self.declare(node, Member::Reference(parts.references.len()), parts)?;
        let to = node.attribute("ref").ok_or_else(|| self.mistake(node, "a reference needs a `ref`"))?;
        parts.references.push(Reference { node, to, is_place });
        Ok(())
    }

    fn declare(&self, node: Node<'a, 'a>, member: Member, parts: &mut Parts<'a>) -> Read<&'a str> {
        let kind = node.tag_name().name();
        let id = node.attribute("id").filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| self.mistake(node, format!("a `{kind}` needs an `id`")))?;
        match parts.nodes.insert(id, member) {
            None => Ok(id),
            Some(_) => Err(self.mistake(node, format!("the id `{id}` is used twice; give each its own"))),
        }
    }

    fn build(&self, parts: &Parts<'a>) -> Read<Net> {
        let place_names = names_of(&parts.places);
        let transition_names = names_of(&parts.transitions);
        let mut inputs: Vec<Vec<(&str, u64)>> = vec![Vec::new(); parts.transitions.len()];
        let mut outputs = inputs.clone();
        for arc in &parts.arcs {
            let weight = self.weight(*arc)?;
            let (source, target) = (self.end(*arc, "source", parts)?, self.end(*arc, "target", parts)?);
            let (side, transition, place) = match (source, target) {
                (Member::Place(place), Member::Transition(transition)) => (&mut inputs, transition, place),
                (Member::Transition(transition), Member::Place(place)) => (&mut outputs, transition, place),
                _ => return Err(self.mistake(*arc, "an arc must lead from a place to a transition or back")),
            };
            if let (Some(arcs), Some(name)) = (side.get_mut(transition), place_names.get(place)) {
                arcs.push((name.as_str(), weight));
            }
        }
        let mut builder = NetBuilder::default();
        for (part, name) in parts.places.iter().zip(&place_names) {
            builder = builder.place(name.as_str(), part.tokens);
        }
        let all = parts.transitions.iter().zip(&transition_names).zip(inputs.iter().zip(&outputs));
        for ((part, name), (inputs, outputs)) in all {
            builder = builder.weighted(name.as_str(), part.firing, inputs, outputs);
        }
        builder.build().map_err(|errors| {
            let first = errors.first();
            let culprit = first.and_then(NetError::transition);
            let named =
                |(part, name): (&Part<'a>, &String)| (Some(name.as_str()) == culprit).then_some(part.node);
            let node = parts.transitions.iter().zip(&transition_names).find_map(named);
            let why = first.map_or_else(String::new, ToString::to_string);
            self.mistake(node.unwrap_or_else(|| self.document.root_element()), why)
        })
    }

    /// What an arc is attached to, behind all references.
    fn end(&self, arc: Node<'a, 'a>, which: &str, parts: &Parts<'a>) -> Read<Member> {
        let Some(mut id) = arc.attribute(which) else {
            return Err(self.mistake(arc, format!("an arc needs a `{which}`")));
        };
        let (mut node, mut wants_place) = (arc, None);
        for _ in 0..=PNML_DEPTH_MAX {
            let member = parts.nodes.get(id).copied();
            let is_wanted = |is_place| wants_place.is_none_or(|wanted| wanted == is_place);
            match member {
                None => return Err(self.mistake(node, format!("nothing here has the id `{id}`"))),
                Some(place @ Member::Place(_)) if is_wanted(true) => return Ok(place),
                Some(transition @ Member::Transition(_)) if is_wanted(false) => return Ok(transition),
                Some(Member::Reference(index)) => {
                    let Some(reference) = parts.references.get(index).filter(|it| is_wanted(it.is_place))
                    else {
                        return Err(
                            self.mistake(node, format!("the reference leads to another kind: `{id}`"))
                        );
                    };
                    (node, id, wants_place) = (reference.node, reference.to, Some(reference.is_place));
                }
                Some(_) => {
                    return Err(self.mistake(node, format!("the reference leads to another kind: `{id}`")));
                }
            }
        }
        Err(self.mistake(node, format!("more than {PNML_DEPTH_MAX} references in a row, or in a circle")))
    }

    fn weight(&self, arc: Node<'a, 'a>) -> Read<u64> {
        let mut weight = 1;
        self.check_labels(arc)?;
        for label in elements(arc) {
            match self.name_of(label) {
                "inscription" => weight = self.number(label)?,
                // Older files say the kind of an arc in an element, some tools in an attribute.
                "type" => {
                    let kind =
                        label.attribute("value").map_or_else(|| label_text(label), |it| Some(it.into()));
                    self.check_arc_type(label, Some(&kind.unwrap_or_default()))?;
                }
                "name" | "graphics" | "toolspecific" => {}
                other => return Err(self.unknown(label, other)),
            }
        }
        self.check_arc_type(arc, arc.attribute("type"))?;
        if weight == 0 {
            return Err(self.mistake(arc, "an arc of weight 0 moves nothing; remove it or give it a weight"));
        }
        Ok(weight)
    }

    /// Two labels that contradict each other are an error: it is not known which one counts.
    fn check_labels(&self, node: Node<'a, 'a>) -> Read<()> {
        for name in ["name", "initialMarking", "inscription", "type"] {
            if let Some(second) = elements(node).filter(|label| is(*label, name)).nth(1) {
                return Err(self.mistake(second, format!("a second `{name}`; only one can count")));
            }
        }
        Ok(())
    }

    fn check_arc_type(&self, node: Node<'a, 'a>, kind: Option<&str>) -> Read<()> {
        match kind.map(str::trim) {
            None | Some("normal") => Ok(()),
            Some(kind) => {
                let why = format!("arcs of the type `{kind}` are not read; only those that move tokens are");
                Err(self.mistake(node, why))
            }
        }
    }

    /// The number that a label says.
    fn number(&self, label: Node<'a, 'a>) -> Read<u64> {
        let kind = label.tag_name().name();
        let text = label_text(label).unwrap_or_default();
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if is_plain => Ok(number),
            _ if is_plain => Err(self.mistake(label, format!("`{kind}` is larger than {}", u64::MAX))),
            _ => Err(self.mistake(label, format!("`{kind}` must be a non-negative integer, in a `text`"))),
        }
    }

    /// The name of an element of the format; an element of another namespace has an unknown one.
    fn name_of(&self, node: Node<'a, 'a>) -> &'a str {
        let same = node.tag_name().namespace() == self.document.root_element().tag_name().namespace();
        if same { node.tag_name().name() } else { "" }
    }

    fn unknown(&self, node: Node<'a, 'a>, name: &str) -> PnmlError {
        let name = if name.is_empty() { node.tag_name().name() } else { name };
        let parent = node.parent_element().map_or("", |parent| parent.tag_name().name());
        self.mistake(node, format!("`{name}` in `{parent}` is not read, and what it means would be lost"))
    }

    fn mistake(&self, node: Node<'a, 'a>, why: impl Into<String>) -> PnmlError {
        let place = self.document.text_pos_at(node.range().start);
        PnmlError { line: place.row, column: place.col, why: why.into() }
    }
}

fn elements<'a>(node: Node<'a, 'a>) -> impl Iterator<Item = Node<'a, 'a>> {
    node.children().filter(Node::is_element)
}

fn is(node: Node<'_, '_>, name: &str) -> bool {
    node.tag_name().name() == name
}

/// What a label says, without the space around it; nothing if there is more than text.
fn label_text(label: Node<'_, '_>) -> Option<String> {
    // Older files say `value` where newer ones say `text`.
    let mut texts = elements(label).filter(|node| is(*node, "text") || is(*node, "value"));
    let text = texts.next()?;
    if texts.next().is_some() || elements(text).next().is_some() {
        return None;
    }
    let all: String =
        text.children().filter_map(|part| part.is_text().then(|| part.text()).flatten()).collect();
    Some(all.trim().to_owned())
}

fn is_ours(tool: Node<'_, '_>) -> bool {
    tool.attribute("tool") == Some(TOOL) && elements(tool).any(|node| is(node, "structural"))
}

/// The names of all parts, or their ids where a name is missing or two are the same.
fn names_of(parts: &[Part<'_>]) -> Vec<String> {
    let names: Option<Vec<&str>> =
        parts.iter().map(|part| part.name.as_deref().filter(|name| !name.is_empty())).collect();
    let is_usable = |names: &Vec<&str>| {
        let mut seen: HashMap<&str, (), RandomState> = HashMap::default();
        names.iter().all(|name| seen.insert(name, ()).is_none())
    };
    match names.filter(is_usable) {
        Some(names) => names.into_iter().map(Into::into).collect(),
        None => parts.iter().map(|part| part.id.to_owned()).collect(),
    }
}
