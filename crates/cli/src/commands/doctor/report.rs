//! The doctor's findings as people read them: a table of hooks, and a line for each check that has something to say.

use lockgate::engine::call::visible;
use lockgate_agents::one_line;

use super::check::{Came, Findings, ROUNDS, Row};
use crate::{
    console::{CommandError, Console, bold, decided, doubtful, wrong},
    report::painted_note,
};

pub(super) fn write(console: &mut Console<'_>, findings: &Findings) -> Result<(), CommandError> {
    for check in &findings.installation {
        write_check(console, check.check, check.result, &check.told)?;
    }
    let columns = ["hook", "pass", "guard", "bad event", "bad policy", "bad database", "no state"];
    let name = |row: &Row| match row.scope {
        "user" => format!("{} (user)", row.agent),
        _ => row.agent.to_owned(),
    };
    let width = findings.agents.iter().map(|row| name(row).len()).max().unwrap_or_default();
    let titles: Vec<String> =
        columns.iter().map(|title| format!("{title:<w$}", w = title.len().max(5))).collect();
    writeln!(console.out, "\n{}", bold(format!("{:width$}  {}", "", titles.join("  ")).trim_end()))?;
    for row in &findings.agents {
        write!(console.out, "{:width$}", name(row))?;
        for column in columns {
            let came = row.checks.iter().find(|check| check.check == column).map(|check| check.result);
            let w = if column == "no state" { 0 } else { column.len().max(5) };
            match came {
                Some(Came::Ok) => {
                    write!(console.out, "  {:<w$}", decided(lockgate::engine::Decision::Allow, "ok"))?
                }
                Some(Came::Wrong) => write!(console.out, "  {:<w$}", wrong("wrong"))?,
                Some(Came::Unknown | Came::Note) | None => write!(console.out, "  {:<w$}", doubtful("?"))?,
            }
        }
        writeln!(console.out)?;
    }
    writeln!(console.out)?;
    for row in &findings.agents {
        let told = row.checks.iter().filter(|check| !check.told.is_empty());
        for check in told {
            write_check(
                console,
                check.check,
                check.result,
                &format!("{}, {}: {}", name(row), check.check, check.told),
            )?;
        }
        for text in &row.notes {
            crate::report::note(console.out, "note", &format!("{}: {text}", name(row)))?;
        }
    }
    if let Some(ms) = findings.hook_ms {
        crate::report::note(
            console.out,
            "time",
            &format!("one hook process takes {ms} ms (median of {ROUNDS})"),
        )?;
    }
    Ok(())
}

fn write_check(console: &mut Console<'_>, word: &str, came: Came, told: &str) -> Result<(), CommandError> {
    let told = visible(&one_line(told));
    match came {
        Came::Ok => crate::report::note(console.out, word, &told)?,
        Came::Wrong => painted_note(console.out, &wrong("wrong"), "wrong", &told)?,
        Came::Unknown => painted_note(console.out, &doubtful("?"), "?", &told)?,
        Came::Note => painted_note(console.out, &doubtful(word), word, &told)?,
    }
    Ok(())
}
