//! An S3 server on the loopback in a few lines: GET, PUT, HEAD and DELETE of named files, conditions on writes, no listing.
//! It misbehaves as told. (Signatures are not checked here; .ci/run has a check with moto, which is a server of others.)
#![allow(dead_code)] // each test file uses its own part

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the server has and what it saw.
#[derive(Default)]
pub struct Bucket {
    pub files: BTreeMap<String, Vec<u8>>,
    /// Method and path of each request.
    pub asked: Vec<String>,
    /// Every so-many-th request is answered by 500; 0 for none.
    pub fail_every: usize,
    /// Objects are cut off half way, so many times.
    pub cut: usize,
    /// One byte of an object is wrong, so many times.
    pub flip: usize,
    /// A pause before each answer.
    pub pace: Duration,
    /// Whether writes are refused: a static web server.
    pub read_only: bool,
    /// Whether the addresses of requests carried a signature.
    pub signed: bool,
}

pub struct Server {
    pub port: u16,
    pub bucket: Arc<Mutex<Bucket>>,
}

impl Server {
    pub fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let bucket: Arc<Mutex<Bucket>> = Arc::default();
        let shared = bucket.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || drop(answer(stream, &shared)));
            }
        });
        Server { port, bucket }
    }

    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Lets a command speak to this server as to S3.
    pub fn reach(&self, command: &mut std::process::Command) {
        command.env("AWS_ENDPOINT_URL", self.address()).env("AWS_REGION", "test");
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret").env("NO_PROXY", "127.0.0.1");
        command.env_remove("AWS_SESSION_TOKEN").env_remove("AWS_ENDPOINT_URL_S3");
    }

    pub fn set(&self, change: impl FnOnce(&mut Bucket)) {
        change(&mut self.bucket.lock().unwrap());
    }

    /// How many requests there were since the last time, and how many of them were about objects.
    pub fn asked(&self) -> (usize, usize) {
        let asked = std::mem::take(&mut self.bucket.lock().unwrap().asked);
        (asked.len(), asked.iter().filter(|line| line.contains("/objects/")).count())
    }
}

/// Answers one request; the asker may be gone at any time.
fn answer(mut stream: TcpStream, shared: &Mutex<Bucket>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_string());
    }
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let length: usize = headers.get("content-length").and_then(|l| l.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let pace = shared.lock().unwrap().pace;
    std::thread::sleep(pace);
    let mut bucket = shared.lock().unwrap();
    bucket.asked.push(format!("{method} {path}"));
    bucket.signed |= query.contains("X-Amz-Signature=");
    let tag = |bytes: &[u8]| format!("\"{}\"", &blake3::hash(bytes).to_hex()[..32]);
    let there = bucket.files.get(path).cloned();
    let mut status = 200;
    let mut out = Vec::new();
    let mut cut = false;
    if bucket.fail_every > 0 && bucket.asked.len().is_multiple_of(bucket.fail_every) {
        status = 500;
    } else if method == "PUT" || method == "DELETE" {
        let absent = headers.get("if-none-match").is_some_and(|v| v == "*");
        let same = headers.get("if-match");
        if bucket.read_only {
            status = 405;
        } else if (absent && there.is_some()) || same.is_some_and(|v| there.as_deref().map(tag).as_ref() != Some(v)) {
            status = 412;
        } else if method == "PUT" {
            bucket.files.insert(path.to_string(), body);
        } else {
            bucket.files.remove(path);
            status = 204;
        }
    } else if let Some(bytes) = there {
        out = bytes;
        if path.contains("/objects/") && out.len() > 1 && method == "GET" {
            if bucket.flip > 0 {
                bucket.flip -= 1;
                let middle = out.len() / 2;
                out[middle] ^= 1;
            } else if bucket.cut > 0 {
                bucket.cut -= 1;
                cut = true;
            }
        }
        let range = headers.get("range").and_then(|r| r.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
        if let Some(start) = range.filter(|start: &usize| *start < out.len()) {
            out.drain(..start);
            status = 206;
        }
    } else {
        status = 404;
    }
    drop(bucket);
    write!(stream, "HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: {}\r\n", out.len())?;
    if status == 200 && !out.is_empty() {
        write!(stream, "ETag: {}\r\n", tag(&out))?;
    }
    stream.write_all(b"\r\n")?;
    if method != "HEAD" {
        let most = if cut { out.len() / 2 } else { out.len() };
        stream.write_all(&out[..most])?;
    }
    stream.flush()
}
