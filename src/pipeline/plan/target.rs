//! Selects units by what a user writes: `all`, `STAGE`, `STAGE/UNIT` or a glob over either.
//!
//! In a glob `*` stands for any run of characters and `?` for one; nothing else is special, since labels may hold
//! brackets. A glob is tried on the whole id (`train/rank=*,seed=1`) and on the stage's name (`tab*`).

use super::Plan;
use crate::yaml::suggestion;

/// A target that names nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no stage or unit `{target}`{}", .help.as_ref().map(|h| format!("; {h}")).unwrap_or_default())]
pub struct NoTarget {
    /// What the user wrote.
    pub target: String,
    /// The nearest right name, or the list of stages.
    pub help: Option<String>,
}

/// The units that the targets name, sorted, each once. No target means all units.
pub fn select<S: AsRef<str>>(plan: &Plan, targets: &[S]) -> Result<Vec<usize>, NoTarget> {
    let mut chosen = vec![targets.is_empty(); plan.units.len()];
    for target in targets {
        let target = target.as_ref();
        let mut any = false;
        for (index, unit) in plan.units.iter().enumerate() {
            let stage = &plan.stages[unit.stage].name;
            let hit = target == "all" || target == stage || target == unit.id || {
                target.contains(['*', '?']) && (glob(target, &unit.id) || glob(target, stage))
            };
            chosen[index] |= hit;
            any |= hit;
        }
        if !any {
            return Err(no_target(plan, target));
        }
    }
    Ok((0..plan.units.len()).filter(|&i| chosen[i]).collect())
}

fn no_target(plan: &Plan, target: &str) -> NoTarget {
    let stages: Vec<&str> = plan.stages.iter().map(|s| s.name.as_str()).collect();
    let named = target.split_once('/').and_then(|(stage, _)| plan.stage(stage));
    let help = match named {
        Some(stage) => {
            let ids: Vec<&str> = plan.units[stage.units.clone()].iter().map(|u| u.id.as_str()).collect();
            let near = suggestion(target, &ids).filter(|s| s.starts_with("did you"));
            near.or_else(|| ids.first().map(|id| format!("its units are named like `{id}`")))
        }
        None => suggestion(target, &stages),
    };
    NoTarget { target: target.to_string(), help }
}

/// Whether `text` matches `pattern`, with `*` and `?`.
pub fn glob(pattern: &str, text: &str) -> bool {
    let (p, t): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut i, mut j, mut star) = (0, 0, None);
    while j < t.len() {
        if i < p.len() && p[i] == '*' {
            star = Some((i, j));
            i += 1;
        } else if i < p.len() && (p[i] == '?' || p[i] == t[j]) {
            i += 1;
            j += 1;
        } else if let Some((si, sj)) = star {
            // The last star takes one more character, and the rest is tried again.
            star = Some((si, sj + 1));
            i = si + 1;
            j = sj + 1;
        } else {
            return false;
        }
    }
    p[i..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn globs() {
        for (pattern, text, hit) in [
            ("train/*", "train/rank=2", true),
            ("*seed=1", "train/rank=2,seed=1", true),
            ("*seed=1", "train/rank=2,seed=12", false),
            ("tr?in", "train", true),
            ("tr?in", "trin", false),
            ("a*b*c", "a-b-b-c", true),
            ("**", "", true),
            ("*[2,?]*", "t/map=[2,1]", true),
        ] {
            assert_eq!(glob(pattern, text), hit, "{pattern} on {text}");
        }
    }
}
