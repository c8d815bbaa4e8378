//! Shows the progress of a run. On a terminal: one bar per running stage and a line of current units. Elsewhere: a plain line
//! every few seconds at most, so that a log file stays readable.

use super::remaining::Remaining;
use crate::cli::console::message;
use crate::cli::text::{Paint, count, dumb, duration};
use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use pipeline::{Engine, Event, Plan, RunOptions};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time between plain lines.
const LINE_INTERVAL: Duration = Duration::from_secs(3);
/// How often the display is refreshed and Ctrl-C is looked for.
const TICK: Duration = Duration::from_millis(100);
/// How long units in flight may take to end after Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between estimates of the time left.
const FORECAST: Duration = Duration::from_secs(1);
/// Seconds from which on a run says beforehand how long it will take.
const WORTH_TELLING: f64 = 15.0;
/// How many of the running units a line names.
const NAMED: usize = 3;

/// Shows the events of one run. Events come from the engine; a second thread calls [`Display::watch`], so that the
/// clock goes on and Ctrl-C is answered while long units are silent.
pub struct Display<'a> {
    state: Mutex<Tally<'a>>,
    ended: Condvar,
    stop: Arc<AtomicBool>,
}

struct Tally<'a> {
    plan: &'a Plan,
    paint: Paint,
    start: Instant,
    last_line: Instant,
    /// Units to do in this run.
    todo: usize,
    /// Units of this run that ended.
    done: usize,
    /// Units to do, by stage.
    stage_todo: Vec<usize>,
    remaining: Remaining,
    /// The words about the time left, and when they were found: a rehearsal of a large plan takes milliseconds.
    left: (Option<String>, Option<Instant>),
    /// Threads that units share, if they run here.
    threads: Option<usize>,
    running: BTreeMap<usize, String>,
    bars: Option<Bars>,
    ended: bool,
}

/// The bars on a terminal.
struct Bars {
    area: MultiProgress,
    stages: BTreeMap<usize, ProgressBar>,
    current: ProgressBar,
}

impl<'a> Display<'a> {
    /// A display for a run with these options, whose `cancel` is the flag that Ctrl-C raises, on so many threads of this
    /// process.
    pub fn new(engine: &'a Engine, options: &RunOptions, threads: Option<usize>) -> Display<'a> {
        let (plan, terminal) = (engine.plan(), std::io::stderr().is_terminal() && !dumb());
        let bars = terminal.then(|| {
            let area = MultiProgress::new();
            let current = area.add(ProgressBar::no_length());
            current.set_style(style("  {wide_msg}"));
            Bars { area, stages: BTreeMap::new(), current }
        });
        let state = Tally {
            plan,
            paint: Paint::stderr(),
            start: Instant::now(),
            last_line: Instant::now(),
            todo: 0,
            done: 0,
            stage_todo: vec![0; plan.stages.len()],
            remaining: Remaining::default(),
            left: (None, None),
            threads,
            running: BTreeMap::new(),
            bars,
            ended: false,
        };
        Display { state: Mutex::new(state), ended: Condvar::new(), stop: options.cancel.clone() }
    }

    fn state(&self) -> MutexGuard<'_, Tally<'a>> {
        // After a panic elsewhere the display goes on: it holds nothing that a panic could leave half-changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Take note of an event.
    pub fn event(&self, event: &Event) {
        self.state().event(event);
    }

    /// Ends the display when dropped, so that even a panic of the engine lets the watcher go.
    pub fn end_on_drop(&self) -> impl Drop {
        struct End<'d, 'a>(&'d Display<'a>);
        impl Drop for End<'_, '_> {
            fn drop(&mut self) {
                self.0.end();
            }
        }
        End(self)
    }

    /// Remove the bars and let [`Display::watch`] return.
    fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        if let Some(bars) = state.bars.take() {
            let _ = bars.area.clear();
        }
        self.ended.notify_all();
    }

    /// Keep the display alive until the display ends. After Ctrl-C, units that do not stop within [`PATIENCE`] are
    /// abandoned: the process leaves, which costs no finished unit.
    pub fn watch(&self) {
        let mut stopped: Option<Instant> = None;
        let mut state = self.state();
        while !state.ended {
            match stopped {
                None if self.stop.load(Ordering::Relaxed) => {
                    stopped = Some(Instant::now());
                    state.print_line("stopping: units in flight are asked to end; Ctrl-C again leaves at once");
                }
                Some(since) if since.elapsed() > PATIENCE => {
                    state.print_line(
                        "units in flight do not stop: leaving them; finished units are kept, run again to resume",
                    );
                    std::process::exit(i32::from(crate::cli::signals::INTERRUPTED));
                }
                _ => state.refresh(),
            }
            let woken = self.ended.wait_timeout(state, TICK);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Tally<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Planned { stale, .. } => {
                self.todo = stale.len();
                self.remaining = Remaining::new(stale, self.threads);
                for &(unit, _) in stale {
                    self.stage_todo[self.plan.units[unit].stage] += 1;
                }
                self.foretell();
            }
            Event::Started { unit, .. } => {
                self.remaining.start(*unit, self.start.elapsed().as_secs_f64());
                self.running.insert(*unit, String::new());
                self.bar(*unit);
            }
            Event::Progress { unit, fraction, message } => {
                self.remaining.progress(*unit, *fraction);
                self.running.insert(*unit, format!(" {:.0}% {message}", fraction * 100.0));
            }
            Event::Finished { unit, wall, .. } => self.ended(*unit, Some(*wall)),
            Event::Spared { unit } => self.ended(*unit, None),
            Event::Failed { unit, error } => {
                self.print_line(&format!("{} `{}`: {}", self.paint.red("failed"), self.id(*unit), first_line(error)));
                self.ended(*unit, None);
            }
            Event::Blocked { unit, .. } => self.ended(*unit, None),
            Event::Retrying { unit, error, attempt } => {
                let id = self.id(*unit);
                self.print_line(&format!("attempt {attempt} of `{id}` failed, trying again: {}", first_line(error)));
            }
            Event::Waiting { unit, holder } => {
                self.print_line(&format!("waiting for {holder} to finish `{}`", self.id(*unit)))
            }
            Event::Nondeterministic { unit, artefact } => {
                let what = self.paint.yellow("warning:");
                self.print_line(&format!(
                    "{what} `{}` wrote other bytes in `{artefact}` than before with the same key",
                    self.id(*unit)
                ));
            }
            Event::Published { .. } => {}
            Event::Note(text) => self.print_line(text),
        }
        if self.bars.is_none() {
            self.refresh();
        }
    }

    fn id(&self, unit: usize) -> &str {
        &self.plan.units[unit].id
    }

    /// Prints a line above the bars, where it stays.
    fn print_line(&self, line: &str) {
        match &self.bars {
            Some(bars) => {
                let _ = bars.area.println(line);
            }
            None => message!("{line}"),
        }
    }

    /// The bar of the unit's stage, made when the stage first runs.
    fn bar(&mut self, unit: usize) -> Option<&ProgressBar> {
        let stage = self.plan.units[unit].stage;
        let (name, todo) = (self.plan.stages[stage].name.clone(), self.stage_todo[stage]);
        let bars = self.bars.as_mut()?;
        Some(bars.stages.entry(stage).or_insert_with(|| {
            let bar = bars.area.insert_before(&bars.current, ProgressBar::new(todo as u64));
            bar.set_style(style("{prefix:>16} [{bar:30}] {pos}/{len}  {rate}"));
            bar.set_prefix(name);
            bar
        }))
    }

    fn ended(&mut self, unit: usize, seconds: Option<f64>) {
        self.running.remove(&unit);
        self.done += 1;
        let stage = self.plan.units[unit].stage;
        self.remaining.end(unit, stage, seconds);
        if let Some(bars) = &self.bars
            && let Some(bar) = bars.stages.get(&stage)
        {
            bar.inc(1);
            if bar.length() == Some(bar.position()) {
                bar.finish_and_clear();
            }
        }
    }

    fn refresh(&mut self) {
        if self.bars.is_some() {
            let line = self.line();
            if let Some(bars) = &self.bars {
                bars.current.set_message(line);
                bars.current.tick();
            }
        } else if self.last_line.elapsed() >= LINE_INTERVAL {
            self.last_line = Instant::now();
            let line = self.line();
            message!("{line}");
        }
    }

    /// `train/rank=1 40% epoch 8, train/rank=2 and 3 more`.
    fn current(&self) -> String {
        let named: Vec<String> =
            self.running.iter().take(NAMED).map(|(&unit, state)| format!("{}{state}", self.id(unit))).collect();
        let more = self.running.len().saturating_sub(NAMED);
        if more > 0 { format!("{} and {more} more", named.join(", ")) } else { named.join(", ") }
    }

    /// Says before a long run how long it will take.
    fn foretell(&self) {
        let Some(threads) = self.threads else { return };
        let (seconds, unknown) = self.remaining.seconds(self.plan, 0.0);
        if seconds >= WORTH_TELLING {
            let how = if unknown { "at least" } else { "about" };
            let (units, time) = (count(self.todo, "unit"), crate::cli::text::seconds(seconds));
            self.print_line(&format!("{units} to run: {how} {time} on {} of this machine", count(threads, "thread")));
        }
    }

    fn line(&mut self) -> String {
        let spent = self.start.elapsed();
        let mut line = format!("{}/{} after {}", self.done, count(self.todo, "unit"), duration(spent));
        if self.left.1.is_none_or(|then| then.elapsed() >= FORECAST) {
            self.left = (self.remaining.words(self.plan, spent.as_secs_f64()), Some(Instant::now()));
        }
        if let Some(left) = &self.left.0 {
            line += &format!(", {left}");
        }
        if !self.running.is_empty() {
            line += &format!("; running {}", self.current());
        }
        line
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn style(template: &str) -> ProgressStyle {
    // The templates are literals of this file; a wrong one falls back to indicatif's own.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ").with_key("rate", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
        let _ = write!(out, "{:.1}/s", state.per_sec());
    })
}
