//! `${name}`: global parameters inside `with` and `matrix`.
//!
//! A scalar that is nothing but `${name}` becomes the parameter itself, type and all; inside longer text the parameter
//! is written out. `$${` is a literal `${`. Parameters may refer to other parameters, not in circles, and not without
//! end: a few parameters that each name another twice would fill the memory.

use super::overlay::Entries;
use crate::value::Value;
use crate::yaml::ConfigError;
use crate::yaml::{Data, Node};

/// Replaces every `${name}` below `node`. The result keeps the position of the `${name}`.
pub fn fill(node: &Node, params: &Entries) -> Result<Node, ConfigError> {
    fill_in(node, params, &mut Filling { open: Vec::new(), left: MOST })
}

/// So many values, and characters of text, may come out of one value.
const MOST: usize = 1 << 16;
/// So many parameters may refer to one another in a row.
const CHAIN: usize = 32;

/// The work on one value.
struct Filling {
    /// The parameters that are being filled in, from the outermost.
    open: Vec<String>,
    /// How much may still come out.
    left: usize,
}

impl Filling {
    fn spend(&mut self, amount: usize, node: &Node) -> Result<(), ConfigError> {
        self.left = self.left.checked_sub(amount).ok_or_else(|| {
            ConfigError::at(node, format!("more than {MOST} values or characters come out of `${{...}}`"))
        })?;
        Ok(())
    }
}

fn fill_in(node: &Node, params: &Entries, open: &mut Filling) -> Result<Node, ConfigError> {
    open.spend(1, node)?;
    Ok(match &node.data {
        Data::Scalar(Value::Str(text)) if text.contains("${") => node.with(scalar(node, text, params, open)?),
        Data::Scalar(_) => node.clone(),
        Data::List(items) => {
            node.with(Data::List(items.iter().map(|n| fill_in(n, params, open)).collect::<Result<_, _>>()?))
        }
        Data::Map(entries) => {
            let filled = entries.iter().map(|(k, v)| Ok((k.clone(), fill_in(v, params, open)?)));
            node.with(Data::Map(filled.collect::<Result<_, ConfigError>>()?))
        }
    })
}

fn scalar(node: &Node, text: &str, params: &Entries, open: &mut Filling) -> Result<Data, ConfigError> {
    if let Some(name) = text.strip_prefix("${").and_then(|t| t.strip_suffix('}')).filter(|n| !n.contains('}')) {
        return look_up(node, name, params, open);
    }
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            out.push_str(&rest[..at - 1]);
            out.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        out.push_str(&rest[..at]);
        let end = rest[at..].find('}').ok_or_else(|| ConfigError::at(node, "`${` without a closing `}`"))?;
        match look_up(node, &rest[at + 2..at + end], params, open)? {
            Data::Scalar(Value::Str(s)) => {
                open.spend(s.len(), node)?;
                out.push_str(&s);
            }
            Data::Scalar(v) => out.push_str(&v.to_string()),
            _ => return Err(ConfigError::at(node, "a list or map cannot stand inside text")),
        }
        rest = &rest[at + end + 1..];
    }
    out.push_str(rest);
    Ok(Data::Scalar(Value::Str(out)))
}

fn look_up(node: &Node, name: &str, params: &Entries, open: &mut Filling) -> Result<Data, ConfigError> {
    let name = name.trim();
    let Some((_, value)) = params.get(name) else {
        let names: Vec<&String> = params.keys().collect();
        return Err(ConfigError::at(node, format!("there is no global parameter `{name}`")).suggest(name, &names));
    };
    if open.open.iter().any(|o| o == name) {
        return Err(ConfigError::at(node, format!("parameter `{name}` refers to itself")));
    }
    if open.open.len() >= CHAIN {
        return Err(ConfigError::at(node, format!("more than {CHAIN} parameters refer to one another in a row")));
    }
    open.open.push(name.to_string());
    let filled = fill_in(value, params, open)?;
    open.open.pop();
    Ok(filled.data)
}
