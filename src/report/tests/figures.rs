//! Figures: same bytes twice, no overlapping or cut-off text, nothing off the canvas. With `REPORT_LOOK=folder` the pictures
//! are written there to be looked at.

mod sample;

#[test]
fn nothing_overlaps_or_is_cut_off() {
    for f in sample::all() {
        let scene = f.scene().unwrap();
        assert_eq!(scene.overlapping_texts(), vec![], "{}", f.id);
        assert_eq!(scene.cut_off(), Vec::<String>::new(), "{}", f.id);
        assert_eq!(scene.unprintable(), vec![], "{}", f.id);
        assert!(!f.alt.is_empty(), "{}", f.id);
    }
}

#[test]
fn same_bytes_twice() {
    let (a, b) = (sample::all(), sample::all());
    for (f, g) in a.iter().zip(&b) {
        assert_eq!(f.svg().unwrap(), g.svg().unwrap(), "{}", f.id);
        assert!(f.svg().unwrap().len() < 300_000, "{} is {} bytes", f.id, f.svg().unwrap().len());
    }
    assert_eq!(a[1].png().unwrap(), b[1].png().unwrap());
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
