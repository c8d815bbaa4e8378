//! Results that travel: `repro push` and `repro pull`. What they share is here: which remote, how a transfer is shown.
//!
//! The work is done by the crate `remote`; its first page says what a remote holds and whom it trusts.

mod display;
pub mod pull;
pub mod push;

use crate::cli::console::message;
use pipeline::{Plan, RemoteOptions};
use remote::Address;
use remote::transport::Remote;

/// The name that wins where several remotes are there and none was named.
const USUAL: &str = "origin";

/// Whether a word is an address rather than a name.
fn is_address(word: &str) -> bool {
    word.contains('/')
}

/// Whether a word means a remote of this project.
fn is_remote(plan: &Plan, word: &str) -> bool {
    is_address(word) || plan.remotes.contains_key(word)
}

/// Opens the remote of that name or address; without one the only one there is, or that named `origin`.
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
            let found = only.or_else(|| plan.remotes.get(USUAL));
            match found {
                Some(options) => options.clone(),
                None if plan.remotes.is_empty() => anyhow::bail!(
                    "pipeline.yaml names no remote; add `remotes: {{{USUAL}: ADDRESS}}`, or give an address: a folder, https://... or s3://BUCKET/PREFIX"
                ),
                None => anyhow::bail!("which remote? pipeline.yaml has: {}; name one", names()),
            }
        }
    };
    // An address of the command line counts from where the user is, one of the file from the file.
    let here = if named.is_some_and(is_address) { std::env::current_dir()? } else { plan.folder.clone() };
    let address = Address::new(&options, &here)?;
    if let Address::Http(url) = &address
        && url.starts_with("http://")
        && !["http://127.0.0.1", "http://localhost", "http://[::1]"].iter().any(|near| url.starts_with(near))
    {
        message!("{url}: plain http; whoever is on the way can change what the index says");
    }
    Ok(address.open()?.trusting(options.keys))
}

/// An error of the engine is one, whoever met it: its hint and exit code depend on it.
fn plain(error: remote::Error) -> anyhow::Error {
    match error {
        remote::Error::Engine(error) => error.into(),
        error => error.into(),
    }
}

/// What messages of the remote are worth saying once.
fn say(notes: &[String]) {
    for note in notes {
        message!("{note}");
    }
}
