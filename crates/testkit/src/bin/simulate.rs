//! Plays any number of seeds through the simulator, on every store.

use std::{
    env,
    io::{self, Write},
    process::ExitCode,
};

use lockgate_store::Durability;
use lockgate_testkit::{
    contract::{MemoryRest, Rest, SqliteRest},
    simulator::simulate,
};

const HELP: &str = "\
Play processes that die, events that come twice and stores that fail

simulate SEEDS [FROM]   so many stories, from the seed FROM or 0
simulate --seed SEED    one story

Exit 0: all as the model says, 1: one is not (its story is printed), 2: could not start.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |text: &String| text.parse::<u64>().ok();
    let seeds = match arguments.as_slice() {
        [flag, seed] if flag == "--seed" => number(seed).map(|seed| seed..seed.saturating_add(1)),
        [seeds] => number(seeds).map(|seeds| 0..seeds),
        [seeds, from] => {
            number(seeds).zip(number(from)).map(|(seeds, from)| from..from.saturating_add(seeds))
        }
        _ => None,
    };
    let Some(seeds) = seeds else {
        let _ = io::stderr().write_all(HELP.as_bytes());
        return ExitCode::from(2);
    };
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let rests: [Box<dyn Rest>; 2] =
            [Box::new(MemoryRest::default()), Box::new(SqliteRest::new(Durability::Normal))];
        for rest in rests {
            if let Err(story) = simulate(seed, &*rest) {
                let _ = writeln!(io::stdout(), "{story}");
                return ExitCode::from(1);
            }
        }
        if seed % 1_000 == 999 {
            let _ = writeln!(io::stderr(), "{} seeds", seed + 1);
        }
    }
    let _ = writeln!(io::stdout(), "{count} stories on 2 stores, all as the model says");
    ExitCode::SUCCESS
}
