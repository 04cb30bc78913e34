//! What figures were measured on, in a line that everybody may read: no names of hosts, folders or people.

use std::{fs, process::Command};

use super::{Question, line::Head, pin::Pinned};

/// The conditions of a run that starts now.
pub(crate) fn head(question: Question, pinned: &Pinned, command: String) -> Head {
    Head {
        bench: question.name().to_owned(),
        date: told_by("date", &["-u", "+%F"]),
        machine: machine(),
        rustc: told_by("rustc", &["--version"]),
        pinned: pinned.to_string(),
        command,
    }
}

fn machine() -> String {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    described(&processors, kernel.trim())
}

fn described(processors: &str, kernel: &str) -> String {
    let fields = || processors.lines().filter_map(|line| line.split_once(':'));
    let model = fields().find(|(name, _)| name.trim() == "model name").map(|(_, model)| model.trim());
    let cores = fields().filter(|(name, _)| name.trim() == "processor").count();
    let kernel = if kernel.is_empty() { std::env::consts::OS.to_owned() } else { format!("Linux {kernel}") };
    format!("{}, {cores} cores, {kernel}", model.unwrap_or("an unnamed processor"))
}

fn told_by(program: &str, words: &[&str]) -> String {
    let told = Command::new(program).args(words).output().ok().filter(|output| output.status.success());
    let told = told.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    told.unwrap_or_else(|| format!("{program} is not there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_its_processor_its_cores_and_its_kernel() {
        let two =
            "processor\t: 0\nmodel name\t: Some CPU @ 2.00GHz\n\nprocessor\t: 1\nmodel name\t: Some CPU\n";
        assert_eq!(described(two, "6.1.0"), "Some CPU @ 2.00GHz, 2 cores, Linux 6.1.0");
        let nothing = described("", "");
        assert!(nothing.starts_with("an unnamed processor, 0 cores, "), "{nothing}");
    }
}
