//! A small HTTP server on the loopback, whose answers the test writes itself.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// One request as the server saw it: the value of its Range header.
pub type Log = Arc<Mutex<Vec<Option<String>>>>;

/// Serves each connection with `answer(number of the request, range start, stream)`.
pub fn serve(answer: impl Fn(usize, Option<u64>, &mut TcpStream) + Send + Sync + 'static) -> (String, Log) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/file.zip", listener.local_addr().unwrap());
    let log: Log = Log::default();
    let (seen, answer) = (log.clone(), Arc::new(answer));
    std::thread::spawn(move || {
        for (i, stream) in listener.incoming().enumerate() {
            let (Ok(mut stream), seen, answer) = (stream, seen.clone(), answer.clone()) else { continue };
            std::thread::spawn(move || {
                let mut range = None;
                for line in BufReader::new(stream.try_clone().unwrap()).lines() {
                    let line = line.unwrap_or_default();
                    if line.is_empty() {
                        break;
                    }
                    if let Some((_, v)) = line.split_once(": ").filter(|(n, _)| n.eq_ignore_ascii_case("range")) {
                        range = Some(v.to_string());
                    }
                }
                let start = range.as_deref().and_then(|r| r.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
                seen.lock().unwrap().push(range);
                answer(i, start, &mut stream);
            });
        }
    });
    (address, log)
}

/// An answer of HTTP with its headers and a body.
pub fn send(stream: &mut TcpStream, status: &str, headers: &str, length: usize, body: &[u8]) {
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nETag: \"one\"\r\nConnection: close\r\n{headers}\r\n");
    let _ = stream.write_all(head.as_bytes()).and_then(|_| stream.write_all(body));
}
