//! Elements: type, size, data. A file is a sequence of elements after its header.

use std::io::Read;

use super::{MAX_RATIO, bad};
use crate::Result;

pub(super) const MATRIX: u32 = 14;
pub(super) const COMPRESSED: u32 = 15;

/// One element: its type and its data, borrowed.
pub(super) struct Element<'a> {
    pub file: &'a str,
    pub kind: u32,
    pub data: &'a [u8],
    /// Where the data begin (in the file, or in the unpacked element).
    pub offset: u64,
    pub big: bool,
}

/// Walks over consecutive elements.
pub(super) struct Cursor<'a> {
    file: &'a str,
    rest: &'a [u8],
    offset: u64,
    big: bool,
}

impl<'a> Cursor<'a> {
    pub fn new(file: &'a str, rest: &'a [u8], offset: u64, big: bool) -> Self {
        Cursor { file, rest, offset, big }
    }

    /// The elements inside an element.
    pub fn inside(e: &Element<'a>) -> Self {
        Cursor::new(e.file, e.data, e.offset, e.big)
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Bytes not yet walked over.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next element.
    pub fn element(&mut self) -> Result<Element<'a>> {
        let too_short = |at| bad(self.file, at, "an element is cut short");
        let (Some(first), true) = (self.word(0), self.rest.len() >= 8) else { return Err(too_short(self.offset)) };
        // Small elements keep size and type in one word and up to four bytes of data in the next.
        let (kind, size, start) = match first >> 16 {
            0 => (first, self.word(4).unwrap_or(0) as usize, 8),
            small => (first & 0xffff, small as usize, 4),
        };
        if start == 4 && size > 4 {
            return Err(bad(self.file, self.offset, format!("a small element of {size} bytes")));
        }
        if size > self.rest.len() - start {
            let what = format!("an element of {size} bytes where {} are left", self.rest.len() - start);
            return Err(bad(self.file, self.offset, what));
        }
        let data = &self.rest[start..start + size];
        // Elements end at a multiple of 8, except compressed ones. The last may lack its padding.
        let end = match (start, kind) {
            (4, _) => 8,
            (_, COMPRESSED) => start + size,
            _ => (start + size).next_multiple_of(8),
        };
        let element = Element { file: self.file, kind, data, offset: self.offset + start as u64, big: self.big };
        self.rest = &self.rest[end.min(self.rest.len())..];
        self.offset += end as u64;
        Ok(element)
    }

    fn word(&self, at: usize) -> Option<u32> {
        let b: [u8; 4] = self.rest.get(at..at + 4)?.try_into().ok()?;
        Some(if self.big { u32::from_be_bytes(b) } else { u32::from_le_bytes(b) })
    }
}

impl Element<'_> {
    /// The data as numbers. 64-bit integers beyond 2^53 are rounded.
    pub fn numbers(&self) -> Result<Vec<f64>> {
        macro_rules! each {
            ($t:ty) => {{
                let (words, rest) = self.data.as_chunks::<{ size_of::<$t>() }>();
                if !rest.is_empty() {
                    return Err(bad(self.file, self.offset, "the size is not a multiple of the item size"));
                }
                let decode = if self.big { <$t>::from_be_bytes } else { <$t>::from_le_bytes };
                words.iter().map(|w| decode(*w) as f64).collect()
            }};
        }
        Ok(match self.kind {
            1 => each!(i8),
            2 | 16 => each!(u8),
            3 => each!(i16),
            4 | 17 => each!(u16),
            5 => each!(i32),
            6 | 18 => each!(u32),
            7 => each!(f32),
            9 => each!(f64),
            12 => each!(i64),
            13 => each!(u64),
            other => return Err(bad(self.file, self.offset, format!("element type {other} does not hold numbers"))),
        })
    }

    /// The data as text: UTF-8, UTF-16 or UTF-32 code units, or one byte per character.
    pub fn text(&self) -> Result<String> {
        if self.kind == 16 {
            return Ok(String::from_utf8_lossy(self.data).into_owned());
        }
        let units = self.numbers()?;
        if matches!(self.kind, 4 | 17) {
            let units: Vec<u16> = units.iter().map(|u| *u as u16).collect();
            return Ok(String::from_utf16_lossy(&units));
        }
        Ok(units.iter().map(|u| char::from_u32(*u as u32).unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
    }
}

/// Unpacks a compressed element. Refuses one that unpacks to far more than its size (a decompression bomb).
pub(super) fn inflate(e: &Element) -> Result<Vec<u8>> {
    let limit = (e.data.len() as u64 * MAX_RATIO).max(1 << 20);
    let mut out = Vec::new();
    let read = flate2::read::ZlibDecoder::new(e.data).take(limit + 1).read_to_end(&mut out);
    read.map_err(|err| bad(e.file, e.offset, format!("a compressed variable does not unpack: {err}")))?;
    if out.len() as u64 > limit {
        return Err(bad(e.file, e.offset, format!("a compressed variable unpacks to more than {limit} bytes")));
    }
    Ok(out)
}
