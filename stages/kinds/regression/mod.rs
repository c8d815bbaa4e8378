//! Simulated regression: figure 2, table 2 and the bound of theorem 4. Each file is one stage kind.

pub mod baselines;
pub mod figures;
pub mod results;
pub mod simulate;
pub mod train;
