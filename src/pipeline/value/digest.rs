//! A 256-bit BLAKE3 digest: the name of everything that is content-addressed here.
//!
//! Written as 64 lower-case hexadecimal digits, in files and on screen alike; [`Digest::short`] gives the ten that
//! people compare by eye.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A BLAKE3 digest.
///
/// ```
/// use pipeline::Digest;
/// let d = Digest::of(b"abc");
/// assert_eq!(d.short(), "6437b3ac38");
/// assert_eq!(d.to_string().parse::<Digest>().unwrap(), d);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The first ten digits, enough for a human eye.
    pub fn short(&self) -> String {
        self.to_string()[..10].to_string()
    }
}

/// Bytes as lower-case hexadecimal digits; `M` is twice `N`.
pub(crate) fn hex<const N: usize, const M: usize>(bytes: &[u8; N]) -> [u8; M] {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0u8; M];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
    text
}

impl From<blake3::Hash> for Digest {
    fn from(hash: blake3::Hash) -> Self {
        Self(*hash.as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = hex::<32, 64>(&self.0);
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a digest: expected 64 hexadecimal digits")]
pub struct BadDigest(String);

impl std::str::FromStr for Digest {
    type Err = BadDigest;
    fn from_str(text: &str) -> Result<Self, BadDigest> {
        let bytes = text.as_bytes();
        let mut out = [0u8; 32];
        if bytes.len() != 64 {
            return Err(BadDigest(text.to_string()));
        }
        let mut bad = 0;
        for (byte, pair) in out.iter_mut().zip(bytes.chunks_exact(2)) {
            let (high, low) = (DIGITS[usize::from(pair[0])], DIGITS[usize::from(pair[1])]);
            bad |= high | low;
            *byte = (high << 4) | (low & 15);
        }
        if bad > 15 { Err(BadDigest(text.to_string())) } else { Ok(Self(out)) }
    }
}

/// The value of each hexadecimal digit, 255 for every other byte. A journal holds thousands of digests, so a table is
/// worth its 256 bytes.
const DIGITS: [u8; 256] = {
    let mut table = [255; 256];
    let mut digit = 0;
    while digit < 16 {
        table[b"0123456789abcdef"[digit] as usize] = digit as u8;
        table[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    table
};

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
