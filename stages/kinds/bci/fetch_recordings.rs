//! Kind `fetch-recordings`: finds one session of one subject of BCI Competition IV 2a.
//!
//! The artefact is a reference by content, not a copy: a real recording is on disk already (in the user's folder or the download cache), and a
//! simulated one follows from its seed in a second. What reads the reference is keyed by the content that stands in it.

use crate::shared::files::write_json;
use crate::shared::source::{REFERENCE, Wanted, options, record};
use datasets::bci::{self, Session};
use datasets::fetch::{Kind, Provenance};
use pipeline::{Context, Environment, ParamError, Stage, StageError, StageResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind.
pub struct FetchRecordings;

/// Its parameters.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// 1 to 9.
    pub subject: u8,
    /// `T` (first day) or `E` (second).
    pub session: Session,
}

impl Stage for FetchRecordings {
    const NAME: &'static str = "fetch-recordings";
    const ABOUT: &'static str = "one BCI session: the real recording if it can be had, else a note to simulate it";
    type Params = Params;

    fn check(&self, p: &Params) -> Result<(), ParamError> {
        if (1..=9).contains(&p.subject) { Ok(()) } else { Err(ParamError::new("subject", "subjects are 1 to 9")) }
    }

    fn externals(&self, p: &Params, env: &Environment) -> Result<BTreeMap<String, String>, StageError> {
        Ok(Wanted::Recording(p.subject, p.session).externals(env)?)
    }

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let options = options(ctx.env())?;
        let found = bci::find(&options, p.subject, p.session)?;
        // Real only if the other session is, too.
        let both = Wanted::Recording(p.subject, p.session).content(&options)?.is_some();
        if let Some(provenance) = found.filter(|_| both) {
            return Ok(record(ctx, REFERENCE, &provenance)?);
        }
        ctx.log("no recording on this machine: the session will be simulated");
        let provenance = Provenance {
            dataset: Wanted::Recording(p.subject, p.session).name(),
            kind: Kind::Simulated,
            source: "our generator".into(),
            checksum: String::new(),
            place: String::new(),
            trust: String::new(),
            licence: "none: no data of the competition".into(),
            tried: Vec::new(),
        };
        Ok(write_json(&ctx.output(REFERENCE)?, &provenance)?)
    }
}
