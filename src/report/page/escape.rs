//! Escaping, one function per format: text from results and claims is data, never markup.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// For XML and HTML, text and double-quoted attributes alike. Control characters that XML forbids are dropped.
///
/// ```
/// assert_eq!(report::escape::xml("a<b & \"c\"\u{0}"), "a&lt;b &amp; &quot;c&quot;");
/// ```
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => {}
            c => out.push(c),
        }
    }
    out
}

/// For a cell of a Markdown table: pipes, line breaks and signs that start markup.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// For LaTeX text. Signs outside ASCII that our tables use become their commands, others stay (inputenc is UTF-8).
pub fn latex(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("$<$"),
            '>' => out.push_str("$>$"),
            '±' => out.push_str("$\\pm$"),
            '×' => out.push_str("$\\times$"),
            '→' => out.push_str("$\\to$"),
            '−' => out.push_str("$-$"),
            '≤' => out.push_str("$\\le$"),
            '≥' => out.push_str("$\\ge$"),
            'χ' => out.push_str("$\\chi$"),
            'λ' => out.push_str("$\\lambda$"),
            'Γ' => out.push_str("$\\Gamma$"),
            '²' => out.push_str("$^2$"),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Base64 (RFC 4648, with padding).
///
/// ```
/// assert_eq!(report::escape::base64(b"light wo"), "bGlnaHQgd28=");
/// ```
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
