//! Recentring: X -> A X A^T with A = M_t^1/2 M_s^-1/2, M_s and M_t the Riemannian means of the two domains.
//!
//! Up to the congruence by M_t^1/2, which no affine-invariant classifier sees, this is pyRiemann's `TLCenter`
//! (P. Zanini et al., *Transfer learning: a Riemannian geometry framework with applications to brain-computer interfaces*,
//! IEEE Transactions on Biomedical Engineering 2018).
//!
//! Domains with different channels share some of them, source channels c_s and target channels c_t ([`CommonChannels`]).
//! Then the common block is recentred, A_c = M_t[c_t, c_t]^1/2 M_s[c_s, c_s]^-1/2, and the channels that only the target has are
//! filled in from the target's mean: W = M_t[:, c_t] M_t[c_t, c_t]^-1 predicts them, and R = M_t - W M_t[c_t, c_t] W^T is what the
//! prediction leaves. The map is
//! ```text
//! X -> W A_c X_c A_c^T W^T + R tr(M_s[c_s, c_s]^-1 X_c) / |c|,
//! ```
//! a Kraus map: its images are positive semidefinite, and the mean of the source goes to the mean of the target.

use super::positive_map::PositiveMap;
use crate::manifold::function::one;
use crate::manifold::mean::mean;
use crate::{CheckedMeanParams, InputError, Metric, Result, check, map_eigenvalues};
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis};

/// The channels that both domains have: pairs (channel of the source, channel of the target).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommonChannels {
    pairs: Vec<(usize, usize)>,
}

impl CommonChannels {
    /// Every channel of n is common.
    pub fn all(n: usize) -> Self {
        CommonChannels { pairs: (0..n).map(|i| (i, i)).collect() }
    }

    /// These pairs. Each channel may appear once; at least one pair is needed.
    pub fn new(pairs: Vec<(usize, usize)>, source: usize, target: usize) -> Result<Self> {
        if pairs.is_empty() {
            return Err(InputError::empty("common channels").into());
        }
        for (k, &(i, j)) in pairs.iter().enumerate() {
            if i >= source || j >= target {
                let got = vec![i, j];
                return Err(InputError::shape("common channels", [source, target], got).into());
            }
            if pairs[..k].iter().any(|&(a, b)| a == i || b == j) {
                let must = "a channel that no other pair names";
                return Err(InputError::parameter("common channel", i as f64, must).into());
            }
        }
        Ok(CommonChannels { pairs })
    }

    /// Channels of the source, in the order of the pairs.
    pub fn of_source(&self) -> Vec<usize> {
        self.pairs.iter().map(|p| p.0).collect()
    }

    /// Channels of the target, in the order of the pairs.
    pub fn of_target(&self) -> Vec<usize> {
        self.pairs.iter().map(|p| p.1).collect()
    }
}

/// The submatrices of some channels.
pub(crate) fn channels(x: ArrayView3<'_, f64>, at: &[usize]) -> Array3<f64> {
    Array3::from_shape_fn((x.dim().0, at.len(), at.len()), |(k, i, j)| x[[k, at[i], at[j]]])
}

/// A fitted recentring.
#[derive(Debug, Clone, PartialEq)]
pub struct Recentring {
    /// M_s and M_t.
    means: (Array2<f64>, Array2<f64>),
    /// The operator W A_c, and R with M_s[c_s, c_s]^-1 / |c|.
    map: PositiveMap,
}

impl Recentring {
    /// From the matrices of the source (k, p, p) to those of the target (m, q, q).
    ///
    /// ```
    /// use spd::{CommonChannels, MeanParams, Recentring};
    /// let source = ndarray::arr3(&[[[1.0, 0.2], [0.2, 2.0]], [[2.0, 0.1], [0.1, 1.0]]]);
    /// let target = source.mapv(|v| 9.0 * v); // every signal three times stronger
    /// let params = MeanParams::default().check()?;
    /// let recentring = Recentring::fit(source.view(), target.view(), &CommonChannels::all(2), &params)?;
    /// let mapped = recentring.apply(source.view())?;
    /// assert!((&mapped - &target).iter().all(|e| e.abs() < 1e-7));
    /// # Ok::<(), spd::Error>(())
    /// ```
    pub fn fit(
        source: ArrayView3<'_, f64>,
        target: ArrayView3<'_, f64>,
        common: &CommonChannels,
        params: &CheckedMeanParams,
    ) -> Result<Self> {
        let (p, q) = (check::symmetric("source", &source)?, check::symmetric("target", &target)?);
        let (from, to) = (common.of_source(), common.of_target());
        if from.iter().any(|&i| i >= p) || to.iter().any(|&i| i >= q) {
            return Err(InputError::shape("common channels", [p, q], [from.len(), to.len()]).into());
        }
        let average = |x: ArrayView3<'_, f64>| mean(x, None, Metric::AffineInvariant, params).map(|m| m.matrix);
        let (ms, mt) = (average(source)?, average(target)?);
        let block = |m: &Array2<f64>, at: &[usize]| m.select(Axis(0), at).select(Axis(1), at);
        let (source_block, target_block) = (block(&ms, &from), block(&mt, &to));
        let whiten = one("recentring", source_block.view(), |v| 1.0 / v.sqrt())?;
        let colour = one("recentring", target_block.view(), f64::sqrt)?;
        let aligned = linalg::matmul(colour.view(), whiten.view());
        let c = from.len();
        // W: the identity on the common channels; the others are predicted from them.
        let inverse = one("recentring", target_block.view(), |v| 1.0 / v)?;
        let mut predict = linalg::matmul(mt.select(Axis(1), &to).view(), inverse.view());
        for (k, &at) in to.iter().enumerate() {
            predict.row_mut(at).fill(0.0);
            predict[[at, k]] = 1.0;
        }
        let spread = |a: &Array2<f64>| {
            let mut wide = Array2::zeros((a.nrows(), p));
            for (k, &at) in from.iter().enumerate() {
                wide.column_mut(at).assign(&a.column(k));
            }
            wide
        };
        let first = spread(&linalg::matmul(predict.view(), aligned.view()));
        let explained = linalg::matmul(linalg::matmul(predict.view(), target_block.view()).view(), predict.t());
        let rest: Vec<usize> = (0..q).filter(|j| !to.contains(j)).collect();
        let mut map = PositiveMap::new(first.insert_axis(Axis(0)))?;
        if !rest.is_empty() {
            let left = linalg::symmetrise(block(&(&mt - &explained), &rest).view());
            // The remainder is positive semidefinite up to rounding.
            let left = map_eigenvalues(left.insert_axis(Axis(0)).view(), |v| v.max(0.0))?;
            let by = one("recentring", source_block.view(), |v| 1.0 / v)? / c as f64;
            map = map.measuring(placed(left.index_axis(Axis(0), 0), &rest, q), placed(by.view(), &from, p));
        }
        Ok(Recentring { means: (ms, mt), map })
    }

    /// The mean of the source and the mean of the target.
    pub fn means(&self) -> (ArrayView2<'_, f64>, ArrayView2<'_, f64>) {
        (self.means.0.view(), self.means.1.view())
    }

    /// The map: one Kraus operator where the domains have the same channels, and R tr(K X) for channels of the target alone.
    pub fn map(&self) -> &PositiveMap {
        &self.map
    }

    /// The images of matrices of the source.
    pub fn apply(&self, x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
        self.map.apply(x)
    }
}

/// A matrix of order n that holds `block` at some rows and columns, and zeros elsewhere.
fn placed(block: ArrayView2<'_, f64>, at: &[usize], n: usize) -> Array2<f64> {
    let mut whole = Array2::zeros((n, n));
    for ((i, j), value) in block.indexed_iter() {
        whole[[at[i], at[j]]] = *value;
    }
    whole
}
