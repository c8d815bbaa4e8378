//! The engine from outside, one binary so that it links once.

mod behaviour;
mod common;
mod overhead;
