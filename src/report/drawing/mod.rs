//! Drawing: shapes in points, the embedded font, and the writers of SVG, PNG and terminal text.
//!
//! A file belongs here when it puts ink on a canvas and does not know what the ink means.

pub mod font;
pub mod paint;
pub mod png;
pub mod scene;
pub mod svg;
pub mod term;
