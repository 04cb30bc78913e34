use std::sync::Arc;

use jiff::{Zoned, civil::date, tz::TimeZone};
use lockgate_call::Call;
use serde_json::{Map, Value, json};

use super::*;
use crate::{
    rule::RuleId,
    view::Memory,
    window::{Change, Window, WindowId},
};

/// A memory that holds what a test puts into it.
#[derive(Default)]
struct Notebook {
    attributes: Map<String, Value>,
    calls: u64,
    calls_of: Vec<(&'static str, u64)>,
    taints: Vec<Arc<str>>,
    windows: Vec<(WindowId, Window)>,
}

impl Memory for Notebook {
    fn attribute(&self, name: &str) -> Option<&Value> {
        self.attributes.get(name)
    }

    fn attempts(&self) -> u64 {
        self.calls
    }

    fn calls(&self) -> u64 {
        self.calls
    }

    fn calls_of(&self, tool: &str) -> Option<u64> {
        self.calls_of.iter().find(|(name, _)| *name == tool).map(|(_, calls)| *calls)
    }

    fn taints(&self) -> &[Arc<str>] {
        &self.taints
    }

    fn is_tainted(&self) -> bool {
        !self.taints.is_empty()
    }

    fn window(&self, id: WindowId) -> Option<&Window> {
        self.windows.iter().find(|(known, _)| *known == id).map(|(_, window)| window)
    }

    fn shared_window(&self, _: WindowId) -> Option<&Window> {
        None
    }
    fn origins(&self) -> Option<&crate::provenance::Origins> {
        None
    }

    fn is_running(&self, _: &str) -> bool {
        false
    }
}

fn truth(fact: &Condition, call: &Call, memory: &Notebook) -> Truth {
    let now = call.at;
    fact.truth(&View {
        call: &call.clone().into(),
        now,
        output: None,
        around: &crate::Surroundings::default(),
        memory,
        deeds: None,
    })
}

/// Asks a test about the field `x`; `"missing"` stands for no such field.
#[track_caller]
fn check(test: &Test, rows: &[(Value, Truth)]) {
    let fact = Condition::value(Subject::Input(Field::new("x")), test.clone());
    for (value, expected) in rows {
        let mut call = Call::new("1", "t");
        if value != "missing" {
            call = call.with("x", value.clone());
        }
        assert_eq!(truth(&fact, &call, &Notebook::default()), *expected, "{fact}: {value}");
    }
}

use Truth::{Doubt, No, Yes};

#[test]
fn texts_are_compared_as_python_would_write_them() {
    check(
        &Test::text(Operator::Equals(json!("5"))),
        &[(json!(5), Yes), (json!("5"), Yes), (json!(5.0), No), (json!(null), No), (json!("missing"), No)],
    );
    check(&Test::text(Operator::Equals(json!("True"))), &[(json!(true), Yes), (json!("true"), No)]);
    check(
        &Test::text(Operator::Contains(vec!["'force': True".into()])),
        &[(json!({"force": true}), Yes), (json!({"force": 1}), No)],
    );
    check(&Test::text(Operator::StartsWith("rm".into())), &[(json!("rm x"), Yes), (json!("xrm"), No)]);
    check(&Test::text(Operator::EndsWith("rm".into())), &[(json!("rm x"), No), (json!("xrm"), Yes)]);
}

#[test]
fn a_field_that_is_missing_or_null_passes_nothing_but_that_it_is() {
    let absent = [(json!("missing"), No), (json!(null), No)];
    for test in [
        Test::text(Operator::Contains(vec!["a".into()])).negated(),
        Test::text(Operator::OneOf(vec![json!("a")])).negated(),
        Test::text(Operator::Contains(vec![String::new()])),
        Test::text(Operator::Below(1.into())),
        Test::text(Operator::Exists(true)),
    ] {
        check(&test, &absent);
    }
    check(
        &Test::text(Operator::Exists(false)),
        &[(json!("missing"), Yes), (json!(null), Yes), (json!(""), No)],
    );
}

#[test]
fn numbers_are_compared_as_numbers_and_anything_else_is_a_doubt() {
    let rows = [
        (json!(101), Yes),
        (json!(100), No),
        (json!(1001), Yes),
        (json!(100.5), Yes),
        (json!("101"), Yes),
        (json!(" 7 "), No),
        (json!("many"), Doubt),
        (json!("0x1000"), Doubt),
        (json!([101]), Doubt),
        (json!(true), Doubt),
    ];
    check(&Test::text(Operator::Above(100.into())), &rows);
    check(&Test::text(Operator::AtLeast(100.into())), &[(json!(100), Yes), (json!(99), No)]);
    check(
        &Test::text(Operator::Below(10.into())),
        &[(json!(9), Yes), (json!(10), No), (json!("lots"), Doubt)],
    );
    check(&Test::text(Operator::AtMost(10.into())), &[(json!(10), Yes), (json!(11), No)]);
    check(
        &Test::text(Operator::Equals(json!(5))),
        &[(json!(5), Yes), (json!(5.0), Yes), (json!("5"), Yes), (json!("x"), No)],
    );
}

#[test]
fn a_text_that_spells_a_word_may_be_taken_for_it() {
    check(
        &Test::text(Operator::Equals(json!(true))),
        &[(json!(true), Yes), (json!("TRUE"), Doubt), (json!("no"), No), (json!(1), No)],
    );
    check(
        &Test::text(Operator::OneOf(vec![json!(true)])).negated(),
        &[(json!("true"), Doubt), (json!(false), Yes)],
    );
}

#[test]
fn a_dotted_field_is_a_key_of_that_name_and_a_way_into_nested_ones() {
    let fact = |field: &str| {
        Condition::value(
            Subject::Input(Field::new(field)),
            Test::text(Operator::Contains(vec!["/etc".into()])),
        )
    };
    let rows = [
        ("a.b", json!({"a": {"b": "/etc"}}), Yes),
        ("a.b", json!({"a.b": "/etc"}), Yes),
        ("a.b", json!({"a.b": "/tmp", "a": {"b": "/etc"}}), Doubt),
        ("a.b", json!({"a.b": "/etc", "a": "text"}), Yes),
        ("a.b", json!({"a": {"c": "/etc"}}), No),
        ("a.b", json!({"a": "text"}), Doubt),
        ("a[*].b", json!({"a": [{"b": "/etc"}, {"b": "/etc/x"}]}), Yes),
        ("a[*].b", json!({"a": [{"b": "/tmp"}, {"b": "/etc"}]}), Doubt),
        ("a[*].b", json!({"a": [{"b": "/tmp"}]}), No),
        ("a[*].b", json!({"a": []}), No),
    ];
    for (field, input, expected) in rows {
        let call = Call { input: input.as_object().unwrap().clone(), ..Call::new("1", "t") };
        assert_eq!(truth(&fact(field), &call, &Notebook::default()), expected, "{field}: {input}");
    }
}

#[test]
fn a_counter_that_does_not_exist_yet_passes_nothing() {
    let fact = |of: &Attribute, test: Test| Condition::value(Subject::Session(of.clone()), test);
    let call = Call::new("1", "t");
    let exec = Attribute::CallsOf(Arc::from("exec"));
    let fresh = Notebook::default();
    let used = Notebook { calls: 3, calls_of: vec![("exec", 2)], ..Notebook::default() };
    for test in [
        Test::text(Operator::Below(2.into())),
        Test::text(Operator::Equals(json!(0))),
        Test::text(Operator::AtLeast(0.into())),
    ] {
        assert_eq!(truth(&fact(&exec, test), &call, &fresh), No);
    }
    assert_eq!(truth(&fact(&Attribute::Calls, Test::text(Operator::Below(1.into()))), &call, &fresh), Yes);
    assert_eq!(truth(&fact(&exec, Test::text(Operator::AtLeast(2.into()))), &call, &used), Yes);
    assert_eq!(truth(&fact(&Attribute::Calls, Test::text(Operator::Above(3.into()))), &call, &used), No);
}

#[test]
fn the_kinds_seen_are_a_set() {
    let memory = Notebook { taints: vec![Arc::from("EMAIL"), Arc::from("SSN")], ..Notebook::default() };
    let rows = [
        (Test::text(Operator::Equals(json!(["SSN", "EMAIL"]))), Yes),
        (Test::text(Operator::Equals(json!(["EMAIL"]))), No),
        (Test::text(Operator::Equals(json!(["EMAIL", "SSN", "PHONE"]))), No),
        (Test::text(Operator::Contains(vec!["SSN".into()])), Yes),
        (Test::text(Operator::Contains(vec!["SS".into()])), No),
        (Test::text(Operator::Exists(true)), Yes),
    ];
    for (test, expected) in rows {
        let fact = Condition::value(Subject::Session(Attribute::Taints), test);
        assert_eq!(truth(&fact, &Call::new("1", "t"), &memory), expected, "{fact}");
    }
}

/// The moment of a day and a time in March 2026, of which the 4th is a Wednesday.
fn at(day: i8, hour: i8, minute: i8) -> Call {
    let moment: Zoned = date(2026, 3, day).at(hour, minute, 59, 0).to_zoned(TimeZone::UTC).unwrap();
    Call::new("1", "deploy").at(Time(u64::try_from(moment.timestamp().as_millisecond()).unwrap()))
}

fn schedule(time: Option<(bool, u16, u16)>, days: Option<(bool, [u8; 7])>, zone: Option<&str>) -> Condition {
    Condition::Schedule(Schedule {
        time: time.map(|(is_negated, from_minute, to_minute)| TimeOfDay {
            is_negated,
            from_minute,
            to_minute,
        }),
        days: days.map(|(is_negated, days)| DayOfWeek { is_negated, days: days.map(|day| day == 1) }),
        zone: zone.map(|zone| TimeZone::get(zone).unwrap()),
    })
}

const OFFICE_DAYS: [u8; 7] = [1, 1, 1, 1, 1, 0, 0];
const OFFICE_HOURS: (u16, u16) = (9 * 60, 18 * 60);

#[test]
fn two_negated_conditions_mean_outside_of_one_schedule() {
    let (from, to) = OFFICE_HOURS;
    let after_hours = schedule(Some((true, from, to)), Some((true, OFFICE_DAYS)), None);
    let rows = [((4, 12, 0), No), ((4, 22, 0), Yes), ((7, 12, 0), Yes), ((7, 22, 0), Yes), ((4, 18, 0), No)];
    for ((day, hour, minute), expected) in rows {
        let call = at(day, hour, minute);
        assert_eq!(truth(&after_hours, &call, &Notebook::default()), expected, "{day} {hour}:{minute}");
    }
    // One negated, one not: both must hold.
    let office_nights = schedule(Some((true, from, to)), Some((false, OFFICE_DAYS)), None);
    for ((day, hour), expected) in [((4, 12), No), ((4, 22), Yes), ((7, 22), No)] {
        assert_eq!(truth(&office_nights, &at(day, hour, 0), &Notebook::default()), expected, "{day} {hour}");
    }
}

#[test]
fn a_time_range_includes_both_minutes_and_may_pass_midnight() {
    let night = schedule(Some((false, 22 * 60, 6 * 60)), None, None);
    let rows = [((21, 59), No), ((22, 0), Yes), ((0, 0), Yes), ((6, 0), Yes), ((6, 1), No), ((12, 0), No)];
    for ((hour, minute), expected) in rows {
        assert_eq!(truth(&night, &at(4, hour, minute), &Notebook::default()), expected, "{hour}:{minute}");
    }
}

#[test]
fn days_and_times_are_those_of_the_zone() {
    let weekend = |zone| schedule(None, Some((false, [0, 0, 0, 0, 0, 1, 1])), zone);
    let friday_afternoon = at(6, 16, 0);
    assert_eq!(truth(&weekend(None), &friday_afternoon, &Notebook::default()), No);
    assert_eq!(truth(&weekend(Some("Asia/Tokyo")), &friday_afternoon, &Notebook::default()), Yes);
}

#[test]
fn a_window_holds_while_enough_calls_are_young_enough() {
    let id = WindowId { rule: RuleId::default(), step: 0 };
    let mut window = Window::default();
    for time in [10, 20, 30] {
        window.change(Time(time), &Change::Push { keep: 2 });
    }
    assert_eq!(window.times, [Time(20), Time(30)], "no more is kept than is asked for");
    let memory = Notebook { windows: vec![(id, window)], ..Notebook::default() };
    let called = |is_end_included| Condition::Called {
        window: id,
        count: 2,
        within_ms: 100,
        is_end_included,
        is_shared: false,
    };
    let rows = [(119, Yes, Yes), (120, Yes, No), (121, No, No)];
    for (now, with_end, without_end) in rows {
        let call = Call::new("1", "t").at(Time(now));
        assert_eq!(truth(&called(true), &call, &memory), with_end, "{now}");
        assert_eq!(truth(&called(false), &call, &memory), without_end, "{now}");
    }
    // Clocks of tests and replays start at 0.
    let mut window = Window::default();
    (0..2).for_each(|_| window.change(Time(0), &Change::Push { keep: 2 }));
    let memory = Notebook { windows: vec![(id, window)], ..Notebook::default() };
    let rows = [(0, Yes, Yes), (99, Yes, Yes), (100, Yes, No), (101, No, No)];
    for (now, with_end, without_end) in rows {
        let call = Call::new("1", "t").at(Time(now));
        assert_eq!(truth(&called(true), &call, &memory), with_end, "{now}");
        assert_eq!(truth(&called(false), &call, &memory), without_end, "{now}");
    }
}

#[test]
fn a_sender_is_a_text_or_has_a_name() {
    let named = Condition::value(
        Subject::Sender(SenderField::Name),
        Test::text(Operator::Matches(vec![Pattern::word("bot")])),
    );
    let team = Condition::value(
        Subject::Sender(SenderField::Key("team".into())),
        Test::text(Operator::Matches(vec![Pattern::word("red")])),
    );
    let rows = [
        (Some(json!("bot")), Yes, No),
        (Some(json!({"name": "bot", "team": "red"})), Yes, Yes),
        (Some(json!({"team": "blue"})), No, No),
        (Some(json!("")), No, No),
        (Some(json!(["bot"])), No, No),
        (None, No, No),
    ];
    for (sender, by_name, by_team) in rows {
        let mut call = Call::new("1", "t");
        call.about.sender = sender.clone();
        assert_eq!(truth(&named, &call, &Notebook::default()), by_name, "{sender:?}");
        assert_eq!(truth(&team, &call, &Notebook::default()), by_team, "{sender:?}");
    }
}

#[test]
fn what_the_host_did_not_say_is_not_what_was_asked_for() {
    let is = Condition::value(
        Subject::Context("role".into()),
        Test::text(Operator::OneOf(vec![json!("admin"), json!("5")])),
    );
    let is_not = Condition::value(
        Subject::Context("role".into()),
        Test::text(Operator::OneOf(vec![json!("admin")])).negated(),
    );
    let rows = [
        (json!({"role": "admin"}), Yes, No),
        (json!({"role": 5}), Yes, Yes),
        (json!({"role": 5.0}), No, Yes),
        (json!({"role": null}), No, Doubt),
        (json!({}), No, Doubt),
        (json!("role"), No, Doubt),
    ];
    for (context, positive, negative) in rows {
        let mut call = Call::new("1", "t");
        call.about.context = Some(context.clone());
        assert_eq!(truth(&is, &call, &Notebook::default()), positive, "{context}");
        assert_eq!(truth(&is_not, &call, &Notebook::default()), negative, "{context}");
    }
}

#[test]
fn an_input_over_a_bound_is_refused_one_past_it() {
    let sanitizer = AttackPatterns {
        detectors: Vec::new(),
        blocked_patterns: vec![Pattern::word("DROP")],
        string_chars_max: Some(3),
        keys_max: Some(2),
        depth_max: Some(2),
    };
    let rows = [
        (json!({"a": "äöü", "b": [1]}), None),
        (json!({"a": "äöüß"}), Some("a text is too long (4, and at most 3 are allowed)")),
        (json!({"abcd": 1}), Some("a text is too long (4, and at most 3 are allowed)")),
        (json!({"a": 1, "b": 1, "c": 1}), Some("there are too many keys (3, and at most 2 are allowed)")),
        (json!({"a": [[1]]}), Some("values are nested too deeply (3, and at most 2 are allowed)")),
    ];
    for (input, expected) in rows {
        let refused = sanitizer.refuses(input.as_object().unwrap());
        assert_eq!(refused.as_deref(), expected, "{input}");
    }
    let only_words = AttackPatterns { string_chars_max: None, ..sanitizer };
    let refused = only_words.refuses(json!({"a": ["a DROP b"]}).as_object().unwrap());
    assert_eq!(refused.as_deref(), Some("something like `DROP`"));
}
