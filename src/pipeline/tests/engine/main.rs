//! The engine from outside, one binary so that it links once.

mod behaviour;
mod broken;
mod child;
mod claims;
mod common;
mod faults;
mod gc;
mod interleavings;
mod limits;
mod locks;
mod overhead;
mod properties;
mod scale;
mod seeds;
mod stop;
