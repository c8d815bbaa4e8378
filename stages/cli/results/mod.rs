//! Commands that show results: `figures` draws them again, `compare` judges the paper's claims, `report` writes the page.
//!
//! | file | what |
//! |---|---|
//! | `outcome` | what a run has produced, as `compare` and `report` read it |
//! | `story` | sentences of the page that no result decides |
//! | `summary` | sentences of the page that are written from measured numbers |

pub mod compare;
pub mod figures;
pub mod outcome;
pub mod report;
mod story;
mod summary;
