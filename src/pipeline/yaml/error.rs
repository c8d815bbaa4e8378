//! A mistake in a YAML file, shown with its line and a mark under it.
//!
//! ```text
//! pipeline.yaml:7:5: stage `train`: unknown key `neeeds`
//!   |
//! 7 |     neeeds: [simulate]
//!   |     ^^^^^^
//!   = did you mean `needs`?
//! ```

use super::tree::Node;
use std::fmt;
use std::path::Path;

/// A mistake in pipeline.yaml or in `--set`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file, or `--set key=value`.
    pub file: String,
    /// Line, from 1. 0 when the file could not be read at all.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    snippet: String,
    width: usize,
}

impl ConfigError {
    /// An error at a node.
    pub(crate) fn at(node: &Node, message: impl fmt::Display) -> Self {
        Self::at_position(node.source.name(), node.source.line(node.line), node.line, node.column, node.width, message)
    }

    pub(crate) fn at_position(
        file: &str,
        snippet: &str,
        line: usize,
        column: usize,
        width: usize,
        message: impl fmt::Display,
    ) -> Self {
        let (file, snippet) = (file.to_string(), snippet.trim_end().to_string());
        Self { file, line, column, message: message.to_string(), help: None, snippet, width }
    }

    pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        let message = match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_string(),
            _ => format!("cannot be read: {error}"),
        };
        Self::at_position(&path.display().to_string(), "", 0, 0, 0, message)
    }

    pub(crate) fn help(mut self, help: impl fmt::Display) -> Self {
        self.help = Some(help.to_string());
        self
    }

    /// Adds "did you mean" when a candidate is near `word`, or lists the candidates when there are few.
    pub(crate) fn suggest<S: AsRef<str>>(self, word: &str, candidates: &[S]) -> Self {
        match suggestion(word, candidates) {
            Some(help) => self.help(help),
            None => self,
        }
    }
}

/// "did you mean `x`?" for a near miss, else "one of: a, b" for a short list.
pub fn suggestion<S: AsRef<str>>(word: &str, candidates: &[S]) -> Option<String> {
    let near = candidates
        .iter()
        .map(|c| (strsim::damerau_levenshtein(&word.to_lowercase(), &c.as_ref().to_lowercase()), c.as_ref()))
        .min()
        .filter(|(distance, c)| {
            let (long, short) = (c.chars().count().max(word.chars().count()), word.chars().count());
            // A word of one letter has no near misspelling.
            *distance <= 1 + long / 4 && *distance < short
        });
    if let Some((_, name)) = near {
        return Some(format!("did you mean `{name}`?"));
    }
    let names: Vec<&str> = candidates.iter().map(AsRef::as_ref).collect();
    (1..=16).contains(&names.len()).then(|| format!("one of: {}", names.join(", ")))
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            return write!(f, "{}: {}", self.file, self.message);
        }
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        let margin = " ".repeat(self.line.to_string().len());
        let (snippet, before) = self.window();
        write!(f, "\n{margin} |\n{} | {snippet}", self.line)?;
        let remaining = snippet.chars().count().saturating_sub(before).max(1);
        let carets = "^".repeat(self.width.clamp(1, remaining));
        write!(f, "\n{margin} | {}{carets}", " ".repeat(before))?;
        match &self.help {
            Some(help) => write!(f, "\n{margin} = {help}"),
            None => Ok(()),
        }
    }
}

impl ConfigError {
    /// The line, or the part of a long one around the mistake; and how many characters stand before the mistake.
    fn window(&self) -> (String, usize) {
        const SHOWN: usize = 160;
        let before = self.column.saturating_sub(1);
        if self.snippet.chars().count() <= SHOWN {
            return (self.snippet.clone(), before);
        }
        let start = before.saturating_sub(SHOWN / 2);
        (self.snippet.chars().skip(start).take(SHOWN).collect(), before - start)
    }
}

impl std::error::Error for ConfigError {}
