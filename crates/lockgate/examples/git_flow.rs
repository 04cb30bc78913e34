//! Nothing is pushed that was not committed, and a human looks at every push.
//!
//! The net sees shell commands by the names its maps give them. Each command of a script is looked at, so a
//! push behind `&&` is still a push, and text that only mentions a commit is none.
//!
//! `cargo run -p lockgate --example git_flow`

mod show;

use lockgate::{DraftNet, DraftTransition, Gate, Module, Pattern, Policy};
use show::{call, play};

/// A gate that knows `git commit` and `git push` among the commands of `bash`.
pub(crate) fn gate() -> Result<Gate, Box<dyn std::error::Error>> {
    let commit = DraftTransition::new("commit", &["working"], &["committed"]).tools(&["git-commit"]);
    let commit_more =
        DraftTransition::new("commit-more", &["committed"], &["committed"]).tools(&["git-commit"]);
    let push = DraftTransition::new("push", &["committed"], &["working"]).tools(&["git-push"]);
    let net = DraftNet::new("git-flow")
        .place("working", 1)
        .place("committed", 0)
        .transition(commit.deferred())
        .transition(commit_more)
        .transition(push.manual());
    let commits = Pattern::regex(r"git\s+commit\b", "")?;
    let pushes = Pattern::regex(r"git\b.*\spush\b", "")?;
    let draft = Module::of_net(net)
        .map("bash", "command", commits, "git-commit")
        .map("bash", "command", pushes, "git-push");
    Ok(Gate::new(Policy::builder().net(draft).load()?))
}

/// A day's work. The human grants the first push and refuses the second.
pub(crate) fn session() -> Result<String, Box<dyn std::error::Error>> {
    let bash = |command, succeeds| call("bash", "command", command, succeeds);
    let steps = vec![
        bash("cargo test", true),
        bash("git push", true),
        bash("echo git commit", true),
        bash("cargo fmt && git push origin main", true),
        bash("git commit -m 'half done'", false),
        bash("git push", true),
        bash("git commit -m done", true),
        bash("git push", true),
        bash("git push", true),
        bash("git commit -am again", true),
        bash("git push --force", true),
    ];
    play(&gate()?, &[true, false], steps)
}

#[expect(clippy::print_stdout, reason = "an example is there to be seen")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", session()?);
    Ok(())
}
