//! Arrays that people bring: .npy (in memory or in pieces), one array of an .npz or .mat, a table as CSV.
//!
//! An .npz or .mat with several arrays is addressed as `file.npz:name`. Matrices that are symmetric up to the rounding of the
//! file's own precision are made exactly symmetric, so that float32 data do not count as asymmetric. What comes through a pipe is read whole.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | a source of arrays and what commands ask of it |
//! | `open.rs` | from the name that the user wrote to the array |
//! | `csv.rs` | tables as text |
//! | `labels.rs` | one class per sample, as numbers or as words |

mod csv;
mod labels;
mod open;

use super::facts::number as readable;
use super::times;
use anyhow::{Context, Result, bail, ensure};
use kraus::data::{rounding, symmetrise_rounding};
pub use labels::class_names;
use ndarray::{Array2, Array3, ArrayD, ArrayView2, Axis, Ix2, IxDyn, Slice};
use npy::Reader;
pub use open::{bytes, conversion};
use std::fs::File;
use std::ops::Range;

/// The least and the largest eigenvalue of a symmetric matrix that is not positive definite beyond rounding, which is n eps times the
/// largest, as in `spd`; none for a matrix that is.
pub fn deficient(m: ArrayView2<'_, f64>) -> Result<Option<(f64, f64)>> {
    // Pivots far above rounding leave no doubt, and cost less than eigenvalues.
    let clear = linalg::cholesky(m).is_ok_and(|l| {
        let (low, high) = l.diag().iter().fold((f64::INFINITY, 0.0f64), |(a, b), &v| (a.min(v), b.max(v)));
        low > 1e-4 * high
    });
    if clear || m.is_empty() {
        return Ok(None);
    }
    let values = linalg::eigh(m)?.values;
    // The matrix is not empty, so there is a first and a last eigenvalue.
    let (least, most) = (values[0], values[values.len() - 1]);
    Ok((least <= linalg::tolerances::definite(m.nrows()) * most).then_some((least, most)))
}

/// An array to read.
#[derive(Debug)]
pub struct ArrayInput {
    /// As the user wrote it.
    pub name: String,
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    /// A file that is read in pieces.
    File(Reader<File>),
    /// An array in memory; `single` says that the file held 4-byte floats.
    Here { array: ArrayD<f64>, single: bool },
    /// Words, one per sample.
    Words(Vec<String>),
}

impl ArrayInput {
    /// Opens `file.npy`, `file.npz`, `file.npz:array`, `file.mat:array` or `file.csv`. A file that this command writes is refused.
    pub fn open(name: &str) -> Result<ArrayInput> {
        Ok(ArrayInput { name: name.into(), inner: open::open(name)? })
    }

    /// Lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        match &self.inner {
            Inner::File(npy) => npy.shape(),
            Inner::Here { array, .. } => array.shape(),
            Inner::Words(_) => &[],
        }
    }

    /// Whether the file holds 4-byte floats.
    pub fn single(&self) -> bool {
        match &self.inner {
            Inner::File(npy) => npy.dtype().is_single(),
            Inner::Here { single, .. } => *single,
            Inner::Words(_) => false,
        }
    }

    /// Whether to read it in pieces. What is in memory already is not.
    pub fn large(&self, limit: u64) -> bool {
        matches!(&self.inner, Inner::File(npy) if npy.header().bytes() > limit)
    }

    /// Items `range` along the first axis.
    pub fn rows(&mut self, range: Range<usize>) -> Result<ArrayD<f64>> {
        let mut shape = self.shape().to_vec();
        if let Some(first) = shape.first_mut() {
            *first = range.len();
        }
        match &mut self.inner {
            Inner::File(npy) => Ok(ArrayD::from_shape_vec(IxDyn(&shape), npy.rows(range)?)?),
            Inner::Here { array, .. } => Ok(array.slice_axis(Axis(0), Slice::from(range)).to_owned()),
            Inner::Words(_) => bail!("{} holds words; numbers are needed", self.name),
        }
    }

    /// Everything.
    pub fn all(&mut self) -> Result<ArrayD<f64>> {
        match &mut self.inner {
            Inner::Here { array, .. } => Ok(array.clone()),
            Inner::File(npy) => Ok(npy.all()?),
            Inner::Words(_) => bail!("{} holds words; numbers are needed", self.name),
        }
    }

    /// Number and size of a batch of square matrices (l, n, n), at least one.
    pub fn batch(&self, what: &str) -> Result<(usize, usize)> {
        let (name, shape) = (&self.name, times(self.shape()));
        match *self.shape() {
            [0, ..] | [_, 0, _] => bail!("{name} is empty ({shape}); {what} needs at least one matrix"),
            [l, n, m] if n == m => Ok((l, n)),
            _ => bail!("{name} has shape {shape}; {what} must be l square matrices, shape (l, n, n)"),
        }
    }

    /// Matrices `range` of a batch: finite, and exactly symmetric where they are so up to rounding.
    pub fn matrices(&mut self, range: Range<usize>) -> Result<Array3<f64>> {
        let (from, tolerance) = (range.start, self.tolerance());
        let mut block: Array3<f64> = self.rows(range)?.into_dimensionality()?;
        for (s, mut m) in block.outer_iter_mut().enumerate() {
            if m.iter().any(|v| !v.is_finite()) {
                bail!("{}: sample {} holds NaN or infinite values; remove or repair it", self.name, from + s);
            }
            symmetrise_rounding(&mut m, tolerance);
        }
        Ok(block)
    }

    /// A whole batch of matrices, checked as [`matrices`](Self::matrices).
    pub fn whole(&mut self, what: &str) -> Result<Array3<f64>> {
        let (l, _) = self.batch(what)?;
        self.matrices(0..l)
    }

    /// A whole batch of symmetric positive definite matrices.
    pub fn definite(&mut self, what: &str) -> Result<Array3<f64>> {
        let batch = self.whole(what)?;
        for (i, m) in batch.outer_iter().enumerate() {
            let name = &self.name;
            ensure!(
                linalg::is_symmetric(m, linalg::tolerances::SYMMETRIC_INPUT),
                "{name}: matrix {i} is not symmetric; save (A + A^T) / 2 if that is what you mean"
            );
            if let Some((least, most)) = deficient(m)? {
                bail!(
                    "{name}: matrix {i} is not positive definite or of deficient rank, its eigenvalues run from {} to {}; use a \
                     shrinkage covariance, --reduce (as after an average reference), or drop it",
                    readable(least),
                    readable(most)
                );
            }
        }
        Ok(batch)
    }

    /// One matrix; NaN is allowed.
    pub fn matrix(&mut self, what: &str) -> Result<Array2<f64>> {
        let (name, shape) = (self.name.clone(), times(self.shape()));
        ensure!(!self.shape().contains(&0), "{name} is empty ({shape}); {what} needs at least one row and column");
        let array = self.all()?;
        array
            .into_dimensionality::<Ix2>()
            .ok()
            .with_context(|| format!("{name} has shape {shape}; {what} is one matrix"))
    }

    /// How far from symmetric counts as rounding.
    pub fn tolerance(&self) -> f64 {
        rounding(self.single())
    }
}

/// Samples that one piece of a streamed file holds: about 32 MiB.
pub fn piece(shape: &[usize]) -> usize {
    let each: usize = shape.iter().skip(1).product::<usize>() * 8;
    ((32 << 20) / each.max(1)).max(1)
}
