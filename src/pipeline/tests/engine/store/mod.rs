//! The store: faults, gc, locks, and processes that meet.

mod faults;
mod gc;
mod interleavings;
mod lockfile;
mod locks;
