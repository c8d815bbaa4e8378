//! Results shared between machines: `repro push` and `repro pull`. Here is what both need: the choice of the remote and the display of a
//! transfer.
//!
//! The crate `remote` does the work; its first page says what a remote holds and whom it trusts.

mod display;
pub mod pull;
pub mod push;

use crate::cli::console::message;
use pipeline::{Plan, RemoteOptions};
use remote::Address;
use remote::transport::Remote;

/// The remote that is used where pipeline.yaml has several and the user names none.
const DEFAULT_REMOTE: &str = "origin";

/// Whether a word is an address rather than a name.
fn is_address(word: &str) -> bool {
    word.contains('/')
}

/// Whether a word is an address or the name of a remote in pipeline.yaml.
fn is_remote(plan: &Plan, word: &str) -> bool {
    is_address(word) || plan.remotes.contains_key(word)
}

/// Opens the remote of that name or address. Without either, opens the only remote of pipeline.yaml, or the one named `origin`.
fn open(plan: &Plan, named: Option<&str>) -> anyhow::Result<Remote> {
    let names = || plan.remotes.keys().cloned().collect::<Vec<_>>().join(", ");
    let options = match named {
        Some(word) if is_address(word) => {
            let host = word.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(rest));
            anyhow::ensure!(
                !host.contains('@'),
                "the address holds credentials; take them out: they come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            );
            RemoteOptions { url: word.to_string(), ..RemoteOptions::default() }
        }
        Some(word) => match plan.remotes.get(word) {
            Some(options) => options.clone(),
            None if plan.remotes.is_empty() => anyhow::bail!(
                "there is no remote `{word}`: pipeline.yaml names none; add `remotes: {{{word}: ADDRESS}}`, or give an address"
            ),
            None => anyhow::bail!("there is no remote `{word}`; pipeline.yaml has: {}", names()),
        },
        None => {
            let only = (plan.remotes.len() == 1).then(|| plan.remotes.values().next()).flatten();
            let found = only.or_else(|| plan.remotes.get(DEFAULT_REMOTE));
            match found {
                Some(options) => options.clone(),
                None if plan.remotes.is_empty() => anyhow::bail!(
                    "pipeline.yaml names no remote; add `remotes: {{{DEFAULT_REMOTE}: ADDRESS}}`, or give an address: a folder, https://... or s3://BUCKET/PREFIX"
                ),
                None => anyhow::bail!("which remote? pipeline.yaml has: {}; name one", names()),
            }
        }
    };
    // A relative folder on the command line starts from the current folder, one in pipeline.yaml from the folder of that file.
    let here = if named.is_some_and(is_address) { std::env::current_dir()? } else { plan.folder.clone() };
    let address = Address::new(&options, &here)?;
    if let Address::Http(url) = &address
        && url.starts_with("http://")
        && !["http://127.0.0.1", "http://localhost", "http://[::1]"].iter().any(|near| url.starts_with(near))
    {
        message!("{url}: plain http; anybody between here and the server can change the index");
    }
    Ok(address.open()?.trusting(options.keys))
}

/// Unwraps an error of the engine, so that it gets the same hint and exit code as in other commands.
fn unwrap_engine_error(error: remote::Error) -> anyhow::Error {
    match error {
        remote::Error::Engine(error) => error.into(),
        error => error.into(),
    }
}

/// Prints the messages of a transfer.
fn print_notes(notes: &[String]) {
    for note in notes {
        message!("{note}");
    }
}
