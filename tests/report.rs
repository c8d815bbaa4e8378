//! From a finished run to the report: figures drawn again, verdicts, and the page in a real browser.
//!
//! The run is the smoke profile of the project's own pipeline.yaml. The browser test installs nothing: it skips with a line
//! when no Chromium is there. With `REPRO_AXE=axe.min.js` (from npm's axe-core) it checks accessibility too, and with
//! `REPRO_PAGE=report.html` it opens that page instead of the smoke run's.

mod common;
use common::Project;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

static RUN: LazyLock<Project> = LazyLock::new(|| {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let p = Project::new(&std::fs::read_to_string(home.join("pipeline.yaml")).unwrap());
    std::fs::create_dir(p.path().join("data")).unwrap();
    for file in std::fs::read_dir(home.join("data")).unwrap().map(Result::unwrap) {
        std::fs::copy(file.path(), p.path().join("data").join(file.file_name())).unwrap();
    }
    p.ok("run all --profile smoke --offline");
    p.ok("report --profile smoke");
    p
});

fn page() -> PathBuf {
    let given = std::env::var_os("REPRO_PAGE").map(PathBuf::from);
    given.unwrap_or_else(|| RUN.path().join("figures/smoke/report.html"))
}

/// Every published file with its bytes.
fn published() -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> =
        std::fs::read_dir(RUN.path().join("figures/smoke")).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|f| (f.clone(), std::fs::read(f).unwrap())).collect()
}

#[test]
fn every_figure_and_table_of_the_paper_is_there_and_draws_to_the_same_bytes_again() {
    let before = published();
    let numbers =
        ["figure1", "figure2", "figure3", "figure4", "figure5", "figure6", "figure7", "table2", "table3", "table4"];
    for name in numbers {
        let endings: &[&str] = if name.starts_with("figure") { &["svg", "png"] } else { &["md", "csv", "tex", "html"] };
        for ending in endings {
            let file = format!("{name}.{ending}");
            assert!(before.iter().any(|(path, bytes)| path.ends_with(&file) && bytes.len() > 100), "{file}");
        }
    }
    for (path, _) in before.iter().filter(|(p, _)| !p.ends_with("report.html")) {
        std::fs::remove_file(path).unwrap();
    }
    let said = RUN.ok("figures --profile smoke");
    assert!(!said.contains("train"), "{said}");
    let after = published();
    let names = |files: &[(PathBuf, Vec<u8>)]| files.iter().map(|f| f.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&after), names(&before));
    assert!(after == before, "a figure came out with other bytes");
}

#[test]
fn no_crate_that_looks_for_fonts_of_the_system_is_built_in() {
    let lock = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock")).unwrap();
    for finder in ["font-kit", "fontdb", "yeslogic-fontconfig-sys", "fontconfig"] {
        assert!(
            !lock.contains(&format!("name = \"{finder}\"")),
            "{finder} would make figures depend on the machine's fonts"
        );
    }
}

#[test]
fn compare_judges_by_the_numbers_and_fails_when_a_required_claim_breaks() {
    let said = RUN.repro("compare --profile smoke");
    assert!(said.out.contains("claims: "), "{}{}", said.out, said.err);
    let file = |error: f64| {
        let metric = |value: f64| serde_json::json!({"value": value, "source": {"kind": "generated"}});
        let metrics = serde_json::json!({
            "table2-noise.ptr-exact.mse": metric(error),
            "table2-noise.multivariate.mse": metric(2.4e-4),
        });
        std::fs::write(RUN.path().join("edited.json"), metrics.to_string()).unwrap();
        RUN.repro("compare --metrics edited.json")
    };
    let (good, bad) = (file(2e-5), file(1.0));
    assert_eq!(good.code, 0, "{}{}", good.out, good.err);
    assert!(good.out.contains("✓ ptr-beats-multivariate: reproduced"), "{}", good.out);
    assert_eq!(bad.code, 1, "{}{}", bad.out, bad.err);
    assert!(bad.out.contains("✗ ptr-beats-multivariate: not reproduced"), "{}", bad.out);
}

#[test]
fn the_page_is_small_and_points_nowhere_else() {
    let html = std::fs::read_to_string(page()).unwrap();
    assert!(html.len() < 5_000_000, "{} bytes", html.len());
    for link in html.split("href=\"").skip(1).chain(html.split("src=\"").skip(1)).map(|l| l.split('"').next().unwrap())
    {
        match link.strip_prefix('#') {
            Some(anchor) => assert!(html.contains(&format!("id=\"{anchor}\"")), "link to #{anchor}"),
            None => assert!(link.starts_with("data:"), "address outside: {link}"),
        }
    }
    for image in html.split("<img ").skip(1) {
        let alt = image.strip_prefix("alt=\"").and_then(|i| i.split('"').next()).unwrap_or_default();
        assert!(alt.len() > 20, "an image without words: {image:.80}");
    }
}

fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path).flat_map(|d| names.map(|n| d.join(n))).find(|p| p.is_file())
}

/// Opens the page in a frame of that width (the frame shares our origin, so it can be measured) and returns what the
/// harness found and what the console said.
fn look(chromium: &Path, width: u32, dark: bool) -> (String, Vec<String>) {
    let escape = |text: &str| text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let axe = std::env::var_os("REPRO_AXE").map(|f| std::fs::read_to_string(f).unwrap()).unwrap_or_default();
    let script = "window.onload = function () {
        var frame = document.getElementById('f'), d = frame.contentDocument;
        var bad = Array.from(d.images).filter(function (i) { return !i.complete || !i.naturalWidth; }).length;
        var input = d.getElementById('filter');
        input.value = 'no-such-word'; input.dispatchEvent(new Event('input'));
        var none = d.getElementById('filter-count').textContent.split(' of ')[0];
        input.value = ''; input.dispatchEvent(new Event('input'));
        var count = d.getElementById('filter-count').textContent.split(' of ');
        var all = count[0] + ' rows' === count[1];
        var found = 'wide ' + d.documentElement.scrollWidth + ', broken ' + bad + ', filtered ' + none + ', all again ' + all;
        var code = document.getElementById('axe').textContent;
        if (!code) { document.title = found; return; }
        // Rows of raw results are all alike; a few of them stand for thousands, which axe would take minutes over.
        Array.from(d.querySelectorAll('#raw-rows tbody tr:nth-child(n+20)')).forEach(function (r) { r.remove(); });
        var s = d.createElement('script'); s.textContent = code; d.head.appendChild(s);
        frame.contentWindow.axe.run(d).then(function (r) {
            var serious = r.violations.filter(function (v) { return v.impact === 'serious' || v.impact === 'critical'; });
            document.title = found + serious.map(function (v) { return '; ' + v.id + ': ' + v.nodes[0].html.slice(0, 200); }).join('');
        });
    };";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("harness.html");
    let html = format!(
        "<!DOCTYPE html><title>-</title><script id=\"axe\" type=\"text/plain\">{}</script><script>{script}</script>\
         <iframe id=\"f\" style=\"width:{width}px;height:844px;border:0\" srcdoc=\"{}\"></iframe>",
        axe.replace("</script", "<\\/script"),
        escape(&std::fs::read_to_string(page()).unwrap())
    );
    std::fs::write(&file, html).unwrap();
    let out = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
        ])
        .arg(format!("--blink-settings=preferredColorScheme={}", if dark { 0 } else { 1 }))
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .args(["--virtual-time-budget=60000", "--dump-dom"])
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let (dom, log) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    let title = dom.split("<title>").nth(1).and_then(|t| t.split("</title>").next()).unwrap_or("no title");
    (title.to_owned(), log.lines().filter(|l| l.contains("CONSOLE")).map(str::to_owned).collect())
}

#[test]
fn a_browser_opens_the_page_without_complaints_on_phone_and_desk_in_both_colour_schemes() {
    let Some(chromium) = browser() else {
        println!("skipped: the page in a browser: no Chromium in PATH");
        return;
    };
    if std::env::var_os("REPRO_AXE").is_none() {
        println!("skipped: accessibility of the page: REPRO_AXE does not name axe.min.js");
    }
    for (width, dark) in [(390, false), (390, true), (1280, false), (1280, true)] {
        let (found, console) = look(&chromium, width, dark);
        assert_eq!(found, format!("wide {width}, broken 0, filtered 0, all again true"), "dark: {dark}");
        assert_eq!(console, Vec::<String>::new());
    }
}
