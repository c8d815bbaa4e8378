//! Runs each unit in a thread pool of its own, with the threads that the engine gave it.
//!
//! The libraries split their work over whatever rayon pool they are called from. In the global pool two units
//! at once would wait for each other's tasks; in pools of their own they do not. The results have the same bits either way.

use pipeline::{Context, Environment, ParamError, Stage, StageError, StageResult};
use std::collections::BTreeMap;

/// The stage, run in a pool of [`Context::threads`] threads.
pub struct Pooled<S>(pub S);

impl<S: Stage> Stage for Pooled<S>
where
    S::Params: Sync,
{
    const NAME: &'static str = S::NAME;
    const SEED_NAME: &'static str = S::SEED_NAME;
    const SEEDLESS: &'static [&'static str] = S::SEEDLESS;
    const ABOUT: &'static str = S::ABOUT;
    const SCHEMA: u32 = S::SCHEMA;
    type Params = S::Params;

    fn check(&self, params: &S::Params) -> Result<(), ParamError> {
        self.0.check(params)
    }

    fn externals(&self, params: &S::Params, env: &Environment) -> Result<BTreeMap<String, String>, StageError> {
        self.0.externals(params, env)
    }

    fn run(&self, params: &S::Params, ctx: &Context) -> StageResult {
        match rayon::ThreadPoolBuilder::new().num_threads(ctx.threads()).build() {
            Ok(pool) => pool.install(|| self.0.run(params, ctx)),
            Err(e) => {
                ctx.log(&format!("no more threads can be started ({e}): this unit computes on one"));
                one_thread();
                self.0.run(params, ctx)
            }
        }
    }
}

/// Makes rayon work on the calling thread alone, for machines that refuse more threads. Results are the same bits.
pub fn one_thread() {
    // An error means that this thread is in such a pool already.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
}
