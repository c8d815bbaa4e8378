//! What a figure is, before layout: panels of curves, points or matrices, with title, data source and words for those
//! who cannot see it. One description gives SVG and PNG.

use ndarray::Array2;

use super::layout;
use crate::charts::axis::Axis;
use crate::charts::style::{Rgb, Stroke, Width};
use crate::drawing::paint;
use crate::drawing::scene::Scene;
use crate::error::Error;
use crate::frames::Summary;

pub use crate::source::Source;

/// A curve with optional error band.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Name in the legend; empty for none.
    pub name: String,
    /// Abscissae, ascending.
    pub x: Vec<f64>,
    /// Values; NaN leaves a gap.
    pub y: Vec<f64>,
    /// Lower and upper edge of the band, one per point.
    pub band: Option<(Vec<f64>, Vec<f64>)>,
    /// Colour, dash, marker; that of the first curve when `None`.
    pub stroke: Option<Stroke>,
}

impl Line {
    /// A curve through the means, with a band from the least to the largest value.
    pub fn summarised(name: impl Into<String>, points: &[(f64, Summary)]) -> Self {
        let of = |f: fn(&Summary) -> f64| points.iter().map(|p| f(&p.1)).collect::<Vec<_>>();
        let band = Some((of(|s| s.min), of(|s| s.max)));
        Line { name: name.into(), x: points.iter().map(|p| p.0).collect(), y: of(|s| s.mean), band, stroke: None }
    }

    pub(crate) fn look(&self) -> Stroke {
        self.stroke.unwrap_or(Stroke::nth(0))
    }
}

/// A cloud of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// Name in the legend; empty for none.
    pub name: String,
    /// Coordinates.
    pub at: Vec<(f64, f64)>,
    /// Colour and marker (dash is not used).
    pub stroke: Stroke,
}

/// A vertical line with a label above the panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Where.
    pub x: f64,
    /// Short label.
    pub label: String,
}

/// Curves and points over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Xy {
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Curves, drawn in order.
    pub lines: Vec<Line>,
    /// Points, drawn above curves.
    pub points: Vec<Points>,
    /// Vertical marks.
    pub marks: Vec<Mark>,
}

impl Xy {
    /// An empty panel with these axes.
    pub fn new(x: Axis, y: Axis) -> Self {
        Xy { x, y, lines: vec![], points: vec![], marks: vec![] }
    }
}

/// Groups of bars that begin at one: one group per case, one bar per series, each with its number.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Names under the groups.
    pub cases: Vec<String>,
    /// Name, and a value per case; NaN leaves the bar out.
    pub series: Vec<(String, Vec<f64>)>,
    /// Vertical axis.
    pub y: Axis,
}

/// A matrix as coloured cells; NaN is a missing cell and drawn hatched, never as a colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// Values.
    pub data: Array2<f64>,
    /// Side of blocks to outline, if any.
    pub block: Option<usize>,
    /// Label under the matrix.
    pub x_label: String,
    /// Label beside the matrix.
    pub y_label: String,
}

/// What a panel shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Curves and points.
    Xy(Xy),
    /// Groups of bars.
    Bars(Bars),
    /// A matrix.
    Heat(Heat),
}

/// One panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Title, after the panel's letter.
    pub title: String,
    /// What it shows.
    pub content: Content,
}

/// The colour scale that all matrices of a figure share.
#[derive(Clone, Debug, PartialEq)]
pub struct Colors {
    /// Quantity.
    pub label: String,
    /// Linear or logarithmic, and ends if fixed.
    pub axis: Axis,
}

/// An entry of the legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// What it is called.
    pub name: String,
    /// How it looks.
    pub look: Look,
}

/// The sample drawn in the legend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Look {
    /// A piece of the curve with its marker.
    Line(Stroke),
    /// The marker alone.
    Point(Stroke),
    /// A coloured box.
    Box(Rgb),
}

/// What stands below the title.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Panels in a grid of so many columns, each with a plotting area so many points high (matrices: as their shape asks).
    Panels {
        /// Row by row.
        panels: Vec<Panel>,
        /// Columns of the grid.
        columns: usize,
        /// Height of a plotting area.
        height: f64,
    },
    /// A free drawing (the partial trace, the graph of stages).
    Drawing(Scene),
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// File name without ending, and anchor in the report: `figure2`.
    pub id: String,
    /// Title line.
    pub title: String,
    /// Where the data come from; printed in the title line.
    pub source: Source,
    /// What the picture shows, in words, for those who cannot see it.
    pub alt: String,
    /// Caption for the report (not drawn).
    pub caption: String,
    /// One or two columns wide.
    pub width: Width,
    /// The panels.
    pub body: Body,
    /// Colour scale of matrices.
    pub colors: Option<Colors>,
    /// Legend; collected from the panels when `None`.
    pub legend: Option<Vec<Key>>,
    /// Each panel has a legend of its own below it (when panels show different things).
    pub own_legends: bool,
}

impl Figure {
    /// A figure of panels with the legend collected from them.
    pub fn panels(
        id: &str,
        title: &str,
        source: Source,
        width: Width,
        columns: usize,
        height: f64,
        panels: Vec<Panel>,
    ) -> Self {
        Self::of(id, title, source, width, Body::Panels { panels, columns, height })
    }

    /// A free drawing that shows no data.
    pub fn drawing(id: &str, title: &str, width: Width, drawing: Scene) -> Self {
        Self::of(id, title, Source::None, width, Body::Drawing(drawing))
    }

    fn of(id: &str, title: &str, source: Source, width: Width, body: Body) -> Self {
        let (id, title, alt, caption) = (id.into(), title.into(), String::new(), String::new());
        Figure { id, title, source, alt, caption, width, body, colors: None, legend: None, own_legends: false }
    }

    /// Set the words: alternative text and caption.
    pub fn words(mut self, alt: impl Into<String>, caption: impl Into<String>) -> Self {
        self.alt = alt.into();
        self.caption = caption.into();
        self
    }

    /// Lay out: the drawing both formats are made from.
    pub fn scene(&self) -> Result<Scene, Error> {
        layout::scene(self)
    }

    /// As SVG.
    pub fn svg(&self) -> Result<String, Error> {
        paint::svg(&self.scene()?, &self.title, &format!("{} {}", self.alt, self.source))
    }

    /// As PNG at 200 dpi.
    pub fn png(&self) -> Result<Vec<u8>, Error> {
        paint::png(&self.scene()?, &self.title)
    }
}
