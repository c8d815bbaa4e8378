//! A fitted model of either kind behind one interface: what `repro fit` writes, `repro predict` applies and Python pickles.

use super::affine::AffineMap;
use super::disk::{SavedAffine, affine_bytes, load_affine, read, save_affine};
use crate::InputError;
use crate::error::Result;
use crate::io::disk::{self, DiskError};
use crate::map::Stack;
use crate::solvers::Fit;
use ndarray::{Array3, ArrayView3, ArrayViewMut3, Axis};
use rayon::prelude::*;
use std::io::Cursor;
use std::path::Path;

/// Samples per task of a prediction.
const GROUP: usize = 64;

/// A fitted model.
#[derive(Debug, Clone)]
pub enum Model {
    /// Completely positive layers.
    Stack(Fit<f64>),
    /// One map with signs and intercept.
    Affine(SavedAffine),
}

impl Model {
    /// Reads a model of either kind.
    pub fn load(path: &Path) -> std::result::Result<Model, DiskError> {
        match load_affine(path)? {
            Some(saved) => Ok(Model::Affine(saved)),
            None => disk::load(path).map(Model::Stack),
        }
    }

    /// Writes the model.
    pub fn save(&self, path: &Path) -> std::result::Result<(), DiskError> {
        match self {
            Model::Stack(fit) => disk::save(path, fit),
            Model::Affine(saved) => save_affine(path, &saved.map, &saved.notes),
        }
    }

    /// The bytes that [`save`](Self::save) writes.
    pub fn to_bytes(&self) -> std::io::Result<Vec<u8>> {
        match self {
            Model::Stack(fit) => disk::to_bytes(fit),
            Model::Affine(saved) => affine_bytes(&saved.map, &saved.notes),
        }
    }

    /// The model of such bytes; `name` stands for the file in messages.
    pub fn from_bytes(name: &Path, bytes: &[u8]) -> std::result::Result<Model, DiskError> {
        match read(name, Cursor::new(bytes))? {
            Some(saved) => Ok(Model::Affine(saved)),
            None => disk::from_bytes(name, bytes).map(Model::Stack),
        }
    }

    /// Rows of the inputs.
    pub fn p(&self) -> usize {
        match self {
            Model::Stack(fit) => fit.model.p(),
            Model::Affine(saved) => saved.map.map().p(),
        }
    }

    /// Rows of the outputs.
    pub fn q(&self) -> usize {
        match self {
            Model::Stack(fit) => fit.model.q(),
            Model::Affine(saved) => saved.map.map().q(),
        }
    }

    /// The outputs of a batch, and how many left the cone.
    pub fn apply(&self, x: ArrayView3<'_, f64>) -> Result<(Array3<f64>, usize)> {
        let mut y = Array3::zeros((x.dim().0, self.q(), self.q()));
        let outside = self.apply_into(x, y.view_mut())?;
        Ok((y, outside))
    }

    /// Writes the outputs of a batch into `y`, and says how many left the cone. A few samples per task: nothing but the outputs
    /// grows with the batch.
    pub fn apply_into(&self, x: ArrayView3<'_, f64>, mut y: ArrayViewMut3<'_, f64>) -> Result<usize> {
        let (l, p, q) = (x.dim().0, self.p(), self.q());
        for (what, got, expected) in [("inputs", x.shape(), [l, p, p]), ("outputs", y.shape(), [l, q, q])] {
            if got != expected {
                return Err(InputError::shape(what, expected, got).into());
            }
        }
        let groups = x.axis_chunks_iter(Axis(0), GROUP).into_par_iter();
        let counts: Vec<usize> = groups
            .zip(y.axis_chunks_iter_mut(Axis(0), GROUP))
            .map(|(x, mut y)| {
                let (images, outside) = self.group(x)?;
                y.assign(&images);
                Ok(outside)
            })
            .collect::<Result<_>>()?;
        Ok(counts.iter().sum())
    }

    fn group(&self, x: ArrayView3<'_, f64>) -> Result<(Array3<f64>, usize)> {
        let stack = |s: &Stack<f64>| s.apply_batch(x).map(|y| (y, 0));
        let affine = |m: &AffineMap| m.apply(x).map(|y| (y.matrices, y.outside));
        match self {
            Model::Stack(fit) => stack(&fit.model),
            Model::Affine(saved) => affine(&saved.map),
        }
    }
}
