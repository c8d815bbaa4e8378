//! `.npz`: a zip of `.npy` files, written with fixed bytes and read with suspicion.
//!
//! Members are stored, not deflated, and carry the earliest date that a zip can hold: the same arrays give the same bytes on any day.

use crate::{Defect, Dtype, Error, Header, Reader, Result, write_floats};
use ndarray::{ArrayD, ArrayViewD};
use std::io::{self, Read, Seek, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// Largest member that is read: 4 GiB.
const MAX_BYTES: u64 = 1 << 32;
/// Deflate cannot expand more than this.
const MAX_RATIO: u64 = 1040;

/// An array to write.
#[derive(Debug, Clone)]
pub enum Member<'a> {
    /// Floats, stored with eight bytes, or with four if `single`.
    Floats {
        /// The values.
        array: ArrayViewD<'a, f64>,
        /// Whether to store four bytes each.
        single: bool,
    },
    /// A vector of 64-bit integers.
    Integers(&'a [i64]),
    /// One text.
    Text(&'a str),
}

/// Writes an archive member by member.
pub struct NpzWriter<W: Write + Seek> {
    zip: ZipWriter<W>,
}

impl<W: Write + Seek> NpzWriter<W> {
    /// Begins an archive.
    pub fn new(to: W) -> Self {
        NpzWriter { zip: ZipWriter::new(to) }
    }

    /// Adds an array under `name`, in C order.
    pub fn add(&mut self, name: &str, member: &Member) -> io::Result<()> {
        let header = match member {
            Member::Floats { array, single } => Header::new(Dtype::float(*single), array.shape()),
            Member::Integers(values) => Header::new(Dtype::I8, &[values.len()]),
            Member::Text(text) => Header::new(Dtype::text(text.chars().count()), &[]),
        };
        let head = header.to_bytes();
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644)
            .large_file(header.bytes() + head.len() as u64 >= u64::from(u32::MAX));
        self.zip.start_file(format!("{name}.npy"), options)?;
        self.zip.write_all(&head)?;
        match member {
            Member::Floats { array, single } => write_floats(&mut self.zip, *single, array),
            Member::Integers(values) => {
                self.zip.write_all(&values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())
            }
            Member::Text(text) => {
                self.zip.write_all(&text.chars().flat_map(|c| (c as u32).to_le_bytes()).collect::<Vec<u8>>())
            }
        }
    }

    /// Writes the directory and gives the file back.
    pub fn finish(self) -> io::Result<W> {
        let mut to = self.zip.finish()?;
        to.flush()?;
        Ok(to)
    }
}

/// An array that was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Array {
    /// Numbers of any type.
    Numbers {
        /// The values, in C order.
        values: ArrayD<f64>,
        /// The type they are stored in.
        dtype: Dtype,
    },
    /// Texts.
    Text {
        /// Lengths of the axes.
        shape: Vec<usize>,
        /// The texts, in the order of the file.
        values: Vec<String>,
    },
}

/// An archive open for reading.
pub struct NpzReader<R> {
    file: String,
    zip: ZipArchive<R>,
}

impl<R: Read + Seek> NpzReader<R> {
    /// Reads the directory. `file` is the name used in messages.
    pub fn open(file: &str, from: R) -> Result<Self> {
        let zip = ZipArchive::new(from).map_err(|e| Error::new(file, Defect::NotNpz(e.to_string())))?;
        Ok(NpzReader { file: file.to_owned(), zip })
    }

    /// The names of the arrays, in the order of the archive.
    pub fn names(&self) -> Vec<String> {
        let text = |raw: &[u8]| std::str::from_utf8(raw).ok().and_then(|n| n.strip_suffix(".npy")).map(str::to_owned);
        self.zip.file_names_raw().filter_map(text).collect()
    }

    /// Whether the archive has that array.
    pub fn has(&self, name: &str) -> bool {
        let name = format!("{name}.npy");
        self.zip.file_names_raw().any(|n| n == name.as_bytes())
    }

    /// Reads one array. Messages call it `file:name`.
    pub fn array(&mut self, name: &str) -> Result<Array> {
        let place = format!("{}:{name}", self.file);
        let bytes = self.bytes(&place, name)?;
        let mut array = Reader::from_bytes(&place, &bytes)?;
        if array.dtype().is_text() {
            return Ok(Array::Text { shape: array.shape().to_vec(), values: array.text()? });
        }
        Ok(Array::Numbers { values: array.all()?, dtype: array.dtype() })
    }

    /// What the archive says about an array, without reading its items.
    pub fn header(&mut self, name: &str) -> Result<Header> {
        let place = format!("{}:{name}", self.file);
        let missing = Defect::NoMember(self.names().join(", "));
        let mut member = self.zip.by_name(&format!("{name}.npy")).map_err(|_| Error::new(&place, missing))?;
        Header::read(&place, &mut member)
    }

    /// The unpacked bytes of an array, which are exactly as many as its header promises.
    fn bytes(&mut self, place: &str, name: &str) -> Result<Vec<u8>> {
        let bad = |defect| Error::new(place, defect);
        if !self.has(name) {
            return Err(bad(Defect::NoMember(self.names().join(", "))));
        }
        let mut member = self.zip.by_name(&format!("{name}.npy")).map_err(|e| bad(Defect::Damaged(e.to_string())))?;
        let (size, packed) = (member.size(), member.compressed_size());
        if size > MAX_BYTES || size > packed.saturating_mul(MAX_RATIO) {
            return Err(bad(Defect::Bomb { size, packed }));
        }
        // The vector grows with what is really there, so that a lying directory cannot make us allocate.
        let mut bytes = Vec::new();
        (&mut member).take(size + 1).read_to_end(&mut bytes).map_err(|e| bad(Defect::Damaged(e.to_string())))?;
        let header = Header::read(place, &mut &bytes[..])?;
        let there = bytes.len() as u64 - header.start; // the header has just been read from these bytes
        let (_, promised) = header.fits(place, there)?;
        if promised < there {
            return Err(bad(Defect::TooLong));
        }
        Ok(bytes)
    }
}
