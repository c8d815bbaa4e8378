//! NumPy `.npy` arrays and `.npz` bundles, read only, with every count checked against the bytes that are there.
//!
//! ```text
//! npy = "\x93NUMPY" major minor | header length | {'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), } | items
//! ```

use ndarray::{ArrayD, IxDyn, ShapeBuilder};

use crate::archive::Files;
use crate::{Error, Result};

/// Reads one array of numbers as `f64`. 64-bit integers beyond 2^53 are rounded.
///
/// ```
/// let mut f = b"\x93NUMPY\x01\x00\x46\x00".to_vec();
/// f.extend(format!("{:<69}\n", "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }").bytes());
/// f.extend([1, 0, 255, 255]);
/// assert_eq!(datasets::npy::read("a.npy", &f).unwrap().as_slice().unwrap(), [1.0, -1.0]);
/// ```
pub fn read(file: &str, bytes: &[u8]) -> Result<ArrayD<f64>> {
    let bad = |offset: usize, what: &str| Error::Format {
        file: file.to_string(),
        format: "a NumPy array",
        offset: offset as u64,
        what: what.to_string(),
    };
    if bytes.len() < 10 || !bytes.starts_with(b"\x93NUMPY") {
        return Err(bad(0, "does not begin with the NumPy mark"));
    }
    let (start, length) = match bytes[6] {
        1 => (10, usize::from(u16::from_le_bytes([bytes[8], bytes[9]]))),
        2 | 3 if bytes.len() >= 12 => (12, u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]) as usize),
        _ => return Err(bad(6, "a version this reader does not know")),
    };
    if length > bytes.len() - start {
        return Err(bad(8, "the header is cut short"));
    }
    let header = std::str::from_utf8(&bytes[start..start + length]).map_err(|_| bad(start, "the header is no text"))?;
    let descr = field(header, "descr").ok_or_else(|| bad(start, "no `descr` in the header"))?;
    let descr = descr.trim_matches(['\'', '"']);
    let fortran = field(header, "fortran_order").is_some_and(|f| f == "True");
    let shape = field(header, "shape").and_then(shape).ok_or_else(|| bad(start, "no `shape` in the header"))?;
    let items = &bytes[start + length..];
    let count =
        shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).ok_or_else(|| bad(start, "the shape overflows"))?;
    let values = items_of(descr, items, count).ok_or_else(|| {
        bad(start + length, &format!("{} bytes are not {count} items of type `{descr}`", items.len()))
    })?;
    ArrayD::from_shape_vec(IxDyn(&shape).set_f(fortran), values).map_err(|e| bad(start, &e.to_string()))
}

/// Reads the arrays of a bundle, by name (without `.npy`).
pub fn read_npz(file: &str, bytes: Vec<u8>) -> Result<Vec<(String, ArrayD<f64>)>> {
    let mut files = Files::from_zip_bytes(file, bytes)?;
    let names: Vec<String> = files.names().filter(|n| n.ends_with(".npy")).map(str::to_string).collect();
    names
        .iter()
        .map(|n| Ok((n.trim_end_matches(".npy").to_string(), read(&format!("{file}/{n}"), &files.read(n)?)?)))
        .collect()
}

/// The text of a value in the header's dictionary, up to the comma that ends it.
fn field<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let at = header.find(&format!("'{name}'"))? + name.len() + 2;
    let rest = header[at..].trim_start().strip_prefix(':')?.trim_start();
    let end = if rest.starts_with('(') { rest.find(')')? + 1 } else { rest.find([',', '}'])? };
    Some(rest[..end].trim())
}

fn shape(text: &str) -> Option<Vec<usize>> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let dims = inner.split(',').map(str::trim).filter(|d| !d.is_empty());
    let dims: Vec<usize> = dims.map(|d| d.parse().ok()).collect::<Option<_>>()?;
    (dims.len() <= 32).then_some(dims)
}

/// Decodes exactly `count` items, or nothing when the bytes do not fit the type and count.
fn items_of(descr: &str, raw: &[u8], count: usize) -> Option<Vec<f64>> {
    let big = descr.starts_with('>');
    let kind = descr.trim_start_matches(['<', '>', '|', '=']);
    macro_rules! each {
        ($t:ty) => {{
            let (words, rest) = raw.as_chunks::<{ size_of::<$t>() }>();
            if !rest.is_empty() || words.len() != count {
                return None;
            }
            let decode = if big { <$t>::from_be_bytes } else { <$t>::from_le_bytes };
            Some(words.iter().map(|w| decode(*w) as f64).collect())
        }};
    }
    match kind {
        "f8" => each!(f64),
        "f4" => each!(f32),
        "i1" => each!(i8),
        "u1" | "b1" => each!(u8),
        "i2" => each!(i16),
        "u2" => each!(u16),
        "i4" => each!(i32),
        "u4" => each!(u32),
        "i8" => each!(i64),
        "u8" => each!(u64),
        _ => None,
    }
}
