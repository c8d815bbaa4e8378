//! The reader, which reads a recording in blocks.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};

use ndarray::Array2;

use super::header::read_exact;
use super::{Channel, Event, Header, bad, events};
use crate::{Error, Result};

/// What to do with digital values at or beyond the digital limits of integer channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// Read them as NaN: they mark saturation or lost samples.
    #[default]
    Nan,
    /// Scale them like any other value (what mne does).
    Keep,
}

/// Reads a GDF file: headers and events when it is opened, samples when they are asked for.
///
/// ```
/// use datasets::gdf::{Event, GdfReader, GdfWriter};
/// use std::io::Cursor;
///
/// let signal = ndarray::array![[0.0, 1.0, f64::NAN, -2.0]];
/// let events = [Event { position: 1, code: 769, channel: 0, duration: 2 }];
/// let mut bytes = Vec::new();
/// GdfWriter::new(4, 100.0).write(&mut bytes, &["Cz"], signal.view(), &events).unwrap();
///
/// let mut gdf = GdfReader::open("doc.gdf", Cursor::new(bytes)).unwrap();
/// assert_eq!(gdf.events(), events);
/// let back = gdf.read_channels(&[0]).unwrap();
/// assert!((back[(0, 3)] + 2.0).abs() < 0.002 && back[(0, 2)].is_nan());
/// ```
pub struct GdfReader<R> {
    file: String,
    inner: R,
    header: Header,
    table: events::Table,
    overflow: Overflow,
}

/// Records are read in blocks of about this many bytes.
const BLOCK: u64 = 1 << 20;

impl<R: Read + Seek> GdfReader<R> {
    /// Reads the headers and the event table. `file` is the name used in messages.
    pub fn open(file: &str, mut inner: R) -> Result<Self> {
        let io = |e| Error::io(file, e);
        let length = inner.seek(SeekFrom::End(0)).map_err(io)?;
        inner.seek(SeekFrom::Start(0)).map_err(io)?;
        let header = Header::read(file, &mut inner, length)?;
        let at = header.events_at();
        inner.seek(SeekFrom::Start(at)).map_err(io)?;
        let table = events::read(file, &mut inner, header.version, at, length - at)?;
        Ok(GdfReader { file: file.to_string(), inner, header, table, overflow: Overflow::Nan })
    }

    /// Sets the meaning of values at the digital limits; the default is [`Overflow::Nan`].
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// The headers.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The event table.
    pub fn events(&self) -> &[Event] {
        &self.table.events
    }

    /// How often each code occurs in the event table, by code.
    pub fn event_counts(&self) -> BTreeMap<u16, usize> {
        let mut counts = BTreeMap::new();
        self.table.events.iter().for_each(|e| *counts.entry(e.code).or_default() += 1);
        counts
    }

    /// The sample of channel `c` at `position` of the event table. The table may have another rate than the channel.
    pub fn sample_of(&self, position: u64, c: usize) -> usize {
        let rate = self.header.rate(c);
        match self.table.rate {
            Some(events) if events != rate => (position as f64 * rate / events).round() as usize,
            _ => position as usize,
        }
    }

    /// Streams the records: `sink(channel, samples)` is called for each wanted channel and each record in order,
    /// with the samples in physical units. Memory does not grow with the file.
    pub fn for_each(&mut self, channels: &[usize], mut sink: impl FnMut(usize, &[f64])) -> Result<()> {
        let h = &self.header;
        if let Some(c) = channels.iter().find(|c| **c >= h.channels.len()) {
            return Err(bad(
                &self.file,
                252,
                format!("channel {} was asked for, there are {}", c + 1, h.channels.len()),
            ));
        }
        if h.records == 0 || h.record_bytes == 0 {
            return Ok(());
        }
        let offsets: Vec<usize> = h
            .channels
            .iter()
            .scan(0usize, |at, c| {
                let here = *at;
                *at += c.samples_per_record * c.kind.bytes();
                Some(here)
            })
            .collect();
        self.inner.seek(SeekFrom::Start(h.header_bytes)).map_err(|e| Error::io(&self.file, e))?;
        // The header check made sure that all records lie in the file, so a block is never larger than the file.
        let per_block = (BLOCK / h.record_bytes).clamp(1, h.records);
        let record = h.record_bytes as usize;
        let mut raw = vec![0u8; per_block as usize * record];
        let mut samples = Vec::new();
        let mut done = 0;
        while done < h.records {
            let now = per_block.min(h.records - done);
            let block = &mut raw[..now as usize * record];
            read_exact(&self.file, &mut self.inner, block, h.header_bytes + done * h.record_bytes)?;
            for one in block.chunks_exact(record) {
                for &c in channels {
                    let channel = &h.channels[c];
                    let bytes = channel.samples_per_record * channel.kind.bytes();
                    samples.clear();
                    physical(channel, self.overflow, &one[offsets[c]..offsets[c] + bytes], &mut samples);
                    sink(c, &samples);
                }
            }
            done += now;
        }
        Ok(())
    }

    /// Channels of equal rate as one array (channels, samples).
    pub fn read_channels(&mut self, channels: &[usize]) -> Result<Array2<f64>> {
        let Some(&first) = channels.first() else { return Ok(Array2::zeros((0, 0))) };
        let n = self.header.channels.len();
        if let Some(c) = channels.iter().find(|c| **c >= n) {
            return Err(bad(&self.file, 252, format!("channel {} was asked for, there are {n}", c + 1)));
        }
        let per = |c: usize| self.header.channels[c].samples_per_record;
        if let Some(&c) = channels.iter().find(|c| per(**c) != per(first)) {
            let name = |c: usize| format!("`{}` ({} Hz)", self.header.channels[c].label, self.header.rate(c));
            let what = format!("channels {} and {} have different rates; take those of one rate", name(first), name(c));
            return Err(Error::dataset(self.file.clone(), what));
        }
        let total = self.header.samples(first) as usize;
        let mut slot = vec![Vec::new(); n];
        for (row, &c) in channels.iter().enumerate() {
            slot[c].push(row);
        }
        let mut distinct = channels.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let mut out = Array2::zeros((channels.len(), total));
        let mut at = vec![0usize; n];
        self.for_each(&distinct, |c, samples| {
            for &row in &slot[c] {
                for (to, from) in out.row_mut(row).iter_mut().skip(at[c]).zip(samples) {
                    *to = *from;
                }
            }
            at[c] += samples.len();
        })?;
        Ok(out)
    }
}

/// Scales one channel of one record.
fn physical(c: &Channel, overflow: Overflow, raw: &[u8], out: &mut Vec<f64>) {
    let scale = (c.physical_max - c.physical_min) / (c.digital_max - c.digital_min);
    let (low, high, base) = (c.digital_min, c.digital_max, c.physical_min);
    let check = overflow == Overflow::Nan && !c.kind.is_float();
    c.kind.decode(raw, |d| {
        let lost = check && (d <= low || d >= high);
        out.push(if lost { f64::NAN } else { (d - low) * scale + base });
    });
}
