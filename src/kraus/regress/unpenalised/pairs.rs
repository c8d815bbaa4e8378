//! The samples of a fit: in memory, or as moments per fold from one pass over files that are too large for it.
//!
//! The square loss of one map depends on the samples only through their moments, and moments add up. So each fold of the
//! cross-validation keeps its own, the training set of a fold is the sum of the others, and no sample is needed twice.

use super::super::folds::Folds;
use crate::error::Result;
use crate::solvers::{Basis, Moments, MomentsBuilder};
use ndarray::{Array3, ArrayView3, Axis, CowArray, Ix3, s};
use rayon::prelude::*;

/// What a fit works on. Samples may be borrowed: arrays that somebody else holds are not copied.
#[derive(Debug)]
pub struct Pairs<'a> {
    /// Number of samples.
    pub l: usize,
    /// Rows of the inputs.
    pub p: usize,
    /// Rows of the outputs.
    pub q: usize,
    /// First input that is not symmetric.
    pub asymmetric: Option<usize>,
    /// Largest |Y_ij|.
    pub peak: f64,
    /// Mean of Y_ij^2.
    pub mean_square: f64,
    /// Folds of the cross-validation; one fold for none.
    pub folds: Folds,
    /// Moments of each fold.
    pub moments: Option<Vec<Moments>>,
    /// X and Y, unless they were streamed.
    pub samples: Option<(CowArray<'a, f64, Ix3>, CowArray<'a, f64, Ix3>)>,
}

impl<'a> Pairs<'a> {
    /// Pairs in memory. Moments are made where there are enough samples for them to be of use and they take at most `moments_limit` bytes;
    /// 0 for a solver that works on the samples themselves.
    pub fn new(
        x: CowArray<'a, f64, Ix3>,
        y: CowArray<'a, f64, Ix3>,
        folds: usize,
        seed: u64,
        moments_limit: u64,
    ) -> Result<Self> {
        let (l, p, q) = (x.dim().0, x.dim().1, y.dim().1);
        let asymmetric = x.outer_iter().position(|m| !linalg::is_symmetric(m, 0.0));
        let folds = Folds::new(l, folds.max(1), seed);
        let peak = y.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let mean_square = y.iter().map(|v| v * v).sum::<f64>() / y.len().max(1) as f64;
        let mut pairs = Self { l, p, q, asymmetric, peak, mean_square, folds, moments: None, samples: None };
        let basis = pairs.basis();
        if l >= basis.len(p) && Self::moments_bytes(basis, p, q, pairs.folds.count()) <= moments_limit {
            // One sample at a time into the moments of its fold: nothing is gathered first.
            let of = |fold: usize| {
                let mut builder = MomentsBuilder::new(p, q, basis);
                for i in pairs.folds.inside(fold) {
                    builder.update(x.slice(s![i..i + 1, .., ..]), y.slice(s![i..i + 1, .., ..]))?;
                }
                builder.finish()
            };
            pairs.moments = Some((0..pairs.folds.count()).into_par_iter().map(of).collect::<Result<_>>()?);
        }
        pairs.samples = Some((x, y));
        Ok(pairs)
    }

    /// Bytes of the moments of every fold, of one sum, and of a fit to it.
    pub fn moments_bytes(basis: Basis, p: usize, q: usize, folds: usize) -> u64 {
        ((basis.len(p) as u64).pow(2) + (basis.len(p) * basis.len(q)) as u64) * 8 * (folds as u64 + 3)
    }

    /// X and Y, unless they were streamed.
    pub fn views(&self) -> Option<(ArrayView3<'_, f64>, ArrayView3<'_, f64>)> {
        self.samples.as_ref().map(|(x, y)| (x.view(), y.view()))
    }

    /// Moments of all samples.
    pub fn total(&self) -> Result<Option<Moments>> {
        self.moments.as_ref().map(|m| Moments::merged(&m.iter().collect::<Vec<_>>())).transpose()
    }

    /// Moments of all samples outside a fold.
    pub fn outside(&self, fold: usize) -> Result<Option<Moments>> {
        let others = |m: &Vec<Moments>| {
            let parts: Vec<&Moments> = m.iter().enumerate().filter(|(f, _)| *f != fold).map(|(_, m)| m).collect();
            Moments::merged(&parts)
        };
        self.moments.as_ref().map(others).transpose()
    }

    /// X and Y of the samples in a fold (`inside`) or outside it.
    pub fn select(&self, fold: usize, inside: bool) -> Option<(Array3<f64>, Array3<f64>)> {
        let chosen = if inside { self.folds.inside(fold) } else { self.folds.outside(fold) };
        self.samples.as_ref().map(|(x, y)| (x.select(Axis(0), &chosen), y.select(Axis(0), &chosen)))
    }

    /// The coordinates that inputs of this kind have.
    pub fn basis(&self) -> Basis {
        if self.asymmetric.is_some() { Basis::Full } else { Basis::Symmetric }
    }
}
