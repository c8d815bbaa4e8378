//! The fixed and variable headers of GDF 1.x and 2.x, checked against the length of the file.

use std::io::Read;

use super::{SampleType, bad};
use crate::{Error, Result};

/// One channel as the variable header describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Electrode or signal name.
    pub label: String,
    /// Physical unit; for 2.x the text of the common codes, else `code N`.
    pub unit: String,
    /// Physical value of `digital_min`.
    pub physical_min: f64,
    /// Physical value of `digital_max`.
    pub physical_max: f64,
    /// Smallest digital value.
    pub digital_min: f64,
    /// Largest digital value.
    pub digital_max: f64,
    /// Samples of this channel in each record (channels may have different rates).
    pub samples_per_record: usize,
    /// Storage of the samples.
    pub kind: SampleType,
}

/// Everything before the records.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// Version as written, for example 1.25 or 2.20.
    pub version: f64,
    /// Recording identification.
    pub recording: String,
    /// Bytes of all headers: where the records begin.
    pub header_bytes: u64,
    /// Number of records.
    pub records: u64,
    /// Seconds of one record.
    pub record_seconds: f64,
    /// The channels in file order.
    pub channels: Vec<Channel>,
    /// Bytes of one record.
    pub record_bytes: u64,
}

impl Header {
    /// Samples per second of channel `c`.
    pub fn rate(&self, c: usize) -> f64 {
        self.channels[c].samples_per_record as f64 / self.record_seconds
    }

    /// Samples of channel `c` in the whole file.
    pub fn samples(&self, c: usize) -> u64 {
        self.records * self.channels[c].samples_per_record as u64
    }

    /// Where the event table begins.
    pub fn events_at(&self) -> u64 {
        self.header_bytes + self.records * self.record_bytes
    }

    /// Reads and checks the headers; `length` is the length of the file.
    pub(super) fn read(file: &str, r: &mut impl Read, length: u64) -> Result<Self> {
        let mut fixed = [0u8; 256];
        if length < 256 {
            return Err(bad(file, length, "shorter than the 256 bytes of the fixed header"));
        }
        read_exact(file, r, &mut fixed, 0)?;
        let version = version(&fixed).ok_or_else(|| bad(file, 0, "does not begin with `GDF ` and a version"))?;
        let v2 = version >= 1.9;
        let header_bytes = if v2 { u64::from(u16_at(&fixed, 184)) * 256 } else { u64_at(&fixed, 184) };
        let count = if v2 { usize::from(u16_at(&fixed, 252)) } else { u32_at(&fixed, 252) as usize };
        let needed = 256 * (count as u64 + 1);
        if count == 0 {
            return Err(bad(file, 252, "no channels"));
        }
        if needed > length {
            return Err(bad(
                file,
                252,
                format!("{count} channels need {needed} bytes of header, the file has {length}"),
            ));
        }
        if header_bytes < needed || header_bytes > length {
            let what = format!("header length {header_bytes} does not fit {count} channels in {length} bytes");
            return Err(bad(file, 184, what));
        }
        let record_seconds = record_seconds(file, &fixed, version)?;
        let mut variable = vec![0u8; 256 * count];
        read_exact(file, r, &mut variable, 256)?;
        let channels: Vec<Channel> =
            (0..count).map(|c| channel(file, &variable, count, c, v2)).collect::<Result<_>>()?;
        let record_bytes = channels
            .iter()
            .try_fold(0u64, |sum, c| sum.checked_add((c.samples_per_record as u64).checked_mul(c.kind.bytes() as u64)?))
            .ok_or_else(|| bad(file, 256, "the size of a record overflows"))?;
        let recording = text(&fixed[88..if v2 { 152 } else { 168 }]);
        let records = records(file, i64_at(&fixed, 236), record_bytes, length - header_bytes)?;
        Ok(Header { version, recording, header_bytes, records, record_seconds, channels, record_bytes })
    }
}

/// The number of records, which must lie in the file; -1 means "as many as there are".
fn records(file: &str, stated: i64, record_bytes: u64, data_bytes: u64) -> Result<u64> {
    if record_bytes == 0 {
        return match stated {
            -1 | 0 => Ok(0),
            n => Err(bad(file, 236, format!("{n} records of no bytes"))),
        };
    }
    let records_in_file = data_bytes / record_bytes;
    match stated {
        -1 => Ok(records_in_file),
        n if n < 0 => Err(bad(file, 236, format!("{n} records"))),
        n if n as u64 > records_in_file => {
            Err(bad(file, 236, format!("cut short: the header promises {n} records, the file holds {records_in_file}")))
        }
        n => Ok(n as u64),
    }
}

fn record_seconds(file: &str, fixed: &[u8; 256], version: f64) -> Result<f64> {
    // Up to 2.20 the duration is a fraction of two integers, from 2.21 on a double.
    let seconds = if version < 2.205 {
        f64::from(u32_at(fixed, 244)) / f64::from(u32_at(fixed, 248))
    } else {
        f64_at(fixed, 244)
    };
    if seconds.is_finite() && seconds > 0.0 {
        Ok(seconds)
    } else {
        Err(bad(file, 244, format!("a record lasts {seconds} seconds")))
    }
}

fn channel(file: &str, h: &[u8], n: usize, c: usize, v2: bool) -> Result<Channel> {
    // Fields lie one after the other, each as an array over the channels: offset of field * n + c * width.
    let at = |field: usize, width: usize| field * n + c * width;
    let real = |field: usize| f64_at(h, at(field, 8));
    let integer = |field: usize| u64_at(h, at(field, 8)) as i64 as f64;
    let samples = u32_at(h, at(216, 4));
    let code = u32_at(h, at(220, 4));
    let place = |field: usize, width: usize| 256 + at(field, width) as u64;
    let kind = SampleType::from_code(code).ok_or_else(|| {
        bad(file, place(220, 4), format!("channel {}: sample type {code} is not one this reader knows", c + 1))
    })?;
    let (digital_min, digital_max) = if v2 { (real(120), real(128)) } else { (integer(120), integer(128)) };
    let unit = if v2 { unit(u16_at(h, at(102, 2))) } else { text(&h[at(96, 8)..at(96, 8) + 8]) };
    let channel = Channel {
        label: text(&h[at(0, 16)..at(0, 16) + 16]),
        unit,
        physical_min: real(104),
        physical_max: real(112),
        digital_min,
        digital_max,
        samples_per_record: samples as usize,
        kind,
    };
    let span = channel.digital_max - channel.digital_min;
    if !(span.is_finite() && span > 0.0 && channel.physical_min.is_finite() && channel.physical_max.is_finite()) {
        let what = format!("channel {}: the physical or digital limits are not an interval", c + 1);
        return Err(bad(file, place(104, 8), what));
    }
    Ok(channel)
}

fn version(fixed: &[u8; 256]) -> Option<f64> {
    let tail = std::str::from_utf8(fixed[..8].strip_prefix(b"GDF")?).ok()?;
    let v: f64 = tail.trim().parse().ok()?;
    (1.0..3.0).contains(&v).then_some(v)
}

/// The names of the unit codes that occur in EEG (ISO/IEEE 11073-10101 codes).
fn unit(code: u16) -> String {
    match code {
        0 => String::new(),
        512 => "-".into(),
        4256 => "V".into(),
        4274 => "mV".into(),
        4275 => "uV".into(),
        4276 => "nV".into(),
        other => format!("code {other}"),
    }
}

/// Latin-1 text up to the first NUL, without the padding.
fn text(raw: &[u8]) -> String {
    raw.iter().take_while(|b| **b != 0).map(|b| *b as char).collect::<String>().trim().to_string()
}

pub(super) fn read_exact(file: &str, r: &mut impl Read, buffer: &mut [u8], offset: u64) -> Result<()> {
    r.read_exact(buffer).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => bad(file, offset, "the file ends early"),
        _ => Error::io(file, e),
    })
}

/// `N` bytes at `at`; callers index inside buffers whose length they have checked.
fn array<const N: usize>(b: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| b[at + i])
}
pub(super) fn u16_at(b: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(b, at))
}
pub(super) fn u32_at(b: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(b, at))
}
fn u64_at(b: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(b, at))
}
fn i64_at(b: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(array(b, at))
}
fn f64_at(b: &[u8], at: usize) -> f64 {
    f64::from_le_bytes(array(b, at))
}
