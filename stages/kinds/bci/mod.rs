//! Adaptation of covariances between two sessions of a brain-computer interface: table 3, the embedding and the plan. Each file is one stage kind.

pub mod adapt;
pub mod covariances;
pub mod fetch_recordings;
pub mod figures;
pub mod results;
pub mod rivals;
pub mod rivals_results;
mod rivals_table;
pub mod transport;
