//! Partial trace regression behind the interface that all estimators of this project share (crate `estimator`).
//!
//! What belongs here: parameters with `check()`, and the conversion between plain arrays and [`Problem`](crate::Problem).
//! The methods themselves are in [`crate::solvers`].
//!
//! | file | what |
//! |---|---|
//! | ptr.rs | [`Ptr`]: stacks of Kraus maps, by any solver |
//! | general.rs | [`General`]: the unconstrained model tr_m(A X B^T) |

mod general;
mod ptr;

pub use general::{General, GeneralMethod, GeneralModel, GeneralParams};
pub use ptr::{Ptr, PtrMethod, PtrModel, PtrParams};

use crate::error::{Error, FitError, InputError};

impl From<Error> for estimator::Error {
    fn from(e: Error) -> Self {
        match e {
            Error::Input(InputError::Shape { what, expected, got }) => {
                Self::Shape { what, expected: format!("{expected:?}"), got }
            }
            Error::Input(InputError::Empty { what, .. }) => Self::Empty { what },
            Error::Input(InputError::NotFinite { what, index }) => Self::NotFinite { what, sample: index },
            Error::Input(InputError::Parameter { name, value, must: expected }) => {
                Self::parameter(name, value, expected)
            }
            other => Self::method("partial trace regression", other),
        }
    }
}

impl From<FitError> for estimator::Error {
    fn from(e: FitError) -> Self {
        match e {
            FitError::Input(wrong) => wrong.into(),
            other => Self::method("partial trace regression", other),
        }
    }
}
