//! Runs: what a user sees, claims, stopping, cost.

mod behaviour;
mod claims;
mod forecast;
mod overhead;
mod scale;
mod stop;
