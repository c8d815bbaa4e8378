//! The scalar types that this project computes with.

use num_traits::{Float, FloatConst, FromPrimitive, NumAssign, ToPrimitive};
use std::fmt::{Debug, Display};
use std::iter::Sum;

/// A real scalar: `f32` or `f64`.
///
/// ```
/// use linalg::Real;
/// fn third<T: Real>() -> T { T::of(1.0) / T::of(3.0) }
/// assert_eq!(third::<f64>(), 1.0 / 3.0);
/// ```
pub trait Real:
    crate::small::Kernels
    + Float
    + FloatConst
    + NumAssign
    + FromPrimitive
    + ToPrimitive
    + Sum
    + Copy
    + Default
    + Debug
    + Display
    + Send
    + Sync
    + ndarray::ScalarOperand
    + 'static
{
    /// The scalar nearest to `x`.
    fn of(x: f64) -> Self;
    /// This scalar as `f64`.
    fn as_f64(self) -> f64;
    /// The scalar that faer computes with: the same layout, the same bits on every machine.
    #[doc(hidden)]
    type Fixed: faer::traits::RealField + Copy;
    #[doc(hidden)]
    fn from_fixed(x: Self::Fixed) -> Self;
}

impl Real for f32 {
    fn of(x: f64) -> Self {
        x as f32
    }
    fn as_f64(self) -> f64 {
        f64::from(self)
    }
    type Fixed = crate::dense::Fixed32;
    fn from_fixed(x: Self::Fixed) -> Self {
        x.0
    }
}

impl Real for f64 {
    fn of(x: f64) -> Self {
        x
    }
    fn as_f64(self) -> f64 {
        self
    }
    type Fixed = crate::dense::Fixed64;
    fn from_fixed(x: Self::Fixed) -> Self {
        x.0
    }
}
