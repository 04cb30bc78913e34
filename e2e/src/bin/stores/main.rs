//! Real databases behind the gate: every promise of a backend, on servers that are started for it.
//!
//! `stores FOLDER [WORD]` takes the folder with Postgres' programs (`initdb`, `pg_ctl`, `psql`) and, perhaps, a word that the names
//! of the tests must contain. `redis-server` is found by its name; without it, its tests are left out and that is said. The
//! last line counts, as a test runner's does.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a promise that is broken ends its test, and the count goes to people"
)]

mod postgres;
mod redis;
mod servers;
mod shared;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::ExitCode,
};

use lockgate_testkit::contract::{Cluster, RedisServer, SharedServer};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(programs) = arguments.first() else {
        eprintln!("error: name the folder of Postgres' programs, such as /usr/lib/postgresql/15/bin");
        return ExitCode::from(2);
    };
    let cluster = match Cluster::start(Path::new(programs)) {
        Ok(cluster) => cluster,
        Err(error) => {
            eprintln!("error: Postgres cannot be started: {error}");
            return ExitCode::from(2);
        }
    };
    let mut run = Run { word: arguments.get(1).cloned().unwrap_or_default(), passed: 0, failed: 0 };
    run.server(&cluster, postgres::TESTS);
    match RedisServer::start(&[]) {
        Ok(server) => run.server(&server, redis::TESTS),
        Err(error) => eprintln!("warning: Redis NOT tried: {error}"),
    }
    let Run { passed, failed, .. } = run;
    println!(
        "test result: {}. {passed} passed; {failed} failed; 0 ignored",
        if failed == 0 { "ok" } else { "FAILED" }
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// A test that only one kind of server has.
type OwnTest<S> = (&'static str, fn(&S));

/// What was tried.
struct Run {
    word: String,
    passed: u64,
    failed: u64,
}

impl Run {
    fn server<S: SharedServer>(&mut self, server: &S, own: &[OwnTest<S>]) {
        let name = server.name();
        shared::promises(server, &mut |promise, body| self.test(&format!("{name}: {promise}"), body));
        for (test, body) in shared::TESTS {
            self.test(&format!("{name}: {test}"), &|| body(server));
        }
        self.test(&format!("{name}: two servers are one"), &|| servers::two_servers_are_one(server));
        for (test, body) in own {
            self.test(&format!("{name}: {test}"), &|| body(server));
        }
    }

    fn test(&mut self, name: &str, body: &dyn Fn()) {
        if !name.contains(&self.word) {
            return;
        }
        let is_ok = catch_unwind(AssertUnwindSafe(body)).is_ok();
        println!("test {name} ... {}", if is_ok { "ok" } else { "FAILED" });
        *(if is_ok { &mut self.passed } else { &mut self.failed }) += 1;
    }
}
