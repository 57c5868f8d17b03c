//! A web server on the loopback device that has one file and sends any part of it, for programs that download.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

/// The address; the port is the one that everybody assumes, because aget forgets to ask for the length of a file when another is given.
pub(super) const ADDRESS: &str = "127.80.80.80";

/// Begins to serve, until this process ends.
pub(super) fn serve(file: &Path) -> Result<(), String> {
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let listener =
        TcpListener::bind((ADDRESS, 80)).map_err(|error| format!("cannot serve at {ADDRESS}: {error}"))?;
    let bytes: Arc<[u8]> = bytes.into();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let bytes = Arc::clone(&bytes);
            // Who hangs up before the end is served no more, and that is all.
            std::thread::spawn(move || answer(stream, &bytes));
        }
    });
    Ok(())
}

/// Answers one request: the head, or everything from an offset on.
fn answer(mut stream: TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let mut from = None;
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        let range = line.strip_prefix("Range: bytes=").and_then(|range| range.split('-').next());
        from = from.or(range.and_then(|range| range.parse::<usize>().ok()));
    }
    let rest = bytes.get(from.unwrap_or(0)..).unwrap_or_default();
    let status = if from.is_some() { "206 Partial Content" } else { "200 OK" };
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", rest.len());
    let rest = if request.starts_with("GET") { rest } else { &[] };
    // At once: aget takes it that what comes first has the whole head.
    stream.write_all(&[head.as_bytes(), rest].concat())
}
