//! pipeline.yaml: mistakes, limits, seeds, properties of values and joins.

mod broken;
mod limits;
mod properties;
mod seeds;
mod values;
