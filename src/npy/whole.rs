//! Whole arrays through ndarray-npy, and items written piece by piece.

use crate::{Dtype, Header};
use ndarray::{Array, ArrayBase, Data, Dimension};
use ndarray_npy::{ReadNpyError, ReadNpyExt, ReadableElement, WritableElement, WriteNpyError, WriteNpyExt};
use std::io::{Read, Result, Write};

/// Reads an array whose type and number of axes are known. For files that this program wrote: a lying header may cost memory.
pub fn read<T: ReadableElement, D: Dimension>(from: impl Read) -> std::result::Result<Array<T, D>, ReadNpyError> {
    Array::read_npy(from)
}

/// Writes an array in the order in which it lies in memory if that is C or Fortran order, else in C order.
///
/// ```
/// let a = ndarray::array![[1.5, 2.0]];
/// let mut file = Vec::new();
/// npy::write(&mut file, &a).unwrap();
/// assert_eq!(npy::read::<f64, ndarray::Ix2>(&file[..]).unwrap(), a);
/// ```
pub fn write<T: WritableElement, S: Data<Elem = T>, D: Dimension>(
    to: &mut impl Write,
    array: &ArrayBase<S, D>,
) -> Result<()> {
    array.write_npy(to).map_err(|e| match e {
        WriteNpyError::Io(e) => e,
        other => std::io::Error::other(other),
    })
}

/// Writes a vector of texts, each as long as the longest.
pub fn write_words(to: &mut impl Write, words: &[&str]) -> Result<()> {
    let width = words.iter().map(|w| w.chars().count()).max().unwrap_or(0).max(1);
    to.write_all(&Header::new(Dtype::text(width), &[words.len()]).to_bytes())?;
    for word in words {
        let padded = word.chars().chain(std::iter::repeat('\0')).take(width);
        to.write_all(&padded.flat_map(|c| (c as u32).to_le_bytes()).collect::<Vec<u8>>())?;
    }
    Ok(())
}

/// Writes items as little-endian floats of four or eight bytes, after [`Header::to_bytes`](crate::Header::to_bytes).
pub fn write_floats<'a>(to: &mut impl Write, single: bool, values: impl IntoIterator<Item = &'a f64>) -> Result<()> {
    // Bytes are gathered before they are handed on: a zip computes a checksum in every call.
    const PIECE: usize = 1 << 16;
    let mut raw = Vec::with_capacity(PIECE);
    for value in values {
        match single {
            true => raw.extend((*value as f32).to_le_bytes()),
            false => raw.extend(value.to_le_bytes()),
        }
        if raw.len() + 8 > PIECE {
            to.write_all(&raw)?;
            raw.clear();
        }
    }
    to.write_all(&raw)
}
