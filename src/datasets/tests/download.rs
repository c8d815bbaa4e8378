//! Downloads against a small HTTP server on the loopback that misbehaves as told.

mod server;
use server::{send, serve};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use datasets::fetch::{Options, Sources, cached, get};
use datasets::{Error, Result};

fn body() -> Vec<u8> {
    (0..200_000u32).map(|i| (i.wrapping_mul(2654435761) >> 13) as u8).collect()
}

fn options(dir: &Path, address: &str, checksum: &str) -> Options {
    let yaml = format!(
        "files:\n  - {{id: f, addresses: [{address}], file: f.zip, sha256: {checksum}, max_bytes: 1000000, licence: none, attribution: none}}\n"
    );
    let mut o = Options::new(dir);
    o.sources = Sources::parse(&yaml).unwrap();
    o.http.back_off = Duration::from_millis(5);
    o.http.silence = Duration::from_millis(400);
    o
}

fn fetch(o: &Options) -> Result<datasets::fetch::Fetched> {
    get(o, o.sources.get("f").unwrap(), &|_| Ok(()))
}

fn is_empty(dir: &Path) -> bool {
    let left = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    left.filter(|n| !n.ends_with(".lock")).count() == 0
}

#[test]
fn a_good_download_is_cached_and_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let (address, log) = serve(|_, _, s| send(s, "200 OK", "", 200_000, &body()));
    let mut o = options(dir.path(), &address, "unknown");
    let most = Arc::new(AtomicU64::new(0));
    let seen = most.clone();
    o.progress = Some(Arc::new(move |p| {
        assert_eq!(p.total, Some(200_000));
        seen.fetch_max(p.done, Ordering::Relaxed);
    }));
    let first = fetch(&o).unwrap();
    assert_eq!(std::fs::read(&first.path).unwrap(), body());
    assert!(first.trust.contains("this one was recorded"), "{}", first.trust);
    assert_eq!(most.load(Ordering::Relaxed), 200_000);
    let again = fetch(&o).unwrap();
    assert!(again.trust.contains("as recorded at the first download"));
    assert_eq!(log.lock().unwrap().len(), 1, "the second time nothing is asked");
    // A flipped byte in the cache is found, and the file fetched again.
    let mut bytes = body();
    bytes[77] ^= 1;
    std::fs::write(&first.path, bytes).unwrap();
    assert!(matches!(cached(&o, o.sources.get("f").unwrap()), Err(Error::Damaged { .. })));
    assert_eq!(fetch(&o).unwrap().checksum, first.checksum);
    o.offline = true;
    std::fs::remove_file(&first.path).unwrap();
    assert!(fetch(&o).unwrap_err().to_string().contains("--offline"));
}

#[test]
fn a_cut_connection_is_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let (address, log) = serve(|i, start, s| match (i, start) {
        (0, _) => send(s, "200 OK", "", 200_000, &body()[..70_000]),
        (1, Some(at)) => {
            let range = format!("Content-Range: bytes {at}-199999/200000\r\n");
            send(s, "206 Partial Content", &range, 200_000 - at as usize, &body()[at as usize..150_000])
        }
        (_, Some(at)) => {
            let range = format!("Content-Range: bytes {at}-199999/200000\r\n");
            send(s, "206 Partial Content", &range, 200_000 - at as usize, &body()[at as usize..])
        }
        _ => send(s, "500 No", "", 0, b""),
    });
    let o = options(dir.path(), &address, "unknown");
    assert_eq!(std::fs::read(fetch(&o).unwrap().path).unwrap(), body());
    let ranges = log.lock().unwrap().clone();
    let start = |r: &Option<String>| r.as_deref()?.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<u64>().ok();
    assert_eq!(ranges.len(), 3);
    assert!(start(&ranges[0]).is_none() && start(&ranges[1]) > Some(0) && start(&ranges[2]) > start(&ranges[1]));
}

#[test]
fn a_server_without_resume_starts_again() {
    let dir = tempfile::tempdir().unwrap();
    let (address, _) = serve(|i, _, s| {
        let all = body();
        send(s, "200 OK", "", 200_000, if i == 0 { &all[..50_000] } else { &all })
    });
    let o = options(dir.path(), &address, "unknown");
    assert_eq!(std::fs::read(fetch(&o).unwrap().path).unwrap(), body());
}

#[test]
fn what_is_wrong_is_refused_and_the_cache_left_as_it_was() {
    let page = b"<!DOCTYPE html><html>gone</html>";
    let cases: Vec<(&str, &str, Box<dyn Fn(&mut TcpStream) + Send + Sync>)> = vec![
        ("web page", "unknown", Box::new(move |s| send(s, "200 OK", "Content-Type: text/html\r\n", page.len(), page))),
        ("web page", "unknown", Box::new(move |s| send(s, "200 OK", "", page.len(), page))),
        ("404", "unknown", Box::new(|s| send(s, "404 Not Found", "", 0, b""))),
        ("limit", "unknown", Box::new(|s| send(s, "200 OK", "", 2_000_000, &[1; 10]))),
        ("503, after 4 attempts", "unknown", Box::new(|s| send(s, "503 Busy", "", 0, b""))),
        (
            "is not the recorded 00000",
            "0000000000000000000000000000000000000000000000000000000000000000",
            Box::new(|s| send(s, "200 OK", "", 200_000, &body())),
        ),
    ];
    for (expect, checksum, answer) in cases {
        let dir = tempfile::tempdir().unwrap();
        let (address, _) = serve(move |_, _, s| answer(s));
        let error = fetch(&options(dir.path(), &address, checksum)).unwrap_err().to_string();
        assert!(error.contains(expect) && !error.contains('\n'), "{expect}: {error}");
        assert!(is_empty(dir.path()), "{expect}");
    }
    // Without a stated length the limit still holds.
    let dir = tempfile::tempdir().unwrap();
    let (address, _) = serve(|_, _, s| {
        let _ = s.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        while s.write_all(&[7; 65536]).is_ok() {}
    });
    let error = fetch(&options(dir.path(), &address, "unknown")).unwrap_err().to_string();
    assert!(error.contains("limit"), "{error}");
    assert!(is_empty(dir.path()));
}

#[test]
fn a_silent_server_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let (address, _) = serve(|_, _, s| {
        send(s, "200 OK", "", 200_000, &body()[..1000]);
        std::thread::sleep(Duration::from_secs(30));
    });
    let mut o = options(dir.path(), &address, "unknown");
    o.http.retries = 1;
    let error = fetch(&o).unwrap_err().to_string();
    assert!(error.contains("after 2 attempts"), "{error}");
}

#[test]
fn a_change_upstream_needs_consent() {
    let dir = tempfile::tempdir().unwrap();
    let (address, _) = serve(|i, _, s| {
        let mut b = body();
        b[0] = i as u8;
        send(s, "200 OK", "", b.len(), &b)
    });
    let mut o = options(dir.path(), &address, "unknown");
    let first = fetch(&o).unwrap();
    std::fs::remove_file(&first.path).unwrap();
    assert!(fetch(&o).unwrap_err().to_string().contains("--accept-changed"));
    o.accept_changed = true;
    let changed = fetch(&o).unwrap();
    assert_ne!(changed.checksum, first.checksum);
    o.accept_changed = false;
    assert_eq!(fetch(&o).unwrap().checksum, changed.checksum, "what was accepted holds");
}

#[test]
fn what_the_reader_refuses_never_enters_the_cache() {
    let dir = tempfile::tempdir().unwrap();
    let (address, _) = serve(|_, _, s| send(s, "200 OK", "", 200_000, &body()));
    let o = options(dir.path(), &address, "unknown");
    let error = get(&o, o.sources.get("f").unwrap(), &|p| datasets::archive::Files::open(p).map(|_| ())).unwrap_err();
    assert!(error.to_string().contains("not a readable zip"), "{error}");
    assert!(is_empty(dir.path()));
}

#[test]
fn an_unreachable_host_is_asked_once() {
    let dir = tempfile::tempdir().unwrap();
    // A port that was free a moment ago: connections to it are refused.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut o = options(dir.path(), &format!("http://127.0.0.1:{port}/f.zip"), "unknown");
    o.ask_again = true; // what other processes remember is another test
    assert!(fetch(&o).unwrap_err().to_string().contains("cannot be reached"));
    // A server listens there now, but the process remembers the failure and does not connect again.
    if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) {
        assert!(fetch(&o).unwrap_err().to_string().contains("cannot be reached"));
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "nobody connected");
    }
}

#[test]
fn a_name_that_nobody_knows_is_asked_once() {
    let dir = tempfile::tempdir().unwrap();
    // RFC 2606: no host is ever called `invalid`.
    let o = options(dir.path(), "http://no-such-host.invalid/f.zip", "unknown");
    let said = fetch(&o).unwrap_err().to_string();
    assert!(said.contains("no-such-host.invalid cannot be reached") && !said.contains("attempts"), "{said}");
}

#[test]
fn two_at_once_download_once() {
    let dir = tempfile::tempdir().unwrap();
    let served = Arc::new(AtomicUsize::new(0));
    let count = served.clone();
    let (address, _) = serve(move |_, _, s| {
        count.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(150));
        send(s, "200 OK", "", 200_000, &body())
    });
    let o = options(dir.path(), &address, "unknown");
    std::thread::scope(|scope| {
        let both: Vec<_> = (0..2).map(|_| scope.spawn(|| fetch(&o).unwrap().checksum)).collect();
        let sums: Vec<String> = both.into_iter().map(|t| t.join().unwrap()).collect();
        assert_eq!(sums[0], sums[1]);
    });
    assert_eq!(served.load(Ordering::SeqCst), 1);
}

#[test]
fn the_second_address_serves_when_the_first_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let (gone, _) = serve(|_, _, s| send(s, "404 Not Found", "", 0, b""));
    let (damaged, _) = serve(|_, _, s| send(s, "200 OK", "", 1000, &body()[..1000]));
    let (good, _) = serve(|_, _, s| send(s, "200 OK", "", 200_000, &body()));
    let sum = datasets::fetch::sha256(&body());
    let o = options(dir.path(), &format!("'{gone}', '{damaged}', '{good}'"), &sum);
    let fetched = fetch(&o).unwrap();
    assert_eq!(std::fs::read(&fetched.path).unwrap(), body());
    assert_eq!(fetched.trust, "checksum as listed in data/sources.yaml");
    // Where none serves, each is named with its reason.
    let dir = tempfile::tempdir().unwrap();
    let said = fetch(&options(dir.path(), &format!("'{gone}', '{damaged}'"), &sum)).unwrap_err().to_string();
    assert!(said.contains("404") && said.contains("is not the recorded") && !said.contains('\n'), "{said}");
    assert!(is_empty(dir.path()));
}

#[test]
fn a_host_that_failed_minutes_ago_is_not_asked_unless_told() {
    let dir = tempfile::tempdir().unwrap();
    let (address, log) = serve(|_, _, s| send(s, "200 OK", "", 200_000, &body()));
    let host = address.trim_start_matches("http://").split('/').next().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let remember = |ago: u64| {
        let text = format!("{{\"{host}\": {{\"at\": {}, \"why\": \"no connection\"}}}}", now - ago);
        std::fs::write(dir.path().join("unreachable.json"), text).unwrap();
    };
    let mut o = options(dir.path(), &address, "unknown");
    remember(120);
    let said = fetch(&o).unwrap_err().to_string();
    assert!(said.contains("2 minutes ago") && said.contains("repro fetch"), "{said}");
    assert_eq!(log.lock().unwrap().len(), 0);
    o.ask_again = true;
    let fetched = fetch(&o).unwrap();
    assert!(!std::fs::read_to_string(dir.path().join("unreachable.json")).unwrap().contains(host));
    // An old failure is forgotten by itself.
    std::fs::remove_file(fetched.path).unwrap();
    (o.ask_again, o.accept_changed) = (false, true);
    remember(601);
    assert!(fetch(&o).is_ok());
}

#[test]
fn without_a_folder_for_downloads_nothing_is_downloaded() {
    let (address, log) = serve(|_, _, s| send(s, "200 OK", "", 200_000, &body()));
    let mut o = options(Path::new("unused"), &address, "unknown");
    o.cache_dir = None;
    assert!(fetch(&o).unwrap_err().to_string().contains("set REPRO_CACHE or HOME"));
    assert_eq!(log.lock().unwrap().len(), 0);
}
