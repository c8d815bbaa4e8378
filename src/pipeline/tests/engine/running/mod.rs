//! Runs: what a user sees, claims, stopping, cost.

mod behaviour;
mod claims;
mod overhead;
mod scale;
mod stop;
