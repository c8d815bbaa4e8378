//! Drawing: shapes in points, the embedded font, the backend that plotters draws on, and the writers of SVG, PNG and terminal text.
//!
//! A file belongs here when it puts ink on a canvas and does not know what the ink means.

pub mod backend;
pub mod font;
pub mod paint;
pub mod png;
pub mod scene;
mod svg;
pub mod term;
