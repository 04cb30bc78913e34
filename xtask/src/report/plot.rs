//! A table as a picture: cost against size, both logarithmic, a line for everybody.
//!
//! Names stand at the ends of lines rather than in a legend, in the colour of their line and moved apart where lines end
//! close together. The background is white, so that a picture reads on dark pages too. What is cited is a hollow point
//! without a line: nobody has measured what lies between.

use lockgate_bench::figure::Figure;
use plotters::{
    coord::{Shift, types::RangedCoordf64},
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use crate::bench::{
    line::Line,
    reading::{thousands, told},
    table::{self, Table, is_cited, is_ours},
};

const SIZE: (u32, u32) = (960, 560);
/// Left, top, right, bottom: the right one holds the names.
const MARGIN: (i32, i32, i32, i32) = (92, 72, 248, 64);
const LABEL_HEIGHT: i32 = 19;
const FONT: &str = "Helvetica, Arial, sans-serif";

const INK: RGBColor = RGBColor(0x22, 0x2b, 0x33);
const PALE: RGBColor = RGBColor(0x6b, 0x76, 0x80);
const GRID: RGBColor = RGBColor(0xe4, 0xe8, 0xeb);

/// Ours, from the one that matters most.
const OURS: [RGBColor; 4] = [
    RGBColor(0x00, 0x6b, 0x4f),
    RGBColor(0x1f, 0x9a, 0x76),
    RGBColor(0x63, 0xb8, 0x9b),
    RGBColor(0x8f, 0xc1, 0x4a),
];

/// Our names: the paler lines' colours do not read as text.
const OUR_NAMES: RGBColor = RGBColor(0x00, 0x6b, 0x4f);

/// Everybody else's; told apart by those who do not see all colours, too.
const THEIRS: [RGBColor; 7] = [
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xc0, 0x5a, 0x92),
    RGBColor(0xb8, 0x86, 0x00),
    RGBColor(0x6a, 0x4f, 0xb3),
    RGBColor(0x8c, 0x51, 0x3f),
    RGBColor(0x4d, 0x55, 0x5c),
];

/// Who has which colour: the same in all plots of a report.
pub(crate) struct Colours(Vec<String>);

impl Colours {
    /// Colours for everybody in these lines, in the order in which they come.
    pub(crate) fn of(lines: &[Line]) -> Self {
        let mut known = Vec::new();
        for line in lines {
            if let Line::Figure(figure) = line {
                let name = table::system(&figure.who).to_owned();
                if !is_ours(&figure.who) && !known.contains(&name) {
                    known.push(name);
                }
            }
        }
        Self(known)
    }

    fn of_peer(&self, who: &str) -> RGBColor {
        let at = self.0.iter().position(|known| known == table::system(who)).unwrap_or_default();
        THEIRS.into_iter().cycle().nth(at).unwrap_or(INK)
    }
}

/// One line with its name.
struct Series<'a> {
    who: &'a str,
    colour: RGBColor,
    width: u32,
    is_cited: bool,
    points: Vec<(f64, f64)>,
}

/// The plot of a table.
pub(crate) fn svg(table: &Table<'_>, colours: &Colours) -> Result<String, String> {
    let mut text = String::new();
    draw(&mut text, table, colours).map_err(|error| format!("cannot draw `{}`: {error}", table.work))?;
    Ok(text)
}

type Failed = Box<dyn std::error::Error>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

fn draw(text: &mut String, table: &Table<'_>, colours: &Colours) -> Result<(), Failed> {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let series = series(table, colours);
    let (x, y) = (range(series.iter(), |point| point.0), decades(series.iter(), |point| point.1));
    let unit = table.figures.first().map_or("ns", |figure| figure.unit.as_str());
    titles(&root, table, unit)?;
    let (left, top, right, bottom) = MARGIN;
    let inner = root.margin(top, bottom, left, right);
    // The axes are drawn by hand: their marks are the sizes that were measured, and whole decades.
    let mut chart =
        ChartBuilder::on(&inner).build_cartesian_2d(x.0.log10()..x.1.log10(), y.0.log10()..y.1.log10())?;
    grid(&root, &mut chart, &table.sizes(), y, unit)?;
    // Ours lie on top, the broadest below the others.
    let (ours, theirs): (Vec<_>, Vec<_>) = series.iter().partition(|one| is_ours(one.who));
    for one in theirs.into_iter().chain(ours) {
        line(&mut chart, one)?;
    }
    names(&root, &chart, &series)?;
    root.present()?;
    drop(chart);
    Ok(())
}

fn series<'a>(table: &Table<'a>, colours: &Colours) -> Vec<Series<'a>> {
    let mut n_ours = 0;
    let mut series = Vec::new();
    for who in table.everybody() {
        let figures: Vec<&Figure> =
            table.figures.iter().copied().filter(|figure| figure.who == who).collect();
        let point = |figure: &&Figure| Some((figure.size? as f64, figure.shown()));
        let mut points: Vec<(f64, f64)> =
            figures.iter().filter_map(point).filter(|(size, value)| *size > 0.0 && *value > 0.0).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (colour, width) = if is_ours(who) {
            n_ours += 1;
            let colour = OURS.get(n_ours - 1).or(OURS.last()).copied().unwrap_or(INK);
            (colour, if n_ours == 1 { 5 } else { 3 })
        } else {
            (colours.of_peer(who), 2)
        };
        let is_cited = figures.iter().any(|figure| is_cited(figure));
        if !points.is_empty() {
            series.push(Series { who, colour, width, is_cited, points });
        }
    }
    series
}

fn titles(root: &DrawingArea<SVGBackend<'_>, Shift>, table: &Table<'_>, unit: &str) -> Result<(), Failed> {
    let measured = match unit {
        "bytes" => "memory",
        "per second" => "how many a second",
        _ => "time",
    };
    let name = super::capital(table.work);
    root.draw_text(&name, &style(24, INK, HPos::Left, VPos::Center).into_font_bold(), (24, 26))?;
    let axes = format!("{measured} against {}, both axes logarithmic", table::noun(table.work));
    root.draw_text(&axes, &style(16, PALE, HPos::Left, VPos::Center), (24, 50))?;
    let middle = (MARGIN.0 + SIZE.0 as i32 - MARGIN.2) / 2;
    let bottom = SIZE.1 as i32 - 18;
    root.draw_text(table::noun(table.work), &style(17, INK, HPos::Center, VPos::Center), (middle, bottom))?;
    let upwards = style(17, INK, HPos::Center, VPos::Center).transform(FontTransform::Rotate270);
    let middle = (MARGIN.1 + SIZE.1 as i32 - MARGIN.3) / 2;
    root.draw_text(measured, &upwards, (22, middle))?;
    Ok(())
}

fn grid(
    root: &DrawingArea<SVGBackend<'_>, Shift>,
    chart: &mut Chart<'_, '_>,
    sizes: &[u64],
    y: (f64, f64),
    unit: &str,
) -> Result<(), Failed> {
    let (left, right) = (MARGIN.0, SIZE.0 as i32 - MARGIN.2);
    let (top, bottom) = (MARGIN.1, SIZE.1 as i32 - MARGIN.3);
    let mut decade = y.0;
    while decade <= y.1 * 1.001 {
        let (_, at) = chart.backend_coord(&(0.0, decade.log10()));
        root.draw(&PathElement::new(vec![(left, at), (right, at)], GRID.stroke_width(1)))?;
        root.draw_text(&plain(decade, unit), &style(16, PALE, HPos::Right, VPos::Center), (left - 8, at))?;
        decade *= 10.0;
    }
    for size in sizes {
        let (at, _) = chart.backend_coord(&((*size as f64).log10(), y.0.log10()));
        root.draw(&PathElement::new(vec![(at, top), (at, bottom)], GRID.stroke_width(1)))?;
        let number = thousands(*size as f64);
        root.draw_text(&number, &style(16, PALE, HPos::Center, VPos::Top), (at, bottom + 8))?;
    }
    root.draw(&PathElement::new(vec![(left, bottom), (right, bottom)], PALE.stroke_width(1)))?;
    Ok(())
}

/// A decade needs no digits behind the point.
fn plain(decade: f64, unit: &str) -> String {
    told(decade, unit).replace(".0 ", " ")
}

fn line(chart: &mut Chart<'_, '_>, series: &Series<'_>) -> Result<(), Failed> {
    let points = || series.points.iter().map(|(size, value)| (size.log10(), value.log10()));
    if series.is_cited {
        let hollow = series.colour.stroke_width(2);
        chart.draw_series(points().map(|point| Circle::new(point, 5, hollow)))?;
        return Ok(());
    }
    chart.draw_series(LineSeries::new(points(), series.colour.stroke_width(series.width)))?;
    let radius = if series.width > 3 { 5 } else { 4 };
    chart.draw_series(points().map(|point| Circle::new(point, radius, series.colour.filled())))?;
    Ok(())
}

/// Names at the ends of their lines, apart from each other.
fn names(
    root: &DrawingArea<SVGBackend<'_>, Shift>,
    chart: &Chart<'_, '_>,
    series: &[Series<'_>],
) -> Result<(), Failed> {
    let mut ends: Vec<((i32, i32), &Series<'_>)> = series
        .iter()
        .filter_map(|one| {
            one.points.last().map(|end| (chart.backend_coord(&(end.0.log10(), end.1.log10())), one))
        })
        .collect();
    ends.sort_by_key(|((_, y), _)| *y);
    let wanted: Vec<i32> = ends.iter().map(|((_, y), _)| *y).collect();
    let places = apart(&wanted, MARGIN.1, SIZE.1 as i32 - MARGIN.3);
    let column = SIZE.0 as i32 - MARGIN.2 + 26;
    for (((x, y), one), place) in ends.iter().zip(places) {
        let way = vec![(x + 7, *y), (column - 10, place), (column - 4, place)];
        root.draw(&PathElement::new(way, one.colour.mix(0.45).stroke_width(1)))?;
        let colour = if is_ours(one.who) { OUR_NAMES } else { one.colour };
        let plain = style(16, colour, HPos::Left, VPos::Center);
        let font = if one.width > 3 { plain.into_font_bold() } else { plain };
        root.draw_text(one.who, &font, (column, place))?;
    }
    Ok(())
}

/// Heights as near as can be to those that are wanted, in their order, and never closer than a label is high.
fn apart(wanted: &[i32], top: i32, bottom: i32) -> Vec<i32> {
    let mut places: Vec<i32> = Vec::new();
    for want in wanted {
        let least = places.last().map_or(top, |last| last + LABEL_HEIGHT);
        places.push((*want).max(least));
    }
    let mut most = bottom;
    for place in places.iter_mut().rev() {
        *place = (*place).min(most);
        most = *place - LABEL_HEIGHT;
    }
    places
}

fn range<'a>(all: impl Iterator<Item = &'a Series<'a>>, of: fn(&(f64, f64)) -> f64) -> (f64, f64) {
    let values: Vec<f64> = all.flat_map(|one| one.points.iter().map(of)).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    if least < most { (least, most) } else { (1.0, 10.0) }
}

/// The whole decades around all values.
fn decades<'a>(all: impl Iterator<Item = &'a Series<'a>>, of: fn(&(f64, f64)) -> f64) -> (f64, f64) {
    let (least, most) = range(all, of);
    (10f64.powf(least.log10().floor()), 10f64.powf(most.log10().ceil()))
}

fn style(size: i32, colour: RGBColor, h: HPos, v: VPos) -> TextStyle<'static> {
    let mut style = TextStyle::from((FONT, size)).pos(Pos::new(h, v));
    style.color = colour.to_backend_color();
    style
}

/// The same text, heavier.
trait Heavier {
    fn into_font_bold(self) -> Self;
}

impl Heavier for TextStyle<'_> {
    fn into_font_bold(mut self) -> Self {
        self.font = self.font.style(FontStyle::Bold);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::made_up, *};

    #[test]
    fn a_plot_names_everybody_who_was_measured_and_both_axes() {
        let lines = made_up();
        let colours = Colours::of(&lines);
        for table in table::tables(&lines) {
            let svg = svg(&table, &colours).unwrap();
            for who in table.everybody() {
                assert!(svg.contains(who), "{who} is missing in {}", table.work);
            }
            for text in ["time", "rules", "10,000", "1 µs", "100 ms"] {
                assert!(svg.contains(&format!("\n{text}\n")), "{text} is missing:\n{svg}");
            }
            let lines = svg.matches("<polyline").count();
            assert!(lines >= table.everybody().len() - 1, "a line for everybody who is not cited: {lines}");
        }
    }

    #[test]
    fn names_keep_their_order_and_their_distance() {
        for wanted in
            [vec![], vec![300], vec![100, 101, 102, 300], vec![490, 495, 496, 496], vec![0, 0, 900, 900]]
        {
            let places = apart(&wanted, 72, 496);
            assert_eq!(places.len(), wanted.len());
            assert!(places.windows(2).all(|two| two[1] - two[0] >= LABEL_HEIGHT), "{places:?}");
            assert!(places.iter().all(|place| (72..=496).contains(place)), "{places:?}");
        }
        assert_eq!(apart(&[100, 200], 72, 496), [100, 200], "whoever has room stays");
    }

    #[test]
    fn a_system_keeps_its_colour_whatever_it_does() {
        let colours = Colours::of(&made_up());
        assert_eq!(colours.of_peer("PolicyShield"), colours.of_peer("PolicyShield, in memory"));
        assert_ne!(colours.of_peer("PolicyShield"), colours.of_peer("Cedar"));
    }
}
