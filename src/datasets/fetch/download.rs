//! Downloads one file over HTTP into a `.part` file, with resume, retries and limits. The file is not trusted yet: `cache.rs` checks it.
//!
//! The client is the blocking one of reqwest, the only HTTP library of the program. It honours `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`,
//! and trusts the certificates of the system and those of Mozilla, which come with the program.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::blocking::{Client, Response};
use reqwest::header::{self, HeaderName};

use super::{Options, Progress, Remote, reach};
use crate::{Error, Result};

/// Timeouts and retries.
#[derive(Debug, Clone)]
pub struct HttpParams {
    /// Time allowed to find the host and to connect to it.
    pub connect: Duration,
    /// Longest silence while waiting for an answer or for more bytes.
    pub silence: Duration,
    /// Attempts after the first, for failures that may pass (a cut connection, a busy server).
    pub retries: u32,
    /// Wait before the first retry; doubles each time.
    pub back_off: Duration,
}

impl Default for HttpParams {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        HttpParams { connect: seconds(3), silence: seconds(20), retries: 3, back_off: Duration::from_millis(500) }
    }
}

enum Failure {
    /// The host cannot be reached: there is no retry, and the host is not asked again for a while (`reach.rs`).
    Unreachable(String),
    /// The failure may pass: another attempt is made.
    Passing(String),
    /// A clear refusal: another attempt would get the same answer.
    Final(String),
}

/// Downloads `remote` from one of its addresses into `part`, resuming what is there.
pub(super) fn download(options: &Options, remote: &Remote, address: &str, part: &Path) -> Result<()> {
    let fail = |what: String| Error::Download { url: address.to_string(), what };
    let host = host(address);
    if let Some(why) = reach::given_up(options, &host) {
        return Err(fail(why));
    }
    let http = &options.http;
    let client = client(http).map_err(|e| fail(format!("no HTTP client ({})", cause(&e))))?;
    let mut wait = http.back_off;
    let mut attempt = 0;
    loop {
        let failure = match one_attempt(&client, options, remote, address, part) {
            Ok(()) => {
                reach::answered(options, &host);
                return Ok(());
            }
            Err(f) => f,
        };
        match failure {
            Failure::Unreachable(why) => {
                let why = format!("{host} cannot be reached ({why})");
                reach::give_up(options, &host, &why);
                return Err(fail(why));
            }
            Failure::Final(why) => {
                forget(part);
                return Err(fail(why));
            }
            Failure::Passing(why) if attempt == http.retries => {
                return Err(fail(format!("{why}, after {} attempts", attempt + 1)));
            }
            Failure::Passing(_) => std::thread::sleep(wait),
        }
        wait *= 2;
        attempt += 1;
    }
}

/// Removes a partial download and its validator (see `save_tag`).
pub(super) fn forget(part: &Path) {
    let _ = std::fs::remove_file(part);
    let _ = std::fs::remove_file(tag_path(part));
}

/// A client for one download. In the blocking client the timeout is for the answer and for each read of the body, not for the whole file.
fn client(http: &HttpParams) -> reqwest::Result<Client> {
    // This fails only where a provider is installed already; then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let certificates = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
    let certificates = certificates.filter_map(|der| reqwest::Certificate::from_der(der).ok());
    Client::builder()
        .connect_timeout(http.connect)
        .timeout(http.silence)
        .redirect(reqwest::redirect::Policy::limited(5))
        .user_agent("repro (research data download)")
        .tls_certs_merge(certificates)
        .build()
}

fn one_attempt(
    client: &Client,
    options: &Options,
    remote: &Remote,
    address: &str,
    part: &Path,
) -> std::result::Result<(), Failure> {
    let have = part.metadata().map(|m| m.len()).unwrap_or(0);
    // Resume only where a validator lets the server confirm that it is still the same file.
    let tag = std::fs::read_to_string(tag_path(part)).ok().filter(|_| have > 0);
    let mut request = client.get(address).header(header::ACCEPT_ENCODING, "identity");
    if let Some(tag) = &tag {
        request = request.header(header::RANGE, format!("bytes={have}-")).header(header::IF_RANGE, tag.as_str());
    }
    let mut response = request.send().map_err(|e| classify(&e))?;
    let status = response.status().as_u16();
    let resumed = status == 206 && tag.is_some() && content_range_start(&response) == Some(have);
    match status {
        200 => {}
        206 if resumed => {}
        206 | 416 => {
            forget(part);
            return Err(Failure::Passing(format!("the server answered {status} to a resumed download")));
        }
        408 | 429 | 500..=599 => return Err(Failure::Passing(format!("the server answered {status}"))),
        _ => return Err(Failure::Final(format!("the server answered {status}"))),
    }
    let kind = text_header(&response, header::CONTENT_TYPE).unwrap_or_default();
    if kind.starts_with("text/html") {
        return Err(Failure::Final("a web page came instead of the file".into()));
    }
    let start = if resumed { have } else { 0 };
    let length = text_header(&response, header::CONTENT_LENGTH).and_then(|l| l.parse::<u64>().ok());
    let total = length.map(|l| l.saturating_add(start));
    let too_large = |n: u64| Failure::Final(format!("{n} bytes or more, the limit is {}", remote.max_bytes));
    if let Some(t) = total.filter(|t| *t > remote.max_bytes) {
        return Err(too_large(t));
    }
    let io = |e: std::io::Error| Failure::Final(format!("{}: {e}", part.display()));
    let mut file = if resumed {
        OpenOptions::new().append(true).open(part).map_err(io)?
    } else {
        save_tag(part, &response);
        File::create(part).map_err(io)?
    };
    let mut done = start;
    let mut buffer = vec![0u8; 64 << 10];
    loop {
        let n = response.read(&mut buffer).map_err(|e| Failure::Passing(format!("cut off at byte {done} ({e})")))?;
        if n == 0 {
            break;
        }
        if done == 0 && looks_like_html(&buffer[..n]) {
            return Err(Failure::Final("a web page came instead of the file".into()));
        }
        done += n as u64;
        if done > remote.max_bytes {
            return Err(too_large(done));
        }
        file.write_all(&buffer[..n]).map_err(io)?;
        if let Some(p) = &options.progress {
            p(&Progress { file: &remote.file, done, total, note: None });
        }
    }
    match total {
        Some(t) if t != done => Err(Failure::Passing(format!("cut off at byte {done} of {t}"))),
        _ => Ok(()),
    }
}

/// Sorts an error: without a connection the host counts as unreachable; most failures after it may pass.
fn classify(e: &reqwest::Error) -> Failure {
    if e.is_connect() {
        let why = if e.is_timeout() { "no connection in time".into() } else { cause(e) };
        Failure::Unreachable(why)
    } else if e.is_timeout() {
        Failure::Passing("silence".into())
    } else if e.is_builder() || e.is_redirect() {
        Failure::Final(cause(e))
    } else {
        Failure::Passing(cause(e))
    }
}

/// The innermost reason of an error. The outer ones repeat the address.
fn cause(e: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = e;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner.to_string()
}

/// Host and port of an address.
fn host(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, r)| r);
    rest.split(['/', '?', '#']).next().unwrap_or(rest).to_string()
}

fn text_header(response: &Response, name: HeaderName) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_string)
}

fn content_range_start(response: &Response) -> Option<u64> {
    text_header(response, header::CONTENT_RANGE)?.strip_prefix("bytes ")?.split('-').next()?.parse().ok()
}

fn tag_path(part: &Path) -> PathBuf {
    part.with_extension("part-tag")
}

/// Keeps the validator that makes a later resume safe: a strong ETag, else the date of the file.
fn save_tag(part: &Path, response: &Response) {
    let etag = text_header(response, header::ETAG).filter(|t| !t.starts_with("W/"));
    match etag.or_else(|| text_header(response, header::LAST_MODIFIED)) {
        Some(tag) => drop(std::fs::write(tag_path(part), tag)),
        None => drop(std::fs::remove_file(tag_path(part))),
    }
}

fn looks_like_html(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    [&b"<!doctype"[..], b"<html"].iter().any(|m| text.len() >= m.len() && text[..m.len()].eq_ignore_ascii_case(m))
}
