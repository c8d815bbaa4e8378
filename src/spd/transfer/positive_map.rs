//! Completely positive maps in two parts, Kraus operators and measurements:
//! ```text
//! X -> sum_i A_i X A_i^T + sum_j R_j tr(K_j X),   A_i (q, p),   R_j (q, q) and K_j (p, p) positive semidefinite
//! ```
//! A term R tr(K X) measures X by K and answers with the matrix R. With R = sum_a r_a r_a^T and K = sum_b k_b k_b^T it has the Kraus
//! operators r_a k_b^T, up to q p of them, so the whole is a Kraus map like any other ([`PositiveMap::kraus`]). The short form keeps
//! the cost of an image at two products per operator A_i.

use crate::manifold::function::sandwich;
use crate::{InputError, Result};
use linalg::matmul;
use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis, s};

/// Eigenvalues of R and K below this share of the largest give no operators.
const NEGLIGIBLE: f64 = 1e-14;

/// A completely positive map from p x p to q x q matrices.
#[derive(Debug, Clone, PartialEq)]
pub struct PositiveMap {
    operators: Array3<f64>,
    measured: Vec<(Array2<f64>, Array2<f64>)>,
}

impl PositiveMap {
    /// X -> sum_i A_i X A_i^T with operators (r, q, p), r at least one.
    pub fn new(operators: Array3<f64>) -> Result<Self> {
        match operators.dim() {
            (0, _, _) | (_, 0, _) | (_, _, 0) => Err(InputError::empty("Kraus operators").into()),
            _ => Ok(PositiveMap { operators, measured: Vec::new() }),
        }
    }

    /// The map that [`operators`](Self::operators) and [`measurements`](Self::measurements) gave, as read from a file; the caller answers
    /// for R and K being positive semidefinite.
    pub fn from_parts(operators: Array3<f64>, measurements: Vec<(Array2<f64>, Array2<f64>)>) -> Result<Self> {
        let map = PositiveMap::new(operators)?;
        let (p, q) = map.sizes();
        for (answer, by) in &measurements {
            for (what, n, got) in [("answers of a map", q, answer), ("measurements of a map", p, by)] {
                if got.dim() != (n, n) {
                    return Err(InputError::shape(what, [n, n], got.shape()).into());
                }
            }
        }
        Ok(PositiveMap { measured: measurements, ..map })
    }

    /// The same and R tr(K X); the caller answers for R and K being positive semidefinite.
    pub(crate) fn measuring(mut self, answer: Array2<f64>, by: Array2<f64>) -> Self {
        self.measured.push((answer, by));
        self
    }

    /// Order of the inputs and of the images.
    pub fn sizes(&self) -> (usize, usize) {
        (self.operators.dim().2, self.operators.dim().1)
    }

    /// The images of matrices (k, p, p), symmetric to the last bit: (k, q, q).
    pub fn apply(&self, x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
        let mut sum = sandwich("map", self.operators.index_axis(Axis(0), 0), x)?;
        for a in self.operators.outer_iter().skip(1) {
            sum += &sandwich("map", a, x)?;
        }
        self.measure(x, &mut sum);
        Ok(sum)
    }

    /// Adds sum_j R_j tr(K_j X) to the images.
    fn measure(&self, x: ArrayView3<'_, f64>, images: &mut Array3<f64>) {
        for (answer, by) in &self.measured {
            for (mut image, x) in images.outer_iter_mut().zip(x.outer_iter()) {
                image.scaled_add(inner(by.view(), x), answer);
            }
        }
    }

    /// sum_j R_j tr(K_j X) for every X; none where there are no measurements.
    pub(crate) fn measured(&self, x: ArrayView3<'_, f64>) -> Option<Array3<f64>> {
        let q = self.sizes().1;
        let mut images = Array3::zeros((x.dim().0, q, q));
        self.measure(x, &mut images);
        (!self.measured.is_empty()).then_some(images)
    }

    /// The same measurements with other operators.
    pub(crate) fn with_operators(&self, operators: Array3<f64>) -> Self {
        PositiveMap { operators, measured: self.measured.clone() }
    }

    /// X -> next(self(X)).
    pub fn then(&self, next: &PositiveMap) -> Result<Self> {
        let (p, q) = (self.sizes().0, next.sizes().1);
        if self.sizes().1 != next.sizes().0 {
            return Err(InputError::shape("composed maps", [self.sizes().1], [next.sizes().0]).into());
        }
        let count = self.operators.dim().0;
        let mut operators = Array3::zeros((count * next.operators.dim().0, q, p));
        for (k, mut to) in operators.outer_iter_mut().enumerate() {
            let (b, a) = (next.operators.index_axis(Axis(0), k / count), self.operators.index_axis(Axis(0), k % count));
            to.assign(&matmul(b, a));
        }
        let mut measured = Vec::new();
        for (answer, by) in &self.measured {
            let answer = next.apply(answer.view().insert_axis(Axis(0)))?.index_axis_move(Axis(0), 0);
            measured.push((answer, by.clone()));
        }
        for (answer, by) in &next.measured {
            measured.push((answer.clone(), self.adjoint(by.view())));
        }
        Ok(PositiveMap { operators, measured })
    }

    /// The matrix K' with tr(K' X) = tr(K sum_i A_i X A_i^T) for every X. What the measurements of this map answer goes through the
    /// whole next map in [`then`](Self::then), so here it would count twice.
    fn adjoint(&self, k: ArrayView2<'_, f64>) -> Array2<f64> {
        let mut sum = Array2::zeros((self.sizes().0, self.sizes().0));
        for a in self.operators.outer_iter() {
            sum += &linalg::symmetrise(matmul(matmul(a.t(), k).view(), a).view());
        }
        sum
    }

    /// The Kraus operators A_i, without the measurements.
    pub fn operators(&self) -> ArrayView3<'_, f64> {
        self.operators.view()
    }

    /// The pairs (R_j, K_j) of the measurements.
    pub fn measurements(&self) -> &[(Array2<f64>, Array2<f64>)] {
        &self.measured
    }

    /// Kraus operators of the whole map, (r, q, p): first the A_i, then those of the measurements.
    pub fn kraus(&self) -> Result<Array3<f64>> {
        let (p, q) = self.sizes();
        let mut all: Vec<Array2<f64>> = self.operators.outer_iter().map(|a| a.to_owned()).collect();
        for (answer, by) in &self.measured {
            let (rows, columns) = (factor(answer)?, factor(by)?);
            for r in rows.columns() {
                all.extend(columns.columns().into_iter().map(|k| outer(r, k)));
            }
        }
        let mut stacked = Array3::zeros((all.len(), q, p));
        for (mut to, a) in stacked.outer_iter_mut().zip(&all) {
            to.assign(a);
        }
        Ok(stacked)
    }
}

/// <A, B>, summed by rows.
fn inner(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn outer(r: ndarray::ArrayView1<'_, f64>, k: ndarray::ArrayView1<'_, f64>) -> Array2<f64> {
    Array2::from_shape_fn((r.len(), k.len()), |(i, j)| r[i] * k[j])
}

/// F with F F^T = the positive semidefinite matrix, one column per eigenvalue that counts.
fn factor(m: &Array2<f64>) -> Result<Array2<f64>> {
    let e = linalg::eigh(linalg::symmetrise(m.view()).view())?;
    let largest = e.values.iter().fold(0.0f64, |a, b| a.max(*b));
    let first = e.values.iter().take_while(|v| **v <= NEGLIGIBLE * largest).count();
    let roots = e.values.slice(s![first..]).mapv(f64::sqrt);
    Ok(&e.vectors.slice(s![.., first..]) * &roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(shape: (usize, usize, usize), by: f64) -> Array3<f64> {
        Array3::from_shape_fn(shape, |(k, i, j)| (by * (1 + 3 * k + 5 * i + 7 * j) as f64).sin())
    }

    fn positive(n: usize, by: f64) -> Array2<f64> {
        let a = wave((1, n, n), by).index_axis_move(Axis(0), 0);
        a.dot(&a.t())
    }

    fn close(a: &Array3<f64>, b: &Array3<f64>) {
        let scale = a.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        assert!((a - b).iter().all(|v| v.abs() < 1e-12 * scale), "{a} {b}");
    }

    /// The short form, its Kraus operators and the composition of two maps agree on the same inputs.
    #[test]
    fn the_short_form_is_a_kraus_map_and_composes() {
        let x = Array3::from_shape_fn((5, 3, 3), |(k, i, j)| positive(3, 0.3 + 0.1 * k as f64)[[i, j]]);
        let first = PositiveMap::new(wave((2, 4, 3), 0.7)).unwrap().measuring(positive(4, 0.9), positive(3, 1.1));
        let next = PositiveMap::new(wave((3, 2, 4), 0.5)).unwrap().measuring(positive(2, 0.4), positive(4, 0.6));
        let images = first.apply(x.view()).unwrap();
        let expanded = PositiveMap::new(first.kraus().unwrap()).unwrap();
        // Either form has rank 2: waves are sums of two products.
        assert_eq!(expanded.operators().dim(), (2 + 2 * 2, 4, 3));
        close(&images, &expanded.apply(x.view()).unwrap());
        let both = first.then(&next).unwrap();
        assert_eq!(both.sizes(), (3, 2));
        close(&next.apply(images.view()).unwrap(), &both.apply(x.view()).unwrap());
        assert!(next.then(&next).is_err());
        let again = PositiveMap::from_parts(first.operators().to_owned(), first.measurements().to_vec()).unwrap();
        assert_eq!(again, first);
        assert!(PositiveMap::from_parts(first.operators().to_owned(), next.measurements().to_vec()).is_err());
        assert!(PositiveMap::new(Array3::zeros((0, 2, 2))).is_err());
    }
}
