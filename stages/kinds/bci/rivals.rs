//! Kind `rivals`: the learned map and its rivals out of sample, for one subject and one random choice of training matrices.
//!
//! A random share of session T and all of session E, without its labels, make the map. MDM is trained on the other matrices of T
//! after the map and tested on E. Methods that need labels of the target get those of the first `calibration` share of E. All
//! methods are tested on the rest of E, so that their numbers can be compared.

use crate::shared::params::ratio;
use crate::shared::rows::{row, write_rows};
use crate::shared::sessions::sessions;
use ndarray::{Array3, ArrayView3, Axis};
use pipeline::{Context, ParamError, Stage, StageResult};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spd::{
    AdaptParams, CommonChannels, MapChoice, MapParams, Mdm, Mdwm, MeanParams, Metric, Procrustes, RankChoice,
    Recentring, Scores, TangentTransport, adapt,
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
    /// Number of the random choice of training matrices.
    draw: u64,
    /// Share of session T that makes the map.
    #[serde(default = "ratio::<8, 10>")]
    share: f64,
    /// Share of session E whose labels RPA and MDWM may use.
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
    method: &'a str,
    classes: usize,
    /// Matrices of T that trained the classifier.
    trained_on: usize,
    /// Matrices of E that tested it.
    tested_on: usize,
    /// Matrices of E whose labels were used.
    calibrated_on: usize,
    accuracy: f64,
    balanced_accuracy: f64,
    kappa: f64,
    data: String,
}

/// The methods: name in the rows and whether they use labels of the target.
pub const METHODS: [(&str, bool); 7] = [
    ("none", false),
    ("recentring", false),
    ("POT", false),
    ("OoSAdapt paper", false),
    ("OoSAdapt ours", false),
    ("RPA", true),
    ("MDWM", true),
];

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
        let (source, target) = sessions(ctx)?;
        let (x, y) = (source.matrices.view(), target.matrices.view());
        let n = x.len_of(Axis(0));
        let mut order: Vec<usize> = (0..n).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(ctx.seed()));
        let (known, held) = order.split_at(((n as f64 * p.share).round() as usize).clamp(1, n - 1));
        let pick = |at: &[usize]| (x.select(Axis(0), at), at.iter().map(|&i| source.labels[i]).collect::<Vec<_>>());
        let ((from, from_labels), (new, labels)) = (pick(known), pick(held));
        let m = y.len_of(Axis(0));
        let cut = ((m as f64 * p.calibration).round() as usize).clamp(1, m - 1);
        let ((calibration, rest), (known_labels, truth)) = (y.split_at(Axis(0), cut), target.labels.split_at(cut));
        let params = MeanParams::default().check()?;
        let judge = |train: ArrayView3<'_, f64>, test: ArrayView3<'_, f64>| -> Result<Scores, spd::Error> {
            spd::scores(truth, &Mdm::fit(train, &labels, Metric::AffineInvariant, &params)?.predict(test)?)
        };
        let common = CommonChannels::all(y.dim().1);
        let mut lines = Vec::new();
        for (k, (method, calibrated)) in METHODS.into_iter().enumerate() {
            ctx.progress(k as f64 / METHODS.len() as f64, method);
            let learned = |settings: AdaptParams| -> Result<Array3<f64>, spd::Error> {
                adapt(from.view(), y, None, &common, &settings, &mut |_, _, _| !ctx.cancelled())?.apply(new.view())
            };
            let scores = match method {
                "none" => judge(new.view(), rest)?,
                "recentring" => {
                    judge(Recentring::fit(from.view(), y, &common, &params)?.apply(new.view())?.view(), rest)?
                }
                "POT" => {
                    let found = TangentTransport::fit(from.view(), y, &params)?;
                    judge(found.apply(new.view())?.view(), found.target(rest)?.view())?
                }
                "OoSAdapt paper" => judge(learned(AdaptParams::paper())?.view(), rest)?,
                "OoSAdapt ours" => {
                    let map = MapParams { seed: ctx.seed(), ..MapParams::default() };
                    let map = MapChoice::Recentred(map, RankChoice::Given);
                    judge(learned(AdaptParams { map, ..AdaptParams::default() })?.view(), rest)?
                }
                // Few calibration trials may lack a class: these methods have no result then.
                "RPA" => match Procrustes::fit((from.view(), &from_labels), (y, known_labels), &params) {
                    Err(spd::Error::Input(spd::InputError::Shape { .. })) => continue,
                    found => {
                        let found = found?;
                        judge(found.source(new.view())?.view(), found.target(rest)?.view())?
                    }
                },
                _ => match Mdwm::fit((new.view(), &labels), (calibration, known_labels), p.tradeoff, &params) {
                    Err(spd::Error::Input(spd::InputError::Shape { .. })) => continue,
                    found => spd::scores(truth, &found?.mdm().predict(rest)?)?,
                },
            };
            lines.push((method, calibrated, scores));
        }
        let classes = source.labels.iter().collect::<BTreeSet<_>>().len();
        let data = serde_json::to_value(source.provenance.kind)?.as_str().unwrap_or_default().to_owned();
        let mut rows = Vec::new();
        // Seven lines, not by `report`: an edit of how tables are written must not make these units run again.
        let mut moabb = String::from("score,time,samples,subject,session,channels,n_sessions,dataset,pipeline\n");
        for (method, calibrated, s) in &lines {
            rows.push(row(&Line {
                subject: p.subject,
                draw: p.draw,
                method,
                classes,
                trained_on: held.len(),
                tested_on: truth.len(),
                calibrated_on: if *calibrated { cut } else { 0 },
                accuracy: 100.0 * s.accuracy,
                balanced_accuracy: 100.0 * s.balanced_accuracy,
                kappa: s.kappa,
                data: data.clone(),
            })?);
            let dataset = if data == "real" { "BNCI2014-001" } else { "SIMULATED" };
            // MOABB writes the time of the training; artefacts hold no times, so that the same inputs give the same bytes.
            moabb.push_str(&format!(
                "{},0,{},{},E{},{},2,{dataset},{method}+MDM\n",
                s.accuracy,
                held.len(),
                p.subject,
                p.draw,
                y.dim().1
            ));
        }
        fs_err::write(ctx.output("moabb.csv")?, moabb)?;
        Ok(write_rows(ctx, &rows)?)
    }
}
