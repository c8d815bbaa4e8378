//! A regression problem: inputs, targets and an optional mask, checked once so that no solver has to.
//!
//! Inputs are matrices X_s (l, p, p) or matrix units E_ij, kept as pairs (i, j) and never materialised: with them the
//! regression is the completion of a block matrix (theorem 5), block (i, j) being the target of E_ij.

use crate::error::{Error, InputError, Result, check_finite};
use crate::tolerances;
use estimator::Mask;
use linalg::Real;
use ndarray::{ArrayView2, ArrayView3, Axis, Ix3};

/// Square matrices (l, n, n) in standard layout, borrowed where they come that way and copied otherwise.
///
/// Kept as a slice and its shape, because an `ndarray` view would tie the lifetime of the data to that of the struct.
#[derive(Debug, Clone)]
pub struct Matrices<'a, T> {
    data: Data<'a, T>,
    l: usize,
    n: usize,
}

#[derive(Debug, Clone)]
enum Data<'a, T> {
    Borrowed(&'a [T]),
    Owned(Vec<T>),
}

impl<'a, T: Real> Matrices<'a, T> {
    fn new(a: ArrayView3<'a, T>) -> Self {
        let (l, n, _) = a.dim();
        let data = a.to_slice().map_or_else(|| Data::Owned(a.iter().copied().collect()), Data::Borrowed);
        Self { data, l, n }
    }

    fn borrowed(&self) -> Matrices<'_, T> {
        Matrices { data: Data::Borrowed(self.as_slice()), l: self.l, n: self.n }
    }

    /// (l, n, n).
    pub fn dim(&self) -> (usize, usize, usize) {
        (self.l, self.n, self.n)
    }

    /// All of them.
    pub fn view(&self) -> ArrayView3<'_, T> {
        // The constructor takes l n n values, in standard order.
        ArrayView3::from_shape(self.dim(), self.as_slice()).expect("length fits the shape")
    }

    /// All of them as one slice.
    pub fn as_slice(&self) -> &[T] {
        match &self.data {
            Data::Borrowed(data) => data,
            Data::Owned(data) => data,
        }
    }

    /// One of them.
    ///
    /// # Panics
    /// If `i` is not below l: a programming error.
    pub fn matrix(&self, i: usize) -> ArrayView2<'_, T> {
        self.view().index_axis_move(Axis(0), i)
    }
}

/// The inputs of a problem.
#[derive(Debug, Clone)]
pub enum Inputs<'a, T> {
    /// Matrices, shape (l, p, p), in standard layout.
    Matrices(Matrices<'a, T>),
    /// Matrix units E_ij of size p x p.
    Units {
        /// Size of the units.
        p: usize,
        /// The pairs (i, j).
        pairs: Vec<(usize, usize)>,
    },
}

/// Checked inputs and targets: (l, p, p) or l matrix units, and (l, q, q).
///
/// ```
/// use kraus::Problem;
/// use ndarray::Array3;
/// let x = Array3::<f64>::ones((5, 3, 3));
/// let y = Array3::<f64>::ones((5, 2, 2));
/// let problem = Problem::matrices(x.view(), y.view()).unwrap();
/// assert_eq!((problem.len(), problem.p(), problem.q(), problem.is_symmetric()), (5, 3, 2, true));
/// assert!(Problem::matrices(x.view(), y.slice(ndarray::s![..4, .., ..])).is_err());
/// ```
#[derive(Debug, Clone)]
pub struct Problem<'a, T> {
    inputs: Inputs<'a, T>,
    targets: Matrices<'a, T>,
    /// 1 at observed and 0 at missing targets: residuals are multiplied by it.
    mask: Option<Matrices<'a, T>>,
    symmetric_inputs: Vec<bool>,
    symmetric: bool,
}

impl<'a, T: Real> Problem<'a, T> {
    /// Regression from matrices (l, p, p) to matrices (l, q, q). Symmetry is detected.
    pub fn matrices(x: ArrayView3<'a, T>, y: ArrayView3<'a, T>) -> Result<Self> {
        let (l, p, _) = x.dim();
        if x.is_empty() {
            return Err(InputError::empty("inputs").into());
        }
        if x.dim() != (l, p, p) {
            return Err(InputError::shape("inputs", [l, p, p], x.shape()).into());
        }
        check_targets(l, &y)?;
        check_finite("inputs", x)?;
        let symmetric_inputs = x.outer_iter().map(is_symmetric).collect::<Vec<_>>();
        let symmetric = symmetric_inputs.iter().all(|s| *s) && y.outer_iter().all(is_symmetric);
        let inputs = Inputs::Matrices(Matrices::new(x));
        Ok(Self { inputs, targets: Matrices::new(y), mask: None, symmetric_inputs, symmetric })
    }

    /// Completion: block (i, j) of a p x p block matrix is the target of E_ij.
    pub fn units(p: usize, pairs: Vec<(usize, usize)>, y: ArrayView3<'a, T>) -> Result<Self> {
        if pairs.is_empty() || p == 0 {
            return Err(InputError::empty("matrix units").into());
        }
        if let Some((index, &(row, col))) = pairs.iter().enumerate().find(|(_, u)| u.0 >= p || u.1 >= p) {
            return Err(Error::Unit { index, row, col, p });
        }
        check_targets(pairs.len(), &y)?;
        let symmetric_inputs = pairs.iter().map(|(i, j)| i == j).collect::<Vec<_>>();
        let symmetric = symmetric_inputs.iter().all(|s| *s) && y.outer_iter().all(is_symmetric);
        let inputs = Inputs::Units { p, pairs };
        Ok(Self { inputs, targets: Matrices::new(y), mask: None, symmetric_inputs, symmetric })
    }

    /// With a mask (l, q, q): errors at missing targets do not count.
    pub fn with_mask(mut self, mask: &Mask<Ix3>) -> Result<Self> {
        let (flags, (l, n, _)) = (mask.flags(), self.targets.dim());
        if flags.dim() != self.targets.dim() {
            return Err(InputError::shape("mask", [l, n, n], flags.shape()).into());
        }
        let ones: Vec<T> = flags.iter().map(|seen| T::of(if *seen { 1.0 } else { 0.0 })).collect();
        let ones = Matrices { data: Data::Owned(ones), l, n };
        self.symmetric &= ones.view().outer_iter().all(is_symmetric);
        self.mask = Some(ones);
        Ok(self)
    }

    /// Refuses data that are not symmetric, for methods that need it.
    pub fn require_symmetric(self) -> Result<Self> {
        if let Some(index) = self.symmetric_inputs.iter().position(|s| !s) {
            return Err(InputError::not_symmetric("inputs", index).into());
        }
        if let Some(index) = self.targets.view().outer_iter().position(|m| !is_symmetric(m)) {
            return Err(InputError::not_symmetric("targets", index).into());
        }
        let mask = self.mask.as_ref().and_then(|m| m.view().outer_iter().position(|m| !is_symmetric(m)));
        match mask {
            Some(index) => Err(InputError::not_symmetric("mask", index).into()),
            None => Ok(self),
        }
    }

    /// The inputs.
    pub fn inputs(&self) -> &Inputs<'a, T> {
        &self.inputs
    }

    /// The targets, (l, q, q), in standard layout.
    pub fn targets(&self) -> ArrayView3<'_, T> {
        self.targets.view()
    }

    /// Whether there is a mask.
    pub fn is_masked(&self) -> bool {
        self.mask.is_some()
    }

    /// 1 at observed and 0 at missing targets, (l, q, q), in standard layout.
    pub(crate) fn mask(&self) -> Option<ArrayView3<'_, T>> {
        self.mask.as_ref().map(Matrices::view)
    }

    /// The targets as one slice.
    pub(crate) fn targets_slice(&self) -> &[T] {
        self.targets.as_slice()
    }

    /// The mask as one slice.
    pub(crate) fn mask_slice(&self) -> Option<&[T]> {
        self.mask.as_ref().map(Matrices::as_slice)
    }

    /// Whether all inputs, targets and masks are symmetric: gradients then need three products instead of five.
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// For each input, whether it is symmetric (E_ij: whether i = j): Gamma clamps eigenvalues there.
    pub fn symmetric_inputs(&self) -> &[bool] {
        &self.symmetric_inputs
    }

    /// The mean of the squared (masked) targets over all entries: the loss of predicting zero.
    pub fn mean_square(&self) -> f64 {
        let square = |v: &T| v.as_f64() * v.as_f64();
        let targets = self.targets_slice();
        let sum: f64 = match self.mask_slice() {
            Some(mask) => targets.iter().zip(mask).map(|(y, m)| square(y) * m.as_f64()).sum(),
            None => targets.iter().map(square).sum(),
        };
        sum / targets.len() as f64
    }

    /// The same inputs and mask with other targets, which are symmetric where the present ones are.
    pub(crate) fn with_targets<'s>(&'s self, targets: Vec<T>) -> Problem<'s, T> {
        let (l, n, _) = self.targets.dim();
        assert_eq!(targets.len(), l * n * n, "number of targets");
        Problem {
            inputs: match &self.inputs {
                Inputs::Matrices(x) => Inputs::Matrices(x.borrowed()),
                Inputs::Units { p, pairs } => Inputs::Units { p: *p, pairs: pairs.clone() },
            },
            targets: Matrices { data: Data::Owned(targets), l, n },
            mask: self.mask.as_ref().map(Matrices::borrowed),
            symmetric_inputs: self.symmetric_inputs.clone(),
            symmetric: self.symmetric,
        }
    }

    /// Number of samples l.
    pub fn len(&self) -> usize {
        self.targets.dim().0
    }

    /// Never true: empty sets are refused.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows of the inputs.
    pub fn p(&self) -> usize {
        match &self.inputs {
            Inputs::Matrices(x) => x.dim().1,
            Inputs::Units { p, .. } => *p,
        }
    }

    /// Rows of the targets.
    pub fn q(&self) -> usize {
        self.targets.dim().1
    }

    /// Refuses a stack whose input or output size differs from this problem's.
    pub fn check_fits(&self, stack: &crate::Stack<T>) -> Result<()> {
        let (got, expected) = (vec![stack.p(), stack.q()], vec![self.p(), self.q()]);
        if got == expected { Ok(()) } else { Err(InputError::shape("stack (input, output)", expected, got).into()) }
    }
}

fn is_symmetric<T: Real>(m: ArrayView2<'_, T>) -> bool {
    linalg::is_symmetric(m, tolerances::symmetric::<T>())
}

fn check_targets<T: Real>(l: usize, y: &ArrayView3<'_, T>) -> Result<()> {
    let q = y.dim().1;
    if y.is_empty() {
        return Err(InputError::empty("targets").into());
    }
    if y.dim() != (l, q, q) {
        return Err(InputError::shape("targets", [l, q, q], y.shape()).into());
    }
    check_finite("targets", *y)
}
