//! The sample types of GDF and how each becomes an `f64`.

/// How a channel stores its samples (the type codes of the format).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it all
pub enum SampleType {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    I24,
    U24,
}

impl SampleType {
    /// The type for a code of the file, if this reader knows it.
    pub fn from_code(code: u32) -> Option<Self> {
        Some(match code {
            1 => Self::I8,
            2 => Self::U8,
            3 => Self::I16,
            4 => Self::U16,
            5 => Self::I32,
            6 => Self::U32,
            7 => Self::I64,
            8 => Self::U64,
            16 => Self::F32,
            17 => Self::F64,
            279 => Self::I24,
            535 => Self::U24,
            _ => return None,
        })
    }

    /// Bytes of one sample.
    pub fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I24 | Self::U24 => 3,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Whether the samples are floating point, which carry their own NaN.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Decodes little-endian samples: `raw.len() / bytes()` values are handed to `out` in order.
    ///
    /// 64-bit integers beyond 2^53 are rounded to the nearest `f64`.
    pub fn decode(self, raw: &[u8], mut out: impl FnMut(f64)) {
        macro_rules! each {
            ($t:ty) => {{
                let (words, _) = raw.as_chunks::<{ size_of::<$t>() }>();
                words.iter().for_each(|w| out(<$t>::from_le_bytes(*w) as f64))
            }};
        }
        match self {
            Self::I8 => each!(i8),
            Self::U8 => each!(u8),
            Self::I16 => each!(i16),
            Self::U16 => each!(u16),
            Self::I32 => each!(i32),
            Self::U32 => each!(u32),
            Self::I64 => each!(i64),
            Self::U64 => each!(u64),
            Self::F32 => each!(f32),
            Self::F64 => each!(f64),
            Self::I24 => {
                let (words, _) = raw.as_chunks::<3>();
                // The value sits in the top three bytes; the shift back carries its sign.
                words.iter().for_each(|w| out((i32::from_le_bytes([0, w[0], w[1], w[2]]) >> 8) as f64))
            }
            Self::U24 => {
                let (words, _) = raw.as_chunks::<3>();
                words.iter().for_each(|w| out(u32::from_le_bytes([w[0], w[1], w[2], 0]) as f64))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(t: SampleType, raw: &[u8]) -> Vec<f64> {
        let mut v = Vec::new();
        t.decode(raw, |x| v.push(x));
        v
    }

    #[test]
    fn every_type_decodes_its_extremes() {
        assert_eq!(all(SampleType::I8, &[0x80, 0x7f]), [-128.0, 127.0]);
        assert_eq!(all(SampleType::U8, &[0x80, 0xff]), [128.0, 255.0]);
        assert_eq!(all(SampleType::I16, &[0, 0x80, 0xff, 0x7f]), [-32768.0, 32767.0]);
        assert_eq!(all(SampleType::U16, &[0, 0x80]), [32768.0]);
        assert_eq!(
            all(SampleType::I24, &[0, 0, 0x80, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]),
            [-8388608.0, 8388607.0, -1.0]
        );
        assert_eq!(all(SampleType::U24, &[0xff, 0xff, 0xff]), [16777215.0]);
        assert_eq!(all(SampleType::I32, &i32::MIN.to_le_bytes()), [i32::MIN as f64]);
        assert_eq!(all(SampleType::U32, &u32::MAX.to_le_bytes()), [u32::MAX as f64]);
        assert_eq!(all(SampleType::I64, &(-5i64).to_le_bytes()), [-5.0]);
        assert_eq!(all(SampleType::U64, &7u64.to_le_bytes()), [7.0]);
        assert_eq!(all(SampleType::F32, &1.5f32.to_le_bytes()), [1.5]);
        assert_eq!(all(SampleType::F64, &(-0.1f64).to_le_bytes()), [-0.1]);
        for code in [0, 9, 18, 255, 256, 600] {
            assert!(SampleType::from_code(code).is_none());
        }
    }
}
