//! The graph of stages as an SVG: layers from left to right, each stage right of all it needs.

use super::dag::caption;
use pipeline::Plan;
use std::fmt::Write;

const BOX: (f64, f64) = (150.0, 44.0);
const GAP: (f64, f64) = (60.0, 18.0);
const MARGIN: f64 = 16.0;

/// Draw it.
pub fn draw(plan: &Plan) -> String {
    let named = |name: &String| plan.stages.iter().position(|s| s.name == *name);
    let needs: Vec<Vec<usize>> = plan.stages.iter().map(|s| s.needs.iter().filter_map(named).collect()).collect();
    let place = layout(&needs);
    let corner = |i: usize| {
        let (column, row) = place[i];
        (MARGIN + column as f64 * (BOX.0 + GAP.0), MARGIN + row * (BOX.1 + GAP.1))
    };
    let width = (0..place.len()).map(|i| corner(i).0 + BOX.0).fold(0.0, f64::max) + MARGIN;
    let height = (0..place.len()).map(|i| corner(i).1 + BOX.1).fold(0.0, f64::max) + MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<title>stages of the pipeline</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for (i, upstream) in needs.iter().enumerate() {
        let (x1, y1) = (corner(i).0, corner(i).1 + BOX.1 / 2.0);
        for &j in upstream {
            let (x0, y0) = (corner(j).0 + BOX.0, corner(j).1 + BOX.1 / 2.0);
            let middle = (x0 + x1) / 2.0;
            let _ = writeln!(
                out,
                "<path d=\"M{x0} {y0} C{middle} {y0} {middle} {y1} {x1} {y1}\" fill=\"none\" stroke=\"#7a8ba3\" stroke-width=\"1.5\"/>"
            );
        }
    }
    for (i, stage) in plan.stages.iter().enumerate() {
        let (x, y) = corner(i);
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"#eef3fa\" stroke=\"#3b5b8c\"/>\
             <text x=\"{cx}\" y=\"{}\" text-anchor=\"middle\" font-weight=\"bold\">{}</text>\
             <text x=\"{cx}\" y=\"{}\" text-anchor=\"middle\" font-size=\"11\" fill=\"#555555\">{}</text>",
            BOX.0,
            BOX.1,
            y + 19.0,
            escape(&stage.name),
            y + 35.0,
            escape(&caption(stage)),
            cx = x + BOX.0 / 2.0,
        );
    }
    out + "</svg>\n"
}

/// Column and row of each stage; the stages of a column are centred.
fn layout(needs: &[Vec<usize>]) -> Vec<(usize, f64)> {
    let columns = report::figures::layers(needs);
    let most = columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut places = vec![(0, 0.0); needs.len()];
    for (c, column) in columns.iter().enumerate() {
        for (r, &stage) in column.iter().enumerate() {
            places[stage] = (c, r as f64 + (most - column.len()) as f64 / 2.0);
        }
    }
    places
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
