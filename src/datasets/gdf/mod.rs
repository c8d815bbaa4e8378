//! GDF, the General Data Format for biosignals, versions 1.x and 2.x.
//!
//! ```text
//! file = fixed header (256 bytes) | 256 bytes per channel | records | event table
//! record = for each channel, its samples of one record, little endian
//! physical = (digital - digital_min) * (physical_max - physical_min) / (digital_max - digital_min) + physical_min
//! ```
//!
//! Reference: A. Schloegl, "GDF - a general data format for biosignals", arXiv cs/0608052, and its successors 2.x.
//! [`GdfReader`] reads the records in blocks; every size and count is checked against the length of the file before
//! anything is allocated. Digital values at or beyond the digital limits mean overflow or lost samples and become NaN.
//! [`GdfWriter`] writes version 2.20 with 16-bit samples, which is what the simulated recordings use.
//! Not here: the tag-length-value header block of 2.1 and later (skipped), 128-bit floats and odd bit widths (refused).

mod events;
mod header;
mod read;
mod sample;
mod trials;
mod write;

pub use events::Event;
pub use header::{Channel, Header};
pub use read::{GdfReader, Overflow};
pub use sample::SampleType;
pub use trials::{MarkedTrial, MarkedTrials, TrialCodes};
pub use write::{GdfWriter, UNIT_MICROVOLT};

use crate::Error;

/// An error in a GDF file at `offset`.
pub(crate) fn bad(file: &str, offset: u64, what: impl Into<String>) -> Error {
    Error::Format { file: file.to_string(), format: "GDF", offset, what: what.into() }
}
