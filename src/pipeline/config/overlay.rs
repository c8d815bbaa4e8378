//! The file, overridden by one profile and by `--set`: one declaration per stage.
//!
//! Every value keeps the place where it was written, so a mistake in a profile or in `--set` is shown there.

use crate::value::Value;
use crate::yaml::ConfigError;
use crate::yaml::{self, Data, Node, YamlText};
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, ConfigError>;

/// Keys and nodes of a map, sorted; the first node is the key's own place.
pub type Entries = BTreeMap<String, (Node, Node)>;

const TOP: &[&str] = &["version", "seed", "params", "profiles", "stages", "slurm", "remotes"];
const STAGE: &[&str] = &["kind", "needs", "with", "matrix", "exclude", "resources", "retries", "publish"];
const PROFILE: &[&str] = &["like", "seed", "params", "stages"];
const PROFILE_STAGE: &[&str] = &["with", "matrix", "exclude", "resources", "retries"];

/// One stage as declared, overlays applied, nothing interpreted yet.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The stage's name, where it stands.
    pub name: Node,
    /// The kind's name.
    pub kind: Node,
    /// The stages it needs.
    pub needs: Vec<Node>,
    /// Parameters.
    pub with: Entries,
    /// Axes.
    pub matrix: Entries,
    /// Cells to leave out.
    pub exclude: Option<Node>,
    /// Resources.
    pub resources: Option<Node>,
    /// Retries.
    pub retries: Option<Node>,
    /// Where to copy artefacts.
    pub publish: Option<Node>,
}

/// The whole file with overlays applied.
#[derive(Clone, Debug)]
pub struct Overlaid {
    /// The run seed.
    pub seed: u64,
    /// Global parameters.
    pub params: Entries,
    /// Stages in the order of the file.
    pub stages: Vec<Declared>,
    /// How to use a cluster.
    pub slurm: Option<Node>,
    /// Where results may be pushed to.
    pub remotes: Option<Node>,
}

impl Overlaid {
    /// The file overridden by `profile`, then by `sets`.
    pub fn new(root: &Node, profile: &str, sets: &[(String, String)]) -> Result<Self> {
        keys(root, TOP, "the pipeline")?;
        let version = root
            .get("version")
            .ok_or_else(|| ConfigError::at(root, "`version` is missing").help("start the file with `version: 1`"))?;
        if version.value() != Value::Int(1) {
            let message = format!("version {} is not known to this program", version.text());
            return Err(ConfigError::at(version, message).help("write `version: 1`"));
        }
        let (slurm, remotes) = (root.get("slurm").cloned(), root.get("remotes").cloned());
        let mut all = Self { seed: 0, params: Entries::new(), stages: Vec::new(), slurm, remotes };
        if let Some(seed) = root.get("seed") {
            all.seed = whole(seed, "`seed`")?;
        }
        override_entries(&mut all.params, root.get("params"), "`params`")?;
        let stages = root.get("stages").ok_or_else(|| ConfigError::at(root, "`stages` is missing: nothing to run"))?;
        for (name, body) in map(stages, "`stages`")? {
            all.stages.push(declare(name, body)?);
        }
        if all.stages.is_empty() {
            return Err(ConfigError::at(stages, "`stages` is empty: nothing to run"));
        }
        all.profile(root, profile)?;
        for (key, value) in sets {
            all.set(key, value)?;
        }
        Ok(all)
    }

    /// Checks every profile and overrides the file by the chosen one.
    fn profile(&mut self, root: &Node, chosen: &str) -> Result<()> {
        let profiles = root.get("profiles");
        let entries = profiles.map(|p| map(p, "`profiles`")).transpose()?.unwrap_or(&[]);
        let mut earlier: Vec<(String, Self)> = Vec::new();
        for (name, body) in entries {
            let what = format!("profile `{}`", name.text());
            profile_name(name)?;
            keys(body, PROFILE, &what)?;
            let mut copy = match body.get("like") {
                None => self.clone(),
                Some(like) => match earlier.iter().find(|(known, _)| like.is(known)) {
                    Some((_, other)) => other.clone(),
                    None => {
                        let names: Vec<&str> = earlier.iter().map(|(name, _)| name.as_str()).collect();
                        let text = like.text();
                        let message = format!("{what}: `like` names no profile above it: `{text}`");
                        return Err(ConfigError::at(like, message).suggest(&text, &names));
                    }
                },
            };
            if let Some(seed) = body.get("seed") {
                copy.seed = whole(seed, &format!("{what}: `seed`"))?;
            }
            override_entries(&mut copy.params, body.get("params"), &format!("{what}: `params`"))?;
            let stages = body.get("stages").map(|s| map(s, &what)).transpose()?.unwrap_or(&[]);
            for (stage, body) in stages {
                copy.stage(stage, &what)?.override_by(body, &format!("{what}, stage `{}`", stage.text()))?;
            }
            earlier.push((name.text(), copy));
        }
        if let Some((_, found)) = earlier.into_iter().find(|(name, _)| name == chosen) {
            *self = found;
            return Ok(());
        }
        if chosen == "default" {
            return Ok(());
        }
        let mut names: Vec<String> = entries.iter().map(|(k, _)| k.text()).collect();
        names.push("default".into());
        let here = yaml::parse(YamlText::new("--profile", chosen)).unwrap_or_else(|_| root.clone());
        Err(ConfigError::at(&here, format!("unknown profile `{chosen}`")).suggest(chosen, &names))
    }

    fn stage(&mut self, name: &Node, what: &str) -> Result<&mut Declared> {
        let text = name.text();
        match self.stages.iter().position(|s| s.name.is(&text)) {
            Some(at) => Ok(&mut self.stages[at]),
            None => {
                let names: Vec<String> = self.stages.iter().map(|s| s.name.text()).collect();
                Err(ConfigError::at(name, format!("{what}: there is no stage `{text}`")).suggest(&text, &names))
            }
        }
    }

    /// `name=value`, `seed=value` or `stage.key=value`; the value is YAML.
    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let prefix = format!("{key}=");
        let source = YamlText::new("--set", &format!("{prefix}{value}"));
        let place = |data: Data, column: usize, width: usize| Node {
            data,
            source: source.clone(),
            line: 1,
            column,
            width: width.max(1),
        };
        let parsed = yaml::parse(YamlText::new("--set", value)).map_err(|e| {
            ConfigError::at(&place(Data::Scalar(Value::Null), prefix.len() + 1, value.len()), e.message)
        })?;
        let value = place(parsed.data, prefix.chars().count() + 1, value.chars().count());
        let name = place(Data::Scalar(Value::Str(key.to_string())), 1, key.chars().count());
        if key == "seed" {
            self.seed = whole(&value, "`seed`")?;
            return Ok(());
        }
        let Some((stage, param)) = key.split_once('.') else {
            if !self.params.contains_key(key) {
                let mut names: Vec<String> = self.params.keys().cloned().collect();
                names.push("seed".into());
                let error = ConfigError::at(&name, format!("there is no global parameter `{key}`"));
                let stage = self.stages.iter().find(|s| s.with.contains_key(key) || s.matrix.contains_key(key));
                return Err(match stage {
                    Some(s) => error.help(format!("for one stage write `--set {}.{key}=...`", s.name.text())),
                    None => error.suggest(key, &names),
                });
            }
            self.params.insert(key.to_string(), (name, value));
            return Ok(());
        };
        let stage_node = name.with(Data::Scalar(Value::Str(stage.to_string())));
        let declared = self.stage(&stage_node, "--set")?;
        let entries = if declared.matrix.contains_key(param) { &mut declared.matrix } else { &mut declared.with };
        let key_node = name.with(Data::Scalar(Value::Str(param.to_string())));
        entries.insert(param.to_string(), (key_node, value));
        Ok(())
    }
}

impl Declared {
    fn override_by(&mut self, body: &Node, what: &str) -> Result<()> {
        keys(body, PROFILE_STAGE, what)?;
        override_entries(&mut self.with, body.get("with"), &format!("{what}: `with`"))?;
        override_entries(&mut self.matrix, body.get("matrix"), &format!("{what}: `matrix`"))?;
        for (slot, key) in
            [(&mut self.exclude, "exclude"), (&mut self.resources, "resources"), (&mut self.retries, "retries")]
        {
            if let Some(node) = body.get(key) {
                *slot = (!node.is_null()).then(|| node.clone());
            }
        }
        Ok(())
    }
}

/// Refuses the name of a profile that could not name its lock file and its folder of published files.
fn profile_name(name: &Node) -> Result<()> {
    let text = name.text();
    let fits = |c: char| c.is_alphanumeric() || "-_.+".contains(c);
    if text.is_empty() || text.starts_with('.') || text.ends_with(".lock") || !text.chars().all(fits) {
        return Err(ConfigError::at(name, format!("`{text}` cannot name a profile")).help(
            "letters, digits, `-`, `_`, `+` and `.` will do, and no `.` at the start: files are named after it",
        ));
    }
    Ok(())
}

fn declare(name: &Node, body: &Node) -> Result<Declared> {
    let text = name.text();
    let what = format!("stage `{text}`");
    if text.is_empty() || text == "all" || text.contains(['/', '*', '?']) || text.chars().any(char::is_control) {
        return Err(ConfigError::at(name, format!("`{text}` cannot name a stage"))
            .help("any text without `/`, `*`, `?` that is not `all` will do"));
    }
    keys(body, STAGE, &what)?;
    let optional = |key: &str| body.get(key).filter(|n| !n.is_null()).cloned();
    let needs = match body.get("needs").map(|n| (n, &n.data)) {
        None | Some((_, Data::Scalar(Value::Null))) => Vec::new(),
        Some((_, Data::List(items))) => items.clone(),
        Some((one, Data::Scalar(_))) => vec![one.clone()],
        Some((node, Data::Map(_))) => {
            return Err(ConfigError::at(node, format!("{what}: `needs` is a list of stage names")));
        }
    };
    let mut declared = Declared {
        name: name.clone(),
        kind: optional("kind").unwrap_or_else(|| name.clone()),
        needs,
        with: Entries::new(),
        matrix: Entries::new(),
        exclude: optional("exclude"),
        resources: optional("resources"),
        retries: optional("retries"),
        publish: optional("publish"),
    };
    override_entries(&mut declared.with, body.get("with"), &format!("{what}: `with`"))?;
    override_entries(&mut declared.matrix, body.get("matrix"), &format!("{what}: `matrix`"))?;
    Ok(declared)
}

/// Overrides entries by a map, key by key; `null` removes a key.
fn override_entries(entries: &mut Entries, by: Option<&Node>, what: &str) -> Result<()> {
    for (key, node) in by.map(|n| map(n, what)).transpose()?.unwrap_or(&[]) {
        if node.is_null() {
            entries.remove(&key.text());
        } else {
            entries.insert(key.text(), (key.clone(), node.clone()));
        }
    }
    Ok(())
}

/// The entries of a map; a value that is not written counts as an empty map.
pub(crate) fn map<'a>(node: &'a Node, what: &str) -> Result<&'a [(Node, Node)]> {
    match &node.data {
        Data::Map(entries) => Ok(entries),
        Data::Scalar(Value::Null) => Ok(&[]),
        _ => Err(ConfigError::at(node, format!("{what}: expected a map, found {}", node.type_name()))),
    }
}

/// Refuses keys that are not in the list.
pub(crate) fn keys(node: &Node, allowed: &[&str], what: &str) -> Result<()> {
    for (key, _) in map(node, what)? {
        if !allowed.iter().any(|name| key.is(name)) {
            let text = key.text();
            return Err(ConfigError::at(key, format!("{what}: unknown key `{text}`")).suggest(&text, allowed));
        }
    }
    Ok(())
}

/// A whole number that is not negative.
pub(crate) fn whole(node: &Node, what: &str) -> Result<u64> {
    match node.value() {
        Value::Int(i) if i >= 0 => Ok(i as u64),
        _ => Err(ConfigError::at(node, format!("{what}: expected a whole number, found {}", node.type_name()))),
    }
}
