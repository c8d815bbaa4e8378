//! What several stage kinds use. No file here is a kind, and none knows a kind.
//!
//! | file | what |
//! |---|---|
//! | `files` | arrays and structured values as artefacts |
//! | `rows` | result rows, one per fit |
//! | `results` | all rows of an experiment as one table, and the numbers that claims are judged by |
//! | `render` | a figure or a table as files |
//! | `params` | default values and checks of parameters, the choice of a solver |
//! | `device` | where a unit trains: processor or GPU |
//! | `pool` | the threads of a unit |
//! | `source` | where data come from, and what of that enters a key |
//! | `sessions` | the two sessions of a BCI subject |
//! | `protocol` | how a matrix with missing entries is completed |

pub mod device;
pub mod files;
pub mod params;
pub mod pool;
pub mod protocol;
pub mod render;
pub mod results;
pub mod rows;
pub mod sessions;
pub mod source;
