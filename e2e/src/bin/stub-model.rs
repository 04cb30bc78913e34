//! A scripted model on loopback, to try an agent by hand: `./test hosts` starts the same one for every scenario.

use std::{
    env, fs,
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use lockgate_e2e::{Script, StubModel};

const HELP: &str = "\
Play a model that follows a script

stub-model PORT SCRIPT LOG

SCRIPT is a JSON list of steps, {\"tool\": \"Bash\", \"input\": {\"command\": \"ls\"}} or {\"text\": \"done\"}; the next one
is the number of tool results in the conversation. Every request is written to LOG, one JSON object a line. PORT 0
takes a free one; the first line on stdout tells which.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [port, script, log] = arguments.as_slice() else {
        let _ = io::stderr().write_all(HELP.as_bytes());
        return ExitCode::from(2);
    };
    match run(port, Path::new(script), Path::new(log)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(port: &str, script: &Path, log: &Path) -> Result<(), String> {
    let port = port.parse().map_err(|_| format!("`{port}` is no port"))?;
    let in_script = |error: String| format!("{}: {error}", script.display());
    let text = fs::read_to_string(script).map_err(|error| in_script(error.to_string()))?;
    let steps: Script = serde_json::from_str(&text).map_err(|error| in_script(error.to_string()))?;
    let model = StubModel::start(port, steps, log).map_err(|error| error.to_string())?;
    writeln!(io::stdout(), "http://127.0.0.1:{}", model.port()).map_err(|error| error.to_string())?;
    model.wait();
    Ok(())
}
