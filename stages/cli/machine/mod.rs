//! Commands about this machine and this program: `doctor`, `bench`, `completions`.

pub mod bench;
pub mod completions;
pub mod costs;
pub mod doctor;
