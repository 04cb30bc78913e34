//! Where the nodes of a picture stand and how its lines run, from left to right.
//!
//! The usual four steps for layered drawings: lines that close a circle are turned round, each node
//! gets the layer after its last predecessor, the nodes of a layer are ordered by the middle of their
//! neighbours, and then moved as close to those as their distance allows. A line that passes a layer
//! gets a bend there, with a lane of its own, so that no line runs through a node. Every step takes
//! about linear time, and there is no recursion: a hostile net is drawn badly, not slowly.

#![expect(
    clippy::indexing_slicing,
    reason = "every index in here is one of a vertex, layer or line made in here"
)]

/// Bends over a whole picture; lines beyond that run straight.
const BENDS_MAX: usize = 20_000;
const ORDER_SWEEPS: usize = 12;
const PLACE_SWEEPS: usize = 100;
const GAP_BETWEEN_LAYERS: f64 = 70.0;
/// Lines stay level for so long beside a layer, which leaves room for the head of an arrow.
const LEVEL_BESIDE_LAYER: f64 = 10.0;
const GAP_BETWEEN_NODES: f64 = 20.0;
const GAP_BETWEEN_LINES: f64 = 11.0;
/// How far a line may start from the middle of a node's side.
const PORTS_REACH: f64 = 11.0;
const BEND: Extent = Extent { half_width: 0.0, above: 6.0, below: 6.0 };

/// The room a node takes around its centre.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    pub(super) half_width: f64,
    pub(super) above: f64,
    pub(super) below: f64,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// How a line runs: straight from the height of its left node to each curve, and straight on after it.
pub(super) struct Route {
    /// Its left and its right end are these nodes.
    pub(super) left: usize,
    pub(super) right: usize,
    /// The parts between two layers; both ends of each are level.
    pub(super) curves: Vec<(Point, Point)>,
}

pub(super) struct Layout {
    pub(super) nodes: Vec<Point>,
    pub(super) routes: Vec<Route>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Lays out nodes of these extents with these lines between them. Of the nodes on a circle, the one
/// that comes first in `roots` stands leftmost.
pub(super) fn lay_out(extents: &[Extent], lines: &[(usize, usize)], roots: &[usize]) -> Layout {
    let (lines, order) = without_circles(extents.len(), lines, roots);
    let layer_of = layers(&lines, &order);
    let mut drawing = Drawing::new(extents, &lines, &layer_of);
    drawing.order();
    drawing.place();
    drawing.finish(extents.len())
}

/// Turns round the lines that close a circle on a walk from the roots. Also gives the nodes in an
/// order in which each comes before all that its lines lead to.
fn without_circles(
    nodes: usize,
    lines: &[(usize, usize)],
    roots: &[usize],
) -> (Vec<(usize, usize)>, Vec<usize>) {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        New,
        Open,
        Done,
    }
    let mut leaving = vec![Vec::new(); nodes];
    for (line, (from, _)) in lines.iter().enumerate() {
        leaving[*from].push(line);
    }
    let mut forward = lines.to_vec();
    let mut visits = vec![Visit::New; nodes];
    let mut finished = Vec::with_capacity(nodes);
    for root in roots.iter().copied().chain(0..nodes) {
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.pop() {
            if next == 0 {
                if visits[node] != Visit::New {
                    continue;
                }
                visits[node] = Visit::Open;
            }
            let Some(&line) = leaving[node].get(next) else {
                visits[node] = Visit::Done;
                finished.push(node);
                continue;
            };
            path.push((node, next + 1));
            let (from, to) = lines[line];
            match visits[to] {
                Visit::New => path.push((to, 0)),
                Visit::Open => forward[line] = (to, from),
                Visit::Done => {}
            }
        }
    }
    finished.reverse();
    (forward, finished)
}

/// The layer of each node: right of everything that leads to it, and beginnings next to what follows.
fn layers(lines: &[(usize, usize)], order: &[usize]) -> Vec<usize> {
    let mut leaving = vec![Vec::new(); order.len()];
    let mut has_before = vec![false; order.len()];
    for &(from, to) in lines {
        leaving[from].push(to);
        has_before[to] = true;
    }
    let mut layer_of = vec![0; order.len()];
    for &node in order {
        for &next in &leaving[node] {
            layer_of[next] = layer_of[next].max(layer_of[node] + 1);
        }
    }
    for &node in order {
        let nearest = leaving[node].iter().map(|next| layer_of[*next]).min();
        if let (false, Some(nearest)) = (has_before[node], nearest) {
            layer_of[node] = nearest - 1;
        }
    }
    layer_of
}

/// A node, or the bend of a line that passes a layer.
struct Vertex {
    extent: Extent,
    is_bend: bool,
    layer: usize,
    /// Its place in the layer, counted from the top.
    rank: usize,
    centre: Point,
    before: Vec<usize>,
    after: Vec<usize>,
}

struct Drawing {
    vertices: Vec<Vertex>,
    layers: Vec<Vec<usize>>,
    /// The vertices each line runs through.
    chains: Vec<Vec<usize>>,
}

impl Drawing {
    fn new(extents: &[Extent], lines: &[(usize, usize)], layer_of: &[usize]) -> Self {
        let layers = vec![Vec::new(); layer_of.iter().max().map_or(0, |last| last + 1)];
        let mut drawing = Self { vertices: Vec::new(), layers, chains: Vec::new() };
        for (extent, layer) in extents.iter().zip(layer_of) {
            drawing.add(*extent, false, *layer);
        }
        for &(from, to) in lines {
            let mut chain = vec![from];
            let passed = layer_of[from] + 1..layer_of[to];
            if drawing.vertices.len() + passed.len() <= extents.len() + BENDS_MAX {
                chain.extend(passed.map(|layer| drawing.add(BEND, true, layer)));
            }
            chain.push(to);
            for pair in chain.windows(2) {
                drawing.vertices[pair[0]].after.push(pair[1]);
                drawing.vertices[pair[1]].before.push(pair[0]);
            }
            drawing.chains.push(chain);
        }
        drawing
    }

    fn add(&mut self, extent: Extent, is_bend: bool, layer: usize) -> usize {
        let vertex = self.vertices.len();
        let rank = self.layers[layer].len();
        let (before, after) = (Vec::new(), Vec::new());
        self.vertices.push(Vertex { extent, is_bend, layer, rank, centre: Point::default(), before, after });
        self.layers[layer].push(vertex);
        vertex
    }

    /// Orders each layer by the middle of its neighbours, sweeping to and fro; keeps the best order.
    fn order(&mut self) {
        let mut best = (self.crossings(), self.layers.clone());
        for sweep in 0..ORDER_SWEEPS {
            let rightwards = sweep % 2 == 0;
            let count = self.layers.len();
            for step in 0..count {
                let layer = if rightwards { step } else { count - 1 - step };
                self.sort_layer(layer, rightwards);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
            }
        }
        self.layers = best.1;
        self.number_ranks();
    }

    fn sort_layer(&mut self, layer: usize, by_before: bool) {
        let middle = |vertex: &usize| {
            let vertex = &self.vertices[*vertex];
            let neighbours = if by_before { &vertex.before } else { &vertex.after };
            match neighbours.len() {
                0 => vertex.rank as f64,
                count => neighbours.iter().map(|n| self.vertices[*n].rank as f64).sum::<f64>() / count as f64,
            }
        };
        let mut sorted: Vec<(f64, usize)> = self.layers[layer].iter().map(|v| (middle(v), *v)).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.layers[layer] = sorted.into_iter().map(|(_, vertex)| vertex).collect();
        for (rank, vertex) in self.layers[layer].iter().enumerate() {
            self.vertices[*vertex].rank = rank;
        }
    }

    fn number_ranks(&mut self) {
        for (rank, vertex) in self.layers.iter().flat_map(|layer| layer.iter().enumerate()) {
            self.vertices[*vertex].rank = rank;
        }
    }

    /// How often lines cross between neighbouring layers.
    fn crossings(&self) -> usize {
        self.layers.iter().map(|layer| self.crossings_after(layer)).sum()
    }

    /// Counts the pairs of lines whose ends are in another order than their starts: lines are taken
    /// in the order of their starts, and a counting tree knows how many ended further down so far.
    fn crossings_after(&self, layer: &[usize]) -> usize {
        let mut ends = Vec::new();
        for vertex in layer {
            let first = ends.len();
            ends.extend(self.vertices[*vertex].after.iter().map(|next| self.vertices[*next].rank));
            ends[first..].sort_unstable();
        }
        let mut tree = vec![0_usize; ends.iter().max().map_or(0, |last| last + 2)];
        let mut crossings = 0;
        for (seen, end) in ends.into_iter().enumerate() {
            let mut not_below = 0;
            let mut node = end + 1;
            while node > 0 {
                not_below += tree[node];
                node &= node - 1;
            }
            crossings += seen - not_below;
            let mut node = end + 1;
            while node < tree.len() {
                tree[node] += 1;
                node += node & node.wrapping_neg();
            }
        }
        crossings
    }

    /// Moves every vertex towards its neighbours, as far as the others of its layer let it.
    fn place(&mut self) {
        let count = self.layers.len();
        for sweep in 0..PLACE_SWEEPS {
            for step in 0..count {
                let layer = if sweep % 2 == 0 { step } else { count - 1 - step };
                self.place_layer(layer);
            }
        }
        let mut x = 0.0;
        for layer in &self.layers {
            let half_width = self.half_width(layer);
            for vertex in layer {
                self.vertices[*vertex].centre.x = x + half_width;
            }
            x += 2.0 * half_width + GAP_BETWEEN_LAYERS;
        }
    }

    /// The heights that are nearest to the wished ones and keep the distances: neighbours that would
    /// come too close are joined into a block, which settles on the mean of its members' wishes.
    fn place_layer(&mut self, layer: usize) {
        struct Block {
            wish: f64,
            weight: f64,
            members: usize,
        }
        let layer = &self.layers[layer];
        let mut blocks: Vec<Block> = Vec::new();
        let mut offsets = Vec::with_capacity(layer.len());
        let mut offset = 0.0;
        let mut above = None;
        for vertex in layer {
            if let Some(above) = above {
                offset += self.distance(above, *vertex);
            }
            above = Some(*vertex);
            offsets.push(offset);
            let (wish, weight) = self.wish(*vertex);
            let mut block = Block { wish: wish - offset, weight, members: 1 };
            while let Some(last) = blocks.pop_if(|last| last.wish > block.wish) {
                let weight = last.weight + block.weight;
                let wish = (last.wish * last.weight + block.wish * block.weight) / weight;
                block = Block { wish, weight, members: last.members + block.members };
            }
            blocks.push(block);
        }
        let bases = blocks.iter().flat_map(|block| std::iter::repeat_n(block.wish, block.members));
        for ((vertex, base), offset) in layer.iter().zip(bases).zip(offsets) {
            self.vertices[*vertex].centre.y = base + offset;
        }
    }

    fn distance(&self, above: usize, below: usize) -> f64 {
        let (above, below) = (&self.vertices[above], &self.vertices[below]);
        let gap = if above.is_bend || below.is_bend { GAP_BETWEEN_LINES } else { GAP_BETWEEN_NODES };
        above.extent.below + gap + below.extent.above
    }

    /// The height a vertex would like to have, and how much it insists. Lines want to be straight
    /// where they pass layers more than where they begin and end. Both ends of a line are pulled
    /// alike, otherwise the drawing would never settle.
    fn wish(&self, vertex: usize) -> (f64, f64) {
        let vertex = &self.vertices[vertex];
        let (mut sum, mut weight) = (0.0, 0.0);
        for neighbour in vertex.before.iter().chain(&vertex.after) {
            let neighbour = &self.vertices[*neighbour];
            let pull = match (vertex.is_bend, neighbour.is_bend) {
                (true, true) => 8.0,
                (false, false) => 2.0,
                _ => 1.0,
            };
            sum += pull * neighbour.centre.y;
            weight += pull;
        }
        if weight == 0.0 { (vertex.centre.y, 1.0) } else { (sum / weight, weight) }
    }

    fn half_width(&self, layer: &[usize]) -> f64 {
        layer.iter().map(|vertex| self.vertices[*vertex].extent.half_width).fold(0.0, f64::max)
    }

    /// Moves the drawing to the origin and runs the lines between the sides of the layers.
    fn finish(mut self, nodes: usize) -> Layout {
        let top = self.vertices.iter().map(|v| v.centre.y - v.extent.above).fold(f64::INFINITY, f64::min);
        let top = if top.is_finite() { top } else { 0.0 };
        for vertex in &mut self.vertices {
            vertex.centre.y -= top;
        }
        let bottom = self.vertices.iter().map(|v| v.centre.y + v.extent.below).fold(0.0, f64::max);
        let half_widths: Vec<f64> = self.layers.iter().map(|layer| self.half_width(layer)).collect();
        let width =
            half_widths.iter().map(|half| 2.0 * half + GAP_BETWEEN_LAYERS).sum::<f64>() - GAP_BETWEEN_LAYERS;

        let leaving = self.ports(|chain| (chain[0], chain[1]));
        let arriving = self.ports(|chain| (chain[chain.len() - 1], chain[chain.len() - 2]));
        let mut routes = Vec::with_capacity(self.chains.len());
        for (line, chain) in self.chains.iter().enumerate() {
            let last = chain.len() - 1;
            let side = |index: usize, direction: f64, port: f64| {
                let vertex = &self.vertices[chain[index]];
                let x = vertex.centre.x + direction * (half_widths[vertex.layer] + LEVEL_BESIDE_LAYER);
                Point { x, y: vertex.centre.y + port }
            };
            let curve = |index: usize| {
                let from = side(index, 1.0, if index == 0 { leaving[line] } else { 0.0 });
                let to = side(index + 1, -1.0, if index + 1 == last { arriving[line] } else { 0.0 });
                (from, to)
            };
            routes.push(Route { left: chain[0], right: chain[last], curves: (0..last).map(curve).collect() });
        }
        let nodes = self.vertices[..nodes].iter().map(|vertex| vertex.centre).collect();
        Layout { nodes, routes, width: width.max(0.0), height: bottom }
    }

    /// How far above or below the middle of its node each line ends, so that the lines of one side
    /// neither cover nor cross each other. `end` gives the node of a line and the vertex next to it.
    fn ports(&self, end: impl Fn(&[usize]) -> (usize, usize)) -> Vec<f64> {
        let mut lines_of = vec![Vec::new(); self.vertices.len()];
        for (line, chain) in self.chains.iter().enumerate() {
            let (node, next) = end(chain);
            lines_of[node].push((self.vertices[next].centre.y, line));
        }
        let mut ports = vec![0.0; self.chains.len()];
        for mut lines in lines_of {
            lines.sort_by(|a, b| a.0.total_cmp(&b.0));
            let middle = lines.len().saturating_sub(1) as f64 / 2.0;
            let gap = if middle > 0.0 { (PORTS_REACH / middle).min(PORTS_REACH) } else { 0.0 };
            for (position, (_, line)) in lines.into_iter().enumerate() {
                ports[line] = (position as f64 - middle) * gap;
            }
        }
        ports
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const NODE: Extent = Extent { half_width: 30.0, above: 20.0, below: 40.0 };

    proptest! {
        #[test]
        fn nodes_keep_their_distance_and_lines_run_from_left_to_right(
            (nodes, lines, roots) in (1_usize..12).prop_flat_map(|nodes| {
                let lines = vec((0..nodes, 0..nodes), 0..20).prop_map(|lines| {
                    lines.into_iter().filter(|(from, to)| from != to).collect::<Vec<_>>()
                });
                (Just(nodes), lines, vec(0..nodes, 0..3))
            }),
        ) {
            let layout = lay_out(&vec![NODE; nodes], &lines, &roots);
            for (i, a) in layout.nodes.iter().enumerate() {
                prop_assert!(a.x - 30.0 >= 0.0 && a.x + 30.0 <= layout.width);
                prop_assert!(a.y - 20.0 >= -0.01 && a.y + 40.0 <= layout.height + 0.01);
                for b in &layout.nodes[..i] {
                    prop_assert!((a.x - b.x).abs() >= 60.0 || (a.y - b.y).abs() >= 60.0);
                }
            }
            for (route, (from, to)) in layout.routes.iter().zip(&lines) {
                prop_assert!([(*from, *to), (*to, *from)].contains(&(route.left, route.right)));
                let steps: Vec<f64> = route.curves.iter().flat_map(|(from, to)| [from.x, to.x]).collect();
                prop_assert!(steps.is_sorted());
            }
        }
    }

    #[test]
    fn a_circle_begins_at_its_root() {
        for root in 0..3 {
            let layout = lay_out(&[NODE; 3], &[(0, 1), (1, 2), (2, 0)], &[root]);
            assert_eq!(layout.nodes[root].x, 30.0);
        }
    }

    #[test]
    fn lines_run_straight_once_there_are_too_many_bends() {
        // A chain, and shortcuts along all of it: each has a bend in every layer but the outer two.
        let drawn = |shortcuts: usize| {
            let mut lines: Vec<_> = (1..102).map(|node| (node - 1, node)).collect();
            lines.extend(vec![(0, 101); shortcuts]);
            lay_out(&[NODE; 102], &lines, &[])
        };
        let bends = |layout: &Layout| layout.routes.iter().map(|route| route.curves.len() - 1).sum::<usize>();
        assert_eq!(BENDS_MAX, 200 * 100);
        assert_eq!(bends(&drawn(200)), BENDS_MAX);
        assert_eq!(bends(&drawn(201)), BENDS_MAX);
    }
}
