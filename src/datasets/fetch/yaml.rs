//! Reads `data/sources.yaml` with the parser that also reads pipeline.yaml, so that the program carries one YAML parser.
//!
//! It reads only what such a list needs: maps, lists and scalars, all scalars as text. Every map gets its line number under the key
//! `line`, so that an error about an entry can name its line.

use saphyr_parser::{Event, Parser, StrInput};
use serde_json::{Map, Value};

/// Deepest nesting of maps and lists that is read. A list of sources has three levels.
const MAX_DEPTH: usize = 8;

/// Reads one document; an error names the line.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let mut parser = Parser::new_from_str(text);
    loop {
        match next(&mut parser)? {
            (Event::StreamEnd, _) => return Ok(Value::Null),
            (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing, _) => {}
            (event, line) => return node(&mut parser, event, line, 0),
        }
    }
}

fn next<'a>(parser: &mut Parser<'a, StrInput<'a>>) -> Result<(Event<'a>, usize), String> {
    match parser.next() {
        Some(Ok((event, span))) => Ok((event, span.start.line())),
        Some(Err(e)) => Err(format!("line {}: not valid YAML: {}", e.marker().line(), e.info())),
        None => Ok((Event::StreamEnd, 0)),
    }
}

fn node<'a>(
    parser: &mut Parser<'a, StrInput<'a>>,
    event: Event<'a>,
    line: usize,
    depth: usize,
) -> Result<Value, String> {
    if depth > MAX_DEPTH {
        return Err(format!("line {line}: nested more than {MAX_DEPTH} deep"));
    }
    match event {
        Event::Scalar(text, ..) => Ok(Value::String(text.into_owned())),
        Event::SequenceStart(..) => {
            let mut items = Vec::new();
            loop {
                match next(parser)? {
                    (Event::SequenceEnd | Event::StreamEnd, _) => return Ok(Value::Array(items)),
                    (event, line) => items.push(node(parser, event, line, depth + 1)?),
                }
            }
        }
        Event::MappingStart(..) => {
            let mut map = Map::from_iter([("line".to_string(), Value::from(line))]);
            loop {
                let key = match next(parser)? {
                    (Event::MappingEnd | Event::StreamEnd, _) => return Ok(Value::Object(map)),
                    (Event::Scalar(text, ..), line) if map.contains_key(text.as_ref()) => {
                        return Err(format!("line {line}: `{text}` stands here twice"));
                    }
                    (Event::Scalar(text, ..), _) => text.into_owned(),
                    (_, line) => return Err(format!("line {line}: a key must be a word")),
                };
                let (event, line) = next(parser)?;
                map.insert(key, node(parser, event, line, depth + 1)?);
            }
        }
        _ => Err(format!("line {line}: anchors and aliases have no place in a list of sources")),
    }
}
