//! Two real servers, `lockgate serve --store URL`, on one store.

use std::{
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use lockgate_testkit::{contract::SharedServer, make_team_token};
use serde_json::{Value, json};

const POLICY: &str = "\
limit push to 3 per session
require human-approval before deploy
";

/// A server that runs.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(folder: &Path, data: &str, url: &str) -> Self {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let program = std::env::current_exe().unwrap().with_file_name("lockgate");
        let process = Command::new(program)
            .current_dir(folder)
            .args(["serve", "team.rules", "--data", data, "--store", url, "--listen", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.join(format!("{data}.log"))).unwrap())
            .spawn()
            .unwrap();
        let server = Self { process, address: port };
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(server.address).is_err() {
            let log = || fs::read_to_string(folder.join(format!("{data}.log")));
            assert!(Instant::now() < deadline, "the server does not start: {:?}", log());
            thread::sleep(Duration::from_millis(50));
        }
        server
    }

    fn ask(&self, method: &str, path: &str, token: &str, body: &Value) -> (u16, Value) {
        let body = if method == "GET" { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(self.address).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}")))
    }

    fn call(&self, token: &str, id: &str, tool: &str) -> Value {
        self.ask("POST", "/v1/call", token, &json!({ "id": id, "tool": tool, "session": "s" })).1
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; waiting is due in any case.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn two_servers_are_one(server: &dyn SharedServer) {
    let rest = server.database().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("team.rules"), POLICY).unwrap();
    let token = |name: &str| make_team_token(&path.join("one"), name, name).unwrap();
    let (agent, approver, admin) = (token("agent"), token("approver"), token("admin"));
    let one = Server::start(path, "one", &rest.url());
    // The other one knows the same people, and signs answers with the same key.
    Command::new("cp").current_dir(path).args(["-a", "one", "two"]).status().unwrap();
    let two = Server::start(path, "two", &rest.url());

    let servers = [&one, &two];
    let push = |n: usize| servers[n % 2].call(&agent, &format!("p{n}"), "push")["verdict"] == "allow";
    assert_eq!((0..8).filter(|n| push(*n)).count(), 3);

    let asked = one.call(&agent, "d1", "deploy");
    assert_eq!(asked["verdict"], "ask", "{asked}");
    let (_, questions) = two.ask("GET", "/v1/questions", &approver, &Value::Null);
    assert_eq!(questions["questions"][0]["approval"], asked["approval"], "{questions}");
    let yes = json!({ "approval": asked["approval"], "granted": true });
    assert_eq!(two.ask("POST", "/v1/answer", &approver, &yes).0, 200);
    let (status, verdict) = one.ask("POST", "/v1/collect", &agent, &json!({ "approval": asked["approval"] }));
    assert_eq!((status, verdict["verdict"].as_str()), (200, Some("allow")), "{verdict}");

    assert_eq!(two.ask("POST", "/v1/halt", &approver, &json!({ "reason": "stop" })).0, 200);
    assert_eq!(one.call(&agent, "h1", "look")["verdict"], "block");
    drop(one);
    assert_eq!(two.call(&agent, "h2", "look")["verdict"], "block");
    assert_eq!(two.ask("POST", "/v1/resume", &admin, &json!({})).0, 200);
    assert_eq!(two.call(&agent, "h3", "look")["verdict"], "allow");

    let (_, audit) = two.ask("GET", "/v1/audit", &admin, &Value::Null);
    assert!(audit["records"].as_array().unwrap().len() > 10, "{audit}");
    thread::sleep(Duration::from_millis(2_500));
    let (_, verified) = two.ask("GET", "/v1/audit/verify", &admin, &Value::Null);
    assert!(verified["whole"] == true && verified["seal"]["n"].as_u64() > Some(0), "{verified}");

    // The same by the command line.
    let lockgate = |arguments: &[&str]| {
        let program = std::env::current_exe().unwrap().with_file_name("lockgate");
        let output = Command::new(program).args(arguments).args(["--store", &rest.url()]).output().unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr),
        )
    };
    let (code, listed) = lockgate(&["audit", "--limit", "3"]);
    assert!(code == Some(0) && listed.lines().count() == 3, "{listed}");
    let (code, verified) = lockgate(&["audit", "verify"]);
    assert!(
        code == Some(0) && verified.contains("seals are signed") && verified.contains("  seal  "),
        "{verified}"
    );
    let noted = verified.split("  seal  ").nth(1).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(lockgate(&["audit", "verify", "--expect", &noted]).0, Some(0));
    let other = format!("{}:{}", noted.split(':').next().unwrap(), "0".repeat(64));
    assert_eq!(lockgate(&["audit", "verify", "--expect", &other]).0, Some(1));
}
