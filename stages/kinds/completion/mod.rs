//! Completion of the kernels of Multiple Features: figures 6 and 7. Each file is one stage kind.

pub mod classify;
pub mod complete_kernels;
pub mod fetch_digits;
pub mod figures;
pub mod kernels;
pub mod mask;
pub mod results;
