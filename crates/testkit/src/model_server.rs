//! A model server on loopback, so that real agent programs run without an account.
//!
//! Speaks Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini, streaming or not. Markers in the
//! request choose the answer: `[[say:TEXT]]`, `[[tool:COMMAND]]` (one shell command, then the answer),
//! `[[write:PATH]]` (the program's own tool for files, then the answer), `[[429]]` or any other status, `[[stall]]` (half an answer, then silence), `[[empty]]`.
//! It never reaches the network and knows nothing about the programs that call it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

mod answers;

/// The answer of the model without a marker.
pub const HELLO: &str = "Hello from the model.";

/// A running server; it stops when dropped.
pub struct ModelServer {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    stop: Arc<AtomicBool>,
    held: Arc<Mutex<Option<String>>>,
    turns: Arc<Mutex<Vec<(String, String)>>>,
}

/// One request that arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Path and query.
    pub path: String,
    /// The body as text.
    pub body: String,
}

impl ModelServer {
    /// Starts a server on a free port.
    pub fn start() -> std::io::Result<ModelServer> {
        Self::start_on(0)
    }

    /// Starts a server on a given port; 0 takes a free one.
    pub fn start_on(port: u16) -> std::io::Result<ModelServer> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let held = Arc::new(Mutex::new(None));
        let turns = Arc::new(Mutex::new(Vec::new()));
        let desk = Desk {
            seen: Arc::clone(&seen),
            stop: Arc::clone(&stop),
            held: Arc::clone(&held),
            turns: Arc::clone(&turns),
        };
        std::thread::spawn(move || accept(&listener, &desk));
        Ok(ModelServer { address, seen, stop, held, turns })
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Requests with this text are answered as if they had these markers. The first such text counts.
    pub fn answer_to(&self, text: &str, markers: &str) {
        if let Ok(mut turns) = self.turns.lock() {
            turns.push((text.to_owned(), markers.to_owned()));
        }
    }

    /// Requests with this text get no answer from now on.
    pub fn hold_back(&self, text: &str) {
        self.set_held(Some(text.to_owned()));
    }

    /// Answers all requests again; requests that were held back stay unanswered.
    pub fn let_go(&self) {
        self.set_held(None);
    }

    fn set_held(&self, text: Option<String>) {
        if let Ok(mut held) = self.held.lock() {
            *held = text;
        }
    }

    /// How many requests contained this text.
    pub fn count(&self, text: &str) -> usize {
        self.seen().iter().filter(|seen| seen.body.contains(text)).count()
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().map(|seen| seen.clone()).unwrap_or_default()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the accepting thread so that it sees the flag.
        let _ = TcpStream::connect(self.address);
    }
}

/// The data that all connections share.
#[derive(Clone)]
struct Desk {
    seen: Arc<Mutex<Vec<Seen>>>,
    stop: Arc<AtomicBool>,
    held: Arc<Mutex<Option<String>>>,
    turns: Arc<Mutex<Vec<(String, String)>>>,
}

impl Desk {
    /// The body with the markers that a test wants for it, before all others.
    fn marked(&self, body: &str) -> String {
        let turns = self.turns.lock().map(|turns| turns.clone()).unwrap_or_default();
        let found = turns.iter().find(|(text, _)| body.contains(text.as_str()));
        found.map_or_else(|| body.to_owned(), |(_, markers)| format!("{markers}{body}"))
    }
}

fn accept(listener: &TcpListener, desk: &Desk) {
    for stream in listener.incoming().flatten() {
        if desk.stop.load(Ordering::SeqCst) {
            return;
        }
        let desk = desk.clone();
        std::thread::spawn(move || drop(serve(stream, &desk)));
    }
}

fn serve(stream: TcpStream, desk: &Desk) -> std::io::Result<()> {
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader)? {
        if let Ok(mut seen) = desk.seen.lock() {
            seen.push(request.clone());
        }
        let held = desk.held.lock().ok().and_then(|held| held.clone());
        if held.is_some_and(|text| request.body.contains(&text)) {
            hold(&desk.stop);
            return Ok(());
        }
        let reply = answers::answer(&request.path, &request.body, &desk.marked(&request.body));
        write_reply(&mut writer, &reply)?;
        if reply.stall {
            hold(&desk.stop);
        }
        if reply.stream {
            return Ok(());
        }
    }
    Ok(())
}

/// Keeps the connection open without a byte until the server stops.
fn hold(stop: &AtomicBool) {
    while !stop.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<Seen>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    let mut chunked = false;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim().to_ascii_lowercase();
        match header.split_once(": ") {
            Some(("content-length", n)) => length = n.parse().unwrap_or(0),
            Some(("transfer-encoding", how)) => chunked = how.contains("chunked"),
            _ if header.is_empty() => break,
            _ => {}
        }
    }
    let body = if chunked {
        read_chunks(reader)?
    } else {
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        body
    };
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Some(Seen { path, body }))
}

fn read_chunks(reader: &mut BufReader<TcpStream>) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk)?;
        if size == 0 {
            return Ok(body);
        }
        body.extend_from_slice(&chunk[..size]);
    }
}

/// The reply.
struct Reply {
    status: u16,
    /// Server-sent events; the connection closes after them.
    stream: bool,
    /// No bytes follow, and the connection stays open.
    stall: bool,
    body: String,
}

impl Reply {
    fn json(status: u16, body: &Value) -> Reply {
        Reply { status, stream: false, stall: false, body: body.to_string() }
    }
}

fn write_reply(writer: &mut TcpStream, reply: &Reply) -> std::io::Result<()> {
    let head = if reply.stream {
        "content-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned()
    } else {
        format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n", reply.body.len())
    };
    let extra = if reply.status == 429 { "retry-after: 1\r\n" } else { "" };
    write!(writer, "HTTP/1.1 {} X\r\n{extra}{head}", reply.status)?;
    writer.write_all(reply.body.as_bytes())?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a request and reads until the server closes or falls silent.
    fn ask(path: &str, body: &str) -> String {
        let server = ModelServer::start().unwrap();
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        write!(stream, "POST {path} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        assert_eq!(server.seen()[0].body, body);
        String::from_utf8(reply).unwrap()
    }

    #[test]
    fn every_protocol_answers() {
        for (path, end) in [
            ("/v1/messages", "message_stop"),
            ("/v1/responses", "response.completed"),
            ("/v1/chat/completions", "[DONE]"),
        ] {
            let body = r#"{"model":"m","stream":true,"text":"[[say:yes]]"}"#;
            let reply = ask(path, body);
            assert!(reply.contains("yes") && reply.contains(end), "{reply}");
            let stalled = ask(path, &body.replace("[[say:yes]]", "[[stall]]"));
            assert!(stalled.contains(" 200 ") && !stalled.contains(end), "{stalled}");
        }
        assert!(ask("/v1beta/models/m:generateContent", "{}").contains(HELLO));
    }

    #[test]
    fn statuses_on_demand() {
        for status in ["429", "401", "500"] {
            let reply = ask("/v1/messages", &format!("{{\"text\":\"[[{status}]]\"}}"));
            assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{reply}");
        }
        assert!(ask("/elsewhere", "{}").contains(" 404 "));
    }
}
