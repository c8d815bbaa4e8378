//! A session from a BNCI Horizon file: `data` is a cell of runs, each with X (samples, 25), trial, y, fs, artifacts, classes.

use ndarray::{Array2, s};

use super::{EEG_CHANNELS, Recording, Trial};
use crate::mat::{self, Value};
use crate::{Error, Result};

/// Lost samples (NaN) that are put after each run. In the GDF files lost samples separate the runs, too.
const GAP: usize = 100;

/// Reads the file, or `None` if it has no variable `data`. Runs are joined, with 100 lost samples (NaN) after each.
pub fn read_bnci(name: &str, bytes: &[u8]) -> Result<Option<Recording>> {
    let variables = mat::read(name, bytes)?;
    let Some((_, data)) = variables.iter().find(|(n, _)| n == "data") else { return Ok(None) };
    let bad = |run: usize, what: &str| Error::dataset(name, format!("run {}: {what}", run + 1));
    let cells = data.cells().ok_or_else(|| Error::dataset(name, "`data` is not a cell of runs"))?;
    let mut samples = 0usize;
    let mut rate = None;
    for (i, run) in cells.iter().enumerate() {
        let x = run.field("X").and_then(Value::numeric).ok_or_else(|| bad(i, "no signal `X`"))?;
        if x.shape.len() != 2 || x.shape[1] < EEG_CHANNELS || x.data.len() != x.shape[0] * x.shape[1] {
            return Err(bad(i, "`X` is not (samples, channels) with at least 22 channels"));
        }
        let fs = run.field("fs").and_then(Value::scalar).filter(|f| *f > 0.0).ok_or_else(|| bad(i, "no rate `fs`"))?;
        if rate.is_some_and(|r| r != fs) {
            return Err(bad(i, "its rate is not that of the first run"));
        }
        rate = Some(fs);
        samples += x.shape[0] + GAP;
    }
    let rate = rate.ok_or_else(|| Error::dataset(name, "`data` has no runs"))?;
    let mut signal = Array2::from_elem((EEG_CHANNELS, samples), f64::NAN);
    let mut trials = Vec::new();
    let mut at = 0;
    for (i, run) in cells.iter().enumerate() {
        // The loop above has checked that every run has `X`.
        let Some(x) = run.field("X").and_then(Value::numeric) else { continue };
        let n = x.shape[0];
        for c in 0..EEG_CHANNELS {
            // Column-major: each channel is contiguous.
            signal.slice_mut(s![c, at..at + n]).assign(&ndarray::aview1(&x.data[c * n..(c + 1) * n]));
        }
        trials.extend(run_trials(run, at, n).map_err(|what| bad(i, &what))?);
        at += n + GAP;
    }
    Ok(Some(Recording { rate, signal, trials }))
}

fn run_trials(run: &Value, at: usize, samples: usize) -> std::result::Result<Vec<Trial>, String> {
    let numbers = |field: &str| run.field(field).and_then(Value::numeric).map_or(&[][..], |n| &n.data);
    let (starts, labels, artifacts) = (numbers("trial"), numbers("y"), numbers("artifacts"));
    if labels.len() != starts.len() || !(artifacts.is_empty() || artifacts.len() == starts.len()) {
        return Err(format!("{} trials, {} labels, {} artefact marks", starts.len(), labels.len(), artifacts.len()));
    }
    (0..starts.len())
        .map(|k| {
            // Positions count from 1.
            if !(starts[k] >= 1.0 && starts[k] <= samples as f64) {
                return Err(format!("trial {} starts at sample {}", k + 1, starts[k]));
            }
            if ![1.0, 2.0, 3.0, 4.0].contains(&labels[k]) {
                return Err(format!("trial {} is of class {}", k + 1, labels[k]));
            }
            let rejected = artifacts.get(k).is_some_and(|a| *a != 0.0);
            Ok(Trial { start: at + starts[k] as usize - 1, label: labels[k] as u8, rejected })
        })
        .collect()
}
