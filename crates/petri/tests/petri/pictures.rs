//! Pictures as people read them, and that no name breaks out of its label.

use std::collections::BTreeMap;

use lockgate_petri::{
    Firing::Called, Marking, Need, Net, Note, PICTURE_CSS, Picture, Shape, Station, Style, TRACK_LINES_MAX,
    Track, without_style,
};
use proptest::prelude::*;

use super::nets::{APPROVAL, SEQUENCE, limit, net};

/// The sequence net after `do-A`.
fn sequence() -> Picture<'static> {
    let net = Box::leak(Box::new(net(SEQUENCE)));
    let marking = Box::leak(Box::new(Marking::from_tokens([0, 0, 1])));
    let note = |caption: &str, style| Note { caption: caption.into(), style };
    let notes = BTreeMap::from([
        (net.transition("do-A").unwrap(), note("backup", Style::Deferred)),
        (net.transition("do-B").unwrap(), note("delete", Style::Manual)),
    ]);
    Picture { net, marking: Some(marking), title: "backup before delete", notes }
}

fn plain(net: &Net) -> Picture<'_> {
    Picture { net, marking: None, title: "", notes: BTreeMap::new() }
}

#[test]
fn a_net_in_dot() {
    insta::assert_snapshot!(sequence().to_dot(), @r##"
    digraph net {
      rankdir=LR;
      label="backup before delete"; labelloc=t;
      node [fontname="Helvetica", style=filled, fillcolor=white];
      p0 [shape=circle, label="idle"];
      p1 [shape=circle, label="ready"];
      p2 [shape=circle, label="gate\n●", color="#2563eb", fillcolor="#dbeafe"];
      t0 [shape=box, label="start", style="rounded,filled"];
      t1 [shape=box, label="do-A\nbackup", style="rounded,filled,dashed"];
      t2 [shape=box, label="do-B\ndelete", style="rounded,filled", peripheries=2, color="#16a34a", fillcolor="#dcfce7"];
      t3 [shape=box, label="repeat", style="rounded,filled", color="#16a34a", fillcolor="#dcfce7"];
      p0 -> t0;
      t0 -> p1;
      p1 -> t1;
      t1 -> p2;
      p2 -> t2;
      t2 -> p1;
      p2 -> t3 [dir=both];
    }
    "##);
}

#[test]
fn a_net_in_mermaid() {
    insta::assert_snapshot!(sequence().to_mermaid(), @r#"
    ---
    title: "backup before delete"
    ---
    flowchart LR
      p0(("idle"))
      p1(("ready"))
      p2(("gate<br/>●")):::marked
      t0["start"]
      t1["do-A<br/>backup"]:::deferred
      t2[["do-B<br/>delete"]]:::enabled
      t3["repeat"]:::enabled
      p0 --> t0
      t0 --> p1
      p1 --> t1
      t1 --> p2
      p2 --> t2
      t2 --> p1
      p2 <--> t3
      classDef marked stroke:#2563eb,stroke-width:3px
      classDef enabled stroke:#16a34a,stroke-width:3px
      classDef deferred stroke-dasharray:5 3
      classDef enabledDeferred stroke:#16a34a,stroke-width:3px,stroke-dasharray:5 3
    "#);
}

#[test]
fn a_net_in_svg() {
    let net = net(APPROVAL);
    let picture = plain(&net);
    let svg = picture.to_svg();
    let shapes = svg.lines().filter(|line| !line.starts_with("<style>")).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(shapes, @r#"
    <svg xmlns="http://www.w3.org/2000/svg" class="petri-net" role="img" viewBox="0 0 484.8 116" width="484.8" height="116">
    <rect class="ground" width="100%" height="100%" rx="12"/>
    <g transform="translate(28 28)">
    <path class="line" d="M42 20H50C75 20 75 20 100 20H102"/>
    <path class="arrow" d="M108 20L101 16V24Z"/>
    <path class="line" d="M174.5 20H182.5C207.5 20 207.5 20 232.5 20H234.5"/>
    <path class="arrow" d="M240.5 20L233.5 16V24Z"/>
    <path class="line" d="M290.5 20H292.5C317.5 20 317.5 20 342.5 20H344.5"/>
    <path class="arrow" d="M284.5 20L291.5 16V24Z"/>
    <path class="arrow" d="M350.5 20L343.5 16V24Z"/>
    <g class="marked">
    <title>idle: 1 token</title>
    <circle class="place" cx="20" cy="20" r="20"/>
    <circle class="token" cx="20" cy="20" r="4.5"/>
    <text class="label" x="20" y="56">idle</text>
    </g>
    <g>
    <title>ready: 0 tokens</title>
    <circle class="place" cx="262.5" cy="20" r="20"/>
    <text class="label" x="262.5" y="56">ready</text>
    </g>
    <g class="structural">
    <title>start, structural</title>
    <rect class="box" x="110" y="2" width="62.5" height="36" rx="9"/>
    <text class="name" x="141.3" y="24.5">start</text>
    </g>
    <g>
    <title>approve</title>
    <rect class="box" x="352.5" y="2" width="76.3" height="36" rx="9"/>
    <text class="name" x="390.7" y="24.5">approve</text>
    </g>
    </g>
    </svg>
    "#);
}

#[test]
fn few_tokens_are_dots_and_many_are_a_number() {
    for (tokens, dots, count) in [
        (0, 0, None),
        (1, 1, None),
        (4, 4, None),
        (5, 0, Some("5")),
        (9_999, 0, Some("9999")),
        (10_000, 0, Some("10k")),
        (u64::MAX, 0, Some("18E")),
    ] {
        let text = limit(tokens).replace("idle:1", "idle:0");
        let net = net(&text);
        let picture = plain(&net);
        let svg = picture.to_svg();
        assert_eq!(svg.matches("class=\"token\"").count(), dots, "{tokens}");
        assert_eq!(svg.contains("class=\"count\""), count.is_some(), "{tokens}");
        assert!(count.is_none_or(|count| svg.contains(&format!(">{count}</text>"))), "{tokens}");
        assert!(svg.contains(&format!("budget: {tokens} token")), "{tokens}");
    }
}

#[test]
fn a_long_name_is_cut_and_shown_whole_in_its_tooltip() {
    for (letters, shown) in [(28, "x".repeat(28)), (29, "x".repeat(27) + "…")] {
        let net = Net::builder().place("x".repeat(letters), 0).build().unwrap();
        let svg = plain(&net).to_svg();
        assert!(svg.contains(&format!(">{shown}</text>")));
        assert!(svg.contains(&format!("<title>{}: 0 tokens</title>", "x".repeat(letters))));
    }
}

#[test]
fn a_picture_shows_what_is_enabled_only_in_a_given_marking() {
    let net = net(SEQUENCE);
    let picture = plain(&net);
    let now = Picture { marking: Some(net.initial()), ..picture.clone() };
    assert_eq!(picture.to_svg().matches("<g class=\"structural enabled\">").count(), 0);
    assert_eq!(now.to_svg().matches("<g class=\"structural enabled\">").count(), 1);
}

#[test]
fn an_empty_net_has_a_picture() {
    let net = Net::builder().build().unwrap();
    let picture = plain(&net);
    assert!(picture.to_svg().contains("viewBox=\"0 0 56 56\""));
}

#[test]
fn a_picture_for_a_page_leaves_its_style_to_the_page() {
    let net = Net::builder().place("<style>", 1).build().unwrap();
    let picture = Picture { title: "<style></style>", ..plain(&net) }.to_svg();
    let bare = without_style(&picture);
    assert!(picture.contains(PICTURE_CSS) && !bare.contains("<style") && !bare.contains(PICTURE_CSS));
    assert_eq!(bare.matches("&lt;style&gt;").count(), picture.matches("&lt;style&gt;").count());
}

#[test]
fn names_that_look_like_markup_stay_names() {
    let name = "\"]; <script>&amp;#quot;\\n\u{202e}%%{init}%%`\n-->";
    let net = Net::builder().place(name, 1).transition(name, Called, &[name], &[]).build().unwrap();
    let picture = Picture { title: name, ..plain(&net) };
    let first = |text: String, with: &str| text.lines().find(|line| line.contains(with)).unwrap().to_owned();
    insta::assert_snapshot!(first(picture.to_dot(), "p0"), @r##"  p0 [shape=circle, label="\"]; <script>&amp;amp;#quot;\\n�%%{init}%%`�-->\n●", color="#2563eb", fillcolor="#dbeafe"];"##);
    insta::assert_snapshot!(first(picture.to_mermaid(), "t0"), @r##"  t0["#34;#93;#59; #60;script#62;#38;amp#59;#35;quot#59;#92;n#65533;#37;#37;#123;init#125;#37;#37;#96;#65533;--#62;"]"##);
    insta::assert_snapshot!(first(picture.to_svg(), "<title>"), @r#"<title>&quot;]; &lt;script&gt;&amp;amp;#quot;\n�%%{init}%%`�--&gt;</title>"#);
}

proptest! {
    #[test]
    fn no_name_breaks_out_of_its_label(place in "(?s).+", transition in "(?s).+", text in "(?s).+") {
        let builder = Net::builder().place(&place, 3).weighted(&transition, Called, &[(&place, 2)], &[(&place, 1)]);
        let net = builder.build().unwrap();
        let note = Note { caption: text.clone(), style: Style::Manual };
        let notes = BTreeMap::from([(net.transition(&transition).unwrap(), note)]);
        let picture = Picture { net: &net, marking: Some(net.initial()), title: &text, notes };

        let (svg, tame_svg) = (picture.to_svg(), tame().to_svg());
        prop_assert_eq!(tags(&svg), tags(&tame_svg));
        let lines = |text: String| text.lines().map(|line| line.matches('"').count()).collect::<Vec<_>>();
        prop_assert_eq!(lines(picture.to_mermaid()), lines(tame().to_mermaid()));
        let unescaped = |dot: String| dot.replace("\\\\", "").replace("\\\"", "");
        prop_assert_eq!(lines(unescaped(picture.to_dot())), lines(tame().to_dot()));
    }
}

/// The tags of an SVG in order, without their attributes.
fn tags(svg: &str) -> Vec<&str> {
    svg.split('<').skip(1).map(|rest| rest.split([' ', '>']).next().unwrap()).collect()
}

/// The picture that the hostile ones must look like.
fn tame() -> Picture<'static> {
    let net = Net::builder().place("p", 3).weighted("t", Called, &[("p", 2)], &[("p", 1)]).build().unwrap();
    let net = Box::leak(Box::new(net));
    let note = Note { caption: "caption".into(), style: Style::Manual };
    let notes = BTreeMap::from([(net.transition("t").unwrap(), note)]);
    Picture { net, marking: Some(net.initial()), title: "title", notes }
}

/// A line from a dot over a box to the last box.
fn track(text: &str) -> Track {
    let text = || text.to_owned();
    let need = |is_human| Need { text: text(), is_human };
    let first = Station { shape: Shape::Dot, ..Station::default() };
    let build = Station {
        name: text(),
        lines: vec![text()],
        is_active: true,
        needs: vec![need(false)],
        ..first.clone()
    };
    let build = Station { shape: Shape::Box, ..build };
    let done = Station {
        name: text(),
        shape: Shape::Last,
        needs: vec![need(false), need(true)],
        ..Station::default()
    };
    Track { title: text(), stops: vec![first, build, done] }
}

#[test]
fn a_track_in_dot() {
    insta::assert_snapshot!(track("text").to_dot(), @r##"
    digraph track {
      rankdir=LR;
      label="text"; labelloc=t;
      node [fontname="Helvetica", shape=box];
      edge [fontname="Helvetica", fontsize=11];
      s0 [shape=circle, style=filled, fillcolor=gray, width=0.2, label="", xlabel=""];
      s1 [label="text\ntext", style="rounded,filled", fillcolor=white, color="#2563eb", fillcolor="#dbeafe"];
      s2 [label="text", style="rounded,filled", fillcolor=white, peripheries=2];
      s0 -> s1 [label="text"];
      s1 -> s2 [label="text\n👤 text"];
    }
    "##);
}

#[test]
fn a_track_in_mermaid() {
    insta::assert_snapshot!(track("text").to_mermaid(), @r#"
    ---
    title: "text"
    ---
    flowchart LR
      s0((" "))
      s1("text<br/>text"):::active
      s2[["text"]]
      s0 -->|"text"| s1
      s1 -->|"text<br/>#128100; text"| s2
      classDef active stroke:#2563eb,stroke-width:3px
    "#);
}

#[test]
fn a_track_in_svg() {
    let svg = track("text").to_svg();
    let shapes = svg.lines().filter(|line| !line.starts_with("<style>")).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(shapes, @r#"
    <svg xmlns="http://www.w3.org/2000/svg" class="petri-net track" role="img" viewBox="0 0 352.2 152" width="352.2" height="152">
    <rect class="ground" width="100%" height="100%" rx="12"/>
    <title>text</title>
    <text class="heading" x="28" y="36">text</text>
    <g transform="translate(28 62)">
    <g>
    <title></title>
    <circle class="place" cx="9" cy="34" r="9"/>
    <text class="name" x="9" y="57"></text>
    </g>
    <g>
    <title>text</title>
    <path class="line" d="M20 34H61.6"/>
    <path class="arrow" d="M67.6 34L60.6 30V38Z"/>
    <text class="label" x="43.8" y="26">text</text>
    </g>
    <g class="marked">
    <title>text, text</title>
    <rect class="box" x="69.6" y="6" width="80" height="56" rx="12"/>
    <text class="name" x="109.6" y="30.5">text</text>
    <text class="caption" x="109.6" y="46.5">text</text>
    </g>
    <g>
    <title>text, 👤 text</title>
    <path class="line" d="M151.6 34H208.2"/>
    <path class="arrow" d="M214.2 34L207.2 30V38Z"/>
    <text class="label" x="182.9" y="10">text</text>
    <circle class="human" cx="169.1" cy="18" r="2.8"/>
    <path class="human" d="M164.1 26C164.1 21.5 174.1 21.5 174.1 26Z"/>
    <text class="label" x="190.4" y="26">text</text>
    </g>
    <g>
    <title>text</title>
    <rect class="box" x="216.2" y="14" width="80" height="40" rx="10"/>
    <rect class="rim" x="220.2" y="18" width="72" height="32" rx="8"/>
    <text class="name" x="256.2" y="38.5">text</text>
    </g>
    </g>
    </svg>
    "#);
}

#[test]
fn a_track_shows_so_many_lines_and_counts_the_rest() {
    for (lines, shown, counted) in
        [(TRACK_LINES_MAX, TRACK_LINES_MAX, 0), (TRACK_LINES_MAX + 1, TRACK_LINES_MAX - 1, 2)]
    {
        let mut track = track("x");
        track.stops[1].lines = vec!["fact".to_owned(); lines];
        track.stops[1].needs = vec![Need { text: "need".to_owned(), is_human: true }; lines];
        let svg = track.to_svg();
        // What shows when the pointer rests on it is whole.
        let svg: Vec<&str> = svg.lines().filter(|line| !line.starts_with("<title>")).collect();
        for picture in [track.to_dot(), track.to_mermaid(), svg.join("\n")] {
            let times = |text: &str| picture.matches(text).count();
            assert_eq!(
                (times("fact"), times("need"), times("and 2 more")),
                (shown, shown, counted),
                "{picture}"
            );
        }
    }
}

proptest! {
    #[test]
    fn no_text_breaks_out_of_a_track(text in "(?s).+") {
        let (hostile, tame) = (track(&text), track("text"));
        let (svg, tame_svg) = (hostile.to_svg(), tame.to_svg());
        prop_assert_eq!(tags(&svg), tags(&tame_svg));
        let lines = |text: String| text.lines().map(|line| line.matches('"').count()).collect::<Vec<_>>();
        prop_assert_eq!(lines(hostile.to_mermaid()), lines(tame.to_mermaid()));
        let unescaped = |dot: String| dot.replace("\\\\", "").replace("\\\"", "");
        prop_assert_eq!(lines(unescaped(hostile.to_dot())), lines(tame.to_dot()));
    }
}
