//! Tables: chosen columns of a frame, written as Markdown, CSV, LaTeX and HTML, with as many digits as the deviation allows.

pub(crate) mod formats;
pub mod number;
pub mod table;
