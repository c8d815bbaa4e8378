//! One sweep: models of one dataset taken through the same epochs. What each of them does equals [`Adam`]'s own loop.

use super::Done;
use super::buffers::{Buffers, Data};
use super::device::{Block, Device, Fault, Scalar};
use super::epoch::Epoch;
use super::shape::{Layer, Shape};
use super::step::Batch;
use crate::backend::{Job, Watch};
use crate::error::FitError;
use crate::map::Stack;
use crate::solvers::adam::Adam;
use crate::solvers::{Fit, Progress, Recorder, Session};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// A model to train: its trial, its start.
pub(super) struct Model<T> {
    pub index: usize,
    pub adam: Adam,
    pub stack: Stack<T>,
}

impl<T: Scalar> Model<T> {
    pub fn batch(&self) -> usize {
        self.adam.params().batch
    }
}

/// The state of a model while the sweep runs.
struct Running<T> {
    recorder: Recorder,
    /// The least monitored loss and its epoch, where `keep_best` asks for them; the device keeps its parameters.
    best: (f64, usize),
    /// Set when it has ended; the sweep goes on for the others.
    ended: Option<Result<Vec<T>, FitError>>,
}

/// Trains the models together. They have one batch size.
pub(super) fn run<T: Scalar>(
    device: &Device,
    job: &Job<'_, T>,
    models: &[Model<T>],
    watch: &mut Watch<'_>,
) -> Result<Done<T>, Fault> {
    let shape = Shape::of(job, models);
    let (l, total) = (job.problem.len(), shape.total());
    let steps = l.div_ceil(shape.n);
    let entries = |samples: usize| (samples * shape.q() * shape.q()) as f64;

    let train = Data::new(device, job.problem)?;
    let held = job.validation.map(|v| Data::new(device, v)).transpose()?;
    let all = job.validation.map(|v| device.upload(&(0..v.len() as i32).collect::<Vec<_>>())).transpose()?;
    let w: Vec<T> = models.iter().flat_map(|m| pad(&m.stack, &shape)).collect();
    let settings = models.iter().map(|m| m.adam.params()).flat_map(|a| [a.beta1, a.beta2, a.epsilon].map(T::of));
    let mut buffers = Buffers::new(device, shape.clone(), steps, &w, &settings.collect::<Vec<_>>())?;
    let mut order = device.zeros::<i32>(shape.orders * l)?;

    let mut orders = vec![(0..l as i32).collect::<Vec<_>>(); shape.orders];
    let seeds = models.iter().take(shape.orders).map(|m| m.adam.params().seed);
    let mut rngs = seeds.map(ChaCha8Rng::seed_from_u64).collect::<Vec<_>>();
    let zero_loss = job.problem.mean_square();
    let mut running = models.iter().map(|m| Running::new(m, &shape, zero_loss)).collect::<Vec<_>>();
    let epochs = models.iter().map(|m| m.adam.params().stopping.max).max().unwrap_or(0);
    let mut epoch_of = Epoch::new(&shape, steps, epochs);
    for epoch in 0..epochs {
        orders.iter_mut().zip(&mut rngs).for_each(|(order, rng)| order.shuffle(rng));
        device.update(&orders.concat(), &mut order)?;
        let rate = |step: usize, m: &Model<T>| T::of(m.adam.step_rate(epoch, (epoch * steps + step + 1) as u64));
        let rates = (0..steps).flat_map(|step| models.iter().map(move |m| rate(step, m)));
        buffers.set_rates(device, &rates.collect::<Vec<_>>())?;
        buffers.clear_sums(device)?;
        epoch_of.run(device, epoch, || steps_of(device, &mut buffers, &train, &order))?;
        let losses = buffers.sums(device)?;
        let validation = match (&held, &all, job.validation) {
            (Some(data), Some(order), Some(v)) => {
                buffers.clear_sums(device)?;
                for start in (0..v.len()).step_by(shape.n) {
                    let n = shape.n.min(v.len() - start);
                    buffers.forward(device, &Batch { data, order, orders: 1, start, n })?;
                }
                Some(buffers.sums(device)?.into_iter().map(|sum| sum / entries(v.len())).collect::<Vec<_>>())
            }
            _ => None,
        };
        for (m, (model, now)) in models.iter().zip(&mut running).enumerate().filter(|(_, (_, r))| r.ended.is_none()) {
            let held = validation.as_ref().map(|v| v[m]);
            let mine = m * total..(m + 1) * total;
            match now.record(model, losses[m] / entries(l), held, watch) {
                Next::Go => {}
                Next::Keep => device.copy(&buffers.w, mine, &mut buffers.best)?,
                Next::End { of_best: true } => now.ended = Some(Ok(device.download(&buffers.best, mine)?)),
                Next::End { of_best: false } => now.ended = Some(Ok(device.download(&buffers.w, mine)?)),
            }
        }
        if running.iter().all(|r| r.ended.is_some()) {
            break;
        }
    }
    Ok(models.iter().zip(running).map(|(model, now)| (model.index, now.finish(model, &shape, epochs))).collect())
}

/// The steps of one epoch over the training data.
fn steps_of<T: Scalar>(
    device: &Device,
    buffers: &mut Buffers<T>,
    data: &Data<T>,
    order: &Block<i32>,
) -> Result<(), Fault> {
    let (room, orders) = (buffers.shape.n, buffers.shape.orders);
    for (step, start) in (0..data.len).step_by(room).enumerate() {
        let n = room.min(data.len - start);
        let batch = Batch { data, order, orders, start, n };
        buffers.forward(device, &batch)?;
        buffers.backward(device, &batch, step)?;
    }
    Ok(())
}

/// What follows from the end of an epoch.
enum Next {
    Go,
    /// It was the best so far.
    Keep,
    End {
        of_best: bool,
    },
}

impl<T: Scalar> Running<T> {
    fn new(model: &Model<T>, shape: &Shape, zero_loss: f64) -> Self {
        let mut recorder = Recorder::new("adam", model.adam.params().stopping).with_zero_loss(zero_loss);
        let together = if shape.models == 1 { "one model".into() } else { format!("{} models together", shape.models) };
        recorder.history.note(format!("on a GPU, {together}, in {}", T::NAME));
        Self { recorder, best: (f64::INFINITY, 0), ended: None }
    }

    /// The end of an epoch, as in [`Adam`]: history, best epoch, perhaps the end.
    fn record(&mut self, model: &Model<T>, loss: f64, validation: Option<f64>, watch: &mut Watch<'_>) -> Next {
        let mut watch = |now: &Progress| watch(model.index, now);
        let mut session: Session<'_, T> = Session { validation: None, watch: Some(&mut watch) };
        let stop = match self.recorder.record(loss, validation, &mut session) {
            Ok(stop) => stop,
            Err(diverged) => {
                self.ended = Some(Err(diverged));
                return Next::Go;
            }
        };
        let monitored = validation.unwrap_or(loss);
        let best = model.adam.params().keep_best && monitored < self.best.0;
        if best {
            self.best = (monitored, self.recorder.history.loss.len());
        }
        match (stop.is_some(), best) {
            (true, best) => Next::End { of_best: !best && self.best.1 > 0 },
            (false, true) => Next::Keep,
            (false, false) => Next::Go,
        }
    }

    fn finish(self, model: &Model<T>, shape: &Shape, epochs: usize) -> Result<Fit<T>, FitError> {
        let mut history = self.recorder.history;
        if self.best.1 > 0 {
            history.model_epoch = self.best.1;
        }
        // Recorder stops every model at its last epoch at the latest, so `ended` is set: else it counts as diverged.
        let lost = || Err(FitError::Diverged { solver: "adam", epoch: epochs, loss: f64::NAN });
        let parameters = self.ended.unwrap_or_else(lost)?;
        if !parameters.iter().all(|w| num_traits::Float::is_finite(*w)) {
            return Err(FitError::Diverged { solver: "adam", epoch: history.loss.len(), loss: f64::NAN });
        }
        let mut stack = model.stack.clone();
        stack.set(&unpad(&stack, shape, &parameters));
        Ok(Fit { model: stack, history, last: None })
    }
}

/// For each parameter in the order of [`Stack::to_vec`], its place on the device: [k][a][j] becomes [a][k][j], padded.
fn places<T: Scalar>(stack: &Stack<T>, shape: &Shape) -> impl Iterator<Item = usize> {
    let ranks = stack.layers().iter().map(|map| map.rank()).collect::<Vec<_>>();
    shape.layers.clone().into_iter().zip(ranks).flat_map(|(Layer { p, q, r, at }, rank)| {
        (0..rank * q * p).map(move |n| at + (n / p % q * r + n / p / q) * p + n % p)
    })
}

fn pad<T: Scalar>(stack: &Stack<T>, shape: &Shape) -> Vec<T> {
    let mut w = vec![T::of(0.0); shape.total()];
    places(stack, shape).zip(stack.to_vec()).for_each(|(place, x)| w[place] = x);
    w
}

fn unpad<T: Scalar>(stack: &Stack<T>, shape: &Shape, w: &[T]) -> Vec<T> {
    places(stack, shape).map(|place| w[place]).collect()
}
