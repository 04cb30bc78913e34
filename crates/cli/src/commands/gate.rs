//! `lockgate gate`: the line protocol on stdin and stdout.

use std::io;

use lockgate::{Gate, Severity};

use crate::{
    args::GateArguments,
    console::{CommandError, Console, Ending},
    serve::{ServeOptions, serve},
};

pub(crate) fn run(arguments: &GateArguments, console: &mut Console<'_>) -> Result<Ending, CommandError> {
    if arguments.store != "memory" {
        let text =
            format!("no store answers to `{}`; try `--store memory`, the only one there is", arguments.store);
        return Err(CommandError::Said(text));
    }
    let opened = super::open(&arguments.policy.files)?;
    let warnings = opened.findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
    if warnings > 0 {
        writeln!(console.err, "warning: {warnings} in this policy; `lockgate verify` shows what and where")?;
    }
    let builder = Gate::builder(opened.policy).mode(arguments.mode.into());
    let built = super::lend_runner(builder, &arguments.exec).build();
    let gate = built.map_err(CommandError::said)?;
    let options = ServeOptions { session: arguments.session.clone(), clock: arguments.clock.into() };
    let served = serve(&gate, &options, io::stdin().lock(), &mut *console.out)?;
    Ok(if served.errors == 0 { Ending::Yes } else { Ending::CouldNotTell })
}
