//! The types of items and how each becomes an `f64` or a text.

use std::fmt;

/// The type of an array's items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dtype {
    kind: Kind,
    /// Whether the most significant byte comes first.
    big: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    F4,
    F8,
    I1,
    U1,
    Bool,
    I2,
    U2,
    I4,
    U4,
    I8,
    U8,
    /// Unicode text of that many characters, four bytes each, padded with NUL.
    Text(usize),
    /// Text of that many bytes, one per character, padded with NUL.
    Bytes(usize),
}

/// Code in the header, name in numpy and size of each type of number.
const NUMBERS: [(&str, &str, Kind, usize); 11] = [
    ("f4", "float32", Kind::F4, 4),
    ("f8", "float64", Kind::F8, 8),
    ("i1", "int8", Kind::I1, 1),
    ("u1", "uint8", Kind::U1, 1),
    ("b1", "bool", Kind::Bool, 1),
    ("i2", "int16", Kind::I2, 2),
    ("u2", "uint16", Kind::U2, 2),
    ("i4", "int32", Kind::I4, 4),
    ("u4", "uint32", Kind::U4, 4),
    ("i8", "int64", Kind::I8, 8),
    ("u8", "uint64", Kind::U8, 8),
];

impl Dtype {
    /// Little-endian floats of eight bytes.
    pub const F8: Dtype = Dtype { kind: Kind::F8, big: false };
    /// Little-endian signed integers of eight bytes.
    pub const I8: Dtype = Dtype { kind: Kind::I8, big: false };
    /// Little-endian floats of four bytes.
    pub const F4: Dtype = Dtype { kind: Kind::F4, big: false };

    /// Little-endian floats of four or eight bytes.
    pub fn float(single: bool) -> Dtype {
        if single { Self::F4 } else { Self::F8 }
    }

    /// Unicode text of `characters` characters.
    pub fn text(characters: usize) -> Dtype {
        Dtype { kind: Kind::Text(characters), big: false }
    }

    /// Reads the code of the header, for example `<f8`; nothing for a type that is not read here.
    pub(crate) fn parse(code: &str) -> Option<Dtype> {
        let big = code.starts_with('>');
        let plain = code.trim_start_matches(['<', '>', '|', '=']);
        let width = |text: &str| text.parse::<usize>().ok().filter(|n| *n <= 1 << 24);
        let kind = match plain.as_bytes().first()? {
            b'U' => Kind::Text(width(&plain[1..])?),
            b'S' => Kind::Bytes(width(&plain[1..])?),
            _ => NUMBERS.iter().find(|n| n.0 == plain)?.2,
        };
        Some(Dtype { kind, big })
    }

    /// Bytes of one item.
    pub fn size(self) -> usize {
        match self.kind {
            Kind::Text(n) => 4 * n,
            Kind::Bytes(n) => n,
            kind => NUMBERS.iter().find(|n| n.2 == kind).map_or(8, |n| n.3), // every other kind is in the list
        }
    }

    /// Whether the items are text.
    pub fn is_text(self) -> bool {
        matches!(self.kind, Kind::Text(_) | Kind::Bytes(_))
    }

    /// Whether the items are floats of four bytes.
    pub fn is_single(self) -> bool {
        self.kind == Kind::F4
    }

    /// The name that numpy prints, for example `float64`.
    pub fn name(self) -> String {
        match self.kind {
            Kind::Text(n) => format!("text of up to {n} characters"),
            Kind::Bytes(n) => format!("text of up to {n} bytes"),
            kind => NUMBERS.iter().find(|n| n.2 == kind).map_or("", |n| n.1).to_owned(),
        }
    }

    /// Hands the items in `raw` to `sink` in order; whole items only. 64-bit integers beyond 2^53 are rounded. Text gives nothing.
    pub(crate) fn decode(self, raw: &[u8], mut sink: impl FnMut(f64)) {
        macro_rules! each {
            ($t:ty) => {{
                let (words, _) = raw.as_chunks::<{ size_of::<$t>() }>();
                let decode = if self.big { <$t>::from_be_bytes } else { <$t>::from_le_bytes };
                words.iter().for_each(|w| sink(decode(*w) as f64));
            }};
        }
        match self.kind {
            Kind::F4 => each!(f32),
            Kind::F8 => each!(f64),
            Kind::I1 => each!(i8),
            Kind::U1 | Kind::Bool => each!(u8),
            Kind::I2 => each!(i16),
            Kind::U2 => each!(u16),
            Kind::I4 => each!(i32),
            Kind::U4 => each!(u32),
            Kind::I8 => each!(i64),
            Kind::U8 => each!(u64),
            Kind::Text(_) | Kind::Bytes(_) => {}
        }
    }

    /// One item as text, without its padding; nothing if it is not Unicode or not text.
    pub(crate) fn decode_text(self, item: &[u8]) -> Option<String> {
        let text: String = match self.kind {
            Kind::Text(_) => {
                let decode = if self.big { u32::from_be_bytes } else { u32::from_le_bytes };
                item.as_chunks::<4>().0.iter().map(|c| char::from_u32(decode(*c))).collect::<Option<_>>()?
            }
            Kind::Bytes(_) => std::str::from_utf8(item).ok()?.to_owned(),
            _ => return None,
        };
        Some(text.trim_end_matches('\0').to_owned())
    }
}

impl fmt::Display for Dtype {
    /// The code that the header holds, for example `<f8`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let order = match (self.size(), self.kind, self.big) {
            (_, Kind::Bytes(_), _) | (1, _, _) => '|',
            (_, _, false) => '<',
            (_, _, true) => '>',
        };
        match self.kind {
            Kind::Text(n) => write!(f, "{order}U{n}"),
            Kind::Bytes(n) => write!(f, "{order}S{n}"),
            kind => write!(f, "{order}{}", NUMBERS.iter().find(|n| n.2 == kind).map_or("", |n| n.0)),
        }
    }
}
