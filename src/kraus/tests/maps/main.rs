//! Properties of maps and stacks, and their gradients against finite differences.

mod gradients;
mod properties;
