//! Streams of events.

use std::io::{BufRead as _, BufReader};

use super::*;

/// A stream, read line by line. A stream that says nothing stops the test after a while.
struct Events(BufReader<TcpStream>);

impl Events {
    fn open(world: &World, token: &str, more: &str) -> Self {
        let stream = TcpStream::connect(world.address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        let head = format!(
            "GET /v1/events HTTP/1.1\r\nconnection: close\r\nhost: {}\r\nauthorization: Bearer {token}\r\n{more}\r\n",
            world.address
        );
        (&stream).write_all(head.as_bytes()).unwrap();
        let mut events = Self(BufReader::new(stream));
        assert!(events.line().starts_with("HTTP/1.1 200"));
        while !events.line().is_empty() {}
        events
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the stream has ended");
        line.trim_end().to_owned()
    }

    /// The next record: its number, and what it is about.
    fn next(&mut self) -> (u64, Value) {
        loop {
            let line = self.line();
            if let Some(data) = line.strip_prefix("data: ") {
                let record: Value = serde_json::from_str(data).unwrap();
                return (record["n"].as_u64().unwrap(), record["entry"].clone());
            }
        }
    }

    /// Whether the stream ends without another record.
    fn ends(mut self) -> bool {
        let mut rest = String::new();
        let read = std::io::Read::read_to_string(&mut self.0, &mut rest);
        read.is_ok() && !rest.contains("data: ")
    }
}

#[test]
fn a_stream_shows_what_happens_and_goes_on_where_it_was_left() {
    let world = World::new();
    let (agent, viewer) = (world.token_of(Scope::Agent), world.token_of(Scope::Viewer));
    let mut events = Events::open(&world, &viewer, "");
    world.call(&agent, "1", "push", "s");
    let (n, entry) = events.next();
    assert_eq!((entry["what"].as_str(), entry["call"]["id"].as_str()), (Some("call"), Some("1")), "{entry}");
    drop(events);
    world.call(&agent, "2", "push", "s");
    world.call(&agent, "3", "push", "s");
    let mut events = Events::open(&world, &viewer, &format!("last-event-id: {n}\r\n"));
    let missed: Vec<Value> = (0..2).map(|_| events.next().1["call"]["id"].clone()).collect();
    assert_eq!(missed, ["2", "3"]);
    assert_eq!(world.get("/v1/events?after=x", &viewer).0, 400);
}

#[test]
fn a_stream_shows_a_tenant_its_own_records_and_ends_with_its_token_and_the_server() {
    let mut world = World::new();
    let agent = world.token_of(Scope::Agent);
    let tenant = world.token("tenant", Scope::Viewer, "a/*");
    let viewer = world.token_of(Scope::Viewer);
    let mut events = Events::open(&world, &tenant, "");
    let others = Events::open(&world, &viewer, "last-event-id: 1000000\r\n");
    world.call(&agent, "1", "push", "b/1");
    world.call(&agent, "2", "push", "a/1");
    assert_eq!(events.next().1["session"], "a/1", "what others do is not shown");
    Tokens::of(&world.data()).revoke("tenant").unwrap();
    world.call(&agent, "3", "push", "a/1");
    // One that was about to be sent may still come; then it is over.
    let mut rest = String::new();
    let _ = std::io::Read::read_to_string(&mut events.0, &mut rest);
    assert!(!rest.contains("b/1"));
    world.end();
    assert!(others.ends());
}
