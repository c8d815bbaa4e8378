//! Class labels: any integers outside, 0 .. classes inside.

use crate::{Error, Result};
use std::ops::Index;

/// One label per sample, and the list of classes: what every method that learns from classes takes.
///
/// Plain integers stay where they are no more than that: `spd::scores` compares two lists, of which the predicted one may lack classes
/// or have others; `multiview::order_by_class` sorts by any key; splits and solvers inside the crates work on [`Labels::indices`].
///
/// ```
/// use estimator::Labels;
/// let labels = Labels::new(&[7, -1, 7])?;
/// assert_eq!((labels.classes(), labels.indices()), (&[-1, 7][..], &[1, 0, 1][..]));
/// assert_eq!(labels[2], 7);
/// assert_eq!(labels.select(&[0, 2])?.classes(), [7]);
/// // Indices of known classes: a label beyond the last class is refused, not ignored.
/// let wrong = Labels::from_indices(&[0, 3], 3).unwrap_err().to_string();
/// assert!(wrong.contains("sample 1 has label 3"), "{wrong}");
/// # Ok::<(), estimator::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    classes: Vec<i64>,
    indices: Vec<usize>,
}

impl Labels {
    /// From one integer per sample; the classes are those that occur, ascending. Refuses an empty list.
    pub fn new(labels: &[i64]) -> Result<Self> {
        if labels.is_empty() {
            return Err(Error::Empty { what: "list of labels" });
        }
        let mut classes = labels.to_vec();
        classes.sort_unstable();
        classes.dedup();
        // Every label is in the list of classes, which is sorted.
        let indices = labels.iter().map(|l| classes.partition_point(|c| c < l)).collect();
        Ok(Self { classes, indices })
    }

    /// From indices 0 .. classes. Classes may be without samples; an index beyond the last class is refused.
    pub fn from_indices(indices: &[usize], classes: usize) -> Result<Self> {
        if indices.is_empty() {
            return Err(Error::Empty { what: "list of labels" });
        }
        if let Some((sample, label)) = indices.iter().enumerate().find(|(_, l)| **l >= classes) {
            let last = classes.saturating_sub(1);
            let why = format!("sample {sample} has label {label}, and the {classes} classes are 0 to {last}");
            return Err(Error::Labels { why });
        }
        Ok(Self { classes: (0..classes as i64).collect(), indices: indices.to_vec() })
    }

    /// The labels of some samples, in that order; the classes are those that occur among them. Refuses an empty list.
    ///
    /// # Panics
    /// If there is no such sample: a programming error.
    pub fn select(&self, samples: &[usize]) -> Result<Self> {
        Self::new(&samples.iter().map(|&i| self[i]).collect::<Vec<_>>())
    }

    /// The same labels without classes that have no samples.
    pub fn without_empty_classes(&self) -> Self {
        let mut seen = vec![false; self.classes.len()];
        self.indices.iter().for_each(|&c| seen[c] = true);
        let place = |c: usize| seen[..c].iter().filter(|s| **s).count();
        let classes = self.classes.iter().zip(&seen).filter(|(_, s)| **s).map(|(c, _)| *c).collect();
        let places: Vec<usize> = (0..seen.len()).map(place).collect();
        Self { classes, indices: self.indices.iter().map(|&c| places[c]).collect() }
    }

    /// The classes, ascending.
    pub fn classes(&self) -> &[i64] {
        &self.classes
    }

    /// For each sample, the index of its class.
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// For each sample, its label.
    pub fn values(&self) -> impl Iterator<Item = i64> + '_ {
        self.indices.iter().map(|i| self.classes[*i])
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Never true: an empty list is refused.
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Refuses data of another number of samples, and fewer than two classes with samples.
    pub fn check_for(&self, samples: usize) -> Result<()> {
        if self.len() != samples {
            let why = format!("{} labels for {samples} samples; give one for each", self.len());
            return Err(Error::Labels { why });
        }
        let first = self.indices[0];
        if self.indices.iter().all(|i| *i == first) {
            let why = format!("all samples have the label {}; a classifier needs two classes", self.classes[first]);
            return Err(Error::Labels { why });
        }
        Ok(())
    }
}

/// The label of a sample.
impl Index<usize> for Labels {
    type Output = i64;

    fn index(&self, sample: usize) -> &i64 {
        &self.classes[self.indices[sample]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_without_samples_can_be_left_out() {
        let labels = Labels::from_indices(&[3, 1, 3], 5).unwrap();
        let dense = labels.without_empty_classes();
        assert_eq!((dense.classes(), dense.indices()), (&[1, 3][..], &[1, 0, 1][..]));
        assert!(dense.values().eq(labels.values()));
        assert_eq!(labels.select(&[1]).unwrap(), Labels::new(&[1]).unwrap());
        assert!(labels.select(&[]).is_err());
    }
}
