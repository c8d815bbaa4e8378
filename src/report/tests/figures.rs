//! Figures: same bytes twice, no overlapping or cut-off text, nothing off the canvas. With `REPORT_LOOK=folder` the pictures
//! are written there to be looked at.

mod sample;

use report::font;
use report::scene::{Scene, Shape};

/// Pairs of texts whose boxes overlap by more than a third of a point.
fn overlapping_texts(scene: &Scene) -> Vec<(&str, &str)> {
    let boxes: Vec<_> = scene.texts().map(|t| (t.text.as_str(), t.bounds())).collect();
    let mut out = Vec::new();
    for (i, (t, a)) in boxes.iter().enumerate() {
        for (u, b) in &boxes[i + 1..] {
            let dx = a[2].min(b[2]) - a[0].max(b[0]);
            let dy = a[3].min(b[3]) - a[1].max(b[1]);
            if dx > 0.34 && dy > 0.34 {
                out.push((*t, *u));
            }
        }
    }
    out
}

/// What reaches over the edge of the canvas.
fn cut_off(scene: &Scene) -> Vec<&Shape> {
    let inside = |x: f64, y: f64| x >= -0.01 && y >= -0.01 && x <= scene.width + 0.01 && y <= scene.height + 0.01;
    let whole = |s: &&Shape| match s {
        Shape::Text(t) => {
            let b = t.bounds();
            inside(b[0], b[1]) && inside(b[2], b[3])
        }
        Shape::Line { points, .. } | Shape::Fill { points, .. } => points.iter().all(|p| inside(p.0, p.1)),
        Shape::Disc { at: (x, y), r, .. } => inside(x - r, y - r) && inside(x + r, y + r),
        Shape::Cells { area: [x, y, w, h], .. } | Shape::Rect { area: [x, y, w, h], .. } => {
            inside(*x, *y) && inside(x + w, y + h)
        }
    };
    scene.shapes.iter().filter(|s| !whole(s)).collect()
}

#[test]
fn nothing_overlaps_or_is_cut_off() {
    for f in sample::all() {
        let scene = f.scene().unwrap();
        assert_eq!(overlapping_texts(&scene), vec![], "{}", f.id);
        assert_eq!(cut_off(&scene), Vec::<&Shape>::new(), "{}", f.id);
        let unprintable: Vec<char> = scene.texts().flat_map(|t| font::missing(&t.text)).collect();
        assert_eq!(unprintable, vec![], "{}", f.id);
        assert!(!f.alt.is_empty(), "{}", f.id);
    }
}

#[test]
fn same_bytes_twice() {
    let (a, b) = (sample::all(), sample::all());
    for (f, g) in a.iter().zip(&b) {
        assert_eq!(f.svg().unwrap(), g.svg().unwrap(), "{}", f.id);
        // Text is outlines of the embedded font: nothing is left to the fonts of a system.
        assert!(!["<text", "font-family", "@font-face"].iter().any(|word| f.svg().unwrap().contains(word)), "{}", f.id);
        assert!(f.svg().unwrap().len() < 300_000, "{} is {} bytes", f.id, f.svg().unwrap().len());
    }
    for (f, g) in a.iter().zip(&b) {
        assert_eq!(f.png().unwrap(), g.png().unwrap(), "{}", f.id);
    }
}

#[test]
fn look() {
    let Ok(folder) = std::env::var("REPORT_LOOK") else {
        println!("REPORT_LOOK is not set: no pictures written");
        return;
    };
    for f in sample::all() {
        std::fs::write(format!("{folder}/{}.svg", f.id), f.svg().unwrap()).unwrap();
        std::fs::write(format!("{folder}/{}.png", f.id), f.png().unwrap()).unwrap();
    }
}
