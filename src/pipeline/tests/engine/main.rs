//! The engine from outside, one binary so that it links once.
//!
//! `config`: pipeline.yaml. `store`: what survives kills, races and damage. `running`: what runs, what does not, how it
//! stops. `common` has the toy kind and a project to run it in, `child` a run in a process of its own.

mod child;
mod common;
mod config;
mod running;
mod store;
