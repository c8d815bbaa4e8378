//! The extension module behind the Python package `kraus`: what belongs here is the passage between numpy arrays and the crates, nothing else.
//!
//! Estimators, their parameters and their documentation are Python (`python/kraus/`); methods are in the crates. A function here takes
//! arrays that the Python layer has brought to float64 in C order, and gives arrays and plain dictionaries back.
//!
//! | file | what |
//! |---|---|
//! | `run.rs` | threads of our own, Ctrl-C, progress: everything that computes goes through it |
//! | `arrays.rs` | checks of arrays, errors as Python errors |
//! | `regress.rs` | `repro fit` and `repro predict` |
//! | `complete.rs` | `repro complete`, the block model, cross-view kernel transfer |
//! | `transport.rs` | `repro adapt` |
//! | `functions.rs` | distances, means, plans, kernels, forms of a map |
//! | `readers.rs` | GDF and MATLAB files |

mod arrays;
mod complete;
mod functions;
mod readers;
mod regress;
mod run;
mod transport;

use pyo3::pymodule;

#[pymodule]
mod _kraus {
    #[pymodule_export]
    use super::complete::{complete, complete_blocks, cvkt};
    #[pymodule_export]
    use super::functions::{choi, distances, kernel, kraus_from_choi, means, partial_trace, sinkhorn};
    #[pymodule_export]
    use super::readers::{read_gdf, read_mat};
    #[pymodule_export]
    use super::regress::{Model, bound, fit};
    #[pymodule_export]
    use super::transport::{adapt, apply_map};
}
