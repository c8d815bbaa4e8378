//! Kind `rivals`: the learned map and its rivals, for one subject and one random choice of training matrices.
//!
//! The choice is the one of the stage `adapt`: a share of the source makes the map, together with all of the target without its
//! labels. Methods that need labels of the target get those of its first `calibration` share. Every method is tested on the rest of
//! the target, so that their numbers can be compared. MDM is trained twice:
//!
//! | `trained` | on |
//! |---|---|
//! | `all` | all of the source, as in table 3 |
//! | `new` | the matrices of the source that the map has not seen |
//!
//! `map.npy` and `map-labels.npy` hold the Kraus operators of the map learned without labels and with those of the source: those of
//! `repro adapt` with its defaults, to the bit.

use super::adapt::SPLIT;
use crate::shared::files::{input_with, read_npy, write_npy};
use crate::shared::params::ratio;
use crate::shared::rows::{row, write_rows};
use crate::shared::sessions::{Trials, first_day, sessions};
use datasets::bci::Session;
use estimator::Labels;
use ndarray::{Array1, Array3, ArrayView3, Axis, s};
use pipeline::{Context, ParamError, Stage, StageResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spd::{
    AdaptParams, Adaptation, CheckedMeanParams, CommonChannels, Mdm, Mdwm, MeanParams, Metric, Procrustes, Recentring,
    TangentTransport, adapt,
};
use std::collections::BTreeSet;

/// The kind.
pub struct Rivals;

/// Its parameters.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Axes, here to join and to label.
    subject: u8,
    variant: String,
    draw: u64,
    /// The session that is mapped to the other one.
    #[serde(default = "first_day")]
    source: Session,
    /// Share of the source that makes the map; that of the stage `adapt`.
    #[serde(default = "ratio::<8, 10>")]
    share: f64,
    /// Share of the target whose labels RPA and MDWM may use.
    #[serde(default = "ratio::<2, 10>")]
    calibration: f64,
    /// Trade-off of MDWM between source (0) and target (1).
    #[serde(default = "ratio::<5, 10>")]
    tradeoff: f64,
}

/// One line of the results; accuracies in percent.
#[derive(Serialize)]
struct Line<'a> {
    subject: u8,
    draw: u64,
    source: Session,
    method: &'a str,
    /// `all` or `new`: the matrices of the source that trained the classifier.
    trained: &'a str,
    classes: usize,
    channels: usize,
    trained_on: usize,
    tested_on: usize,
    /// Matrices of the target whose labels were used.
    calibrated_on: usize,
    accuracy: f64,
    balanced_accuracy: f64,
    kappa: f64,
    data: String,
}

/// A method of the comparison and the labels that it uses besides those that train the classifier.
pub struct Method {
    /// Its name in the rows.
    pub name: &'static str,
    /// Whether the map uses labels of the source.
    pub source_labels: bool,
    /// Whether labels of the target are used.
    pub target_labels: bool,
}

const fn method(name: &'static str, source_labels: bool, target_labels: bool) -> Method {
    Method { name, source_labels, target_labels }
}

/// The methods in the order of the table.
pub const METHODS: [Method; 9] = [
    method("NoAdapt", false, false),
    method("FullAdapt", false, false),
    method("OoSAdapt, paper", false, false),
    method("recentring", false, false),
    method("POT", false, false),
    method(OURS, false, false),
    method(OURS_LABELS, true, false),
    method("RPA", true, true),
    method("MDWM", false, true),
];

/// The learned map without labels.
pub const OURS: &str = "OoSAdapt, ours";
/// The learned map with labels of the source.
pub const OURS_LABELS: &str = "OoSAdapt, ours, labels";

impl Stage for Rivals {
    const NAME: &'static str = "rivals";
    const ABOUT: &'static str = "out-of-sample adaptation of BCI covariances: the learned map beside its rivals";
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        for (name, value) in [("share", p.share), ("calibration", p.calibration)] {
            if !(value > 0.0 && value < 1.0) {
                return Err(ParamError::new(name, "lies between 0 and 1"));
            }
        }
        if !(0.0..=1.0).contains(&p.tradeoff) {
            return Err(ParamError::new("tradeoff", "lies between 0 and 1"));
        }
        Ok(())
    }

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let case = Case::read(p, ctx)?;
        let classes = case.source.labels.iter().collect::<BTreeSet<_>>().len();
        let data = serde_json::to_value(case.source.provenance.kind)?.as_str().unwrap_or_default().to_owned();
        let everything: Vec<usize> = (0..case.source.labels.len()).collect();
        let mut rows = Vec::new();
        for (k, method) in METHODS.iter().enumerate() {
            ctx.progress(k as f64 / METHODS.len() as f64, method.name);
            let Some(adapted) = case.adapted(method, ctx)? else { continue };
            for (trained, at) in [("all", &everything[..]), ("new", case.unseen())] {
                let Some(predicted) = case.predict(&adapted, at)? else { continue };
                let scores = spd::scores(case.truth(), &predicted)?;
                rows.push(row(&Line {
                    subject: p.subject,
                    draw: p.draw,
                    source: p.source,
                    method: method.name,
                    trained,
                    classes,
                    channels: case.target.matrices.dim().1,
                    trained_on: at.len(),
                    tested_on: case.truth().len(),
                    calibrated_on: if method.target_labels { case.cut } else { 0 },
                    accuracy: 100.0 * scores.accuracy,
                    balanced_accuracy: 100.0 * scores.balanced_accuracy,
                    kappa: scores.kappa,
                    data: data.clone(),
                })?);
            }
        }
        Ok(write_rows(ctx, &rows)?)
    }
}

/// What a method makes of the two sessions.
enum Adapted {
    /// All matrices of the source and the tested ones of the target, in one space.
    Matrices(Array3<f64>, Array3<f64>),
    /// Matrices as recorded, and a classifier of its own.
    Weighted,
}

/// One subject and one random choice.
struct Case {
    source: Trials,
    target: Trials,
    /// The source by the stages `transport` and `adapt`.
    transported: Array3<f64>,
    paper: Array3<f64>,
    /// The trials of the source in random order; the first `known` make the map.
    order: Vec<usize>,
    known: usize,
    /// Trials of the target whose labels may be used; the others test.
    cut: usize,
    tradeoff: f64,
    means: CheckedMeanParams,
}

impl Case {
    fn read(p: &Params, ctx: &Context) -> anyhow::Result<Case> {
        let (source, target) = sessions(ctx, p.source)?;
        let array = |name: &str| -> anyhow::Result<Array3<f64>> { read_npy(input_with(ctx, name)?.path(name)?) };
        let order: Array1<i64> = read_npy(input_with(ctx, SPLIT)?.path(SPLIT)?)?;
        let (n, m) = (order.len(), target.labels.len());
        Ok(Case {
            transported: array("mapped.npy")?,
            paper: array("adapted.npy")?,
            order: order.iter().map(|&i| i as usize).collect(),
            known: ((n as f64 * p.share).round() as usize).clamp(1, n - 1),
            cut: ((m as f64 * p.calibration).round() as usize).clamp(1, m - 1),
            tradeoff: p.tradeoff,
            means: MeanParams::default().check()?,
            source,
            target,
        })
    }

    /// The trials of the source that the maps have not seen.
    fn unseen(&self) -> &[usize] {
        &self.order[self.known..]
    }

    fn truth(&self) -> &[i64] {
        &self.target.labels[self.cut..]
    }

    fn labels(&self, at: &[usize]) -> anyhow::Result<Labels> {
        Ok(Labels::new(&at.iter().map(|&i| self.source.labels[i]).collect::<Vec<_>>())?)
    }

    /// Those of the target that may be used.
    fn calibration(&self) -> anyhow::Result<Labels> {
        Ok(Labels::new(&self.target.labels[..self.cut])?)
    }

    /// The matrices that make the map.
    fn seen(&self) -> Array3<f64> {
        self.source.matrices.select(Axis(0), &self.order[..self.known])
    }

    /// The learned map, with labels of the source or without; the settings of `repro adapt`.
    fn learned(&self, labels: bool, ctx: &Context) -> anyhow::Result<Adaptation> {
        let given = labels.then(|| self.labels(&self.order[..self.known])).transpose()?;
        let common = CommonChannels::all(self.target.matrices.dim().1);
        let (x, y) = (self.seen(), self.target.matrices.view());
        Ok(adapt(x.view(), y, given.as_ref(), &common, &AdaptParams::default(), &mut |_, _, _| !ctx.cancelled())?)
    }

    /// The sessions after a method; none where the calibration trials lack a class that it needs.
    fn adapted(&self, method: &Method, ctx: &Context) -> anyhow::Result<Option<Adapted>> {
        let (x, y) = (self.source.matrices.view(), self.target.matrices.view());
        let rest: ArrayView3<'_, f64> = y.slice_move(s![self.cut.., .., ..]);
        let onto_recorded = |images: Array3<f64>| Some(Adapted::Matrices(images, rest.to_owned()));
        Ok(match method.name {
            "NoAdapt" => onto_recorded(x.to_owned()),
            "FullAdapt" => onto_recorded(self.transported.clone()),
            "OoSAdapt, paper" => onto_recorded(self.paper.clone()),
            "recentring" => {
                let common = CommonChannels::all(y.dim().1);
                onto_recorded(Recentring::fit(self.seen().view(), y, &common, &self.means)?.apply(x)?)
            }
            "POT" => {
                let found = TangentTransport::fit(self.seen().view(), y, &self.means)?;
                let mut images = found.apply(x)?;
                for (&i, image) in self.order.iter().zip(found.images()?.outer_iter()) {
                    images.index_axis_mut(Axis(0), i).assign(&image);
                }
                Some(Adapted::Matrices(images, found.target(rest)?))
            }
            OURS | OURS_LABELS => {
                let found = self.learned(method.source_labels, ctx)?;
                let name = if method.source_labels { "map-labels.npy" } else { "map.npy" };
                let path = ctx.output(name).map_err(|e| anyhow::anyhow!("{e}"))?;
                write_npy(&path, &found.map.map.kraus()?)?;
                onto_recorded(found.apply(x)?)
            }
            "RPA" => {
                let known = (self.seen(), self.labels(&self.order[..self.known])?);
                match Procrustes::fit((known.0.view(), &known.1), (y, &self.calibration()?), &self.means) {
                    Err(spd::Error::Input(spd::InputError::Shape { .. })) => None,
                    found => {
                        let found = found?;
                        Some(Adapted::Matrices(found.source(x)?, found.target(rest)?))
                    }
                }
            }
            _ => Some(Adapted::Weighted),
        })
    }

    /// The tested labels, predicted by a classifier that some matrices of the source trained.
    fn predict(&self, adapted: &Adapted, at: &[usize]) -> anyhow::Result<Option<Vec<i64>>> {
        let labels = self.labels(at)?;
        if labels.classes().len() < 2 {
            return Ok(None); // Few trials may all be of one class: nothing to train on.
        }
        match adapted {
            Adapted::Matrices(source, target) => {
                let train = source.select(Axis(0), at);
                let mdm = Mdm::fit(train.view(), &labels, Metric::AffineInvariant, &self.means)?;
                Ok(Some(mdm.predict(target.view())?))
            }
            Adapted::Weighted => {
                let train = self.source.matrices.select(Axis(0), at);
                let (calibration, rest) = self.target.matrices.view().split_at(Axis(0), self.cut);
                let known = self.calibration()?;
                match Mdwm::fit((train.view(), &labels), (calibration, &known), self.tradeoff, &self.means) {
                    Err(spd::Error::Input(spd::InputError::Shape { .. })) => Ok(None),
                    found => Ok(Some(found?.mdm().predict(rest)?)),
                }
            }
        }
    }
}
