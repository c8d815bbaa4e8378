//! `repro`: the program.
fn main() {}
