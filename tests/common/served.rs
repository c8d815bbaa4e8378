//! A small HTTP server on the loopback that stands for the official addresses, and files in their formats.
#![allow(dead_code)] // each test file uses its own part

use datasets::mfeat::VIEWS;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Cursor, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the server has, by path, and the request lines it saw. A missing file is `404`; no files at all is `503`.
#[derive(Default)]
pub struct Served {
    pub files: BTreeMap<String, Vec<u8>>,
    pub asked: Vec<String>,
    /// How many requests asked for the rest of a file.
    pub resumed: usize,
    /// The pause before each piece of a file.
    pub pace: Duration,
}

pub struct Server {
    pub address: String,
    pub served: Arc<Mutex<Served>>,
}

impl Server {
    pub fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let served: Arc<Mutex<Served>> = Arc::default();
        let shared = served.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || answer(stream, &shared));
            }
        });
        Server { address, served }
    }

    pub fn put(&self, name: &str, bytes: &[u8]) {
        self.served.lock().unwrap().files.insert(name.into(), bytes.to_vec());
    }

    pub fn asked(&self) -> usize {
        self.served.lock().unwrap().asked.len()
    }
}

/// Answers one request. The asker may be gone at any time, which is no error here.
fn answer(mut stream: TcpStream, shared: &Mutex<Served>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    let mut start = 0;
    for line in lines.take_while(|line| !line.is_empty()) {
        let range = line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("range"));
        start = range.and_then(|(_, v)| v.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()).unwrap_or(start);
    }
    let path = first.split(' ').nth(1).unwrap_or_default().to_string();
    let (found, none, pace) = {
        let mut served = shared.lock().unwrap();
        served.asked.push(first);
        served.resumed += usize::from(start > 0);
        let found = served.files.iter().find(|(name, _)| path.ends_with(name.as_str())).map(|(_, b)| b.clone());
        (found, served.files.is_empty(), served.pace)
    };
    let status = match (&found, none) {
        (Some(_), _) if start > 0 => "206 Partial Content",
        (Some(_), _) => "200 OK",
        (None, true) => "503 Busy",
        (None, false) => "404 Not Found",
    };
    let whole = found.unwrap_or_default();
    let body = &whole[start.min(whole.len())..];
    let range = format!("Content-Range: bytes {start}-{}/{}", whole.len().saturating_sub(1), whole.len());
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nETag: \"{}\"\r\n{range}\r\nConnection: close\r\n\r\n",
        datasets::fetch::sha256(&whole)
    );
    let mut sent = stream.write_all(head.as_bytes());
    for piece in body.chunks(length.div_ceil(8).max(1)) {
        std::thread::sleep(pace);
        sent = sent.and_then(|()| stream.write_all(piece));
    }
}

/// A line of a list of sources.
pub fn entry(id: &str, address: &str, file: &str, sum: &str) -> String {
    format!(
        "  - {{id: {id}, addresses: ['{address}/{file}'], file: {file}, sha256: {sum}, max_bytes: 100000000, licence: l, attribution: a}}\n"
    )
}

pub fn zip_of(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Multiple Features in its own format, with other numbers.
pub fn digits() -> Vec<u8> {
    let table = |columns: usize| -> Vec<u8> {
        let row = |i: usize| (0..columns).map(|j| format!(" {}", (i * 31 + j * 17) % 97)).collect::<String>() + "\n";
        (0..200).map(row).collect::<String>().into_bytes()
    };
    let files: Vec<(String, Vec<u8>)> = VIEWS.iter().map(|(v, c)| (format!("mfeat-{v}"), table(*c))).collect();
    zip_of(&files.iter().map(|(n, b)| (n.as_str(), b.clone())).collect::<Vec<_>>())
}
