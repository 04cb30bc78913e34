//! Nets as SVG: places, transitions and the lines between them.

use super::{
    BOX_HALF_HEIGHT, BOX_HALF_WIDTH_MIN, BOX_PADDING, Escaped, LABEL_HEIGHT, Number, PLACE_RADIUS, Svg,
    document, dots, label, short_count, width_of,
};
use crate::{
    id::{PlaceId, TransitionId},
    net::Firing,
    picture::{
        layout::{Extent, Layout, Point, Route, lay_out},
        net::{Link, Picture, Style},
        text::DOTS_MAX,
    },
};

impl Picture<'_> {
    /// The picture as an SVG document.
    pub fn to_svg(&self) -> String {
        let links = self.links();
        let layout = self.layout(&links);
        let mut svg = Svg::default();
        for (link, route) in links.iter().zip(&layout.routes) {
            self.draw_link(&mut svg, link, route, &layout);
        }
        let mut centres = layout.nodes.iter().copied();
        for (place, centre) in self.net.places().zip(centres.by_ref()) {
            self.draw_place(&mut svg, place, centre);
        }
        for (transition, centre) in self.net.transitions().zip(centres) {
            self.draw_transition(&mut svg, transition, centre);
        }
        document("petri-net", self.title, (layout.width, layout.height), &svg)
    }

    /// Lays out the places and after them the transitions.
    fn layout(&self, links: &[Link]) -> Layout {
        let places = self.net.places().map(|place| Extent {
            half_width: PLACE_RADIUS.max(width_of(&label(self.net.place_name(place))) / 2.0),
            above: PLACE_RADIUS,
            below: PLACE_RADIUS + LABEL_HEIGHT,
        });
        let transitions = self.net.transitions().map(|transition| Extent {
            half_width: self.box_half_width(transition).max(width_of(&label(self.caption(transition))) / 2.0),
            above: BOX_HALF_HEIGHT,
            below: BOX_HALF_HEIGHT + if self.caption(transition).is_empty() { 0.0 } else { LABEL_HEIGHT },
        });
        let extents: Vec<Extent> = places.chain(transitions).collect();

        let node_of = |transition: TransitionId| self.net.places().len() + transition.index();
        let line = |link: &Link| match link.takes {
            0 => (node_of(link.transition), link.place.index()),
            _ => (link.place.index(), node_of(link.transition)),
        };
        let lines: Vec<_> = links.iter().map(line).collect();

        // Circles begin at the tokens of the start, not of now: a picture keeps its shape while a
        // marking moves on. Next come the nodes that nothing leads to.
        let mut is_led_to = vec![false; extents.len()];
        for (_, to) in &lines {
            if let Some(is_led_to) = is_led_to.get_mut(*to) {
                *is_led_to = true;
            }
        }
        let begins_marked = |place: &PlaceId| self.net.initial().tokens(*place) > 0;
        let marked = self.net.places().filter(begins_marked).map(PlaceId::index);
        let (later, sooner): (Vec<_>, Vec<_>) = marked.partition(|node| is_led_to.get(*node) == Some(&false));
        let beginnings =
            is_led_to.iter().enumerate().filter(|(_, is_led_to)| !**is_led_to).map(|(node, _)| node);
        let roots: Vec<usize> = sooner.into_iter().chain(later).chain(beginnings).collect();
        lay_out(&extents, &lines, &roots)
    }

    fn box_half_width(&self, transition: TransitionId) -> f64 {
        let name = label(self.net.transition_name(transition));
        (width_of(&name) / 2.0 + BOX_PADDING).max(BOX_HALF_WIDTH_MIN)
    }

    fn draw_link(&self, svg: &mut Svg, link: &Link, route: &Route, layout: &Layout) {
        let (Some((first, _)), Some((_, last))) = (route.curves.first(), route.curves.last()) else {
            return;
        };
        let place_is_left = route.left == link.place.index();
        let (arrow_left, arrow_right) =
            if place_is_left { (link.puts > 0, link.takes > 0) } else { (link.takes > 0, link.puts > 0) };
        // Where the line meets the circle or the box.
        let edge = |node: usize, y: f64, direction: f64| {
            let centre = layout.nodes.get(node).copied().unwrap_or_default();
            let reach = if node == link.place.index() {
                (PLACE_RADIUS * PLACE_RADIUS - (y - centre.y) * (y - centre.y)).max(0.0).sqrt()
            } else {
                self.box_half_width(link.transition)
            };
            centre.x + direction * (reach + 2.0)
        };
        let start = edge(route.left, first.y, 1.0);
        let end = edge(route.right, last.y, -1.0);

        svg.route(route, (start, end), (arrow_left, arrow_right));
        let weight = match (link.takes, link.puts) {
            (0 | 1, 0 | 1) => return,
            (0, weight) | (weight, 0) => weight.to_string(),
            (takes, puts) if takes == puts => takes.to_string(),
            (takes, puts) => format!("−{takes} +{puts}"),
        };
        if let Some((from, to)) = route.curves.get(route.curves.len() / 2) {
            svg.text("label weight", (from.x + to.x) / 2.0, (from.y + to.y) / 2.0 - 5.0, &weight);
        }
    }

    fn draw_place(&self, svg: &mut Svg, place: PlaceId, Point { x, y }: Point) {
        let name = self.net.place_name(place);
        let tokens = self.tokens(place);
        svg.group(if tokens > 0 { "marked" } else { "" });
        svg.line(format_args!(
            "<title>{}: {tokens} token{}</title>",
            Escaped(name),
            if tokens == 1 { "" } else { "s" }
        ));
        let radius = Number(PLACE_RADIUS);
        svg.line(format_args!(
            "<circle class=\"place\" cx=\"{}\" cy=\"{}\" r=\"{radius}\"/>",
            Number(x),
            Number(y)
        ));
        if tokens > DOTS_MAX {
            svg.text("count", x, y + 4.5, &short_count(tokens));
        }
        for (right, down) in dots(tokens) {
            let (x, y) = (Number(x + right), Number(y + down));
            svg.line(format_args!("<circle class=\"token\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"/>"));
        }
        svg.text("label", x, y + PLACE_RADIUS + 16.0, &label(name));
        svg.line(format_args!("</g>"));
    }

    fn draw_transition(&self, svg: &mut Svg, transition: TransitionId, Point { x, y }: Point) {
        let (name, caption) = (self.net.transition_name(transition), self.caption(transition));
        let traits = [
            (self.net.firing(transition) == Firing::Structural, "structural"),
            (self.style(transition) == Style::Deferred, "deferred"),
            (self.style(transition) == Style::Manual, "manual"),
            (self.is_enabled(transition), "enabled"),
        ];
        let traits: Vec<&str> =
            traits.into_iter().filter(|(is_so, _)| *is_so).map(|(_, name)| name).collect();
        svg.group(&traits.join(" "));
        let told: Vec<&str> =
            [name].into_iter().chain(traits).chain([caption]).filter(|text| !text.is_empty()).collect();
        svg.line(format_args!("<title>{}</title>", Escaped(&told.join(", "))));
        let half_width = self.box_half_width(transition);
        svg.rounded("box", x, y, half_width, BOX_HALF_HEIGHT);
        if self.style(transition) == Style::Manual {
            svg.rounded("rim", x, y, half_width - 4.0, BOX_HALF_HEIGHT - 4.0);
        }
        svg.text("name", x, y + 4.5, &label(name));
        if !caption.is_empty() {
            svg.text("label caption", x, y + BOX_HALF_HEIGHT + 15.0, &label(caption));
        }
        svg.line(format_args!("</g>"));
    }
}
