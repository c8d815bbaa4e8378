//! One .npy file, open for reading in pieces: the header is checked against the file before anything is read.
//!
//! `datasets::npy` reads whole files that fit in memory; this reads samples `a..b` along the first axis by seeking, so that a file
//! larger than memory costs one block. C and Fortran order, little and big endian, floats of 4 and 8 bytes and
//! integers; everything becomes `f64`.

use super::times;
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// An open array file.
#[derive(Debug)]
pub struct Npy {
    path: PathBuf,
    file: File,
    /// Lengths of the axes.
    pub shape: Vec<usize>,
    kind: Kind,
    big: bool,
    fortran: bool,
    start: u64,
}

/// Type of the items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    F4,
    F8,
    I1,
    U1,
    I2,
    U2,
    I4,
    U4,
    I8,
    U8,
}

impl Kind {
    const ALL: [(&'static str, Kind, usize); 11] = [
        ("f4", Kind::F4, 4),
        ("f8", Kind::F8, 8),
        ("i1", Kind::I1, 1),
        ("u1", Kind::U1, 1),
        ("b1", Kind::U1, 1),
        ("i2", Kind::I2, 2),
        ("u2", Kind::U2, 2),
        ("i4", Kind::I4, 4),
        ("u4", Kind::U4, 4),
        ("i8", Kind::I8, 8),
        ("u8", Kind::U8, 8),
    ];

    fn size(self) -> usize {
        Self::ALL.iter().find(|k| k.1 == self).map_or(8, |k| k.2) // every kind is in the list
    }
}

/// Longest header that is read; numpy's own limit is 10000.
const MAX_HEADER: usize = 1 << 16;

impl Npy {
    /// Opens a file and checks that all the items its header promises are there.
    pub fn open(path: &Path) -> Result<Npy> {
        let name = path.display();
        let mut file = File::open(path).with_context(|| format!("{name} cannot be read"))?;
        let length = file.metadata().with_context(|| format!("{name} cannot be read"))?.len();
        let mut head = [0u8; 12];
        let not_npy = || format!("{name} is no .npy file; write it with numpy.save");
        file.read_exact(&mut head[..10]).map_err(|_| anyhow!(not_npy()))?;
        ensure!(&head[..6] == b"\x93NUMPY", "{}", not_npy());
        let (start, header) = match head[6] {
            1 => (10, usize::from(u16::from_le_bytes([head[8], head[9]]))),
            2 | 3 => {
                file.read_exact(&mut head[10..]).map_err(|_| anyhow!(not_npy()))?;
                (12, u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize)
            }
            v => bail!("{name} has .npy format {v}, which is not known here; write it with numpy.save"),
        };
        ensure!(header <= MAX_HEADER, "{name} has a header of {header} bytes; write it with numpy.save");
        let mut text = vec![0; header];
        file.read_exact(&mut text).map_err(|_| anyhow!("{name} ends inside its header; copy or save it again"))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let field = |key: &str| field(&text, key).with_context(|| format!("{name} has no `{key}` in its header"));
        let descr = field("descr")?.trim_matches(['\'', '"']);
        let plain = descr.trim_start_matches(['<', '>', '|', '=']);
        let Some(&(_, kind, size)) = Kind::ALL.iter().find(|k| k.0 == plain) else {
            bail!("{name} holds items of type `{descr}`; convert them with .astype(\"float64\")");
        };
        let fortran = field("fortran_order")? == "True";
        let shape = dims(field("shape")?).with_context(|| format!("{name} has a shape that cannot be read"))?;
        let items = shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d as u64));
        let start = start + header as u64;
        let bytes = items.and_then(|n| n.checked_mul(size as u64)).and_then(|b| b.checked_add(start));
        if bytes.is_none_or(|b| b > length) {
            let (there, promised) = (length - start, times(&shape));
            bail!(
                "{name} is cut short: {promised} items of {size} bytes are promised, {there} bytes are there; copy or save it again"
            );
        }
        Ok(Npy { path: path.into(), file, shape, kind, big: descr.starts_with('>'), fortran, start })
    }

    /// Whether the items are 4-byte floats.
    pub fn single(&self) -> bool {
        self.kind == Kind::F4
    }

    /// Bytes of all items.
    pub fn bytes(&self) -> u64 {
        self.shape.iter().product::<usize>() as u64 * self.kind.size() as u64
    }

    /// Items `range` along the first axis, in C order.
    pub fn rows(&mut self, range: Range<usize>) -> Result<Vec<f64>> {
        let (first, rest) = match self.shape.split_first() {
            Some((first, rest)) => (*first, rest.to_vec()),
            None => (1, vec![]),
        };
        let (n, each) = (range.len(), rest.iter().product::<usize>());
        if !self.fortran || rest.is_empty() {
            let mut out = Vec::with_capacity(n * each);
            self.read(range.start * each, n * each, &mut |v| out.push(v))?;
            return Ok(out);
        }
        // In Fortran order the first axis runs fastest: one run of n items for each position in the other axes.
        let mut out = vec![0.0; n * each];
        let mut at = vec![0usize; rest.len()];
        for position in 0..each {
            let c = at.iter().zip(&rest).fold(0, |c, (i, d)| c * d + i);
            let mut s = 0;
            self.read(position * first + range.start, n, &mut |v| {
                out[s * each + c] = v;
                s += 1;
            })?;
            for (i, d) in at.iter_mut().zip(&rest) {
                *i += 1;
                if *i < *d {
                    break;
                }
                *i = 0;
            }
        }
        Ok(out)
    }

    /// Hands `count` items from item `from` of the file to `sink`.
    fn read(&mut self, from: usize, count: usize, sink: &mut dyn FnMut(f64)) -> Result<()> {
        const PIECE: usize = 1 << 16;
        let size = self.kind.size();
        let failed = || format!("{} cannot be read", self.path.display());
        self.file.seek(SeekFrom::Start(self.start + (from * size) as u64)).with_context(failed)?;
        let mut raw = vec![0u8; PIECE.min(count) * size];
        let mut left = count;
        while left > 0 {
            let now = left.min(PIECE);
            let raw = &mut raw[..now * size];
            self.file.read_exact(raw).with_context(failed)?;
            decode(self.kind, self.big, raw, sink);
            left -= now;
        }
        Ok(())
    }
}

fn decode(kind: Kind, big: bool, raw: &[u8], sink: &mut dyn FnMut(f64)) {
    macro_rules! each {
        ($t:ty) => {{
            let (words, _) = raw.as_chunks::<{ size_of::<$t>() }>();
            let decode = if big { <$t>::from_be_bytes } else { <$t>::from_le_bytes };
            words.iter().for_each(|w| sink(decode(*w) as f64));
        }};
    }
    match kind {
        Kind::F4 => each!(f32),
        Kind::F8 => each!(f64),
        Kind::I1 => each!(i8),
        Kind::U1 => each!(u8),
        Kind::I2 => each!(i16),
        Kind::U2 => each!(u16),
        Kind::I4 => each!(i32),
        Kind::U4 => each!(u32),
        Kind::I8 => each!(i64),
        Kind::U8 => each!(u64),
    }
}

/// The text of a value in the header's dictionary.
fn field<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let at = header.find(&format!("'{name}'"))? + name.len() + 2;
    let rest = header[at..].trim_start().strip_prefix(':')?.trim_start();
    let end = if rest.starts_with('(') { rest.find(')')? + 1 } else { rest.find([',', '}'])? };
    Some(rest[..end].trim())
}

fn dims(text: &str) -> Option<Vec<usize>> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let dims = inner.split(',').map(|d| d.trim().trim_end_matches('L')).filter(|d| !d.is_empty());
    dims.map(|d| d.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, fortran: &str, shape: &str, body: &[u8]) -> tempfile::NamedTempFile {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(body);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn blocks_agree_in_both_orders_and_both_endians() {
        let value = |s: usize, i: usize, j: usize| (100 * s + 10 * i + j) as f64;
        let (mut c, mut f) = (Vec::new(), Vec::new());
        for s in 0..5 {
            for i in 0..2 {
                for j in 0..3 {
                    c.extend((value(s, i, j) as f32).to_be_bytes());
                }
            }
        }
        for j in 0..3 {
            for i in 0..2 {
                for s in 0..5 {
                    f.extend(value(s, i, j).to_le_bytes());
                }
            }
        }
        let (c, f) = (file(">f4", "False", "(5, 2, 3)", &c), file("<f8", "True", "(5, 2, 3)", &f));
        let expected: Vec<f64> =
            (2..4).flat_map(|s| (0..2).flat_map(move |i| (0..3).map(move |j| value(s, i, j)))).collect();
        for at in [&c, &f] {
            assert_eq!(Npy::open(at.path()).unwrap().rows(2..4).unwrap(), expected);
        }
    }

    #[test]
    fn promises_are_checked() {
        let cut = file("<f8", "False", "(5,)", &[0; 39]);
        let error = Npy::open(cut.path()).unwrap_err().to_string();
        assert!(error.contains("cut short") && error.contains("39 bytes"), "{error}");
        let huge = file("<f8", "False", "(99999999999, 99999999999)", &[]);
        assert!(Npy::open(huge.path()).unwrap_err().to_string().contains("cut short"));
        let objects = file("|O", "False", "(1,)", &[0; 8]);
        assert!(Npy::open(objects.path()).unwrap_err().to_string().contains("astype"));
    }
}
