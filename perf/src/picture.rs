//! Time over size on logarithmic axes: a panel for each group of operations and number of PEs.

use crate::args::Args;
use crate::catalogue::Group;
use crate::measure::Chunk;
use crate::report::{Figure, Report, Row};
use anyhow::{Result, anyhow, bail};
use plotters::coord::Shift;
use plotters::prelude::*;

const PANEL: (u32, u32) = (720, 440);
/// Panels in a row of the picture.
const ACROSS: usize = 2;
/// The height of the heading.
const HEADING: u32 = 50;

/// Colours that are distinct for all kinds of colour vision (Okabe and Ito).
const COLORS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    BLACK,
];

/// A panel: the group and the number of PEs of its curves.
type Key = (Group, u32);

/// Returns an error before measuring if there would be no curve.
pub(crate) fn check(args: &Args, chunks: &[Chunk]) -> Result<()> {
    let has_curve = |chunk: &Chunk| {
        let cases = &chunk.cases;
        cases.iter().any(|case| {
            let sizes = cases
                .iter()
                .filter(|other| other.operation == case.operation);
            sizes.count() > 1
        })
    };
    if args.picture.is_some() && !chunks.iter().any(has_curve) {
        bail!(
            "--picture draws time over size, but no operation is measured with more than one size"
        );
    }
    Ok(())
}

/// The picture as SVG.
pub(crate) fn draw(report: &Report) -> Result<String> {
    let mut panels: Vec<(Key, Vec<&'static str>)> = Vec::new();
    for row in &report.operations {
        let key = (row.operation.group, row.n_pes);
        let name = row.operation.name;
        if points(report, key, name, |row| Some(&row.ours)).len() < 2 {
            continue;
        }
        match panels.iter_mut().find(|(other, _)| *other == key) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => panels.push((key, vec![name])),
        }
    }
    if panels.is_empty() {
        bail!("there is no curve to draw: no operation has figures for more than one size");
    }
    let down = panels.len().div_ceil(ACROSS);
    let across = panels.len().min(ACROSS);
    let size = (PANEL.0 * across as u32, PANEL.1 * down as u32 + HEADING);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(failed)?;
        let (heading, body) = root.split_vertically(HEADING);
        let sides = match report.peer {
            Some(peer) => format!("nvshmemrs (solid) and {peer} (dashed)"),
            None => "nvshmemrs".to_owned(),
        };
        let title = format!("{sides}: microseconds per call over bytes");
        heading
            .draw(&Text::new(title, (20, 10), ("sans-serif", 20)))
            .map_err(failed)?;
        heading
            .draw(&Text::new(
                report.machine.line(),
                (20, 34),
                ("sans-serif", 12),
            ))
            .map_err(failed)?;
        for (area, (key, names)) in body.split_evenly((down, across)).iter().zip(&panels) {
            panel(report, area, *key, names)?;
        }
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

/// The points of one curve.
fn points<'a>(
    report: &'a Report,
    key: Key,
    name: &str,
    figure: impl Fn(&'a Row) -> Option<&'a Figure>,
) -> Vec<(f64, f64)> {
    let rows = report
        .operations
        .iter()
        .filter(|row| (row.operation.group, row.n_pes) == key && row.operation.name == name);
    let mut points: Vec<(f64, f64)> = rows
        .filter_map(|row| Some((row.bytes as f64, figure(row)?.us()?)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn panel(
    report: &Report,
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    key: Key,
    names: &[&'static str],
) -> Result<()> {
    let ours = |name| points(report, key, name, |row| Some(&row.ours));
    let peer = |name| points(report, key, name, |row| row.peer.as_ref());
    let all: Vec<(f64, f64)> = names
        .iter()
        .flat_map(|name| [ours(name), peer(name)].concat())
        .collect();
    let (x, y) = (
        range(all.iter().map(|p| p.0), 1.0),
        range(all.iter().map(|p| p.1), 1.5),
    );
    let title = format!("{}, {} PEs", key.0.title(), key.1);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 16))
        .margin(10)
        .margin_right(25)
        .x_label_area_size(36)
        .y_label_area_size(62)
        .build_cartesian_2d(
            (x.0..x.1)
                .log_scale()
                .base(2.0)
                .with_key_points(ticks(x, 8.0)),
            (y.0..y.1).log_scale().with_key_points(ticks(y, 10.0)),
        )
        .map_err(failed)?;
    chart
        .configure_mesh()
        .x_desc("bytes")
        .y_desc("us per call")
        .x_label_formatter(&|bytes| binary(*bytes))
        .y_label_formatter(&|us| format!("{us}"))
        .light_line_style(TRANSPARENT)
        .draw()
        .map_err(failed)?;
    for (index, name) in names.iter().enumerate() {
        let color = COLORS[index % COLORS.len()];
        chart
            .draw_series(LineSeries::new(ours(name), color.stroke_width(2)).point_size(2))
            .map_err(failed)?
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        chart
            .draw_series(DashedLineSeries::new(
                peer(name),
                5,
                4,
                color.stroke_width(2),
            ))
            .map_err(failed)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", 13))
        .draw()
        .map_err(failed)
}

/// The range of the values, extended by a factor at both ends.
fn range(values: impl Iterator<Item = f64>, margin: f64) -> (f64, f64) {
    let (low, high) = values.fold((f64::MAX, f64::MIN_POSITIVE), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    (low / margin, high * margin)
}

/// The powers of `step` in a range.
fn ticks(range: (f64, f64), step: f64) -> Vec<f64> {
    // A power at the edge must not be lost to rounding.
    let first = (range.0.log(step) - 1e-9).ceil() as i32;
    let last = (range.1.log(step) + 1e-9).floor() as i32;
    (first..=last).map(|power| step.powi(power)).collect()
}

/// Bytes as in 64, 4K, 1M.
fn binary(bytes: f64) -> String {
    let units = [("M", 1_048_576.0), ("K", 1024.0)];
    let unit = units.iter().find(|(_, size)| bytes >= *size);
    unit.map_or(format!("{bytes}"), |(unit, size)| {
        format!("{}{unit}", bytes / size)
    })
}

fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("cannot draw: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_powers_within_the_range() {
        assert_eq!(ticks((0.004, 120.0), 10.0), [0.01, 0.1, 1.0, 10.0, 100.0]);
        assert_eq!(ticks((8.0, 512.0), 8.0), [8.0, 64.0, 512.0]);
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!([8.0, 4096.0, 2_097_152.0].map(binary), ["8", "4K", "2M"]);
    }
}
