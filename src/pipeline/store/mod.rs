//! The store: `.repro/`.

pub mod record;
