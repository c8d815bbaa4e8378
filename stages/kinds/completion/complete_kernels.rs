//! Kind `complete-kernels`: the six kernels with missing samples, completed by one method, and the error of each view.
//!
//! Only missing entries are replaced. The order of the samples is a parameter of partial trace regression: a stack of two maps
//! shares its last map among all blocks, so it matters which samples a block holds. `by-class`, the published order, gives the
//! labels away; `shuffled` does not; `seriated` is computed from the observed kernels alone.

use crate::shared::files::{input_with, read_npy, write_json, write_npy};
use crate::shared::params::{SolverChoice, number, sizes};
use crate::shared::protocol::{BLOCKS, Protocol, completion_params};
use crate::shared::rows::{Row, row, write_rows};
use anyhow::{Result, anyhow, ensure};
use baselines::cvkt::Cvkt;
use baselines::imputation;
use estimator::Mask;
use kraus::completion::Partial;
use ndarray::{Array1, Array2, Array3, ArrayView2, Axis, Ix1, Ix2};
use pipeline::{Context, Environment, ParamError, Stage, StageError, StageResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind.
pub struct CompleteKernels;

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Method {
    Zero,
    Mean,
    Cvkt,
    Ptr,
}

/// Order of the samples before a kernel is cut into blocks.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Default, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Order {
    #[default]
    ByClass,
    Shuffled,
    Seriated,
}

completion_params! {
    /// Its parameters.
    pub struct Params {
        /// Axes of the mask, here to join and to label.
        level: f64,
        mask: u64,
        method: Method,
        /// `20x10`: 20 blocks of 10 samples per side. 200x1 is trace regression.
        #[serde(default = "blocks")]
        blocks: String,
        /// Number of layers.
        #[serde(default = "number::<2>")]
        depth: usize,
        /// Kraus rank of each layer.
        #[serde(default = "number::<50>")]
        rank: usize,
        #[serde(default)]
        order: Order,
        /// Blocks that train at most.
        #[serde(default = "number::<BLOCKS>")]
        blocks_at_most: usize,
        /// CVKT: levels to choose from by cross-validation.
        #[serde(default = "levels")]
        nystrom: Vec<f64>,
        #[serde(default = "rank_levels")]
        rank_levels: Vec<f64>,
    }
}

fn blocks() -> String {
    "10x20".into()
}
fn levels() -> Vec<f64> {
    Cvkt::default().nystrom
}
fn rank_levels() -> Vec<f64> {
    Cvkt::default().rank
}

/// The fields that describe a completion, for rows here and in `classify`.
#[derive(Serialize)]
struct About<'a> {
    method: Method,
    level: f64,
    mask: u64,
    /// Share of pairs that really is missing, in %.
    missing: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ptr: Option<Ptr<'a>>,
}

#[derive(Serialize)]
struct Ptr<'a> {
    blocks: &'a str,
    depth: usize,
    rank: usize,
    order: Order,
    sizes: String,
    solver: SolverChoice,
    epochs: usize,
}

impl Params {
    fn protocol(&self) -> Option<Protocol> {
        sizes(&self.blocks).map(|(p, q)| self.protocol_on(p, q, self.blocks_at_most))
    }

    /// One flat row.
    fn about(&self, mask: &Mask<Ix2>) -> Result<Row> {
        let missing = 100.0 * mask.missing() as f64 / mask.flags().len() as f64;
        let (method, level, number) = (self.method, self.level, self.mask);
        let ptr = self.protocol().filter(|_| method == Method::Ptr).map(|protocol| Ptr {
            blocks: &self.blocks,
            depth: self.depth,
            rank: self.rank,
            order: self.order,
            sizes: protocol.sizes(),
            solver: self.solver,
            epochs: self.epochs,
        });
        let mut about = row(&About { method, level, mask: number, missing, ptr: None })?;
        if let Some(ptr) = ptr {
            about.extend(row(&ptr)?);
        }
        Ok(about)
    }
}

impl Stage for CompleteKernels {
    const NAME: &'static str = "complete-kernels";
    const SEED_NAME: &'static str = "complete";
    const ABOUT: &'static str = "kernels with missing samples completed by one method, and the error of each view";
    /// How long to train changes no start.
    const SEEDLESS: &'static [&'static str] = &["epochs"];
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        match p.protocol() {
            Some(protocol) => protocol.check(),
            None => Err(ParamError::new("blocks", format!("`{}` is not a grid like 20x10", p.blocks))),
        }
    }

    fn externals(&self, p: &Params, env: &Environment) -> Result<BTreeMap<String, String>, StageError> {
        let protocol = p.protocol().filter(|_| p.method == Method::Ptr);
        Ok(protocol.map_or_else(BTreeMap::new, |protocol| protocol.externals(env)))
    }

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let kernels: Array3<f64> = one(ctx, "kernels.npy")?;
        let mask = Mask::new(one::<bool, Ix2>(ctx, "mask.npy")?);
        let completed = match p.method {
            Method::Ptr => ptr(p, ctx, &kernels, &mask)?,
            Method::Cvkt => cvkt(p, ctx, &kernels, &mask)?,
            Method::Zero | Method::Mean => {
                let fill = if p.method == Method::Zero { imputation::zero } else { imputation::mean };
                let views = kernels.outer_iter().zip(columns(&mask));
                views.map(|(k, seen)| fill(k, &seen)).collect::<Result<Vec<_>, _>>()?
            }
        };
        let about = p.about(&mask)?;
        let mut rows = Vec::new();
        let norm = |a: ArrayView2<'_, f64>| a.iter().map(|v| v * v).sum::<f64>().sqrt();
        for ((name, truth), done) in multiview::VIEWS.iter().zip(kernels.outer_iter()).zip(&completed) {
            let error = norm((done - &truth).view());
            let mut line = about.clone();
            line.extend(row(&serde_json::json!({
                "measure": "error", "view": name, "error": error, "relative": error / norm(truth),
            }))?);
            rows.push(line);
        }
        let average =
            completed.iter().fold(Array2::<f64>::zeros(completed[0].dim()), |sum, k| sum + k) / completed.len() as f64;
        write_npy(&ctx.output("average.npy")?, &average)?;
        write_json(&ctx.output("about.json")?, &about)?;
        Ok(write_rows(ctx, &rows)?)
    }
}

/// The array of that name, of the one input that has it.
fn one<T: npy::ReadableElement, D: ndarray::Dimension>(ctx: &Context, name: &str) -> Result<ndarray::Array<T, D>> {
    read_npy(input_with(ctx, name)?.path(name)?)
}

/// The masks of the views.
fn columns(mask: &Mask<Ix2>) -> Vec<Mask<Ix1>> {
    (0..mask.flags().ncols()).map(|v| mask.at(Axis(1), v)).collect()
}

/// The order in which samples are cut into blocks.
fn order(p: &Params, ctx: &Context, kernels: &Array3<f64>, mask: &Mask<Ix2>) -> Result<Vec<usize>> {
    Ok(match p.order {
        Order::ByClass => {
            multiview::order_by_class(&one::<i64, Ix1>(ctx, "labels.npy").map(|l: Array1<i64>| l.to_vec())?)
        }
        // One shuffle per mask, the same for every model.
        Order::Shuffled => multiview::order_shuffled(mask.flags().nrows(), p.mask),
        Order::Seriated => multiview::order_seriated(&kernels.outer_iter().collect::<Vec<_>>(), mask)?,
    })
}

fn ptr(p: &Params, ctx: &Context, kernels: &Array3<f64>, mask: &Mask<Ix2>) -> Result<Vec<Array2<f64>>> {
    let protocol = p.protocol().ok_or_else(|| anyhow!("`{}` is not a grid like 20x10", p.blocks))?;
    let (n, views) = mask.flags().dim();
    ensure!(protocol.p * protocol.q == n, "{} blocks of {} rows do not make {n} samples", protocol.p, protocol.q);
    let order = order(p, ctx, kernels, mask)?;
    let mut place = vec![0; n];
    order.iter().enumerate().for_each(|(to, from)| place[*from] = to);
    let mut completed = Vec::new();
    for (v, (kernel, seen)) in kernels.outer_iter().zip(columns(mask)).enumerate() {
        ensure!(!ctx.cancelled(), "cancelled");
        ctx.progress(v as f64 / views as f64, multiview::VIEWS[v]);
        let sorted = kernel.select(Axis(0), &order).select(Axis(1), &order);
        let both = |(i, j): (usize, usize)| seen[order[i]] && seen[order[j]];
        let partial = Partial::new(sorted.view(), &Mask::new(Array2::from_shape_fn((n, n), both)))?;
        let done = protocol.complete(ctx, &partial, ctx.seed().wrapping_add(v as u64))?;
        let back = done.matrix.select(Axis(0), &place).select(Axis(1), &place);
        completed.push(back);
    }
    Ok(completed)
}

fn cvkt(p: &Params, ctx: &Context, kernels: &Array3<f64>, mask: &Mask<Ix2>) -> Result<Vec<Array2<f64>>> {
    let method = Cvkt { nystrom: p.nystrom.clone(), rank: p.rank_levels.clone(), seed: ctx.seed(), ..Cvkt::default() };
    let views: Vec<_> = kernels.outer_iter().collect();
    let mut completed = Vec::new();
    for v in 0..views.len() {
        ensure!(!ctx.cancelled(), "cancelled");
        ctx.progress(v as f64 / views.len() as f64, multiview::VIEWS[v]);
        completed.push(method.complete(&views, mask, v)?.completed);
    }
    Ok(completed)
}
