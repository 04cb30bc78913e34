//! Findings in the forms of other programs: SARIF for code scanning, annotations for GitHub workflows.
//!
//! [`sarif`] writes version 2.1.0 with what code scanning needs: rules, places, levels, and acceptances as suppressions.
//! [`annotation`] writes one line that a workflow shows beside the code. Sessions that show a finding are left out on
//! purpose: neither form has a place for them that people look at.

use lockgate::engine::{Diagnostic, Severity, languages::AcceptedFinding};
use serde_json::{Value, json};

/// All findings as one SARIF log.
pub(crate) fn sarif(findings: &[Diagnostic], accepted: &[AcceptedFinding]) -> Value {
    let mut codes: Vec<&str> =
        findings.iter().chain(accepted.iter().map(|it| &it.finding)).map(|it| it.code).collect();
    codes.sort_unstable();
    codes.dedup();
    let rule = |code: &&str| {
        json!({
            "id": code,
            "shortDescription": { "text": code.replace('-', " ") },
            "help": { "text": format!("`lockgate explain {code}` says what it means and what to do.") },
        })
    };
    let results = findings.iter().map(|finding| result(finding, &codes));
    let suppressed = accepted.iter().map(|AcceptedFinding { finding, reason }| {
        let mut result = result(finding, &codes);
        if let Value::Object(fields) = &mut result {
            let suppression = json!([{ "kind": "inSource", "justification": reason }]);
            fields.insert("suppressions".to_owned(), suppression);
        }
        result
    });
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "lockgate",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": codes.iter().map(rule).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results.chain(suppressed).collect::<Vec<_>>(),
        }],
    })
}

fn result(finding: &Diagnostic, codes: &[&str]) -> Value {
    let start = finding.source.place(finding.span);
    let end = finding.source.end_place(finding.span);
    json!({
        "ruleId": finding.code,
        "ruleIndex": codes.iter().position(|code| *code == finding.code),
        "level": match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        },
        "message": { "text": with_remedy(finding) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(&start.file) },
            "region": {
                "startLine": start.line,
                "startColumn": start.column,
                "endLine": end.line,
                "endColumn": end.column,
            },
        }}],
    })
}

/// A finding as a command of a GitHub workflow.
pub(crate) fn annotation(finding: &Diagnostic) -> String {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let (start, end) = (finding.source.place(finding.span), finding.source.end_place(finding.span));
    format!(
        "::{level} file={},line={},col={},endLine={},endColumn={},title={}::{}",
        property(&start.file),
        start.line,
        start.column,
        end.line,
        end.column,
        property(finding.code),
        data(&with_remedy(finding)),
    )
}

fn with_remedy(finding: &Diagnostic) -> String {
    match &finding.remedy {
        Some(remedy) => format!("{}. Try: {remedy}.", finding.message),
        None => format!("{}.", finding.message),
    }
}

/// Text that ends neither the line nor the command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A path as a URI: relative ones stay relative, to the root of whatever is scanned.
fn uri(path: &str) -> String {
    let path = path.replace('\\', "/");
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.trim_start_matches("./").bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use lockgate::engine::{Source, languages::accept};

    use super::*;

    fn found(text: &str) -> (Vec<Diagnostic>, Vec<AcceptedFinding>) {
        let sources = [Source::new("a b/ci.rules", text)];
        accept(lockgate::engine::languages::read(&sources).1, &sources)
    }

    #[test]
    fn an_annotation_is_one_line_whatever_the_finding_says() {
        let (findings, _) = found("block a\nblock a\n");
        let lines: Vec<String> = findings.iter().map(annotation).collect();
        assert_eq!(
            lines,
            [
                "::warning file=a b/ci.rules,line=2,col=1,endLine=2,endColumn=8,title=duplicate-rule::`block a` is written \
              twice. Try: leave one of them out."
            ]
        );
        assert_eq!(property("a:b,c%\n"), "a%3Ab%2Cc%25%0A");
    }

    #[test]
    fn paths_become_uris() {
        for (path, expected) in
            [("ci.rules", "ci.rules"), ("./a b/é.rules", "a%20b/%C3%A9.rules"), ("/etc/x", "file:///etc/x")]
        {
            assert_eq!(uri(path), expected);
        }
    }

    /// What the schema of SARIF 2.1.0 requires of each part that we write, with the types of the values.
    #[test]
    fn a_log_has_the_shape_of_sarif() {
        let (findings, accepted) = found(
            "block a\nblock a\nblock b\nblock b # accept duplicate-rule: known\nrequire c before c\ndeny x\n",
        );
        assert_eq!((findings.len(), accepted.len()), (3, 1), "{findings:?}");
        let log = sarif(&findings, &accepted);
        let is_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        assert_eq!(log["version"], "2.1.0");
        assert!(is_text(&log["$schema"]));
        let run = &log["runs"][0];
        assert!(is_text(&run["tool"]["driver"]["name"]));
        assert_eq!(run["columnKind"], "unicodeCodePoints");
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let ids: Vec<&str> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["duplicate-rule", "self-requirement", "unknown-keyword"]);
        for rule in rules {
            assert!(is_text(&rule["shortDescription"]["text"]) && is_text(&rule["help"]["text"]));
        }
        let results = run["results"].as_array().unwrap();
        assert_eq!(results.len(), 4);
        for result in results {
            assert!(is_text(&result["message"]["text"]));
            assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(result["ruleId"], ids[index]);
            let place = &result["locations"][0]["physicalLocation"];
            assert_eq!(place["artifactLocation"]["uri"], "a%20b/ci.rules");
            let region = &place["region"];
            let at = |key: &str| region[key].as_u64().filter(|number| *number >= 1).unwrap();
            assert!((at("startLine"), at("startColumn")) <= (at("endLine"), at("endColumn")));
        }
        let suppressed: Vec<&Value> = results.iter().filter(|it| !it["suppressions"].is_null()).collect();
        assert_eq!(suppressed.len(), 1);
        assert_eq!(suppressed[0]["suppressions"], json!([{ "kind": "inSource", "justification": "known" }]));
    }
}
