//! A remote in a bucket of an S3 server. rusty-s3 signs the addresses, reqwest sends the requests.
//!
//! Credentials come from `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`; without them requests are
//! not signed, which is enough to read a public bucket. Each upload carries its SHA-256, so that a server that checks it refuses bytes
//! that changed on the way.

use super::http::{SILENCE, client, fetch, read, send};
use super::{Attempt, Body, Failure, Moved, Read, Transport, When};
use crate::address::Bucket as Place;
use crate::error::{Error, Result};
use base64::Engine as _;
use reqwest::blocking::{Client, RequestBuilder};
use reqwest::header;
use ring::digest::{Context, SHA256};
use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a signed address is valid. Each request signs its own, and the server checks it when the request begins.
const SIGNED: Duration = Duration::from_secs(6 * 3600);
/// Largest file that S3 accepts in one PUT request.
const MAX_PUT_BYTES: u64 = 5 << 30;
/// The slowest upload that does not time out, in bytes per second.
const SLOWEST: u64 = 32 << 10;

/// A remote in a bucket.
pub struct S3 {
    client: Client,
    bucket: Bucket,
    credentials: Option<Credentials>,
    prefix: String,
    /// Whether the server has answered that it does not support conditional writes (`If-Match`).
    unconditional: AtomicBool,
}

impl S3 {
    /// The remote in that bucket.
    pub fn new(place: &Place) -> Result<Self> {
        let wrong = |why: String| Error::Address(format!("s3://{}: endpoint `{}`: {why}", place.name, place.endpoint));
        let endpoint: reqwest::Url = place.endpoint.parse().map_err(|e| wrong(format!("{e}; write https://HOST")))?;
        let style = if place.host_style { UrlStyle::VirtualHost } else { UrlStyle::Path };
        let bucket = Bucket::new(endpoint, style, place.name.clone(), place.region.clone());
        let bucket = bucket.map_err(|e| wrong(format!("{e}; write https://HOST")))?;
        let prefix = if place.prefix.is_empty() { String::new() } else { format!("{}/", place.prefix) };
        let credentials = Credentials::from_env();
        Ok(Self { client: client()?, bucket, credentials, prefix, unconditional: AtomicBool::new(false) })
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn get(&self, name: &str) -> RequestBuilder {
        let url = self.bucket.get_object(self.credentials.as_ref(), &self.key(name)).sign(SIGNED);
        self.client.get(url).header(header::ACCEPT_ENCODING, "identity")
    }
}

/// The SHA-256 of a body in base64, as S3 expects it.
fn checksum(body: Body<'_>) -> Attempt<String> {
    let mut context = Context::new(&SHA256);
    match body {
        Body::Bytes(bytes) => context.update(bytes),
        Body::File(path, _) => {
            let here = |e| Failure::Local(Error::file(path, e));
            let mut file = File::open(path).map_err(here)?;
            let mut buffer = vec![0u8; 256 << 10];
            loop {
                match file.read(&mut buffer).map_err(here)? {
                    0 => break,
                    n => context.update(&buffer[..n]),
                }
            }
        }
    }
    Ok(base64::engine::general_purpose::STANDARD.encode(context.finish()))
}

impl Transport for S3 {
    fn read(&self, name: &str, most: u64) -> Attempt<Option<Read>> {
        read(self.get(name), most)
    }

    fn fetch(&self, name: &str, part: &Path, size: u64, moved: Moved<'_>) -> Attempt<bool> {
        fetch(self.get(name), part, size, moved)
    }

    fn write(&self, name: &str, body: Body<'_>, when: &When, moved: Moved<'_>) -> Attempt<()> {
        if self.credentials.is_none() {
            let why = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: writing to S3 needs credentials";
            return Err(Failure::Final(why.to_string()));
        }
        if body.size() > MAX_PUT_BYTES {
            return Err(Failure::Final("a file of more than 5 GiB cannot be sent to S3; push to a folder".to_string()));
        }
        let (key, sum) = (self.key(name), checksum(body)?);
        let mut action = self.bucket.put_object(self.credentials.as_ref(), &key);
        action.headers_mut().insert("x-amz-checksum-sha256", sum.clone());
        let mut request = self.client.put(action.sign(SIGNED)).header("x-amz-checksum-sha256", sum);
        request = request.timeout(SILENCE + Duration::from_secs(body.size() / SLOWEST));
        let conditional = !self.unconditional.load(Ordering::Relaxed);
        request = match when {
            When::Absent if conditional => request.header(header::IF_NONE_MATCH, "*"),
            When::Same(Read { tag: Some(tag), .. }) if conditional => request.header(header::IF_MATCH, tag),
            _ => request,
        };
        request = match body {
            Body::Bytes(bytes) => {
                // reqwest sends no length for an empty body, but S3 requires one.
                let request = if bytes.is_empty() { request.header(header::CONTENT_LENGTH, 0) } else { request };
                request.body(bytes.to_vec())
            }
            Body::File(path, size) => {
                let file = File::open(path).map_err(|e| Failure::Local(Error::file(path, e)))?;
                request.body(reqwest::blocking::Body::sized(file, size))
            }
        };
        match send(request) {
            Ok(Some(_)) => {
                moved(body.size());
                Ok(())
            }
            Ok(None) => Err(Failure::Final(format!("there is no bucket `{}`; create it first", self.bucket.name()))),
            // 501: the server does not support conditional writes. The next attempt is made without a condition.
            Err(Failure::Final(why)) if why.contains("501") && conditional && *when != When::Always => {
                self.unconditional.store(true, Ordering::Relaxed);
                Err(Failure::Transient(why))
            }
            // A write without a condition cannot fail for one: another client was writing the same name.
            Err(Failure::Changed) if *when == When::Always => {
                Err(Failure::Transient("a conflict on the server".to_string()))
            }
            Err(failure) => Err(failure),
        }
    }

    fn size(&self, name: &str) -> Attempt<Option<u64>> {
        let url = self.bucket.head_object(self.credentials.as_ref(), &self.key(name)).sign(SIGNED);
        let Some(response) = send(self.client.head(url))? else { return Ok(None) };
        let length = response.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok());
        Ok(length)
    }

    fn remove(&self, name: &str) -> Attempt<()> {
        let url = self.bucket.delete_object(self.credentials.as_ref(), &self.key(name)).sign(SIGNED);
        send(self.client.delete(url)).map(drop)
    }
}
