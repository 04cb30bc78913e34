//! Nets read from PNML and written to it.

use super::nets::{SEQUENCE, limit, net};
use lockgate_petri::{
    Firing::Called, Net, PNML_ATTRIBUTES_MAX, PNML_BYTES_MAX, PNML_DEPTH_MAX, PNML_NAMESPACES_MAX,
    PNML_NODES_MAX, from_pnml, to_pnml,
};
use proptest::prelude::*;

const HEAD: &str = r#"<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml"><net id="n" type="http://www.pnml.org/version-2009/grammar/ptnet">"#;

fn file(inside: &str) -> String {
    format!("{HEAD}\n{inside}\n</net></pnml>")
}

/// The places with their tokens, and the transitions with their arcs, in one line.
fn told(text: &str) -> String {
    let net = match from_pnml(text) {
        Ok(net) => net,
        Err(error) => return error.to_string(),
    };
    let places = net.places().map(|p| format!("{}:{}", net.place_name(p), net.initial().tokens(p)));
    let side = |arcs: &[(lockgate_petri::PlaceId, u64)]| {
        let arc = |(place, weight): &(_, u64)| format!("{weight}{}", net.place_name(*place));
        arcs.iter().map(arc).collect::<Vec<_>>().join(" ")
    };
    let transitions = net.transitions().map(|t| {
        format!("| {}: {} -> {}", net.transition_name(t), side(net.inputs(t)), side(net.outputs(t)))
    });
    places.chain(transitions).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_place_transition_net_is_read_whatever_surrounds_it() {
    let places = r#"<place id="a"><initialMarking><text> 3 </text></initialMarking></place><place id="b"/>"#;
    let arcs = r#"<transition id="t"/><arc id="x" source="a" target="t"><inscription><text>2</text></inscription></arc><arc id="y" source="t" target="b"/>"#;
    let plain = "a:3 b:0 | t: 2a -> 1b";
    for (text, expected) in [
        (file(&format!("<page id='p'>{places}{arcs}</page>")), plain),
        // Pages are how people see a net; they do not change it.
        (file(&format!("<page id='p'>{places}<page id='q'/></page><page id='r'>{arcs}</page>")), plain),
        (file(&format!("<name><text>net</text></name>{places}{arcs}")), plain),
        (file(&format!("<toolspecific tool='x' version='1'><place id='a'/><x:y xmlns:x='z'/></toolspecific>{places}{arcs}")), plain),
        (format!("\u{feff}<?xml version='1.0'?><!-- why --> {}", file(&format!("{places}{arcs}"))), plain),
        ("<p:pnml xmlns:p='http://www.pnml.org/version-2009/grammar/pnml'><p:net id='n' type='http://www.pnml.org/version-2009/grammar/ptnet'><p:place id='a'><p:initialMarking><p:text>1</p:text></p:initialMarking></p:place></p:net></p:pnml>".into(), "a:1"),
        ("<pnml><net id='n' type='P/T net'><place id='a'><initialMarking><value>1</value></initialMarking></place><transition id='t'/><arc source='a' target='t'><type value='normal'/></arc></net></pnml>".into(), "a:1 | t: 1a -> "),
        // Arcs through references, and two arcs that add up.
        (file(&format!("{places}<referencePlace id='r' ref='s'/><referencePlace id='s' ref='a'/>{arcs}<arc id='z' source='r' target='t'/>")), "a:3 b:0 | t: 3a -> 1b"),
        // Names count if all have one and no two share one.
        (file("<place id='a'><name><text>x &lt; <![CDATA[y]]></text></name></place><place id='b'><name><text>z</text></name></place>"), "x < y:0 z:0"),
        (file("<place id='a'><name><text>z</text></name></place><place id='b'><name><text>z</text></name></place>"), "a:0 b:0"),
        (file("<place id='a'><name><text>z</text></name></place><place id='b'/>"), "a:0 b:0"),
        (file(""), ""),
    ] {
        assert_eq!(told(&text), expected, "{text}");
    }
}

#[test]
fn what_is_no_place_transition_net_is_refused_with_its_place() {
    let with = |inside: &str| told(&file(&format!("<place id='p'/><transition id='t'/>\n {inside}")));
    let lines = [
        with("<arc id='x' source='p' target='t'><type value='inhibitor'/></arc>"),
        with("<arc id='x' source='p' target='t' type='reset'/>"),
        with("<arc id='x' source='p' target='t'><type/></arc>"),
        with("<arc id='x' source='p' target='t'><hlinscription/></arc>"),
        with("<arc id='x' source='p' target='t'><inscription><text>0</text></inscription></arc>"),
        with(
            "<arc id='x' source='p' target='t'><inscription><text>18446744073709551616</text></inscription></arc>",
        ),
        with("<arc id='x' source='p' target='q'/>"),
        with("<arc id='x' source='p' target='p'/>"),
        with("<arc id='x' source='p'/>"),
        with("<place id='q'><initialMarking><text>-1</text></initialMarking></place>"),
        with("<place id='q'><initialMarking/></place>"),
        with("<place id='q'><initialMarking><text>1<b/>2</text></initialMarking></place>"),
        with(
            "<place id='q'><initialMarking><text>1</text></initialMarking><initialMarking><text>2</text></initialMarking></place>",
        ),
        with("<place id='q'><capacity><text>1</text></capacity></place>"),
        with("<place id='t'/>"),
        with("<place/>"),
        with("<transition id='u'><condition/></transition>"),
        with("<declaration/>"),
        with("<x:place xmlns:x='y' id='q'/>"),
        with(
            "<referencePlace id='r' ref='s'/><referencePlace id='s' ref='r'/><arc id='x' source='r' target='t'/>",
        ),
        with("<referencePlace id='r' ref='t'/><arc id='x' source='r' target='t'/>"),
        with(
            "<transition id='u'><toolspecific tool='lockgate' version='1'><structural/></toolspecific></transition>",
        ),
        told("<pnml><net id='n' type='http://www.pnml.org/version-2009/grammar/symmetricnet'/></pnml>"),
        told("<pnml><net id='n'/></pnml>"),
        told("<pnml/>"),
        told(&format!("{HEAD}</net><net id='m'/></pnml>")),
        told("<html/>"),
        told("<pnml xmlns='http://example.org/'/>"),
        told("<pnml><net"),
        told("what?"),
        told(""),
        told("<!DOCTYPE pnml [<!ENTITY a 'b'>]><pnml>&a;</pnml>"),
        told("<pnml>&a;</pnml>"),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r#"
    line 3, column 36: arcs of the type `inhibitor` are not read; only those that move tokens are
    line 3, column 2: arcs of the type `reset` are not read; only those that move tokens are
    line 3, column 36: arcs of the type `` are not read; only those that move tokens are
    line 3, column 36: `hlinscription` in `arc` is not read, and what it means would be lost
    line 3, column 2: an arc of weight 0 moves nothing; remove it or give it a weight
    line 3, column 36: `inscription` is larger than 18446744073709551615
    line 3, column 2: nothing here has the id `q`
    line 3, column 2: an arc must lead from a place to a transition or back
    line 3, column 2: an arc needs a `target`
    line 3, column 16: `initialMarking` must be a non-negative integer, in a `text`
    line 3, column 16: `initialMarking` must be a non-negative integer, in a `text`
    line 3, column 16: `initialMarking` must be a non-negative integer, in a `text`
    line 3, column 63: a second `initialMarking`; only one can count
    line 3, column 16: `capacity` in `place` is not read, and what it means would be lost
    line 3, column 2: the id `t` is used twice; give each its own
    line 3, column 2: a `place` needs an `id`
    line 3, column 21: `condition` in `transition` is not read, and what it means would be lost
    line 3, column 2: `declaration` in `net` is not read, and what it means would be lost
    line 3, column 2: `place` in `net` is not read, and what it means would be lost
    line 3, column 2: more than 64 references in a row, or in a circle
    line 3, column 2: the reference leads to another kind: `t`
    line 3, column 2: structural transitions may fire for ever: `u`; let each use up tokens that none of them puts back, or let one of them be called
    line 1, column 7: nets of the type `http://www.pnml.org/version-2009/grammar/symmetricnet` are not read; only place/transition nets are: `http://www.pnml.org/version-2009/grammar/ptnet`
    line 1, column 7: the net does not say its type; write `type="http://www.pnml.org/version-2009/grammar/ptnet"`
    line 1, column 1: there is no `net` in this file
    line 1, column 133: a second net in one file; give each a file of its own
    line 1, column 1: this is not a PNML file: its outermost element must be `pnml`
    line 1, column 1: this is not a PNML file: its outermost element must be `pnml`
    line 1, column 1: the root node was opened but never closed
    line 1, column 1: unknown token
    line 1, column 1: the document does not have a root node
    line 1, column 1: a document type is not read; remove the `<!DOCTYPE …>`
    line 1, column 7: unknown entity reference 'a'
    "#);
}

#[test]
fn sizes_are_bounded_and_hostile_nesting_is_no_trouble() {
    let of = |text: String| told(&text).chars().take(80).collect::<String>();
    let pages = |n: usize| file(&format!("{}{}", "<page id='p'>".repeat(n), "</page>".repeat(n)));
    assert_eq!(of(pages(PNML_DEPTH_MAX)), "");
    assert_eq!(of(pages(PNML_DEPTH_MAX + 1)), "line 2, column 833: more than 64 pages within each other");
    let references = |n: usize| {
        let all: String = (0..n).map(|i| format!("<referencePlace id='r{i}' ref='r{}'/>", i + 1)).collect();
        let ends = format!("<place id='r{n}'/><transition id='t'/><arc id='a' source='r0' target='t'/>");
        file(&format!("{all}{ends}"))
    };
    assert_eq!(of(references(PNML_DEPTH_MAX)), "r64:0 | t: 1r64 -> ");
    assert!(of(references(PNML_DEPTH_MAX + 1)).ends_with("more than 64 references in a row, or in a circle"));
    let attributes = |n: usize| {
        let all: String = (1..n).map(|i| format!(" a{i}='>'")).collect();
        file(&format!("<place id='a'{all}/>"))
    };
    assert_eq!(of(attributes(PNML_ATTRIBUTES_MAX)), "a:0");
    assert_eq!(
        of(attributes(PNML_ATTRIBUTES_MAX + 1)),
        "line 2, column 1: an element has more than 256 attributes"
    );
    let namespaces = |n: usize| file(&"<graphics xmlns:a='b'/>".repeat(n - 1));
    assert_eq!(of(namespaces(PNML_NAMESPACES_MAX)), "");
    assert_eq!(
        of(namespaces(PNML_NAMESPACES_MAX + 1)),
        "line 1, column 1: the file declares more than 1024 namespaces"
    );
    let deep = 200_000;
    assert_eq!(of(file(&format!("<graphics>{}{}</graphics>", "<a>".repeat(deep), "</a>".repeat(deep)))), "");
    assert!(of(file(&"<a>".repeat(deep))).starts_with("line 3"));
    assert!(of(file(&" ".repeat(PNML_BYTES_MAX))).ends_with("the file has more than 33554432 bytes"));
    let nodes = |n: usize| file(&"<graphics/>".repeat(n));
    assert!(
        of(nodes(PNML_NODES_MAX as usize))
            .ends_with("the file has more than 2000000 elements, texts and comments")
    );
}

#[test]
fn a_name_that_would_not_come_back_is_not_written() {
    let named = |name: &str| to_pnml(&Net::builder().place(name, 0).build().unwrap());
    for bad in ["", " a", "a\n", "a\u{1}b", "\u{ffff}"] {
        assert!(named(bad).is_err(), "{bad:?}");
    }
    insta::assert_snapshot!(named(" a").unwrap_err(), @r#"the name " a" cannot be written as PNML; it must not be empty, begin or end with a space, or hold control characters"#);
    insta::assert_snapshot!(to_pnml(&net(&limit(2))).unwrap(), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">
      <net id="net" type="http://www.pnml.org/version-2009/grammar/ptnet">
        <page id="page">
          <place id="p0"><name><text>idle</text></name><initialMarking><text>1</text></initialMarking></place>
          <place id="p1"><name><text>ready</text></name></place>
          <place id="p2"><name><text>budget</text></name><initialMarking><text>2</text></initialMarking></place>
          <transition id="t0"><name><text>start</text></name><toolspecific tool="lockgate" version="1"><structural/></toolspecific></transition>
          <arc id="a0-from0" source="p0" target="t0"/>
          <arc id="a0-to1" source="t0" target="p1"/>
          <transition id="t1"><name><text>do-A</text></name></transition>
          <arc id="a1-from1" source="p1" target="t1"/>
          <arc id="a1-from2" source="p2" target="t1"/>
          <arc id="a1-to1" source="t1" target="p1"/>
        </page>
      </net>
    </pnml>
    "#);
}

#[test]
fn the_nets_of_rules_come_back_with_what_fires_by_itself() {
    for text in [SEQUENCE.to_owned(), limit(3)] {
        let net = net(&text);
        assert_eq!(format!("{:?}", from_pnml(&to_pnml(&net).unwrap()).unwrap()), format!("{net:?}"));
    }
}

proptest! {
    #[test]
    fn any_name_comes_back_or_is_refused(place in ".{0,8}", transition in "[<>&\"'a ]{0,4}|\\PC{1,4}") {
        let arcs = [(place.as_str(), u64::MAX)];
        let net = Net::builder().place(&place, 7).weighted(&transition, Called, &arcs, &[]).build().unwrap();
        if let Ok(text) = to_pnml(&net) {
            prop_assert_eq!(format!("{:?}", from_pnml(&text).unwrap()), format!("{net:?}"));
        }
    }
}
