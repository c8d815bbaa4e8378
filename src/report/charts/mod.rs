//! Charts: what a figure shows (curves, points, bars, matrices), its axes and its style, and the layout of panels and legend.
//!
//! A chart is described by plain data ([`figure`]) and laid out in points; [`crate::drawing`] turns the result into files.

pub mod axis;
mod bars;
pub mod figure;
mod heat;
mod layout;
mod legend;
pub mod style;
mod xy;
