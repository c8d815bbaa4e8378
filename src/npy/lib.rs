//! numpy files: the only code of the project that reads or writes `.npy` and `.npz`.
//!
//! ```text
//! npy = "\x93NUMPY" major minor | header length | {'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), } | items
//! npz = zip of files NAME.npy
//! ```
//!
//! | to do | use | done by |
//! |---|---|---|
//! | write a whole array | [`write()`] | ndarray-npy |
//! | read an array whose type is known (an artefact of ours) | [`read`] | ndarray-npy |
//! | read an array of any number type as `f64`, whole or a few rows at a time | [`Reader`] | ours |
//! | write an array piece by piece | [`Header::to_bytes`], then [`write_floats`] | ours |
//! | read and write `.npz` | [`NpzReader`], [`NpzWriter`] | zip, and the above for the members |
//!
//! Ours is only what ndarray-npy does not do: it checks no size before it allocates, converts no number types, and
//! reads no part of an array. The bytes that both write are the same; a test holds them together.
//!
//! # What is trusted
//! Nothing that is read. A header is limited in length, and the items it promises are compared with the bytes that are there before
//! anything is allocated. Every error names the file and says what to do.
#![warn(missing_docs)]

mod dtype;
mod error;
mod header;
mod npz;
mod reader;
mod whole;

pub use dtype::Dtype;
pub use error::{Defect, Error, Result};
pub use header::Header;
pub use ndarray_npy::{ReadableElement, WritableElement};
pub use npz::{Array, Member, NpzReader, NpzWriter};
pub use reader::Reader;
pub use whole::{read, write, write_floats, write_words};

/// The lengths of the axes as people write them, for example `30 x 6 x 6`.
pub fn shape_text(shape: &[usize]) -> String {
    if shape.is_empty() { "()".into() } else { shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ") }
}
