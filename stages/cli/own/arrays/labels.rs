//! One class per sample: whole numbers, or words.
//!
//! Commands compute with numbers. Words get the numbers 1, 2, ... in alphabetical order of the first file that holds words; the files of one
//! command share them, so that the labels to train on and those to test with mean the same. [`class_names`] gives the words back.

use super::{ArrayInput, Inner, times};
use anyhow::{Context, Result, bail, ensure};
use ndarray::{Array1, Ix1};
use std::sync::Mutex;

/// The words of this process, which runs one command. Class `i` is entry `i - 1`.
static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The words of the classes 1, 2, ..., or nothing where labels are numbers.
pub fn class_names() -> Vec<String> {
    NAMES.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
}

impl ArrayInput {
    /// One class per sample, for the `count` samples of the file `of`.
    pub fn labels(&mut self, count: usize, of: &str) -> Result<Vec<i64>> {
        let name = self.name.clone();
        let labels = match &self.inner {
            Inner::Words(words) => numbered(words),
            Inner::File(npy) if npy.dtype().is_text() => {
                let Inner::File(npy) = &mut self.inner else { bail!("{name} cannot be read") };
                ensure!(
                    npy.shape().len() == 1,
                    "{name} has shape {}; labels are one word per sample",
                    times(npy.shape())
                );
                numbered(&npy.text()?)
            }
            _ => self.whole_numbers()?,
        };
        let n = labels.len();
        ensure!(n == count, "{name} has {n} labels for the {count} matrices of {of}; give one each");
        Ok(labels)
    }

    fn whole_numbers(&mut self) -> Result<Vec<i64>> {
        let (name, shape) = (self.name.clone(), times(self.shape()));
        // A CSV column or a (l, 1) array is as good as a vector.
        let flat: Array1<f64> = match self.all()? {
            a if a.ndim() == 2 && (a.shape()[0] == 1 || a.shape()[1] == 1) => a.into_iter().collect(),
            a => a
                .into_dimensionality::<Ix1>()
                .ok()
                .with_context(|| format!("{name} has shape {shape}; labels are one number per sample, shape (l,)"))?,
        };
        let range = f64::from(i32::MIN)..=f64::from(i32::MAX);
        for (i, v) in flat.iter().enumerate() {
            if v.fract() != 0.0 || !range.contains(v) {
                bail!("{name}: label {i} is {v}; labels are whole numbers from {} to {}", i32::MIN, i32::MAX);
            }
        }
        Ok(flat.iter().map(|v| *v as i64).collect())
    }
}

/// The numbers of some words. New words come after those that are known.
fn numbered(words: &[String]) -> Vec<i64> {
    let mut names = NAMES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut new: Vec<&String> = words.iter().filter(|w| !names.contains(w)).collect();
    new.sort_unstable();
    new.dedup();
    names.extend(new.into_iter().cloned());
    // Every word is in the list by now.
    words.iter().map(|w| names.iter().position(|n| n == w).map_or(0, |i| i as i64 + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_numbers_from_file_to_file() {
        let words = |list: &[&str]| list.iter().map(|w| w.to_string()).collect::<Vec<_>>();
        assert_eq!(numbered(&words(&["right", "left", "right"])), [2, 1, 2]);
        assert_eq!(numbered(&words(&["feet", "right"])), [3, 2], "a later file with other words");
        assert_eq!(class_names(), ["left", "right", "feet"]);
    }
}
