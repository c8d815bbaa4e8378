//! The page: well formed, every image has words, no address outside, links resolve, under 5 MB, same bytes twice.
//! With `REPORT_LOOK=folder` it is written there.

mod sample;

use std::collections::BTreeSet;

use report::page::ReportPage;
use sample::page::page;

/// Tags in order with their attribute text; checks nesting. The writer emits XML-like HTML, so this can be strict.
fn tags(html: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>\n").expect("doctype");
    while let Some(at) = rest.find('<') {
        assert!(
            !rest[..at].contains('>') || open.last().is_some_and(|t| t == "script" || t == "style"),
            "stray >: {}",
            &rest[..at]
        );
        let end = at + rest[at..].find('>').expect("tag ends");
        let inner = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = inner.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closing order");
            continue;
        }
        let (name, attributes) = inner.split_once([' ', '/']).unwrap_or((inner, ""));
        assert!(attributes.matches('"').count() % 2 == 0, "unbalanced quotes in <{inner}>");
        out.push((name.to_string(), attributes.to_string()));
        if name == "script" || name == "style" {
            let close = rest.find(&format!("</{name}>")).expect("raw text ends");
            rest = &rest[close + name.len() + 3..];
        } else if !inner.ends_with('/') {
            open.push(name.to_string());
        }
    }
    assert_eq!(open, Vec::<String>::new());
    out
}

fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let at = format!(" {attributes}").find(&format!(" {name}=\""))?;
    attributes[at + name.len() + 2..].split('"').next()
}

#[test]
fn page_is_well_formed_and_self_contained() {
    let html = page().html().unwrap();
    assert!(html.len() < 5_000_000, "{} bytes", html.len());
    let tags = tags(&html);
    let ids: Vec<&str> = tags.iter().filter_map(|t| attribute(&t.1, "id")).collect();
    assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len(), "ids differ");
    let mut images = 0;
    for (name, attributes) in &tags {
        if name == "img" {
            images += 1;
            assert!(attribute(attributes, "alt").is_some_and(|a| a.len() > 20), "{attributes:.80}");
        }
        for link in ["href", "src"] {
            let Some(to) = attribute(attributes, link) else { continue };
            match to.strip_prefix('#') {
                Some(anchor) => assert!(ids.contains(&anchor), "link to #{anchor}"),
                None => assert!(to.starts_with("data:"), "address outside: {to}"),
            }
        }
        if name == "th" {
            assert!(attribute(attributes, "scope").is_some());
        }
    }
    assert_eq!(images, sample::all().len());
    for landmark in ["header", "nav", "main", "footer"] {
        assert_eq!(tags.iter().filter(|t| t.0 == landmark).count(), 1, "{landmark}");
    }
    assert!(!html.contains("<script>alert"));
    assert!(html.contains("SIMULATED data</strong> stand in for: BCI Competition IV 2a"));
}

#[test]
fn same_bytes_twice() {
    assert_eq!(page().html().unwrap(), page().html().unwrap());
}

#[test]
fn an_empty_page_is_a_page() {
    tags(&ReportPage::default().html().unwrap());
}

#[test]
fn look() {
    let Ok(folder) = std::env::var("REPORT_LOOK") else {
        println!("REPORT_LOOK is not set: no page written");
        return;
    };
    std::fs::write(format!("{folder}/report.html"), page().html().unwrap()).unwrap();
}
