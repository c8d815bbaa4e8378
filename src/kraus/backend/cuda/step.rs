//! One step of a sweep: products by cuBLAS, the rest by the kernels.
//!
//! With X_i the inputs of a layer, W its operators stacked as (q r) x p and T_i = W X_i, the same memory read as
//! q x (r p) gives the outputs T_i W^T and the gradient sum_i D_i^T T_i + D_i (W X_i^T), whose two terms are equal where
//! X and D are symmetric. Errors go back through a layer as W^T (D_i W), and through Gamma. Products that have the samples
//! as rows are one call for all models; those with one small matrix per sample go by lists of addresses. With matrix units
//! E_ij, the first layer's output is L_i^T L_j for the columns L_i of its operators, and nothing of size p is formed.

use super::blas::{Listed, Strided};
use super::buffers::{Buffers, Data};
use super::device::{Block, Device, Fault, Scalar, failed};
use super::shape::Layer;
use cudarc::driver::{LaunchConfig, PushKernelArg};

/// Threads of a block, as in kernels.cu.
pub(super) const THREADS: u32 = 256;
/// The most blocks of a launch; kernels loop over the remaining elements.
const BLOCKS: usize = 4096;

/// Which samples a step sees.
pub(super) struct Batch<'a, T> {
    pub data: &'a Data<T>,
    pub order: &'a Block<i32>,
    /// Orders in it: 1 is shared by all models.
    pub orders: usize,
    pub start: usize,
    pub n: usize,
}

impl<T> Batch<'_, T> {
    /// From one model's order to the next one's.
    fn stride(&self) -> i32 {
        if self.orders == 1 { 0 } else { self.data.len as i32 }
    }
}

fn blocks(across: usize, rows: usize) -> LaunchConfig {
    LaunchConfig { grid_dim: (across as u32, rows as u32, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 }
}

/// One block per matrix of n rows, with as many threads as find work in a round of rotations.
fn matrices(n: usize, across: usize, rows: usize) -> LaunchConfig {
    let threads = (n * n / 2).next_power_of_two().clamp(32, THREADS as usize) as u32;
    LaunchConfig { block_dim: (threads, 1, 1), ..blocks(across, rows) }
}

fn grid(elements: usize, rows: usize) -> LaunchConfig {
    blocks(elements.div_ceil(THREADS as usize).clamp(1, BLOCKS), rows)
}

/// Launches a kernel with arguments; an error names the kernel.
macro_rules! launch {
    ($device:expr, $kernel:ident, $config:expr, $($argument:expr),+) => {{
        let mut launch = $device.stream.launch_builder(&$device.kernels.$kernel);
        $(launch.arg(&$argument);)+
        // SAFETY: the arguments are those of the kernel of this name in kernels.cu, in its order; addresses are those of
        // blocks that `shape::Sizes` made large enough.
        unsafe { launch.launch($config) }.map_err(failed(stringify!($kernel)))?;
    }};
}

/// Launches a kernel on matrix units: three addresses, then the arguments that all such kernels share.
macro_rules! launch_units {
    ($device:expr, $kernel:ident, $config:expr, $buffers:expr, $batch:expr, $($address:expr),+) => {{
        let (batch, shape, Layer { p, q, r, .. }) = ($batch, &$buffers.shape, $buffers.shape.layers[0]);
        let (units, order, stride) = (batch.data.units.at, batch.order.at, batch.stride());
        let [start, n, room, total, p, r, q] = [batch.start, batch.n, shape.n, shape.total(), p, r, q].map(|v| v as i32);
        launch!($device, $kernel, $config, $($address),+, units, order, stride, start, n, room, total, p, r, q);
    }};
}

impl<T: Scalar> Buffers<T> {
    /// Outputs minus targets of a batch; adds their squares to the sums.
    pub fn forward(&mut self, device: &Device, batch: &Batch<'_, T>) -> Result<(), Fault> {
        let (n, models, room) = (batch.n, self.shape.models, self.shape.n);
        let (start, stride, n_, room_) = (batch.start as i32, batch.stride(), n as i32, room as i32);
        for index in 0..self.shape.layers.len() {
            if index == 0 && self.shape.units {
                self.forward_units(device, batch)?;
            } else {
                self.forward_layer(device, batch, index)?;
            }
            if let Some(eps) = self.shape.gamma.filter(|_| index + 1 < self.stages.len()) {
                let (stage, q, eps) = (&self.stages[index], self.shape.layers[index].q as i32, T::of(eps));
                let (y, u, v, s) = (stage.out.at, stage.left.at, stage.right.at, stage.values.at);
                let (kinds, order) = (batch.data.symmetric.at, batch.order.at);
                launch!(
                    device,
                    clamp,
                    matrices(q as usize, n, models),
                    y,
                    u,
                    v,
                    s,
                    kinds,
                    order,
                    stride,
                    start,
                    room_,
                    q,
                    eps
                );
            }
        }
        let (error, y, sums) = (self.errors(self.stages.len() - 1), batch.data.y.at, self.sums.at);
        let (mask, order) = (batch.data.mask.as_ref().map_or(0, |m| m.at), batch.order.at);
        let size = (self.shape.q() * self.shape.q()) as i32;
        let config = blocks(self.shape.slots(), models);
        launch!(device, residual, config, error, y, mask, sums, order, stride, start, n_, room_, size);
        Ok(())
    }

    fn forward_layer(&mut self, device: &Device, batch: &Batch<'_, T>, index: usize) -> Result<(), Fault> {
        let (n, models, room, total) = (batch.n, self.shape.models, self.shape.n, self.shape.total());
        let Layer { p, q, r, at } = self.shape.layers[index];
        let stage = &self.stages[index];
        if index == 0 {
            let (from, order, x) = (batch.data.x.at, batch.order.at, self.x.at);
            let (length, start, n_, room_) = (batch.data.len as i32, batch.start as i32, n as i32, room as i32);
            let size = (p * p) as i32;
            launch!(device, gather, grid(n * p * p, batch.orders), from, order, x, length, start, n_, room_, size);
        }
        let input = if batch.orders == 1 { stage.lists.shared } else { stage.lists.own };
        let w = Listed { at: stage.lists.w, ld: p, transposed: false };
        let x = Listed { at: input, ld: p, transposed: false };
        let t = Strided { at: stage.t.at, ld: r * p, stride: room * q * r * p, transposed: false };
        let wt = Strided { at: self.w.at + bytes::<T>(at), ld: r * p, stride: total, transposed: true };
        // SAFETY: `shape::Sizes` made the buffers large enough for `room` samples, and n is not larger.
        unsafe {
            device.blas.each::<T>((q * r, p, p), w, x, (stage.lists.t, p), n * models)?;
            device.blas.product::<T>((n * q, q, r * p), t, wt, (stage.out.at, q, room * q * q), false, models)
        }
    }

    fn forward_units(&mut self, device: &Device, batch: &Batch<'_, T>) -> Result<(), Fault> {
        let (n, models, layer, lists) = (batch.n, self.shape.models, self.shape.layers[0], self.units);
        let Layer { q, r, .. } = layer;
        let (w, left, right) = (self.w.at, self.columns[0].at, self.columns[1].at);
        let config = grid(n * r * q, models);
        launch_units!(device, columns, config, self, batch, w, left, right);
        let left = Listed { at: lists.columns[0], ld: q, transposed: true };
        let right = Listed { at: lists.columns[1], ld: q, transposed: false };
        // SAFETY: as in `forward_layer`.
        unsafe { device.blas.each::<T>((q, q, r), left, right, (lists.out, q), n * models) }
    }

    /// The gradient of the batch that `forward` saw, and one step of Adam.
    pub fn backward(&mut self, device: &Device, batch: &Batch<'_, T>, step: usize) -> Result<(), Fault> {
        let (n, models, total) = (batch.n, self.shape.models, self.shape.total());
        for index in (0..self.shape.layers.len()).rev() {
            if index == 0 && self.shape.units {
                self.backward_units(device, batch)?;
            } else {
                self.gradient(device, batch, index)?;
            }
            if index > 0 {
                self.back_through(device, batch, index)?;
            }
        }
        let factor = if self.shape.symmetric { 4.0 } else { 2.0 };
        let scale = T::of(factor / (n * self.shape.q() * self.shape.q()) as f64);
        let (w, first, second, gradient) = (self.w.at, self.first.at, self.second.at, self.gradient.at);
        let (settings, rates, size) = (self.settings.at, self.rates.at + bytes::<T>(step * models), total as i32);
        launch!(device, adam, grid(total, models), w, first, second, gradient, settings, rates, scale, size);
        Ok(())
    }

    /// sum_i D_i^T T_i, and D_i W X_i^T where that is not the same.
    fn gradient(&mut self, device: &Device, batch: &Batch<'_, T>, index: usize) -> Result<(), Fault> {
        let (n, models, room, total) = (batch.n, self.shape.models, self.shape.n, self.shape.total());
        let Layer { p, q, r, at } = self.shape.layers[index];
        let (lists, error) = (self.stages[index].lists, self.errors(index));
        let to = (self.gradient.at + bytes::<T>(at), r * p, total);
        let shape = (q, r * p, n * q);
        let error_of = |at: u64| Strided { at, ld: q, stride: room * q * q, transposed: true };
        let t_of = |at: u64| Strided { at, ld: r * p, stride: room * q * r * p, transposed: false };
        // SAFETY: as in `forward_layer`.
        unsafe { device.blas.product::<T>(shape, error_of(error), t_of(self.stages[index].t.at), to, false, models)? };
        if self.shape.symmetric {
            return Ok(());
        }
        let (flipped, n_, room_, q_) = (self.scratch.at, n as i32, room as i32, q as i32);
        launch!(device, flip, grid(n * q * q, models), error, flipped, n_, room_, q_);
        let w = Listed { at: lists.w, ld: p, transposed: false };
        let x = Listed { at: if batch.orders == 1 { lists.shared } else { lists.own }, ld: p, transposed: true };
        // SAFETY: as in `forward_layer`.
        unsafe {
            device.blas.each::<T>((q * r, p, p), w, x, (lists.u, p), n * models)?;
            device.blas.product::<T>(shape, error_of(flipped), t_of(self.u.at), to, true, models)
        }
    }

    /// W^T (D_i W), the errors of the layer before, and through Gamma.
    fn back_through(&mut self, device: &Device, batch: &Batch<'_, T>, index: usize) -> Result<(), Fault> {
        let (n, models, room, total) = (batch.n, self.shape.models, self.shape.n, self.shape.total());
        let Layer { p, q, r, at } = self.shape.layers[index];
        let lists = self.stages[index].lists;
        let d = Strided { at: self.errors(index), ld: q, stride: room * q * q, transposed: false };
        let w = Strided { at: self.w.at + bytes::<T>(at), ld: r * p, stride: total, transposed: false };
        let wt = Listed { at: lists.w, ld: p, transposed: true };
        let u = Listed { at: lists.u, ld: p, transposed: false };
        // SAFETY: as in `forward_layer`.
        unsafe {
            device.blas.product::<T>((n * q, r * p, q), d, w, (self.u.at, r * p, room * q * r * p), false, models)?;
            device.blas.each::<T>((p, p, q * r), wt, u, (lists.before, p), n * models)?;
        }
        let Some(eps) = self.shape.gamma else { return Ok(()) };
        let (stage, g, work) = (&self.stages[index - 1], self.errors(index - 1), self.scratch.at);
        let (u, v, s) = (stage.left.at, stage.right.at, stage.values.at);
        let (kinds, order) = (batch.data.symmetric.at, batch.order.at);
        let (stride, start, room, p, eps) = (batch.stride(), batch.start as i32, room as i32, p as i32, T::of(eps));
        launch!(
            device,
            unclamp,
            matrices(p as usize, n, models),
            g,
            u,
            v,
            s,
            work,
            kinds,
            order,
            stride,
            start,
            room,
            p,
            eps
        );
        Ok(())
    }

    /// L_i gets L_j D^T and L_j gets L_i D; then each parameter collects its own.
    fn backward_units(&mut self, device: &Device, batch: &Batch<'_, T>) -> Result<(), Fault> {
        let (n, models, layer, lists) = (batch.n, self.shape.models, self.shape.layers[0], self.units);
        let Layer { p, q, r, .. } = layer;
        let column = |c: usize| Listed { at: lists.columns[c], ld: q, transposed: false };
        let error = |transposed: bool| Listed { at: lists.delta, ld: q, transposed };
        // SAFETY: as in `forward_layer`.
        unsafe {
            device.blas.each::<T>((r, q, q), column(1), error(true), (lists.columns[2], q), n * models)?;
            device.blas.each::<T>((r, q, q), column(0), error(false), (lists.columns[3], q), n * models)?;
        }
        let (g, left, right) = (self.gradient.at, self.columns[2].at, self.columns[3].at);
        let config = grid(q * r * p, models);
        launch_units!(device, scatter, config, self, batch, g, left, right);
        Ok(())
    }
}

/// Bytes of this many scalars.
fn bytes<T>(scalars: usize) -> u64 {
    (scalars * size_of::<T>()) as u64
}
