//! The graph of stages as an SVG: layers from left to right, each stage right of all it needs.

use super::dag::caption;
use pipeline::Plan;
use std::fmt::Write;

const BOX: (f64, f64) = (150.0, 44.0);
const GAP: (f64, f64) = (60.0, 18.0);
const MARGIN: f64 = 16.0;

/// Draw it.
pub fn draw(plan: &Plan) -> String {
    let place = layout(plan);
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
    for i in 0..plan.stages.len() {
        let (x1, y1) = (corner(i).0, corner(i).1 + BOX.1 / 2.0);
        for j in needs(plan, i) {
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

fn needs(plan: &Plan, stage: usize) -> impl Iterator<Item = usize> {
    plan.stages[stage].needs.iter().filter_map(|n| plan.stages.iter().position(|s| s.name == *n))
}

/// Column (longest way from a source) and row of each stage. Rows follow the mean row of what a stage needs, so that
/// chains run straight where they can.
fn layout(plan: &Plan) -> Vec<(usize, f64)> {
    let mut column = vec![0usize; plan.stages.len()];
    for i in 0..plan.stages.len() {
        // `needs` point backwards: the plan lists each stage after the ones it needs.
        column[i] = needs(plan, i).map(|j| column[j] + 1).max().unwrap_or(0);
    }
    let mut row = vec![0.0f64; plan.stages.len()];
    for c in 0..=column.iter().copied().max().unwrap_or(0) {
        let mut here: Vec<(f64, usize)> = Vec::new();
        for i in (0..plan.stages.len()).filter(|&i| column[i] == c) {
            let rows: Vec<f64> = needs(plan, i).map(|j| row[j]).collect();
            here.push((rows.iter().sum::<f64>() / rows.len().max(1) as f64, i));
        }
        here.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut free = 0.0;
        for (wish, i) in here {
            row[i] = wish.max(free);
            free = row[i] + 1.0;
        }
    }
    column.into_iter().zip(row).collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
