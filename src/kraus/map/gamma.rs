//! Gamma, the clamp of singular values: U max(S, eps) V^T.
//!
//! Where the stack's input is symmetric the eigenvalues are clamped instead, V max(w, eps) V^T: the same on positive
//! semidefinite matrices, which is what a Kraus map gives there.
//!
//! Where singular values vanish U and V are not determined: any bases of the two null spaces would do. Gamma takes the limit
//! of Gamma(M + t I) for t > 0 that falls to 0, which depends on no basis. Training, prediction and the GPU share that
//! rule, and training and prediction share the code: [`linalg::Clamp`].

use crate::error::{InputError, Result};
use linalg::batch::LANES;
use linalg::{Clamp, Real};
use ndarray::{Array2, Array3, ArrayView2, Axis};

/// Gamma of one matrix: of its eigenvalues if `symmetric`, of its singular values otherwise.
pub fn clamp<T: Real>(m: ArrayView2<'_, T>, eps: f64, symmetric: bool) -> Result<Array2<T>> {
    if m.nrows() != m.ncols() {
        let expected = vec![m.nrows(), m.nrows()];
        return Err(InputError::shape("input of Gamma", expected, m.shape()).into());
    }
    let mut one = m.to_owned().insert_axis(Axis(0));
    clamp_batch(&mut one, eps, &[symmetric])?;
    Ok(one.index_axis_move(Axis(0), 0))
}

/// Gamma of many n x n matrices in place, sixteen at a time. `symmetric` says for each which values are clamped.
pub(crate) fn clamp_batch<T: Real>(matrices: &mut Array3<T>, eps: f64, symmetric: &[bool]) -> Result<()> {
    crate::error::check_finite("input of Gamma", matrices.view())?;
    let n = matrices.dim().1;
    let mut matrix = vec![T::of(0.0); n * n];
    for kind in [true, false] {
        let ours: Vec<usize> = (0..symmetric.len()).filter(|s| symmetric[*s] == kind).collect();
        for group in ours.chunks(LANES) {
            let mut clamp = Clamp::new(n, group.len(), T::of(eps));
            for lane in 0..clamp.lanes() {
                // Lanes without a matrix repeat the first one.
                let sample = group.get(lane).copied().unwrap_or(group[0]);
                matrix.iter_mut().zip(matrices.index_axis(Axis(0), sample)).for_each(|(to, v)| *to = *v);
                clamp.put(lane, &matrix);
            }
            clamp.forward(kind);
            for (lane, &sample) in group.iter().enumerate() {
                clamp.take(lane, &mut matrix);
                matrices.index_axis_mut(Axis(0), sample).iter_mut().zip(&matrix).for_each(|(to, v)| *to = *v);
            }
        }
    }
    Ok(())
}
