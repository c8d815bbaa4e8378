//! An array open for reading: whole, or some rows at a time so that a file larger than memory costs one block.
//!
//! C and Fortran order, both byte orders, floats of 4 and 8 bytes, integers and booleans; every number becomes an `f64`.

use crate::{Defect, Dtype, Error, Header, Result};
use ndarray::{ArrayD, IxDyn, ShapeBuilder};
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::ops::Range;

/// An array whose header has been read and compared with the bytes that are there.
#[derive(Debug)]
pub struct Reader<R> {
    file: String,
    inner: R,
    header: Header,
    items: usize,
}

/// Items that are decoded at a time.
const PIECE: usize = 1 << 16;

impl<'a> Reader<Cursor<&'a [u8]>> {
    /// Opens an array that is in memory.
    ///
    /// ```
    /// let mut f = b"\x93NUMPY\x01\x00\x46\x00".to_vec();
    /// f.extend(format!("{:<69}\n", "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }").bytes());
    /// f.extend([1, 0, 255, 255]);
    /// let mut array = npy::Reader::from_bytes("a.npy", &f).unwrap();
    /// assert_eq!(array.all().unwrap().as_slice().unwrap(), [1.0, -1.0]);
    /// ```
    pub fn from_bytes(file: &str, bytes: &'a [u8]) -> Result<Self> {
        Reader::open(file, Cursor::new(bytes))
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Reads the header and checks that all the items it promises are there. `file` is the name used in messages.
    pub fn open(file: &str, mut inner: R) -> Result<Self> {
        let io = |e| Error::new(file, Defect::Io(e));
        let length = inner.seek(SeekFrom::End(0)).map_err(io)?;
        inner.seek(SeekFrom::Start(0)).map_err(io)?;
        let header = Header::read(file, &mut inner)?;
        let (items, _) = header.fits(file, length.saturating_sub(header.start))?;
        Ok(Reader { file: file.to_owned(), inner, header, items })
    }

    /// What the file says about its items.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    /// Type of the items.
    pub fn dtype(&self) -> Dtype {
        self.header.dtype
    }

    /// The items of `range` along the first axis, in C order. A scalar counts as one row.
    pub fn rows(&mut self, range: Range<usize>) -> Result<Vec<f64>> {
        if self.items == 0 {
            return Ok(Vec::new()); // the other axes may have any length and must not be walked over
        }
        let (first, rest) = match self.header.shape.split_first() {
            Some((first, rest)) => (*first, rest.to_vec()),
            None => (1, vec![]),
        };
        let (n, each) = (range.len(), rest.iter().product::<usize>());
        if !self.header.fortran || rest.is_empty() {
            let mut out = Vec::with_capacity(n * each);
            self.items(range.start * each, n * each, |v| out.push(v))?;
            return Ok(out);
        }
        let mut out = vec![0.0; n * each];
        // In Fortran order the first axis runs fastest: one run of n items for each position in the other axes.
        let mut at = vec![0usize; rest.len()];
        for position in 0..each {
            let c = at.iter().zip(&rest).fold(0, |c, (i, d)| c * d + i);
            let mut s = 0;
            self.items(position * first + range.start, n, |v| {
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

    /// The whole array, in C order.
    pub fn all(&mut self) -> Result<ArrayD<f64>> {
        let mut values = Vec::with_capacity(self.items);
        self.items(0, self.items, |v| values.push(v))?;
        let shape = IxDyn(&self.header.shape).set_f(self.header.fortran);
        // `fits` has multiplied the axes to this number of items.
        let array = ArrayD::from_shape_vec(shape, values).map_err(|_| Error::new(&self.file, Defect::Shape))?;
        Ok(if array.is_standard_layout() { array } else { array.as_standard_layout().into_owned() })
    }

    /// The items of an array of text, in the order of the file.
    pub fn text(&mut self) -> Result<Vec<String>> {
        let (dtype, size) = (self.header.dtype, self.header.dtype.size());
        let bad = |defect| Error::new(&self.file, defect);
        if !dtype.is_text() {
            return Err(bad(Defect::Type(dtype.to_string())));
        }
        // Texts of no characters take no bytes, so that nothing but the header speaks for their number.
        if size == 0 && self.items > 1 << 16 {
            return Err(bad(Defect::Shape));
        }
        if size == 0 {
            return Ok(vec![String::new(); self.items]);
        }
        self.inner.seek(SeekFrom::Start(self.header.start)).map_err(|e| bad(Defect::Io(e)))?;
        let mut raw = vec![0u8; self.items * size];
        self.inner.read_exact(&mut raw).map_err(|e| bad(Defect::Io(e)))?;
        let texts = raw.chunks_exact(size).map(|item| dtype.decode_text(item));
        texts.collect::<Option<_>>().ok_or_else(|| bad(Defect::NotUnicode))
    }

    /// Hands `count` items from item `from` of the file to `sink`.
    fn items(&mut self, from: usize, count: usize, mut sink: impl FnMut(f64)) -> Result<()> {
        let dtype = self.header.dtype;
        let bad = |defect| Error::new(&self.file, defect);
        if dtype.is_text() {
            return Err(bad(Defect::Type(dtype.to_string())));
        }
        let size = dtype.size();
        self.inner.seek(SeekFrom::Start(self.header.start + (from * size) as u64)).map_err(|e| bad(Defect::Io(e)))?;
        let mut raw = vec![0u8; PIECE.min(count) * size];
        let mut left = count;
        while left > 0 {
            let now = left.min(PIECE);
            let raw = &mut raw[..now * size];
            self.inner.read_exact(raw).map_err(|e| bad(Defect::Io(e)))?;
            dtype.decode(raw, &mut sink);
            left -= now;
        }
        Ok(())
    }
}
