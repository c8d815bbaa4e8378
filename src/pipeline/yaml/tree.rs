//! From YAML text to a tree in which every node knows its line and column.
//!
//! Plain scalars are typed by YAML 1.2's core schema (so `no` is text and `1e-3` a number); quoted ones are text.
//! Duplicate keys, numbers that are not finite and keys that are not scalars are refused here; merge keys (`<<`) are not
//! supported, anchors and aliases are.
//!
//! A text of a few bytes can describe a tree of billions of nodes (aliases of aliases) or one that is deeper than the
//! stack (brackets). [`Limits`] says how large, how deep and how long a tree may be; what is past them is an error at its
//! line.

use super::error::ConfigError;
use super::scalar::plain_scalar;
use crate::value::Value;
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use std::collections::HashMap;
use std::sync::Arc;

/// A YAML text and its name in messages; nodes point into it.
#[derive(Debug)]
pub struct YamlText {
    name: String,
    text: String,
}

impl YamlText {
    /// A text called `name` in messages.
    pub fn new(name: &str, text: &str) -> Arc<Self> {
        Arc::new(Self { name: name.to_string(), text: text.to_string() })
    }

    /// How messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One line of it, from 1.
    pub fn line(&self, line: usize) -> &str {
        self.text.lines().nth(line.saturating_sub(1)).unwrap_or("")
    }
}

/// What a node is.
#[derive(Clone, Debug)]
pub enum Data {
    /// A scalar, typed.
    Scalar(Value),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in the order of the file, keys unique.
    Map(Vec<(Node, Node)>),
}

/// A node and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// The content.
    pub data: Data,
    /// The text it comes from.
    pub source: Arc<YamlText>,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// How many characters to underline.
    pub width: usize,
}

impl Node {
    /// The same place with other content.
    pub fn with(&self, data: Data) -> Node {
        Node { data, ..self.clone() }
    }

    /// The entries of a map.
    pub fn entries(&self) -> Option<&[(Node, Node)]> {
        if let Data::Map(entries) = &self.data { Some(entries) } else { None }
    }

    /// The value under a key, when this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries()?.iter().find(|(k, _)| k.is(key)).map(|(_, v)| v)
    }

    /// Whether [`Node::text`] is this, without making it.
    pub fn is(&self, text: &str) -> bool {
        if let Data::Scalar(Value::Str(s)) = &self.data { s == text } else { self.text() == text }
    }

    /// A scalar's text, as it would be written bare; empty for lists and maps.
    pub fn text(&self) -> String {
        match &self.data {
            Data::Scalar(Value::Str(s)) => s.clone(),
            Data::Scalar(v) => v.to_string(),
            _ => String::new(),
        }
    }

    /// Whether this is `null` or empty.
    pub fn is_null(&self) -> bool {
        matches!(self.data, Data::Scalar(Value::Null))
    }

    /// The node as a plain value.
    pub fn value(&self) -> Value {
        match &self.data {
            Data::Scalar(v) => v.clone(),
            Data::List(items) => Value::List(items.iter().map(Node::value).collect()),
            Data::Map(entries) => Value::Map(entries.iter().map(|(k, v)| (k.text(), v.value())).collect()),
        }
    }

    /// What it is, for messages.
    pub fn type_name(&self) -> String {
        match &self.data {
            Data::Scalar(Value::Null) => "nothing".into(),
            Data::Scalar(Value::Str(s)) => format!("the text `{s}`"),
            Data::Scalar(v) => format!("`{v}`"),
            Data::List(_) => "a list".into(),
            Data::Map(_) => "a map".into(),
        }
    }
}

/// How much a YAML text may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text.
    pub bytes: usize,
    /// Values inside values.
    pub depth: usize,
    /// Values in all, each alias counted as what it stands for.
    pub nodes: usize,
}

impl Limits {
    /// For what people write.
    pub const WRITTEN: Limits = Limits { bytes: 1 << 20, depth: 64, nodes: 200_000 };
    /// For what the engine writes: one line per unit.
    pub const GENERATED: Limits = Limits { bytes: 1 << 30, depth: 16, nodes: 50_000_000 };
}

/// Parses a text that a person wrote and that holds one YAML document.
pub fn parse(source: Arc<YamlText>) -> Result<Node, ConfigError> {
    parse_within(source, Limits::WRITTEN)
}

/// Parses a text that holds one YAML document.
pub fn parse_within(source: Arc<YamlText>, limits: Limits) -> Result<Node, ConfigError> {
    let text = source.clone();
    if text.text.len() > limits.bytes {
        let message = format!("the text has {} bytes; at most {} are read", text.text.len(), limits.bytes);
        return Err(ConfigError::at_position(text.name(), text.line(1), 1, 1, 1, message));
    }
    let (anchors, parser) = (HashMap::new(), Parser::new_from_str(&text.text));
    let mut reader = Reader { parser, source, anchors, limits, nodes: 0, depth: 0 };
    let empty = Node { data: Data::Scalar(Value::Null), source: text.clone(), line: 1, column: 1, width: 1 };
    let mut root = None;
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(root.unwrap_or(empty)),
            (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing, _) => {}
            (event, span) => {
                let node = reader.node(event, span)?;
                if root.is_some() {
                    return Err(ConfigError::at(&node, "a second document; the file must hold one"));
                }
                root = Some(node);
            }
        }
    }
}

struct Reader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    source: Arc<YamlText>,
    /// Nodes that aliases may name, each with its number of nodes and its depth.
    anchors: HashMap<usize, (Node, usize, usize)>,
    limits: Limits,
    /// Nodes so far.
    nodes: usize,
    /// Depth of the node that is read now.
    depth: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), ConfigError> {
        match self.parser.next() {
            Some(Ok(event)) => Ok(event),
            Some(Err(e)) => {
                let (line, column) = (e.marker().line().max(1), e.marker().col() + 1);
                let message = format!("not valid YAML: {}", e.info());
                Err(ConfigError::at_position(self.source.name(), self.source.line(line), line, column, 1, message))
            }
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn place(&self, span: Span, data: Data) -> Node {
        let (line, column) = (span.start.line().max(1), span.start.col() + 1);
        let width = match span.end.line() == span.start.line() {
            true => span.end.col().saturating_sub(span.start.col()).max(1),
            false => 1,
        };
        Node { data, source: self.source.clone(), line, column, width }
    }

    /// Counts `nodes` more nodes that reach `depth` levels further down.
    fn count(&mut self, nodes: usize, depth: usize, span: Span) -> Result<(), ConfigError> {
        self.nodes = self.nodes.saturating_add(nodes);
        let Limits { nodes: most, depth: deepest, .. } = self.limits;
        let message = if self.nodes > most {
            format!("more than {most} values, counting each alias as what it stands for")
        } else if self.depth + depth > deepest {
            format!("more than {deepest} levels of values inside values")
        } else {
            return Ok(());
        };
        Err(ConfigError::at(&self.place(span, Data::Scalar(Value::Null)), message)
            .help("write the matrix as a range, or use fewer aliases"))
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Result<Node, ConfigError> {
        let before = self.nodes;
        self.depth += 1;
        self.count(1, 0, span)?;
        let (node, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let node = self.place(span, Data::Scalar(Value::Null));
                let value = match style {
                    ScalarStyle::Plain => plain_scalar(&text).map_err(|m| ConfigError::at(&node, m))?,
                    _ => Value::Str(text.into_owned()),
                };
                (node.with(Data::Scalar(value)), anchor)
            }
            Event::SequenceStart(anchor, _) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd | Event::StreamEnd, _) => break,
                        (event, span) => items.push(self.node(event, span)?),
                    }
                }
                (self.place(span, Data::List(items)), anchor)
            }
            Event::MappingStart(anchor, _) => (self.map(span)?, anchor),
            Event::Alias(anchor) => {
                let here = self.place(span, Data::Scalar(Value::Null));
                let target = self.anchors.get(&anchor).cloned();
                let (node, nodes, depth) =
                    target.ok_or_else(|| ConfigError::at(&here, "this alias refers to nothing"))?;
                self.count(nodes, depth, span)?;
                (node, 0)
            }
            _ => (self.place(span, Data::Scalar(Value::Null)), 0),
        };
        if anchor != 0 {
            let size = (self.nodes - before, depth(&node));
            self.anchors.insert(anchor, (node.clone(), size.0, size.1));
        }
        self.depth -= 1;
        Ok(node)
    }

    fn map(&mut self, span: Span) -> Result<Node, ConfigError> {
        let mut entries: Vec<(Node, Node)> = Vec::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        loop {
            let (event, at) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                return Ok(self.place(span, Data::Map(entries)));
            }
            let key = self.node(event, at)?;
            if !matches!(key.data, Data::Scalar(_)) || key.is_null() {
                return Err(ConfigError::at(&key, "a key must be a word"));
            }
            if key.text() == "<<" {
                return Err(
                    ConfigError::at(&key, "merge keys (`<<`) are not supported").help("use a profile or `params`")
                );
            }
            if let Some(line) = seen.insert(key.text(), key.line) {
                return Err(ConfigError::at(&key, format!("duplicate key `{}`, first on line {line}", key.text()))
                    .help("keep one of the two"));
            }
            let (event, at) = self.next()?;
            entries.push((key, self.node(event, at)?));
        }
    }
}

/// Levels below a node. The node was read within the limits, so this recursion is not deep.
fn depth(node: &Node) -> usize {
    match &node.data {
        Data::Scalar(_) => 0,
        Data::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Data::Map(entries) => 1 + entries.iter().map(|(_, v)| depth(v)).max().unwrap_or(0),
    }
}
