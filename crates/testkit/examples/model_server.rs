//! Runs the model server until it is killed, to try a real agent program by hand.

#![expect(clippy::print_stdout, reason = "it is a program")]

use testkit::model_server::ModelServer;

fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok());
    let server = ModelServer::start_on(port.unwrap_or(0))?;
    println!("{}", server.url());
    let mut shown = 0;
    loop {
        std::thread::sleep(std::time::Duration::from_millis(200));
        for request in &server.seen()[shown..] {
            println!("{} {}", request.path, request.body);
            shown += 1;
        }
    }
}
