//! Cutting a continuous signal into trials.

use ndarray::{Array3, ArrayView2, Axis, s};

use crate::{Error, Result};

/// Cuts `signal` (channels, samples) from `start` to `end` samples after each trigger: (trials, channels, samples).
pub fn cut_epochs(signal: ArrayView2<f64>, triggers: &[usize], start: usize, end: usize) -> Result<Array3<f64>> {
    let (channels, samples) = signal.dim();
    if end <= start {
        return Err(Error::param("end", "an epoch must end after its start"));
    }
    // Every epoch must lie within the recording. This is checked before the array is allocated.
    if let Some(t) = triggers.iter().find(|t| t.checked_add(end).is_none_or(|e| e > samples)) {
        let what = format!("the trial at sample {t} needs samples up to {end} after it, the recording has {samples}");
        return Err(Error::dataset("epochs", what));
    }
    let mut out = Array3::zeros((triggers.len(), channels, end - start));
    for (mut epoch, t) in out.axis_iter_mut(Axis(0)).zip(triggers) {
        epoch.assign(&signal.slice(s![.., t + start..t + end]));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_at_triggers_and_refuses_what_is_not_there() {
        let signal = ndarray::Array2::from_shape_fn((2, 10), |(c, t)| (100 * c + t) as f64);
        let e = cut_epochs(signal.view(), &[0, 5], 2, 5).unwrap();
        assert_eq!(e.dim(), (2, 2, 3));
        assert_eq!(e[(1, 1, 0)], 107.0);
        let error = cut_epochs(signal.view(), &[6], 2, 5).unwrap_err().to_string();
        assert!(error.contains("sample 6"), "{error}");
    }
}
