//! Completed matrices side by side on one colour scale (figures 3, 4 and 5).

use ndarray::Array2;

use crate::charts::axis::Axis;
use crate::charts::figure::{Colors, Content, Figure, Heat, Panel, Source};
use crate::charts::style::Width;

/// Panels of matrices with a shared colour bar; NaN cells are missing. `block` outlines q x q blocks.
pub fn completion(
    id: &str,
    title: &str,
    panels: &[(String, Array2<f64>)],
    columns: usize,
    block: Option<usize>,
    source: Source,
) -> Figure {
    let made = panels
        .iter()
        .map(|(title, data)| Panel {
            title: title.clone(),
            content: Content::Heat(Heat { data: data.clone(), block, x_label: String::new(), y_label: String::new() }),
        })
        .collect();
    let width = if columns <= 2 { Width::OneColumn } else { Width::TwoColumns };
    let mut f = Figure::panels(id, title, source, width, columns, 110.0, made);
    f.colors = Some(Colors { label: "value".into(), axis: Axis::linear("") });
    let names: Vec<&str> = panels.iter().map(|p| p.0.as_str()).collect();
    f.words(format!("Matrices on one colour scale: {}. Missing cells are hatched.", names.join("; ")), "")
}
