//! The buffers of a sweep and one step of it: three products and three kernels.
//!
//! With X_i the inputs of a batch and A_k the operators of a model: Z_ik = A_k X_i, P_i = sum_k Z_ik A_k^T, and with
//! D_i the (masked) error the gradient is 4 / (n q^2) sum_i D_i Z_ik, because X and D are symmetric. Z is kept as an
//! (n q) x (r p) matrix per model, [k][j][i][a], so that the sums over k and over i are inside one product each.

use super::blas::Operand;
use super::device::{Device, Fault, Scalar, failed};
use super::plan::Shape;
use crate::problem::{Inputs, Problem};
use cudarc::driver::{CudaSlice, LaunchConfig, PushKernelArg};

/// Threads of a block, as in kernels.cu.
const THREADS: u32 = 256;
/// Blocks of a launch at most: kernels loop over what is left.
const BLOCKS: usize = 4096;

/// Resident data: inputs, targets, perhaps a mask.
pub(super) struct Data<T> {
    x: CudaSlice<T>,
    y: CudaSlice<T>,
    mask: Option<CudaSlice<T>>,
    len: usize,
}

impl<T: Scalar> Data<T> {
    pub fn new(device: &Device, problem: &Problem<'_, T>) -> Result<Self, Fault> {
        let x = match problem.inputs() {
            Inputs::Matrices(x) => device.upload(x.as_slice())?,
            // `plan::check` has refused them.
            Inputs::Units { .. } => device.zeros(1)?,
        };
        let y = device.upload(problem.targets_slice())?;
        let mask = problem.mask_slice().map(|m| device.upload(m)).transpose()?;
        Ok(Self { x, y, mask, len: problem.len() })
    }
}

/// Which samples a step sees.
pub(super) struct Batch<'a, T> {
    pub data: &'a Data<T>,
    pub order: &'a CudaSlice<i32>,
    /// Orders in it: 1 is shared by all models.
    pub orders: usize,
    pub start: usize,
    pub n: usize,
}

/// Everything a sweep keeps on the device besides the data.
pub(super) struct Buffers<T> {
    shape: Shape,
    pub w: CudaSlice<T>,
    first: CudaSlice<T>,
    second: CudaSlice<T>,
    gradient: CudaSlice<T>,
    x: CudaSlice<T>,
    z: CudaSlice<T>,
    error: CudaSlice<T>,
    /// Per model, the sum of squared errors since it was cleared.
    sums: CudaSlice<f64>,
    /// Per model: beta1, beta2, epsilon.
    settings: CudaSlice<T>,
    /// Per step and model: the corrected rate.
    rates: CudaSlice<T>,
}

fn grid(elements: usize, rows: usize) -> LaunchConfig {
    let blocks = elements.div_ceil(THREADS as usize).clamp(1, BLOCKS);
    LaunchConfig { grid_dim: (blocks as u32, rows as u32, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 }
}

impl<T: Scalar> Buffers<T> {
    pub fn new(device: &Device, shape: Shape, steps: usize, w: &[T], settings: &[T]) -> Result<Self, Fault> {
        let Shape { p, q, n, models, orders, .. } = shape;
        let size = shape.size();
        Ok(Self {
            shape,
            w: device.upload(w)?,
            first: device.zeros(models * size)?,
            second: device.zeros(models * size)?,
            gradient: device.zeros(models * size)?,
            x: device.zeros(orders * p * p * n)?,
            z: device.zeros(models * size * n)?,
            error: device.zeros(models * n * q * q)?,
            sums: device.zeros(models)?,
            settings: device.upload(settings)?,
            rates: device.zeros(steps * models)?,
        })
    }

    /// The rates of all steps of an epoch, models innermost.
    pub fn set_rates(&mut self, device: &Device, rates: &[T]) -> Result<(), Fault> {
        device.update(rates, &mut self.rates)
    }

    pub fn clear_sums(&mut self, device: &Device) -> Result<(), Fault> {
        device.stream.memset_zeros(&mut self.sums).map_err(failed("clear the sums"))
    }

    pub fn sums(&self, device: &Device) -> Result<Vec<f64>, Fault> {
        device.download(&self.sums, 0..self.shape.models)
    }

    /// Outputs minus targets of a batch; adds their squares to the sums.
    pub fn forward(&mut self, device: &Device, batch: &Batch<'_, T>) -> Result<(), Fault> {
        let Shape { p, q, rank, models, .. } = self.shape;
        let &Batch { data, order, orders, start, n } = batch;
        let (size, stream) = (self.shape.size(), &device.stream);
        let (length, first, n_, p_, q_) = (data.len as i32, start as i32, n as i32, p as i32, q as i32);
        let mut launch = stream.launch_builder(&device.gather);
        launch.arg(&data.x).arg(order).arg(&mut self.x).arg(&length).arg(&first).arg(&n_).arg(&p_);
        // SAFETY: the arguments are those of `gather` in kernels.cu, and x has room for `orders` batches of n inputs.
        unsafe { launch.launch(grid(p * p * n, orders)) }.map_err(failed("gather"))?;

        // Z_k = A_k [X_1 .. X_n], all models at once where they see the same samples.
        let (calls, batches) = if orders == 1 { (1, models * rank) } else { (models, rank) };
        for call in 0..calls {
            let a = Operand { data: &self.w, at: call * size, ld: q, stride: p * q, transposed: false };
            let x = Operand { data: &self.x, at: call * p * p * n, ld: p, stride: 0, transposed: false };
            let z = (&mut self.z, call * size * n, q, p * q * n);
            device.blas.product((q, p * n, p), &a, &x, z, batches)?;
        }
        // P = Z A^T.
        let z = Operand { data: &self.z, at: 0, ld: n * q, stride: size * n, transposed: false };
        let a = Operand { data: &self.w, at: 0, ld: q, stride: size, transposed: true };
        device.blas.product((n * q, q, rank * p), &z, &a, (&mut self.error, 0, n * q, n * q * q), models)?;

        let stride = if orders == 1 { 0 } else { length };
        let none = 0u64;
        let mut launch = stream.launch_builder(&device.residual);
        launch.arg(&mut self.error).arg(&data.y);
        match &data.mask {
            Some(mask) => launch.arg(mask),
            None => launch.arg(&none),
        };
        launch.arg(order).arg(&mut self.sums).arg(&stride).arg(&first).arg(&n_).arg(&q_);
        let config = LaunchConfig { grid_dim: (models as u32, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the arguments are those of `residual`, one block of THREADS threads per model; a null mask means none.
        unsafe { launch.launch(config) }.map_err(failed("residual"))?;
        Ok(())
    }

    /// The gradient of the batch that `forward` saw, and one step of Adam.
    pub fn backward(&mut self, device: &Device, n: usize, step: usize) -> Result<(), Fault> {
        let Shape { p, q, rank, models, .. } = self.shape;
        let size = self.shape.size();
        let d = Operand { data: &self.error, at: 0, ld: n * q, stride: n * q * q, transposed: true };
        let z = Operand { data: &self.z, at: 0, ld: n * q, stride: size * n, transposed: false };
        device.blas.product((q, rank * p, n * q), &d, &z, (&mut self.gradient, 0, q, size), models)?;

        let (scale, size_) = (T::of(4.0 / (n * q * q) as f64), size as i32);
        let rates = self.rates.slice(step * models..(step + 1) * models);
        let mut launch = device.stream.launch_builder(&device.adam);
        launch.arg(&mut self.w).arg(&mut self.first).arg(&mut self.second).arg(&self.gradient);
        launch.arg(&self.settings).arg(&rates).arg(&scale).arg(&size_);
        // SAFETY: the arguments are those of `adam`, each buffer has `size` entries for each of the models.
        unsafe { launch.launch(grid(size, models)) }.map_err(failed("adam"))?;
        Ok(())
    }
}
