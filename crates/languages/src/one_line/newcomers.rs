//! What newcomers write, and what is proposed to them.

use lockgate_policy::{Severity, Source};

/// A line that cannot be meant, and the closest that can; `AND` stands between two lines.
const ROWS: &[(&str, &str)] = &[
    ("limit search to five per session", "limit search to 5 per session"),
    ("limit search 5 per session", "limit search to 5 per session"),
    ("limit search to 5 a day", "limit search to 5 per 1 day"),
    ("limit 5 search per session", "limit search to 5 per session"),
    ("limit search to 5 times per session", "limit search to 5 per session"),
    ("limit search to 5 calls per 10 minutes", "limit search to 5 per 10 minutes"),
    ("limit sum pay.amount to 500 per 1 day", "limit sum of pay.amount to 500 per 1 day"),
    ("limit different id read_record to 5 per 1 hour", "limit different id of read_record to 5 per 1 hour"),
    ("limit search to 5 per 10 min", "limit search to 5 per 10 minutes"),
    ("limit search to 5 per 10 minutes globally", "limit search to 5 per 10 minutes over all sessions"),
    ("require backup before delete for every path", "require backup before delete for each path"),
    ("require backup before delete per path", "require backup before delete for each path"),
    ("require backup before delete with the same path", "require backup before delete for each path"),
    ("require backup before delete within an hour", "require backup before delete within 1 hour"),
    ("require backup before delete within 1 h", "require backup before delete within 1 hours"),
    (
        "require human-approval before deploy if env is prod",
        "require human-approval before deploy when env is prod",
    ),
    ("require user says delete before delete_file", "require user to say delete before delete_file"),
    ("require the user to say delete before delete_file", "require user to say delete before delete_file"),
    ("block bash: rm", "block bash running rm"),
    ("block rm -rf", "block any shell running rm -rf"),
    ("block bash run rm", "block bash running rm"),
    ("block bash with rm", "block bash running rm"),
    ("block pay if amount is over 5", "block pay when amount is over 5"),
    ("block pay when amount > 500", "block pay when amount is over 500"),
    ("block pay when amount over 500", "block pay when amount is over 500"),
    ("block pay when amount is more than 500", "block pay when amount is over 500"),
    ("block pay when amount exceeds 500", "block pay when amount is over 500"),
    ("block pay when amount is over $500", "block pay when amount is over 500"),
    ("block pay when amount is over 5k", "block pay when amount is over 5000"),
    ("block pay when country is not in DE, FR", "block pay when country is not DE, FR"),
    ("block pay when country in DE, FR", "block pay when country is DE, FR"),
    (
        "block pay when country is DE or amount is over 5",
        "block pay when country is DE AND block pay when amount is over 5",
    ),
    ("block pay when country == DE", "block pay when country is DE"),
    ("block pay when country equals DE", "block pay when country is DE"),
    ("block pay when not country is DE", "block pay when country is not DE"),
    ("block pay unless caller role is admin", "block pay unless caller.role is admin"),
    ("block pay unless admin", "block pay unless caller.role is admin"),
    (
        "block pay when amount is between 5 and 10",
        "block pay when amount is at least 5 and amount is at most 10",
    ),
    ("block write outside of ./src", "block write outside ./src"),
    ("block write in ./src", "block write inside ./src"),
    ("block post after read_secret in 5 minutes", "block post after read_secret within 5 minutes"),
    ("block post after read_secret within 5m", "block post after read_secret within 5 minutes"),
    ("block post after 3 times read", "block post after 3 read"),
    ("block post after read failed twice", "block post after 2 read failed"),
    ("block post before login", "require login before post"),
    ("block post until login", "require login before post"),
    ("block post without login", "require login before post"),
    ("block deploy on weekends", "block deploy during Sat, Sun"),
    ("block deploy outside Mon-Fri 9am-5pm", "block deploy outside Mon-Fri 09:00-17:00"),
    ("block deploy because not today", r#"block deploy because "not today""#),
    ("block deploy else ask me", "block deploy else ask"),
    ("otherwise deny", "otherwise block"),
    ("ask before deploy", "ask about deploy"),
    ("ask deploy", "ask about deploy"),
    ("ask human about deploy", "ask about deploy"),
    ("deny deploy", "block deploy"),
    ("forbid deploy", "block deploy"),
    ("never deploy", "block deploy"),
    ("pay.amount must be < 500", "pay.amount must be under 500"),
    ("pay.amount must be less than 500", "pay.amount must be under 500"),
    ("pay.amount must not exceed 500", "pay.amount must be at most 500"),
    (
        "pay.amount must be between 1 and 500",
        "pay.amount must be at least 1 AND pay.amount must be at most 500",
    ),
    ("pay.country must be one of DE, FR", "pay.country must be DE, FR"),
    ("pay.country must be in DE, FR", "pay.country must be DE, FR"),
    ("pay.country should be DE", "pay.country must be DE"),
    ("pay.country must equal DE", "pay.country must be DE"),
    ("send.to must come from the user", "send.to must come from user"),
    ("send.to must come only from user", "send.to must come from user"),
    ("send.to must be from user", "send.to must come from user"),
    ("source known get_contacts.email", "source known = get_contacts.email"),
    ("tools net curl, wget", "tools net = curl, wget"),
    ("tools net: curl, wget", "tools net = curl, wget"),
    ("hours office = 9-17", "hours office = 09:00-17:00"),
    ("hours office Mon-Fri 09:00-17:00", "hours office = Mon-Fri 09:00-17:00"),
    ("keep bash in ./", "keep bash inside ./"),
    ("keep bash within ./src", "keep bash inside ./src"),
    ("keep bash to git, cargo", "keep bash to programs git, cargo"),
    ("mask results of crm", "mask sensitive data in results of crm"),
    ("hide results of crm", "mask sensitive data in results of crm"),
    ("withhold crm", "withhold results of crm"),
    ("any deletion", "block any deletion"),
    ("block any deletion in ./src", "block any deletion inside ./src"),
    ("block any upload except api.example.com", "block any upload except to api.example.com"),
    ("send is upload", "send is an upload"),
    ("send is upload, message", "send is an upload, message"),
    ("claim deploy requires test", "claim never deploy before test"),
    ("claim at most three deploy", "claim at most 3 deploy"),
    ("example: deploy -> deny", "example: deploy -> block"),
    ("example: backup succeeds, delete -> allow", "example: backup ok, delete -> allow"),
    ("example: pay {amount: 5} -> allow", r#"example: pay {"amount": 5} -> allow"#),
    ("example: user says hello, pay -> allow", r#"example: user says "hello", pay -> allow"#),
    ("map rm as delete", "map any shell running rm as delete"),
    ("require a before b before c", "require a before b AND require b before c"),
    ("block deploy outside 9-17", "block deploy outside 09:00-17:00"),
    ("keep bash away from ~/.ssh", "keep bash out of ~/.ssh"),
    ("require backup befor delete when x is 1", "require backup before delete when x is 1"),
    ("mask emial in results of crm", "mask email in results of crm"),
    ("observe deny deploy", "observe block deploy"),
    ("block pay whne x is 1", "block pay when x is 1"),
];

/// Lines for which there is no other line, and what they are told instead.
const TOLD: &[(&str, &str)] = &[
    ("otherwise allow", "leave the line out"),
    ("pay.to must not come from web", "must come from user"),
    ("amount must be at most 500", "`pay.amount must be at most 500`"),
    ("timezone Berlin", "`Europe/Berlin`"),
    ("block any upload to https://x.example/a", "`x.example`"),
    ("limit sum of pay to 500 per 1 day", "`pay.amount`"),
    ("block any uplaod", "`any upload`"),
    ("block any delete", "`any deletion`"),
    ("send is an uplaod", "`upload`"),
    ("require human approval before deploy", "`require human-approval before deploy`"),
    ("block *", "default_verdict: block"),
    ("block Bash(rm *)", "map any shell running rm as rm"),
    ("Block deploy", "`block deploy`"),
    ("mode shadow", "`mode observe`"),
    ("include a.rules now", "one file a line"),
    ("observe", "`observe block deploy`"),
    ("map bash.command rm delete", "`map bash.command rm as delete`"),
    ("claim never deploy without test", "`claim never deploy before test`"),
    ("require backup before delete for each", "field"),
    ("block bash running", "the program"),
];

#[test]
fn a_line_that_cannot_be_meant_is_told_the_closest_that_can() {
    for (line, meant) in ROWS {
        let lines: Vec<String> = meant.split(" AND ").map(|line| format!("`{line}`")).collect();
        let told = remedies(line);
        let is_told = |remedy: &String| lines.iter().all(|line| remedy.contains(line));
        assert!(told.iter().any(is_told), "{line}: {told:?}");
        for meant in meant.split(" AND ") {
            assert_eq!(remedies(meant), [""; 0], "{line}: {meant}");
        }
    }
}

#[test]
fn a_line_that_no_other_says_is_told_why() {
    for (line, wanted) in TOLD {
        let told = remedies(line);
        assert!(told.iter().any(|remedy| remedy.contains(wanted)), "{line}: {told:?}");
    }
}

/// The remedies of what is wrong with a line.
fn remedies(line: &str) -> Vec<String> {
    let (_, found) = super::parse(&Source::new("a.rules", line));
    let mistakes = found.into_iter().filter(|it| it.severity == Severity::Error);
    mistakes.map(|it| it.remedy.unwrap_or_default()).collect()
}
