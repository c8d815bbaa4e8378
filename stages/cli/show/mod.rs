//! Commands that show the state of a project and change nothing: `status`, `why`, `dag`.

pub mod dag;
pub mod status;
pub mod why;
