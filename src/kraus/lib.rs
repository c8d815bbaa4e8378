//! Partial trace regression: maps, stacks, losses, solvers, completion, the bound, backends.

pub mod simulate;
