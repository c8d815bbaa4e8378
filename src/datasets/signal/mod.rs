//! From a raw recording to epochs: lost samples, band-pass filter, cutting by trigger.
//!
//! The setting of Yair et al. 2019 is the default of [`SignalParams`]: NaN to 0, FIR band-pass of order 300 at 8-30 Hz designed with
//! a Hamming window, 'same' convolution, then 2.5 s to 6.5 s from the start of each trial.
//! The crate `spd` computes the covariances of the epochs.

mod convolve;
mod epochs;
mod fir;

pub use convolve::convolve_same;
pub use epochs::cut_epochs;
pub use fir::bandpass_taps;

use ndarray::{Array2, Array3, ArrayView2};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The signal path as written in a configuration; [`SignalParams::check`] makes it usable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SignalParams {
    /// Order of the filter: taps minus one, even.
    pub order: usize,
    /// Lower edge of the pass band in Hz.
    pub low: f64,
    /// Upper edge of the pass band in Hz.
    pub high: f64,
    /// Start of the epoch in seconds after the trial's start.
    pub start: f64,
    /// End of the epoch in seconds after the trial's start.
    pub end: f64,
}

impl Default for SignalParams {
    fn default() -> Self {
        SignalParams { order: 300, low: 8.0, high: 30.0, start: 2.5, end: 6.5 }
    }
}

impl SignalParams {
    /// Checks the parameters against the sampling rate.
    pub fn check(&self, rate: f64) -> Result<SignalPath> {
        if !(rate.is_finite() && rate > 0.0) {
            return Err(Error::param("rate", format!("{rate} Hz; it must be positive")));
        }
        if self.order == 0 || !self.order.is_multiple_of(2) || self.order > 1 << 16 {
            return Err(Error::param(
                "order",
                format!("{}; an even number up to 65536 keeps the phase linear", self.order),
            ));
        }
        if !(self.low > 0.0 && self.low < self.high && self.high < rate / 2.0) {
            let what = format!("{} to {} Hz; 0 < low < high < {} is needed", self.low, self.high, rate / 2.0);
            return Err(Error::param("low, high", what));
        }
        if !(self.start >= 0.0 && self.start < self.end && self.end <= 60.0) {
            let what = format!("{} to {} s; 0 <= start < end <= 60 is needed", self.start, self.end);
            return Err(Error::param("start, end", what));
        }
        let taps = bandpass_taps(self.order + 1, self.low, self.high, rate);
        let sample = |seconds: f64| (seconds * rate).round() as usize;
        let (start, end) = (sample(self.start), sample(self.end));
        if end <= start {
            return Err(Error::param("start, end", "the epoch is shorter than one sample"));
        }
        Ok(SignalPath { taps, start, end })
    }
}

/// A checked signal path: the only type that filters and cuts.
#[derive(Debug, Clone)]
pub struct SignalPath {
    taps: Vec<f64>,
    start: usize,
    end: usize,
}

impl SignalPath {
    /// Which samples an epoch takes, counted from the start of its trial.
    pub fn window(&self) -> std::ops::Range<usize> {
        self.start..self.end
    }

    /// Whether the epoch of a trial that starts at sample `start` lies within a recording of `samples` samples.
    pub fn fits(&self, start: usize, samples: usize) -> bool {
        start.checked_add(self.end).is_some_and(|end| end <= samples)
    }

    /// Samples of one epoch.
    pub fn epoch_samples(&self) -> usize {
        self.end - self.start
    }

    /// Filters each channel of `signal` (channels, samples), lost samples taken as 0.
    pub fn filter(&self, signal: ArrayView2<f64>) -> Array2<f64> {
        let rows: Vec<Vec<f64>> = (0..signal.nrows())
            .into_par_iter()
            .map(|c| {
                let clean: Vec<f64> = signal.row(c).iter().map(|x| if x.is_nan() { 0.0 } else { *x }).collect();
                convolve_same(&clean, &self.taps)
            })
            .collect();
        let mut out = Array2::zeros(signal.dim());
        for (mut to, from) in out.rows_mut().into_iter().zip(rows) {
            to.iter_mut().zip(from).for_each(|(t, f)| *t = f);
        }
        out
    }

    /// Filters and cuts: one epoch (channels, samples) per start in `starts`, as (trials, channels, samples).
    pub fn run(&self, signal: ArrayView2<f64>, starts: &[usize]) -> Result<Array3<f64>> {
        let filtered = self.filter(signal);
        cut_epochs(filtered.view(), starts, self.start, self.end)
    }
}
