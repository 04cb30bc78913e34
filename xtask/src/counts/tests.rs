//! What the guard, the explanation and the acceptance make of counts.

use super::*;

fn profile(total: u64, functions: &[(&str, u64)]) -> Profile {
    Profile { total, functions: functions.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect() }
}

fn cases(totals: &[(&str, u64)]) -> BTreeMap<String, Profile> {
    totals.iter().map(|(name, total)| ((*name).to_owned(), profile(*total, &[("f", *total)]))).collect()
}

fn machine() -> Machine {
    let [rustc, target, processor, libc, valgrind] =
        ["rustc 1.95.0", "x86_64", "avx2", "glibc 2.36", "valgrind-3.19.0"].map(str::to_owned);
    Machine { rustc, target, processor, libc, valgrind }
}

#[test]
fn a_case_is_held_to_its_budget() {
    let table = [
        (Some(1000), Some(1000), State::Within, true),
        (Some(1000), Some(1010), State::Within, true),
        (Some(1000), Some(1011), State::Over, false),
        (Some(1010), Some(1000), State::Within, true),
        (Some(1011), Some(1000), State::Under, true),
        (Some(0), Some(1), State::Over, false),
        (Some(u64::MAX), Some(u64::MAX), State::Within, true),
        (None, Some(1000), State::New, false),
        (Some(1000), None, State::Gone, false),
    ];
    for (accepted, now, state, is_fine) in table {
        let row = Row::new("case", accepted, now);
        assert_eq!((row.state, row.state.is_fine()), (state, is_fine), "{accepted:?} {now:?}");
    }
}

#[test]
fn every_case_has_a_line_that_says_what_to_do() {
    let accepted = cases(&[("dearer", 1000), ("cheaper", 1000), ("same", 1_234_567), ("gone", 10)]);
    let now = cases(&[("dearer", 1100), ("cheaper", 900), ("same", 1_234_568), ("new", 10)]);
    let rows = guard(&accepted, &now);
    let expected = "\
case                          accepted         now    change
cheaper                          1,000         900  -10.00 %  lower: accept it with --accept, so that it cannot creep back
dearer                           1,000       1,100  +10.00 %  OVER: `cargo xtask counts dearer --explain` says why
gone                                10           -         -  GONE: nobody counts it any more; accept that with --accept
new                                  -          10         -  NEW: it has no budget until it is accepted with --accept
same                         1,234,567   1,234,568   +0.00 %
";
    assert_eq!(table(&rows), expected);
    assert_eq!(summary(&rows), "\ntest result: FAILED. 2 passed; 3 failed; 0 ignored");
    assert_eq!(summary(&guard(&now, &now)), "\ntest result: ok. 4 passed; 0 failed; 0 ignored");
}

#[test]
fn an_explanation_names_every_function_that_changed() {
    let before = profile(1000, &[("grown", 500), ("vanished", 200), ("same", 150), ("smallest", 100)]);
    let now = profile(
        1450,
        &[("grown", 800), ("same", 150), ("smallest", 100), ("new", 320), ("tiny", 45), ("small", 35)],
    );
    let expected = "
case: 1,000 before, 1,450 now, +450 instructions
        before         now  difference     share  function
   few or none         320        +320      71 %  new
           500         800        +300      67 %  grown
           200           0        -200     -44 %  vanished
            50          80         +30       7 %  (all others)
  these 4 explain 100 % of the change; 0 smaller ones are not shown
";
    assert_eq!(told(&Row::new("case", Some(1000), Some(1450)), &explain(&before, &now)), expected);
    let same = told(&Row::new("case", Some(1450), Some(1450)), &explain(&now, &now));
    assert!(same.ends_with("+0 instructions\n  no function takes more or fewer than before\n"), "{same}");
}

#[test]
fn where_all_functions_were_kept_the_smallest_new_one_is_seen() {
    let (before, now) = (profile(100, &[("f", 100)]), profile(101, &[("f", 100), ("g", 1)]));
    let found: Vec<String> = explain(&before, &now).into_iter().map(|it| it.function).collect();
    assert_eq!(found, ["g"]);
}

#[test]
fn the_differences_add_up_to_the_change() {
    for (n_before, n_now) in [(3, 90), (90, 3), (41, 41), (40, 60)] {
        let made = |n: u64, step: u64| {
            let functions: BTreeMap<_, _> =
                (0..n).map(|at| (format!("f{}", at * step), 10 + at * step)).collect();
            Profile { total: functions.values().sum(), functions }
        };
        let (before, now) = (made(n_before, 2), made(n_now, 3));
        let kept = before.greatest(accepted::FUNCTIONS_MAX);
        assert!(kept.functions.len() <= accepted::FUNCTIONS_MAX);
        let sum: i64 = explain(&kept, &now).iter().map(Difference::change).sum();
        assert_eq!(sum, compare::difference(before.total, now.total), "{n_before} {n_now}");
    }
}

#[test]
fn accepting_leaves_alone_what_did_not_change() {
    let kept = cases(&[("dearer", 1000), ("cheaper", 1000), ("same", 1000), ("gone", 10)]);
    let now = cases(&[("dearer", 1100), ("cheaper", 900), ("same", 1009), ("new", 10)]);
    let new = accept(machine(), kept.clone(), now, &[]);
    assert_eq!(new.cases, cases(&[("dearer", 1100), ("cheaper", 900), ("same", 1000), ("new", 10)]));

    let named = accept(machine(), kept.clone(), cases(&[("same", 1004)]), &["same".to_owned()]);
    assert_eq!(named.cases, cases(&[("dearer", 1000), ("cheaper", 1000), ("same", 1004), ("gone", 10)]));

    let gone = accept(machine(), kept, BTreeMap::new(), &["gone".to_owned()]);
    assert_eq!(gone.cases, cases(&[("dearer", 1000), ("cheaper", 1000), ("same", 1000)]));
}

#[test]
fn counts_of_another_machine_are_not_compared() {
    assert_eq!(machine().compare(&machine()), Ok(()));
    let other = |change: fn(&mut Machine)| {
        let mut other = machine();
        change(&mut other);
        other.compare(&machine()).unwrap_err()
    };
    let table = [
        (
            other(|it| it.rustc = "rustc 1.96.0".into()),
            "rustc: accepted with `rustc 1.95.0`, here is `rustc 1.96.0`",
        ),
        (other(|it| it.target = "aarch64".into()), "target: accepted with `x86_64`, here is `aarch64`"),
        (other(|it| it.processor = "no avx2".into()), "processor: accepted with `avx2`, here is `no avx2`"),
        (other(|it| it.libc = "glibc 2.41".into()), "libc: accepted with `glibc 2.36`, here is `glibc 2.41`"),
        (other(|it| it.valgrind = "valgrind-3.25.0".into()), "valgrind: accepted with `valgrind-3.19.0`"),
    ];
    for (error, expected) in table {
        assert!(error.contains(expected) && error.contains("NOTHING was checked"), "{error}");
    }
}

#[test]
fn the_accepted_counts_are_whole() {
    let file = workspace().unwrap().join(accepted::FILE);
    let accepted = Accepted::read(&file).unwrap().unwrap();
    assert!(!accepted.cases.is_empty());
    for (case, profile) in &accepted.cases {
        let listed: u64 = profile.functions.values().sum();
        assert!(profile.total > 0 && listed <= profile.total, "{case}");
        assert!(profile.functions.len() <= accepted::FUNCTIONS_MAX, "{case}");
    }
}

#[test]
fn a_long_name_is_cut_where_a_character_ends() {
    assert_eq!(shown(&"ü".repeat(NAME_SHOWN_MAX)), "ü".repeat(NAME_SHOWN_MAX));
    assert_eq!(shown(&"ü".repeat(NAME_SHOWN_MAX + 1)), "ü".repeat(NAME_SHOWN_MAX) + "…");
}

#[test]
fn the_command_line_is_sound() {
    <Asked as clap::CommandFactory>::command().debug_assert();
}

#[derive(clap::Parser)]
struct Asked {
    #[command(flatten)]
    _counts: Counts,
}
