//! Options that several commands share, with one wording.

use crate::shared::{device, source};
use pipeline::Environment;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Which pipeline: profile and overrides.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choose {
    /// Size of the experiments: a profile of pipeline.yaml (smoke, default, paper, extended) [default: default; where results are only
    /// looked at, that of the last run]
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Override a parameter: `name=value` for a global one, `stage.key=value` for one stage; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value)]
    pub sets: Vec<(String, String)>,
}

impl Choose {
    /// The profile asked for; `default` when none was named.
    pub fn profile(&self) -> &str {
        self.profile.as_deref().unwrap_or("default")
    }
}

/// Splits `KEY=VALUE`.
pub fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().into(), value.trim().into())),
        _ => Err("expected KEY=VALUE, for example train.rank=5".into()),
    }
}

/// What stages may use: data, network, backend.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Surroundings {
    /// Never use the network: data come from --data-dir, the download cache or the embedded sample
    #[arg(long)]
    pub offline: bool,
    /// Fail rather than fall back to simulated or sample data
    #[arg(long)]
    pub require_real: bool,
    /// Folder with data files you already have (default: the environment variable REPRO_DATA)
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Take a downloaded file although its checksum is not the one seen first
    #[arg(long)]
    pub accept_changed: bool,
    /// Where training runs: `cuda` fails loudly without a usable GPU, `auto` says why it fell back [default: auto]
    #[arg(long, value_enum)]
    pub backend: Option<Backend>,
    /// On a GPU, let products round their factors to TF32: faster, three digits
    #[arg(long)]
    pub tf32: bool,
}

/// Names of backends.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The GPU if there is a usable one, else the processor
    #[default]
    Auto,
    /// The processor
    Cpu,
    /// The GPU, or an error
    Cuda,
}

impl Surroundings {
    /// Refuses a data folder that is not there, `--backend cuda` where nothing could run on it, and `--tf32` where nothing may.
    pub fn check(&self) -> anyhow::Result<()> {
        if let Some(dir) = self.data_folder().filter(|d| !d.exists()) {
            let from = if self.data_dir.is_some() { "--data-dir" } else { "REPRO_DATA" };
            anyhow::bail!("{from} {}: no such folder or zip file; check the path", dir.display());
        }
        anyhow::ensure!(!self.tf32 || self.backend() != Backend::Cpu, "--tf32 is for GPUs: leave out --backend cpu");
        if self.backend() == Backend::Cuda
            && let Err(why) = kraus::backend::probe()
        {
            anyhow::bail!("--backend cuda: {why}; `--backend cpu` trains on the processor");
        }
        Ok(())
    }

    /// One line that says why `auto` trains on the processor; `None` for a program that was built without CUDA, where nobody
    /// expects a GPU.
    pub fn fallback(&self) -> Option<String> {
        if self.backend() != Backend::Auto || !cfg!(feature = "cuda") {
            return None;
        }
        kraus::backend::probe().err().map(|why| format!("training on the processor: {why}"))
    }

    /// The backend asked for; `auto` when none was named.
    pub fn backend(&self) -> Backend {
        self.backend.unwrap_or_default()
    }

    /// The data folder: the flag's, else that of the environment variable REPRO_DATA; absolute.
    pub fn data_folder(&self) -> Option<PathBuf> {
        let from_env = || std::env::var_os("REPRO_DATA").filter(|v| !v.is_empty()).map(PathBuf::from);
        // The engine may run stages in another folder, so a relative path becomes an absolute one here.
        self.data_dir.clone().or_else(from_env).map(|d| std::path::absolute(&d).unwrap_or(d))
    }

    /// What the engine hands to the stages.
    pub fn environment(&self) -> Environment {
        let backend = match (self.backend(), self.tf32) {
            (Backend::Auto, false) => "auto",
            (Backend::Auto, true) => "auto-tf32",
            (Backend::Cpu, _) => "cpu",
            (Backend::Cuda, false) => "cuda",
            (Backend::Cuda, true) => "cuda-tf32",
        };
        let mut env = Environment::default();
        if let Some(dir) = self.data_folder() {
            env.set(source::DATA_DIR, dir.to_string_lossy());
        }
        env.set_flag(source::OFFLINE, self.offline);
        env.set_flag(source::REQUIRE_REAL, self.require_real);
        env.set_flag(source::ACCEPT_CHANGED, self.accept_changed);
        env.set(device::BACKEND, backend);
        env.set(device::ARITHMETIC, device::arithmetic());
        env
    }
}

/// Both groups: together they decide the keys of units.
#[derive(clap::Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct View {
    #[command(flatten)]
    pub choose: Choose,
    #[command(flatten)]
    pub surroundings: Surroundings,
}

impl View {
    /// The flags that give this view, each with a space before it, quoted for a shell; empty for the defaults.
    pub fn flags(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        let mut add = |flag: &str, value: Option<&str>| {
            words.push(flag.to_string());
            words.extend(value.map(quoted));
        };
        if let Some(profile) = &self.choose.profile {
            add("--profile", Some(profile));
        }
        for (key, value) in &self.choose.sets {
            add("--set", Some(&format!("{key}={value}")));
        }
        let s = &self.surroundings;
        for (given, flag) in [
            (s.offline, "--offline"),
            (s.require_real, "--require-real"),
            (s.accept_changed, "--accept-changed"),
            (s.tf32, "--tf32"),
        ] {
            if given {
                add(flag, None);
            }
        }
        if let Some(dir) = &s.data_dir {
            add("--data-dir", Some(&dir.to_string_lossy()));
        }
        match s.backend {
            Some(Backend::Auto) => add("--backend", Some("auto")),
            Some(Backend::Cpu) => add("--backend", Some("cpu")),
            Some(Backend::Cuda) => add("--backend", Some("cuda")),
            None => {}
        }
        words.iter().map(|word| format!(" {word}")).collect()
    }
}

/// A word as a shell reads it back.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_those_that_give_the_view() {
        assert_eq!(View::default().flags(), "");
        let choose = Choose { profile: Some("smoke".into()), sets: vec![("a.text".into(), "it's [1, 2]".into())] };
        let surroundings = Surroundings { offline: true, backend: Some(Backend::Cpu), ..Surroundings::default() };
        let view = View { choose, surroundings };
        assert_eq!(view.flags(), r" --profile smoke --set 'a.text=it'\''s [1, 2]' --offline --backend cpu");
    }

    #[test]
    fn overrides_split_at_the_first_equals_sign() {
        assert_eq!(key_value("train.note=a=b"), Ok(("train.note".into(), "a=b".into())));
        assert!(key_value("train.rank").is_err() && key_value("=5").is_err());
    }
}
