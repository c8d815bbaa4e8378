//! A remote behind a web server, and what S3 shares with it: the HTTP client, and how its answers become results or failures.
//!
//! Reading needs only plain GET requests for known names: the server need not list its files, and any web server will do.

use super::{Attempt, Body, Failure, Moved, Read, Transport, When};
use crate::error::{Error, Result};
use reqwest::blocking::{Client, RequestBuilder, Response};
use reqwest::header;
use std::fs::File;
use std::io::{Read as _, Write};
use std::path::Path;
use std::time::Duration;

/// Time allowed to find a host and to connect to it.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest silence while waiting for an answer or for more bytes.
pub(super) const SILENCE: Duration = Duration::from_secs(30);

/// A client. It honours `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, and trusts the certificates of the system and those of Mozilla.
pub(super) fn client() -> Result<Client> {
    // This fails only where a provider is installed already; then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
    let client = Client::builder()
        .connect_timeout(CONNECT)
        .timeout(SILENCE)
        .redirect(reqwest::redirect::Policy::limited(5))
        .user_agent(concat!("repro/", env!("CARGO_PKG_VERSION")))
        .tls_certs_merge(roots.filter_map(|der| reqwest::Certificate::from_der(der).ok()))
        .build();
    client.map_err(|e| Error::Address(format!("no HTTP client can be made: {}", cause(&e))))
}

/// The innermost reason of an error. The outer ones repeat the address, which may hold a signature.
pub(super) fn cause(e: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = e;
    while let Some(next) = inner.source() {
        inner = next;
    }
    if e.is_timeout() { "no answer in time".to_string() } else { inner.to_string() }
}

/// The failure when the server has no bytes after those that were received before (status 416).
const SHORTER: &str = "the file there is shorter than it should be";

/// Sends a request. `None` when the server does not have the file.
pub(super) fn send(request: RequestBuilder) -> Attempt<Option<Response>> {
    let failed = |e: reqwest::Error| match e.is_builder() || e.is_redirect() {
        true => Failure::Final(cause(&e)),
        false => Failure::Transient(cause(&e)),
    };
    let response = request.send().map_err(failed)?;
    match response.status().as_u16() {
        200..=299 => Ok(Some(response)),
        404 | 410 => Ok(None),
        416 => Err(Failure::Transient(SHORTER.to_string())),
        409 | 412 => Err(Failure::Changed),
        408 | 425 | 429 | 500 | 502..=599 => {
            Err(Failure::Transient(format!("the server answered {}", response.status())))
        }
        401 | 403 => Err(Failure::Final(format!(
            "the server refused ({}); check the address and, for S3, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the rights of that key",
            response.status()
        ))),
        _ => Err(Failure::Final(format!("the server answered {}", response.status()))),
    }
}

/// Reads a whole file of at most `most` bytes.
pub(super) fn read(request: RequestBuilder, most: u64) -> Attempt<Option<Read>> {
    let Some(response) = send(request)? else { return Ok(None) };
    let text = |name| response.headers().get(name).and_then(|v: &header::HeaderValue| v.to_str().ok());
    let tag = text(header::ETAG).map(str::to_string);
    let length = text(header::CONTENT_LENGTH).and_then(|l| l.parse::<u64>().ok());
    let mut bytes = Vec::new();
    response.take(most + 1).read_to_end(&mut bytes).map_err(|e| Failure::Transient(format!("cut off ({e})")))?;
    match bytes.len() as u64 {
        n if n > most => Err(Failure::Final(format!("more than {most} bytes"))),
        n if length.is_some_and(|l| l != n) => Err(Failure::Transient("cut off".to_string())),
        _ => Ok(Some(Read { bytes, tag })),
    }
}

/// Appends the rest of a file to `part`. Files are named by digest, so `part` holds the beginning of the same file; if it does not,
/// the caller's check of the digest fails.
pub(super) fn fetch(mut request: RequestBuilder, part: &Path, size: u64, moved: Moved<'_>) -> Attempt<bool> {
    let here = |e| Failure::Local(Error::file(part, e));
    let have = part.metadata().map_or(0, |m| m.len());
    if have > 0 {
        request = request.header(header::RANGE, format!("bytes={have}-"));
    }
    let response = send(request).inspect_err(|failure| {
        if matches!(failure, Failure::Transient(why) if why == SHORTER) {
            // The next attempt starts from the first byte, and the caller checks the digest.
            let _ = std::fs::remove_file(part);
        }
    })?;
    let Some(mut response) = response else { return Ok(false) };
    let resumed = have > 0 && response.status().as_u16() == 206;
    let mut file = match resumed {
        true => File::options().append(true).open(part),
        false => File::create(part),
    }
    .map_err(here)?;
    let mut done = if resumed { have } else { 0 };
    let mut buffer = vec![0u8; 64 << 10];
    loop {
        let n = response.read(&mut buffer).map_err(|e| Failure::Transient(format!("cut off at byte {done} ({e})")))?;
        if n == 0 {
            return Ok(true);
        }
        done += n as u64;
        if done > size {
            return Err(Failure::Transient(format!("more bytes than the {size} it should have")));
        }
        file.write_all(&buffer[..n]).map_err(here)?;
        if !moved(n as u64) {
            return Err(Failure::Transient("stopped".to_string()));
        }
    }
}

/// A remote behind a web server.
pub struct Http {
    client: Client,
    base: String,
}

impl Http {
    /// The remote at `base`.
    pub fn new(base: &str) -> Result<Self> {
        Ok(Self { client: client()?, base: base.to_string() })
    }

    fn get(&self, name: &str) -> RequestBuilder {
        // The index lies at the top and changes, so no cache on the way may answer with an old one. Objects and packs never change.
        let request = self.client.get(format!("{}/{name}", self.base)).header(header::ACCEPT_ENCODING, "identity");
        if name.contains('/') { request } else { request.header(header::CACHE_CONTROL, "no-cache") }
    }
}

const READ_ONLY: &str = "results can only be pulled over https; push to the folder that the server serves, or to S3";

impl Transport for Http {
    fn read(&self, name: &str, most: u64) -> Attempt<Option<Read>> {
        read(self.get(name), most)
    }

    fn fetch(&self, name: &str, part: &Path, size: u64, moved: Moved<'_>) -> Attempt<bool> {
        fetch(self.get(name), part, size, moved)
    }

    fn write(&self, _: &str, _: Body<'_>, _: &When, _: Moved<'_>) -> Attempt<()> {
        Err(Failure::Final(READ_ONLY.to_string()))
    }

    fn size(&self, _: &str) -> Attempt<Option<u64>> {
        Err(Failure::Final(READ_ONLY.to_string()))
    }

    fn remove(&self, _: &str) -> Attempt<()> {
        Err(Failure::Final(READ_ONLY.to_string()))
    }
}
