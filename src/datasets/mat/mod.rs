//! MATLAB v5 files (`.mat` written by `save -v6` and `-v7`, or by scipy).
//!
//! ```text
//! file = 128 bytes of header | elements;  element = type, size, data padded to 8 bytes
//! variable = matrix element(flags, dimensions, name, contents), possibly wrapped in a zlib-compressed element
//! ```
//!
//! Reference: "MAT-File Format", The MathWorks. Numeric arrays of every class, char, cell and struct arrays are
//! read, in both byte orders. Sparse, object and function arrays become [`Value::Unsupported`], so that one of them does not
//! hide the other variables. Not here: v4 files, and v7.3 files (those are HDF5; the error names the conversion).
//!
//! Sizes are checked against what is left of the element that holds them before anything is allocated. A compressed
//! element may unpack to at most [`MAX_RATIO`] times its size (1 MiB is always allowed).

mod element;
mod matrix;
mod value;

pub use value::{Numeric, Value};

use crate::{Error, Result};

/// How many times its size a compressed element may unpack to.
pub const MAX_RATIO: u64 = 100;

/// Reads all variables of a file, in file order. `file` is the name used in messages.
///
/// ```
/// // 128 bytes of header, then one uncompressed variable `x` = [1 2 3] of class double, stored as bytes.
/// let mut f = [b' '; 124].to_vec();
/// f.extend([0, 1, b'I', b'M']);
/// f.extend([14, 0, 0, 0, 48, 0, 0, 0]); // matrix, 48 bytes
/// f.extend([6, 0, 0, 0, 8, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0]); // flags: double
/// f.extend([5, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0]); // 1 x 3
/// f.extend([1, 0, 1, 0, b'x', 0, 0, 0]); // name, small element
/// f.extend([2, 0, 3, 0, 1, 2, 3, 0]); // three bytes, small element
/// let vars = datasets::mat::read("x.mat", &f).unwrap();
/// assert_eq!(vars[0].0, "x");
/// assert_eq!(vars[0].1.numeric().unwrap().data, [1.0, 2.0, 3.0]);
/// ```
pub fn read(file: &str, bytes: &[u8]) -> Result<Vec<(String, Value)>> {
    let hdf5 = |at: usize| bytes.get(at..at + 8) == Some(b"\x89HDF\r\n\x1a\n");
    if hdf5(0) || hdf5(512) {
        let what = "a MATLAB v7.3 file (HDF5), which is not read here; in MATLAB: save(\"FILE.mat\", \"-v7\"), or in Python: \
            scipy.io.savemat(\"NEW.mat\", {\"NAME\": h5py.File(\"FILE.mat\")[\"NAME\"][()].T})";
        return Err(Error::dataset(file, what));
    }
    if bytes.len() < 128 {
        return Err(bad(file, 0, "shorter than the 128 bytes of the header"));
    }
    let big = match &bytes[126..128] {
        b"IM" => false,
        b"MI" => true,
        _ => return Err(bad(file, 126, "no byte-order mark; only MATLAB v5 files are read (save -v7)")),
    };
    let version = if big { bytes[124] } else { bytes[125] };
    if version != 1 {
        return Err(bad(file, 124, format!("version {version}; only MATLAB v5 files are read (save -v7)")));
    }
    let mut cursor = element::Cursor::new(file, &bytes[128..], 128, big);
    let mut variables = Vec::new();
    while !cursor.is_empty() {
        let e = cursor.element()?;
        match e.kind {
            element::MATRIX => variables.push(matrix::read(&e, 0)?),
            element::COMPRESSED => {
                let unpacked = element::inflate(&e)?;
                let mut inner = element::Cursor::new(file, &unpacked, 0, big);
                let e = inner.element()?;
                if e.kind == element::MATRIX {
                    variables.push(matrix::read(&e, 0)?);
                }
            }
            _ => {} // Other elements at the top level hold no variables.
        }
    }
    Ok(variables)
}

fn bad(file: &str, offset: u64, what: impl Into<String>) -> Error {
    Error::Format { file: file.to_string(), format: "a MATLAB v5 file", offset, what: what.into() }
}
