//! The writer: version 2.20, 16-bit samples, event table mode 3.

use std::io::Write;

use ndarray::ArrayView2;

use super::Event;
use crate::{Error, Result};

/// The unit code of microvolts.
pub const UNIT_MICROVOLT: u16 = 4275;

/// Digital values run from -32768 (lost) to 32767 (saturated); samples use what lies between.
const DIGITAL: (f64, f64) = (-32768.0, 32767.0);

/// Writes recordings in microvolts.
///
/// Samples are rounded to steps of `2 range / 65535`; NaN is written as the digital minimum, values beyond the
/// range as the nearest limit, and both come back as NaN.
#[derive(Debug, Clone)]
pub struct GdfWriter {
    rate: u32,
    range: f64,
    recording: String,
}

impl GdfWriter {
    /// A writer for `rate` samples per second and values in `-range..range` microvolts.
    pub fn new(rate: u32, range: f64) -> Self {
        GdfWriter { rate, range, recording: String::new() }
    }

    /// Sets the recording identification (at most 63 bytes are kept).
    pub fn recording(mut self, text: &str) -> Self {
        self.recording = text.to_string();
        self
    }

    /// The physical value a sample comes back as.
    pub fn quantise(&self, x: f64) -> f64 {
        let d = f64::from(self.digital(x));
        if d <= DIGITAL.0 || d >= DIGITAL.1 { f64::NAN } else { (d - DIGITAL.0) * self.step() - self.range }
    }

    fn step(&self) -> f64 {
        2.0 * self.range / (DIGITAL.1 - DIGITAL.0)
    }

    fn digital(&self, x: f64) -> i16 {
        if x.is_nan() {
            return i16::MIN;
        }
        ((x + self.range) / self.step() + DIGITAL.0).round().clamp(DIGITAL.0, DIGITAL.1) as i16
    }

    /// Writes `signal` (channels, samples) and its events. Records last one second; the last one is filled with
    /// lost samples (NaN).
    pub fn write(&self, w: &mut impl Write, labels: &[&str], signal: ArrayView2<f64>, events: &[Event]) -> Result<()> {
        let (channels, samples) = signal.dim();
        if channels == 0 || channels > 255 || labels.len() != channels {
            let what = format!("{channels} channels with {} labels; from 1 to 255 can be written", labels.len());
            return Err(Error::param("signal", what));
        }
        if self.rate == 0 || !(self.range.is_finite() && self.range > 0.0) {
            return Err(Error::param("rate", "the rate and the range must be positive"));
        }
        let position = |e: &Event| u32::try_from(e.position + 1);
        if events.len() >= 1 << 24 || events.iter().any(|e| position(e).is_err()) {
            return Err(Error::param("events", "fewer than 2^24 events, all below sample 2^32, can be written"));
        }
        let rate = self.rate as usize;
        let records = samples.div_ceil(rate);
        let mut out = self.headers(labels, records);
        let io = |e| Error::io("GDF output", e);
        for r in 0..records {
            for row in signal.rows() {
                for i in r * rate..(r + 1) * rate {
                    let x = if i < samples { row[i] } else { f64::NAN };
                    out.extend_from_slice(&self.digital(x).to_le_bytes());
                }
            }
            if out.len() > 1 << 20 {
                w.write_all(&out).map_err(io)?;
                out.clear();
            }
        }
        out.extend_from_slice(&(3 | (events.len() as u32) << 8).to_le_bytes());
        out.extend_from_slice(&(self.rate as f32).to_le_bytes());
        events.iter().for_each(|e| out.extend_from_slice(&((e.position + 1) as u32).to_le_bytes()));
        events.iter().for_each(|e| out.extend_from_slice(&e.code.to_le_bytes()));
        events.iter().for_each(|e| out.extend_from_slice(&e.channel.to_le_bytes()));
        events.iter().for_each(|e| out.extend_from_slice(&e.duration.to_le_bytes()));
        w.write_all(&out).map_err(io)
    }

    fn headers(&self, labels: &[&str], records: usize) -> Vec<u8> {
        let n = labels.len();
        let mut h = vec![0u8; 256];
        h[..8].copy_from_slice(b"GDF 2.20");
        put_text(&mut h[8..74], "X X");
        put_text(&mut h[88..151], &self.recording);
        h[184..186].copy_from_slice(&(n as u16 + 1).to_le_bytes());
        h[236..244].copy_from_slice(&(records as i64).to_le_bytes());
        h[244..248].copy_from_slice(&1u32.to_le_bytes());
        h[248..252].copy_from_slice(&1u32.to_le_bytes());
        h[252..254].copy_from_slice(&(n as u16).to_le_bytes());
        for label in labels {
            let at = h.len();
            h.resize(at + 16, 0);
            put_text(&mut h[at..at + 15], label);
        }
        h.resize(h.len() + (80 + 6) * n, 0);
        let mut field = |bytes: &[u8]| (0..n).for_each(|_| h.extend_from_slice(bytes));
        field(&UNIT_MICROVOLT.to_le_bytes());
        field(&(-self.range).to_le_bytes());
        field(&self.range.to_le_bytes());
        field(&DIGITAL.0.to_le_bytes());
        field(&DIGITAL.1.to_le_bytes());
        field(&[0; 68 + 12]); // prefilter text, low-pass, high-pass, notch: none
        field(&self.rate.to_le_bytes());
        field(&3u32.to_le_bytes());
        field(&[0; 12 + 20]); // electrode position and impedance: unknown
        h
    }
}

/// Copies as much of `text` as fits; what is left stays NUL.
fn put_text(field: &mut [u8], text: &str) {
    let n = text.len().min(field.len());
    field[..n].copy_from_slice(&text.as_bytes()[..n]);
}
