//! The house style: sizes, palette, dashes and markers, in one place, so that all figures look like one hand drew them.
//!
//! Colours are Okabe and Ito's, safe for colour-blind readers; each comes with its own dash and marker, so curves can be told
//! apart in grey, too. Sizes are those of a two-column paper, in points (1/72 inch), so text is as large in print as in the text.

use plotters::style::RGBColor;

/// Width of a figure in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 3.25 inches.
    OneColumn,
    /// 6.75 inches.
    TwoColumns,
}

impl Width {
    /// In points.
    pub fn points(self) -> f64 {
        match self {
            Width::OneColumn => 3.25 * 72.0,
            Width::TwoColumns => 6.75 * 72.0,
        }
    }
}

/// An opaque colour.
pub type Rgb = RGBColor;

/// Text and axes.
pub const INK: Rgb = RGBColor(0x22, 0x22, 0x22);
/// Secondary text; 5.7:1 against white.
pub const SOFT: Rgb = RGBColor(0x63, 0x63, 0x63);
/// Grid lines.
pub const GRID: Rgb = RGBColor(0xe4, 0xe4, 0xe4);
/// Cells without a value.
pub const MISSING: Rgb = RGBColor(0xf2, 0xf2, 0xf2);
/// Hatching of cells without a value.
pub const HATCH: Rgb = RGBColor(0xa8, 0xa8, 0xa8);
/// The word SIMULATED; 5.6:1 against white.
pub const WARN: Rgb = RGBColor(0xb3, 0x3c, 0x00);
/// Background.
pub const PAPER: Rgb = RGBColor(0xff, 0xff, 0xff);

/// Okabe-Ito, strongest first; yellow is left out because it vanishes on white.
pub const PALETTE: [Rgb; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x22, 0x22, 0x22),
];

/// Dash patterns: lengths of dash and gap in points; the first is solid.
pub const DASHES: [(f64, f64); 5] = [(0.0, 0.0), (5.0, 2.0), (1.4, 1.6), (9.0, 3.0), (2.8, 1.4)];

/// Marker shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// Filled disc.
    Disc,
    /// Filled square.
    Square,
    /// Filled triangle.
    Triangle,
    /// Filled diamond.
    Diamond,
    /// Open circle.
    Ring,
    /// Upside-down triangle.
    Down,
    /// Diagonal cross.
    Cross,
}

/// Markers in the palette's order.
pub const MARKERS: [Marker; 7] =
    [Marker::Disc, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Ring, Marker::Down, Marker::Cross];

/// How one curve or group is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// Colour.
    pub color: Rgb,
    /// Index into [`DASHES`].
    pub dash: usize,
    /// Marker at each point, if any.
    pub marker: Option<Marker>,
    /// Line width in points.
    pub width: f64,
}

impl Stroke {
    /// The style of the `i`-th curve: colour, dash and marker all change together.
    pub fn nth(i: usize) -> Self {
        Stroke {
            color: PALETTE[i % PALETTE.len()],
            dash: i % DASHES.len(),
            marker: Some(MARKERS[i % MARKERS.len()]),
            width: 1.1,
        }
    }

    /// Colour by one property and dash by another, for two crossed factors (size and rank, say).
    pub fn crossed(color: usize, dash: usize) -> Self {
        Stroke {
            color: PALETTE[color % PALETTE.len()],
            dash: dash % DASHES.len(),
            marker: Some(MARKERS[(color + 3 * dash) % MARKERS.len()]),
            width: 1.1,
        }
    }

    /// A reference line: thin, dark, dashed, without markers.
    pub fn reference() -> Self {
        Stroke { color: INK, dash: 1, marker: None, width: 0.8 }
    }
}

/// Font sizes in points.
pub mod size {
    /// Tick labels and notes.
    pub const TICK: f64 = 6.8;
    /// Axis labels and legends.
    pub const LABEL: f64 = 7.6;
    /// Panel titles.
    pub const PANEL: f64 = 7.8;
    /// The title line.
    pub const TITLE: f64 = 8.4;
}

/// Viridis, `t` in [0, 1].
pub fn viridis(t: f64) -> Rgb {
    use plotters::style::colors::colormaps::ViridisRGB;
    ViridisRGB::get_color(if t.is_finite() { t.clamp(0.0, 1.0) } else { 0.0 })
}

/// Relative luminance after WCAG 2, used to put dark text on light cells and light text on dark ones.
pub fn luminance(c: Rgb) -> f64 {
    let f = |v: u8| {
        let s = f64::from(v) / 255.0;
        if s <= 0.04045 { s / 12.92 } else { ((s + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * f(c.0) + 0.7152 * f(c.1) + 0.0722 * f(c.2)
}
