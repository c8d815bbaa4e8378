//! The engine from outside, one binary so that it links once.

mod behaviour;
mod broken;
mod child;
mod common;
mod faults;
mod overhead;
mod properties;
