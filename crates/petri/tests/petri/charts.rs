//! Pictures of states as people read them, and that no text breaks out of its place.

use lockgate_petri::{CHART_LINES_MAX, Chart, Passage, Spot};
use proptest::prelude::*;

/// Three states: there and back, and on to the last one.
fn chart(text: &str) -> Chart {
    let text = || text.to_owned();
    let spot = |lines| Spot { name: text(), lines };
    let passage = |from, to, lines| Passage { from, to, lines };
    Chart {
        title: text(),
        spots: vec![spot(vec![text()]), spot(Vec::new()), spot(vec![text(), text()])],
        passages: vec![
            passage(0, 1, vec![text(), text()]),
            passage(1, 0, vec![text()]),
            passage(1, 1, vec![text()]),
            passage(1, 2, vec![text()]),
            passage(2, 3, vec![text()]),
        ],
    }
}

#[test]
fn a_chart_in_dot() {
    insta::assert_snapshot!(chart("text").to_dot(), @r##"
    digraph states {
      rankdir=LR;
      label="text"; labelloc=t;
      node [fontname="Helvetica", shape=box, style="rounded,filled", fillcolor=white];
      edge [fontname="Helvetica", fontsize=11];
      s0 [label="text\ntext", color="#2563eb", fillcolor="#dbeafe"];
      s1 [label="text"];
      s2 [label="text\ntext\ntext"];
      s0 -> s1 [label="text\ntext"];
      s1 -> s0 [label="text"];
      s1 -> s2 [label="text"];
    }
    "##);
}

#[test]
fn a_chart_in_mermaid() {
    insta::assert_snapshot!(chart("text").to_mermaid(), @r#"
    ---
    title: "text"
    ---
    flowchart LR
      s0("text<br/>text"):::start
      s1("text")
      s2("text<br/>text<br/>text")
      s0 -->|"text<br/>text"| s1
      s1 -->|"text"| s0
      s1 -->|"text"| s2
      classDef start stroke:#2563eb,stroke-width:3px
    "#);
}

#[test]
fn a_chart_in_svg_has_room_for_the_words_on_its_arrows() {
    let mut chart = chart("text");
    chart.passages[0].lines = vec!["x".repeat(40)];
    let svg = chart.to_svg();
    let count = |what: &str| svg.matches(what).count();
    assert_eq!((count("class=\"box\""), count("class=\"arrow\""), count("class=\"line\"")), (3, 3, 6));
    assert_eq!(count("<g class=\"marked\">"), 1, "only the start stands out");
    assert!(svg.contains(&format!("<title>{}</title>", "x".repeat(40))), "{svg}");
    assert!(svg.contains(&format!(">{}…</text>", "x".repeat(33))), "{svg}");
    // From left to right: the start, the words, and where they lead.
    let xs: Vec<f64> = svg
        .lines()
        .filter(|line| line.contains("class=\"name\"") || line.contains("xxx…"))
        .map(|line| line.split(" x=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap())
        .collect();
    let [words, start, middle, last] = xs[..] else { panic!("{svg}") };
    assert!(start < words && words < middle && middle < last, "{xs:?}");
    assert!(words - start > 33.0 * 3.0, "{xs:?}");
}

#[test]
fn a_chart_without_states_has_a_picture() {
    let chart = Chart { passages: vec![Passage::default()], ..Chart::default() };
    assert!(chart.to_svg().contains("viewBox=\"0 0 56 56\""));
    assert!(!chart.to_dot().contains("->") && !chart.to_mermaid().contains("-->"));
}

#[test]
fn a_chart_shows_so_many_lines_and_counts_the_rest() {
    for (lines, shown, counted) in
        [(CHART_LINES_MAX, CHART_LINES_MAX, 0), (CHART_LINES_MAX + 1, CHART_LINES_MAX - 1, 2)]
    {
        let mut chart = chart("x");
        chart.spots[1].lines = vec!["fact".to_owned(); lines];
        chart.passages[1].lines = vec!["happens".to_owned(); lines];
        let svg = chart.to_svg();
        // What shows when the pointer rests on it is whole.
        let svg: Vec<&str> = svg.lines().filter(|line| !line.starts_with("<title>")).collect();
        for picture in [chart.to_dot(), chart.to_mermaid(), svg.join("\n")] {
            let times = |text: &str| picture.matches(text).count();
            assert_eq!(
                (times("fact"), times("happens"), times("and 2 more")),
                (shown, shown, counted),
                "{picture}"
            );
        }
    }
}

/// The tags of an SVG in order, without their attributes.
fn tags(svg: &str) -> Vec<&str> {
    svg.split('<').skip(1).map(|rest| rest.split([' ', '>']).next().unwrap()).collect()
}

proptest! {
    #[test]
    fn no_text_breaks_out_of_a_chart(text in "(?s).+") {
        let (hostile, tame) = (chart(&text), chart("text"));
        let (svg, tame_svg) = (hostile.to_svg(), tame.to_svg());
        prop_assert_eq!(tags(&svg), tags(&tame_svg));
        let lines = |text: String| text.lines().map(|line| line.matches('"').count()).collect::<Vec<_>>();
        prop_assert_eq!(lines(hostile.to_mermaid()), lines(tame.to_mermaid()));
        let unescaped = |dot: String| dot.replace("\\\\", "").replace("\\\"", "");
        prop_assert_eq!(lines(unescaped(hostile.to_dot())), lines(tame.to_dot()));
    }
}
