//! The header: what the items are, how many there are, and where they begin.

use crate::{Defect, Dtype, Error, Result, shape_text};
use std::io::Read;

/// What a `.npy` file says about its items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Type of the items.
    pub dtype: Dtype,
    /// Whether the first axis runs fastest.
    pub fortran: bool,
    /// Lengths of the axes.
    pub shape: Vec<usize>,
    /// Bytes before the items.
    pub(crate) start: u64,
}

/// Longest header that is read; numpy's own limit is 10,000 bytes.
const MAX_HEADER: usize = 1 << 16;
/// Most axes that numpy can have.
const MAX_AXES: usize = 32;
/// The items begin at a multiple of this, as numpy and ndarray-npy write them.
const ALIGNMENT: usize = 64;

impl Header {
    /// The header of an array in C order.
    pub fn new(dtype: Dtype, shape: &[usize]) -> Header {
        Header { dtype, fortran: false, shape: shape.to_vec(), start: 0 }
    }

    /// Reads a header and leaves `r` at the first item. `file` is the name used in messages.
    pub fn read(file: &str, r: &mut impl Read) -> Result<Header> {
        let bad = |defect| Error::new(file, defect);
        let mut head = [0u8; 12];
        fill(file, r, &mut head[..10], Defect::NotNpy)?;
        if &head[..6] != b"\x93NUMPY" {
            return Err(bad(Defect::NotNpy));
        }
        let (prefix, length) = match head[6] {
            1 => (10, usize::from(u16::from_le_bytes([head[8], head[9]]))),
            2 | 3 => {
                fill(file, r, &mut head[10..], Defect::NotNpy)?;
                (12, u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize)
            }
            version => return Err(bad(Defect::Version(version))),
        };
        if length > MAX_HEADER {
            return Err(bad(Defect::LongHeader(length)));
        }
        let mut text = vec![0; length];
        fill(file, r, &mut text, Defect::CutHeader)?;
        let text = String::from_utf8_lossy(&text);
        let field = |key: &'static str| field(&text, key).ok_or_else(|| bad(Defect::NoField(key)));
        let code = field("descr")?.trim_matches(['\'', '"']);
        let dtype = Dtype::parse(code).ok_or_else(|| bad(Defect::Type(code.to_owned())))?;
        let fortran = field("fortran_order")? == "True";
        let shape = axes(field("shape")?).ok_or_else(|| bad(Defect::Shape))?;
        Ok(Header { dtype, fortran, shape, start: (prefix + length) as u64 })
    }

    /// Number of items, and bytes of them, if `there` bytes hold them.
    pub(crate) fn fits(&self, file: &str, there: u64) -> Result<(usize, u64)> {
        let size = self.dtype.size();
        let items = self.shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
        let bytes = items.and_then(|n| (n as u64).checked_mul(size as u64));
        match (items, bytes) {
            (Some(items), Some(bytes)) if bytes <= there => Ok((items, bytes)),
            _ => Err(Error::new(file, Defect::CutShort { shape: shape_text(&self.shape), size, there })),
        }
    }

    /// Bytes of all items. A header that was read from a file has been checked against its length.
    pub fn bytes(&self) -> u64 {
        self.shape.iter().fold(self.dtype.size() as u64, |n, d| n.saturating_mul(*d as u64))
    }

    /// The bytes before the items, in format 1.0.
    pub fn to_bytes(&self) -> Vec<u8> {
        let shape = match self.shape.as_slice() {
            [n] => format!("({n},)"),
            shape => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
        };
        let order = if self.fortran { "True" } else { "False" };
        let mut text = format!("{{'descr': '{}', 'fortran_order': {order}, 'shape': {shape}, }}", self.dtype);
        // The mark, the version and the length take 10 bytes, and the line ends with a newline.
        let padding = ALIGNMENT - (10 + text.len() + 1) % ALIGNMENT;
        text.extend(std::iter::repeat_n(' ', padding));
        text.push('\n');
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend((text.len() as u16).to_le_bytes()); // 32 axes of 20 digits are far below 2^16
        out.extend(text.as_bytes());
        out
    }
}

/// Fills the buffer; `defect` is what it means when the file ends before.
fn fill(file: &str, r: &mut impl Read, buffer: &mut [u8], defect: Defect) -> Result<()> {
    r.read_exact(buffer).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::new(file, defect),
        _ => Error::new(file, Defect::Io(e)),
    })
}

/// The text of a value in the header's dictionary.
fn field<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let at = header.find(&format!("'{name}'"))? + name.len() + 2;
    let rest = header[at..].trim_start().strip_prefix(':')?.trim_start();
    let end = if rest.starts_with('(') { rest.find(')')? + 1 } else { rest.find([',', '}'])? };
    Some(rest[..end].trim())
}

fn axes(text: &str) -> Option<Vec<usize>> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let axes = inner.split(',').map(|d| d.trim().trim_end_matches('L')).filter(|d| !d.is_empty());
    let axes: Vec<usize> = axes.map(|d| d.parse().ok()).collect::<Option<_>>()?;
    (axes.len() <= MAX_AXES).then_some(axes)
}
