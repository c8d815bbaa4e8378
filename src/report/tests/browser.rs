//! The page in a real browser: no console messages, no sideways scrolling at 390 px, all images decoded, the filter works.
//! Installs nothing; skips with a line when no Chromium is there.

mod sample;

use std::path::PathBuf;
use std::process::Command;

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path).flat_map(|d| names.map(|n| d.join(n))).find(|p| p.is_file())
}

#[test]
fn opens_without_complaints_and_fits_a_phone() {
    let Some(chromium) = browser() else {
        println!("no Chromium in PATH: the page was not opened in a browser");
        return;
    };
    let folder = std::env::temp_dir().join(format!("report-page-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // The page inside a frame of a phone's width; the frame shares our origin, so it can be measured.
    let page = report::escape::xml(&sample::page::page().html().unwrap());
    let script = "window.onload = function () { \
        var d = document.getElementById('f').contentDocument; \
        var bad = Array.from(d.images).filter(function (i) { return !i.complete || !i.naturalWidth; }).length; \
        var input = d.getElementById('filter'); input.value = 'model=ptr rank=3'; input.dispatchEvent(new Event('input')); \
        document.title = 'width ' + d.documentElement.scrollWidth + ', broken ' + bad + ', ' + d.getElementById('filter-count').textContent; };";
    let harness = format!(
        "<!DOCTYPE html><title>-</title><script>{script}</script><iframe id=\"f\" style=\"width:390px;height:844px;border:0\" srcdoc=\"{page}\"></iframe>"
    );
    let file = folder.join("harness.html");
    std::fs::write(&file, harness).unwrap();
    let out = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
        ])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let (dom, log) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    let said: Vec<&str> = log.lines().filter(|l| l.contains("CONSOLE")).collect();
    // Failing to clean up leaves a folder in the system's temporary place, nothing worse.
    let _ = std::fs::remove_dir_all(&folder);
    let title = dom.split("<title>").nth(1).and_then(|t| t.split("</title>").next()).unwrap_or("no title");
    assert_eq!(title, "width 390, broken 0, 10 of 600 rows", "{log}");
    assert_eq!(said, Vec::<&str>::new());
}
