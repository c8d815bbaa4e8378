//! A Rust file as a tree of tokens, without what cannot change a result.
//!
//! Comments vanish in the lexer. Doc comments (which are attributes) and items under `#[cfg(test)]` are dropped here.
//! What is left is hashed and searched for names.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// One token, or a bracketed group of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Tok {
    /// A name or keyword, without `r#`.
    Ident(String),
    /// A sign; true when the next sign belongs to it (`::`, `->`).
    Sign(char, bool),
    /// A number or string as written.
    Literal(String),
    /// `(..)`, `[..]` or `{..}`, told by the opening sign.
    Group(char, Vec<Tok>),
}

impl Tok {
    /// The name, if this is one.
    pub fn ident(&self) -> Option<&str> {
        match self {
            Tok::Ident(s) => Some(s),
            _ => None,
        }
    }

    /// Whether this is the sign `c`.
    pub fn is_sign(&self, c: char) -> bool {
        matches!(self, Tok::Sign(s, _) if *s == c)
    }

    /// What stands inside, if this is a group opened by `open`.
    pub fn group(&self, open: char) -> Option<&[Tok]> {
        match self {
            Tok::Group(c, inner) if *c == open => Some(inner),
            _ => None,
        }
    }
}

/// The tokens of a source text, or `None` if it is not Rust (the compiler will say so better than we can).
pub fn read(text: &str) -> Option<Vec<Tok>> {
    let stream: TokenStream = text.parse().ok()?;
    Some(strip(convert(stream)))
}

fn convert(stream: TokenStream) -> Vec<Tok> {
    let mut out = Vec::new();
    for tree in stream {
        match tree {
            TokenTree::Ident(i) => out.push(Tok::Ident(i.to_string().trim_start_matches("r#").to_string())),
            TokenTree::Punct(p) => out.push(Tok::Sign(p.as_char(), p.spacing() == Spacing::Joint)),
            TokenTree::Literal(l) => out.push(Tok::Literal(l.to_string())),
            TokenTree::Group(g) => {
                let inner = convert(g.stream());
                match g.delimiter() {
                    Delimiter::Parenthesis => out.push(Tok::Group('(', inner)),
                    Delimiter::Bracket => out.push(Tok::Group('[', inner)),
                    Delimiter::Brace => out.push(Tok::Group('{', inner)),
                    Delimiter::None => out.extend(inner),
                }
            }
        }
    }
    out
}

/// The attribute at `toks[i]`, as (what stands in its brackets, number of tokens).
pub fn attribute(toks: &[Tok], i: usize) -> Option<(&[Tok], usize)> {
    if !toks.get(i)?.is_sign('#') {
        return None;
    }
    let inner = usize::from(toks.get(i + 1)?.is_sign('!'));
    Some((toks.get(i + 1 + inner)?.group('[')?, 2 + inner))
}

fn is_test_only(attr: &[Tok]) -> bool {
    let test = [Tok::Ident("test".into())];
    matches!(attr, [Tok::Ident(cfg), Tok::Group('(', what)] if cfg == "cfg" && what.as_slice() == test)
}

fn strip(toks: Vec<Tok>) -> Vec<Tok> {
    let mut out = Vec::with_capacity(toks.len());
    let mut i = 0;
    while i < toks.len() {
        if let Some((attr, len)) = attribute(&toks, i) {
            if attr.first().and_then(Tok::ident) == Some("doc") {
                i += len;
                continue;
            }
            if is_test_only(attr) {
                if len == 3 {
                    return Vec::new(); // `#![cfg(test)]`: the whole file
                }
                if let Some(end) = item_end(&toks, i + len) {
                    i = end;
                    continue;
                }
            }
        }
        match &toks[i] {
            Tok::Group(c, inner) => out.push(Tok::Group(*c, strip(inner.clone()))),
            t => out.push(t.clone()),
        }
        i += 1;
    }
    out
}

/// Where the item that starts at `i` ends; `None` if it is no item that we know (then it is kept: rather too much).
fn item_end(toks: &[Tok], mut i: usize) -> Option<usize> {
    while let Some((_, len)) = attribute(toks, i) {
        i += len;
    }
    let mut to_semicolon = false;
    let mut known = false;
    while let Some(t) = toks.get(i) {
        match t {
            Tok::Ident(k) if matches!(k.as_str(), "use" | "const" | "static" | "type" | "let") && !known => {
                (known, to_semicolon) = (true, true);
            }
            // `const fn` ends with its body, not with a semicolon.
            Tok::Ident(k) if k == "fn" => (known, to_semicolon) = (true, false),
            Tok::Ident(k) if matches!(k.as_str(), "mod" | "impl" | "struct" | "enum" | "trait" | "macro_rules") => {
                known = true;
            }
            Tok::Sign(';', _) if known => return Some(i + 1),
            Tok::Group('{', _) if known && !to_semicolon => return Some(i + 1),
            Tok::Sign(',', _) | Tok::Sign('=', _) if !known => return None,
            _ => {}
        }
        i += 1;
    }
    None
}

/// Feed tokens to a digest: each with its kind, so that no two different trees give the same bytes.
pub fn digest(toks: &[Tok], hasher: &mut blake3::Hasher) {
    let word = |tag: &[u8], s: &str, hasher: &mut blake3::Hasher| {
        hasher.update(tag);
        hasher.update(&(s.len() as u64).to_le_bytes());
        hasher.update(s.as_bytes());
    };
    for t in toks {
        match t {
            Tok::Ident(s) => word(b"i", s, hasher),
            Tok::Literal(s) => word(b"l", s, hasher),
            Tok::Sign(c, joint) => word(if *joint { b"j" } else { b"s" }, c.encode_utf8(&mut [0; 4]), hasher),
            Tok::Group(c, inner) => {
                word(b"(", c.encode_utf8(&mut [0; 4]), hasher);
                digest(inner, hasher);
                hasher.update(b")");
            }
        }
    }
}
