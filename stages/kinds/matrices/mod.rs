//! Completion of simulated positive semidefinite matrices: figures 3 to 5 and table 4. Each file is one stage kind.

pub mod complete_matrix;
pub mod figures;
pub mod results;
pub mod simulate_matrices;
