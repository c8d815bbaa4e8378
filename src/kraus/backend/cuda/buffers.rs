//! Everything a sweep keeps on the device: the data, and the buffers of a step.

use super::device::{Block, Device, Fault, Scalar};
use super::shape::{Layer, Shape};
use crate::data::problem::{Inputs, Problem};

/// Resident data: inputs, targets, perhaps a mask.
pub(super) struct Data<T> {
    pub x: Block<T>,
    pub y: Block<T>,
    pub mask: Option<Block<T>>,
    /// Row and column of each matrix unit.
    pub units: Block<i32>,
    /// Whether each input is symmetric: Gamma then clamps eigenvalues.
    pub symmetric: Block<i32>,
    pub len: usize,
}

impl<T: Scalar> Data<T> {
    pub fn new(device: &Device, problem: &Problem<'_, T>) -> Result<Self, Fault> {
        let (x, units) = match problem.inputs() {
            Inputs::Matrices(x) => (device.upload(x.as_slice())?, device.zeros(1)?),
            Inputs::Units { pairs, .. } => {
                let units = pairs.iter().flat_map(|&(i, j)| [i as i32, j as i32]).collect::<Vec<_>>();
                (device.zeros(1)?, device.upload(&units)?)
            }
        };
        let y = device.upload(problem.targets_slice())?;
        let mask = problem.mask_slice().map(|m| device.upload(m)).transpose()?;
        let symmetric = problem.symmetric_inputs().iter().map(|s| i32::from(*s)).collect::<Vec<_>>();
        Ok(Self { x, y, mask, units, symmetric: device.upload(&symmetric)?, len: problem.len() })
    }
}

/// The buffers of one layer.
pub(super) struct Stage<T> {
    /// T = W X.
    pub t: Block<T>,
    /// Outputs; of the last layer the errors, once they are taken.
    pub out: Block<T>,
    /// The gradient with respect to `out`, of all but the last layer.
    pub delta: Block<T>,
    /// The clamp's vectors, rows of both, and its values.
    pub left: Block<T>,
    pub right: Block<T>,
    pub values: Block<T>,
    /// Addresses of the lists below: one matrix per sample and model, samples outermost.
    pub lists: Lists,
}

/// Addresses of lists of matrices.
#[derive(Clone, Copy, Default)]
pub(super) struct Lists {
    pub w: u64,
    /// Inputs: of each model's own order, and of an order that all share.
    pub own: u64,
    pub shared: u64,
    pub t: u64,
    pub u: u64,
    /// Gradients with respect to the inputs.
    pub before: u64,
}

/// The same for matrix units: columns of the operators, their gradients, outputs and errors.
#[derive(Clone, Copy, Default)]
pub(super) struct UnitLists {
    pub columns: [u64; 4],
    pub out: u64,
    pub delta: u64,
}

pub(super) struct Buffers<T> {
    pub shape: Shape,
    pub w: Block<T>,
    pub first: Block<T>,
    pub second: Block<T>,
    pub gradient: Block<T>,
    /// Parameters of each model's best epoch.
    pub best: Block<T>,
    pub x: Block<T>,
    /// Columns of the operators at the rows and columns of matrix units, and the gradients of both.
    pub columns: [Block<T>; 4],
    pub stages: Vec<Stage<T>>,
    pub units: UnitLists,
    /// U = D W, or W X^T.
    pub u: Block<T>,
    pub scratch: Block<T>,
    /// Per model and block, the sum of squared errors since it was cleared.
    pub sums: Block<f64>,
    /// Per model: beta1, beta2, epsilon.
    pub settings: Block<T>,
    /// Per step and model: the corrected rate.
    pub rates: Block<T>,
    _lists: Block<u64>,
}

/// Lists being written. They all go to the device at once, so a list is known by its place until then.
struct Writer<'s> {
    shape: &'s Shape,
    all: Vec<u64>,
}

impl Writer<'_> {
    /// Writes the addresses of matrices that start at `base`, with `model` bytes from one model to the next and `sample`
    /// bytes from one sample to the next. Returns the place of the list.
    fn list(&mut self, base: u64, model: usize, sample: usize) -> u64 {
        let at = self.all.len() as u64;
        for i in 0..self.shape.n {
            self.all.extend((0..self.shape.models).map(|m| base + (m * model + i * sample) as u64));
        }
        at
    }
}

impl<T: Scalar> Buffers<T> {
    pub fn new(device: &Device, shape: Shape, steps: usize, w: &[T], settings: &[T]) -> Result<Self, Fault> {
        let sizes = shape.sizes();
        let zeros = |len: usize| device.zeros::<T>(len);
        let size = |of: &[usize], index: usize| of.get(index).copied().unwrap_or(0);
        let stage = |index: usize| {
            Ok(Stage {
                t: zeros(sizes.t[index])?,
                out: zeros(sizes.out[index])?,
                delta: zeros(size(&sizes.delta, index))?,
                left: zeros(size(&sizes.basis, index))?,
                right: zeros(size(&sizes.basis, index))?,
                values: zeros(size(&sizes.values, index))?,
                lists: Lists::default(),
            })
        };
        let column = || zeros(sizes.columns);
        let mut buffers = Self {
            w: device.upload(w)?,
            first: zeros(sizes.parameters)?,
            second: zeros(sizes.parameters)?,
            gradient: zeros(sizes.parameters)?,
            best: zeros(sizes.best)?,
            x: zeros(sizes.x)?,
            columns: [column()?, column()?, column()?, column()?],
            stages: (0..shape.layers.len()).map(stage).collect::<Result<_, Fault>>()?,
            units: UnitLists::default(),
            u: zeros(sizes.u)?,
            scratch: zeros(sizes.scratch)?,
            sums: device.zeros(sizes.sums)?,
            settings: device.upload(settings)?,
            rates: zeros(steps * shape.models)?,
            _lists: device.zeros(1)?,
            shape,
        };
        buffers.write_lists(device)?;
        Ok(buffers)
    }

    fn write_lists(&mut self, device: &Device) -> Result<(), Fault> {
        let shape = self.shape.clone();
        let (room, bytes, total) = (shape.n, size_of::<T>(), shape.total());
        let mut writer = Writer { shape: &shape, all: Vec::new() };
        for (index, &Layer { p, q, r, at }) in shape.layers.iter().enumerate() {
            let mut each = |base: u64, size: usize| writer.list(base, room * size * bytes, size * bytes);
            if shape.units && index == 0 {
                let columns = [0, 1, 2, 3].map(|c: usize| each(self.columns[c].at, r * q));
                let out = each(self.stages[0].out.at, q * q);
                let delta = each(self.errors(0), q * q);
                self.units = UnitLists { columns, out, delta };
                continue;
            }
            let (t, u) = (each(self.stages[index].t.at, q * r * p), each(self.u.at, q * r * p));
            let (own, before) = match index {
                0 => (each(self.x.at, p * p), 0),
                _ => (each(self.stages[index - 1].out.at, p * p), each(self.stages[index - 1].delta.at, p * p)),
            };
            let w = writer.list(self.w.at + (at * bytes) as u64, total * bytes, 0);
            let shared = if index == 0 { writer.list(self.x.at, 0, p * p * bytes) } else { own };
            self.stages[index].lists = Lists { w, own, shared, t, u, before };
        }
        let lists = device.upload(&writer.all)?;
        // From places to addresses.
        let far = |place: &mut u64| *place = lists.at + *place * 8;
        let UnitLists { columns, out, delta } = &mut self.units;
        columns.iter_mut().chain([out, delta]).for_each(far);
        for Stage { lists: l, .. } in &mut self.stages {
            [&mut l.w, &mut l.own, &mut l.shared, &mut l.t, &mut l.u, &mut l.before].into_iter().for_each(far);
        }
        self._lists = lists;
        Ok(())
    }

    /// Address of the gradient with respect to a layer's outputs: the errors for the last.
    pub fn errors(&self, index: usize) -> u64 {
        let stage = &self.stages[index];
        if index + 1 == self.stages.len() { stage.out.at } else { stage.delta.at }
    }

    /// The rates of all steps of an epoch, models innermost.
    pub fn set_rates(&mut self, device: &Device, rates: &[T]) -> Result<(), Fault> {
        device.update(rates, &mut self.rates)
    }

    /// Per model, the sum of squares since the last [`clear_sums`](Self::clear_sums).
    pub fn sums(&self, device: &Device) -> Result<Vec<f64>, Fault> {
        let slots = self.shape.slots();
        let all = device.download(&self.sums, 0..self.shape.models * slots)?;
        Ok(all.chunks(slots).map(|model| model.iter().sum()).collect())
    }

    pub fn clear_sums(&mut self, device: &Device) -> Result<(), Fault> {
        device.clear(&mut self.sums)
    }
}
