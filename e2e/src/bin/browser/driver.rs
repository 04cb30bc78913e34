//! A real Chromium, moved by chromedriver.
//!
//! WebDriver is JSON over HTTP on this machine, so a socket is enough for it: a library for it would bring a hundred others along.

use std::{
    fs,
    io::{BufRead, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// How long something may take to appear, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(10);
/// The name under which WebDriver gives out elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Where the programs are.
pub(crate) struct Programs {
    pub(crate) browser: PathBuf,
    pub(crate) driver: PathBuf,
}

impl Programs {
    /// Looks for them where systems put them.
    pub(crate) fn find() -> Option<Self> {
        let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
        let find = |names: &[&str]| {
            let places = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
            places.into_iter().find(|path| path.is_file())
        };
        let browser = find(&["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])?;
        Some(Self { browser, driver: find(&["chromedriver"])? })
    }
}

/// The driver. It ends with this.
pub(crate) struct Driver {
    process: Child,
    address: SocketAddr,
    browser: PathBuf,
}

/// How a browser is opened.
#[derive(Clone, Copy, Default)]
pub(crate) struct Setting {
    /// Whether pages may not run scripts.
    pub(crate) is_without_script: bool,
}

impl Driver {
    pub(crate) fn start(programs: &Programs) -> Result<Self, String> {
        let port = free_port()?;
        let process = Command::new(&programs.driver)
            .arg(format!("--port={port}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", programs.driver.display()))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let driver = Self { process, address, browser: programs.browser.clone() };
        wait_until("the driver answers", || Ok(request(address, "GET", "/status", &[], "").is_ok()))?;
        Ok(driver)
    }

    /// Opens a browser with a profile of its own.
    pub(crate) fn open(&self, setting: Setting) -> Result<Browser, String> {
        let prefs = match setting.is_without_script {
            true => json!({ "profile.managed_default_content_settings.javascript": 2 }),
            false => json!({}),
        };
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": { "browser": "ALL" },
            "goog:chromeOptions": {
                "binary": self.browser,
                // As root, Chromium starts only without its sandbox. All pages here are ours.
                "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900",
                         "--hide-scrollbars", "--lang=en"],
                "prefs": prefs,
            },
        } } });
        let made = command(self.address, "POST", "/session", &wanted)?;
        let session = made.get("sessionId").and_then(Value::as_str).ok_or("the driver opened no browser")?;
        Ok(Browser { address: self.address, session: session.to_owned() })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It may have ended by itself; waiting is due in any case.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// One browser. It is closed when this is dropped.
pub(crate) struct Browser {
    address: SocketAddr,
    session: String,
}

impl Browser {
    fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        command(self.address, method, &format!("/session/{}{path}", self.session), body)
    }

    pub(crate) fn go(&self, url: &str) -> Result<(), String> {
        self.ask("POST", "/url", &json!({ "url": url })).map(|_| ())
    }

    pub(crate) fn url(&self) -> Result<String, String> {
        Ok(self.ask("GET", "/url", &Value::Null)?.as_str().unwrap_or_default().to_owned())
    }

    /// Runs a function body in the page.
    pub(crate) fn run(&self, script: &str) -> Result<Value, String> {
        self.ask("POST", "/execute/sync", &json!({ "script": script, "args": [] }))
    }

    fn element(&self, css: &str) -> Result<String, String> {
        let found = self.ask("POST", "/element", &json!({ "using": "css selector", "value": css }))?;
        let id = found.get(ELEMENT).and_then(Value::as_str);
        Ok(id.ok_or_else(|| format!("`{css}` is not an element"))?.to_owned())
    }

    pub(crate) fn click(&self, css: &str) -> Result<(), String> {
        let element = self.element(css)?;
        self.ask("POST", &format!("/element/{element}/click"), &json!({})).map(|_| ())
    }

    pub(crate) fn fill(&self, css: &str, text: &str) -> Result<(), String> {
        let element = self.element(css)?;
        self.ask("POST", &format!("/element/{element}/clear"), &json!({}))?;
        self.ask("POST", &format!("/element/{element}/value"), &json!({ "text": text })).map(|_| ())
    }

    /// What an element shows, without any script of the page.
    pub(crate) fn text(&self, css: &str) -> Result<String, String> {
        let element = self.element(css)?;
        let text = self.ask("GET", &format!("/element/{element}/text"), &Value::Null)?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    /// Waits until an element shows a text.
    pub(crate) fn wait_for(&self, css: &str, text: &str) -> Result<(), String> {
        let shown = wait_until(text, || Ok(self.text(css).is_ok_and(|shown| shown.contains(text))));
        shown.map_err(|_| {
            let shown = self.text(css).unwrap_or_else(|error| error);
            format!("`{css}` does not show `{text}` but `{shown}`")
        })
    }

    /// Presses keys, one after another, wherever the focus is.
    pub(crate) fn press(&self, keys: &str) -> Result<(), String> {
        let steps: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
            })
            .collect();
        let actions = json!({ "actions": [{ "type": "key", "id": "keys", "actions": steps }] });
        self.ask("POST", "/actions", &actions).map(|_| ())
    }

    /// Opens another tab and goes there.
    pub(crate) fn new_tab(&self) -> Result<String, String> {
        let made = self.ask("POST", "/window/new", &json!({ "type": "tab" }))?;
        let handle = made.get("handle").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.switch_to(&handle)?;
        Ok(handle)
    }

    pub(crate) fn tab(&self) -> Result<String, String> {
        Ok(self.ask("GET", "/window", &Value::Null)?.as_str().unwrap_or_default().to_owned())
    }

    pub(crate) fn switch_to(&self, handle: &str) -> Result<(), String> {
        self.ask("POST", "/window", &json!({ "handle": handle })).map(|_| ())
    }

    pub(crate) fn close_tab(&self) -> Result<(), String> {
        self.ask("DELETE", "/window", &Value::Null).map(|_| ())
    }

    /// Asks the browser itself.
    pub(crate) fn devtools(&self, name: &str, parameters: &Value) -> Result<Value, String> {
        self.ask("POST", "/goog/cdp/execute", &json!({ "cmd": name, "params": parameters }))
    }

    pub(crate) fn prefer(&self, scheme: &str) -> Result<(), String> {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", &features).map(|_| ())
    }

    pub(crate) fn be_a_phone(&self) -> Result<(), String> {
        let size = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
        self.devtools("Emulation.setDeviceMetricsOverride", &size).map(|_| ())
    }

    /// Keeps a picture of the whole page for review.
    pub(crate) fn picture(&self, file: &Path) -> Result<(), String> {
        let whole = json!({ "format": "png", "captureBeyondViewport": true });
        let made = self.devtools("Page.captureScreenshot", &whole)?;
        let data = made.get("data").and_then(Value::as_str).ok_or("there is no picture")?;
        let bytes = STANDARD.decode(data).map_err(|error| error.to_string())?;
        fs::write(file, bytes).map_err(|error| error.to_string())
    }

    /// What the browser has complained about since it was last asked.
    pub(crate) fn complaints(&self) -> Result<Vec<String>, String> {
        let told = self.ask("POST", "/se/log", &json!({ "type": "browser" }))?;
        let told = told.as_array().cloned().unwrap_or_default();
        Ok(told.iter().filter_map(|it| Some(it.get("message")?.as_str()?.to_owned())).collect())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // What is left of it ends with the driver.
        let _ = self.ask("DELETE", "", &Value::Null);
    }
}

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> Result<bool, String>) -> Result<(), String> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if is_so()? {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(40));
    }
    Err(format!("waited too long: {what}"))
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    Ok(listener.local_addr().map_err(|error| error.to_string())?.port())
}

fn command(address: SocketAddr, method: &str, path: &str, body: &Value) -> Result<Value, String> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let headers = [("content-type", "application/json; charset=utf-8")];
    let (status, text) = request(address, method, path, &headers, &body)?;
    let answer: Value =
        serde_json::from_str(&text).map_err(|error| format!("{method} {path}: {error}: {text}"))?;
    let value = answer.get("value").cloned().unwrap_or_default();
    match status {
        200 => Ok(value),
        _ => Err(format!("{path}: {}", value.get("message").and_then(Value::as_str).unwrap_or_default())),
    }
}

/// One request over a connection of its own: the status and the body.
pub(crate) fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Result<(u16, String), String> {
    let said = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(address).map_err(said)?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).map_err(said)?;
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(head.as_bytes()).map_err(said)?;
    let (head, body) = read_answer(&mut BufReader::new(stream)).map_err(said)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or("no status")?;
    Ok((status, body))
}

/// The head and the body of an answer. The driver says how long it is, and does not close the connection.
fn read_answer(reader: &mut impl BufRead) -> std::io::Result<(String, String)> {
    let (mut head, mut length) = (String::new(), None);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        let field = line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        length = length.or(field.and_then(|(_, value)| value.trim().parse::<u64>().ok()));
        head.push_str(&line);
    }
    let mut body = Vec::new();
    match length {
        Some(length) => reader.take(length).read_to_end(&mut body)?,
        None => reader.read_to_end(&mut body)?,
    };
    Ok((head, String::from_utf8_lossy(&body).into_owned()))
}
