//! Nets that everybody who explores state spaces is measured on, with numbers that are known from elsewhere.
//!
//! Each family is a function of its size. [`YARDSTICKS`] says how many markings and firings some of them have: not
//! counted by us, so that a mistake of ours cannot hide in them. Left out are the families that are only known as
//! files.

use lockgate::engine::petri::{Firing, Net, NetBuilder};

/// A family of nets by size.
pub type Family = fn(u64) -> Net;

/// A net of a family and what is known about it.
#[derive(Clone, Copy, Debug)]
pub struct Yardstick {
    /// What the family is called.
    pub name: &'static str,
    /// The family.
    pub family: Family,
    /// Which of them.
    pub size: u64,
    /// How many markings it reaches.
    pub markings: usize,
    /// How many firings lead from one to another, where that is known.
    pub firings: Option<usize>,
    /// Whether it can come to a marking in which nothing can fire.
    pub can_end: bool,
    /// How many of its transitions never fire.
    pub dead: usize,
}

/// The known numbers, the smaller ones of each family first.
pub const YARDSTICKS: &[Yardstick] = &[
    of("philosophers", philosophers, 5, 243, Some(945)).which_can_end(),
    of("philosophers", philosophers, 10, 59_049, Some(459_270)).which_can_end(),
    of("philosophers", philosophers, 13, 1_594_323, Some(16_120_377)).which_can_end(),
    of("kanban", kanban, 1, 160, None),
    of("kanban", kanban, 2, 4_600, None),
    of("kanban", kanban, 3, 58_400, None),
    of("kanban", kanban, 4, 454_475, None),
    of("kanban", kanban, 5, 2_546_432, Some(24_460_016)),
    of("kanban", kanban, 6, 11_261_376, Some(115_708_992)),
    of("workshop", workshop, 2, 3_444, Some(16_311)),
    of("workshop", workshop, 5, 2_895_018, Some(23_527_185)),
    of("token-ring", token_ring, 5, 166, Some(365)).with_dead(86),
    of("token-ring", token_ring, 10, 58_905, Some(294_050)).with_dead(771),
    of("referendum", referendum, 10, 59_050, Some(393_661)).which_can_end(),
    of("referendum", referendum, 13, 1_594_324, None).which_can_end(),
    of("sieve", sieve, 10, 32, Some(120)).which_can_end(),
    of("sieve", sieve, 20, 2_048, Some(23_040)).which_can_end(),
    of("sieve", sieve, 30, 524_288, None).which_can_end(),
    of("shared-memory", shared_memory, 5, 1_863, Some(10_395)),
    of("shared-memory", shared_memory, 10, 1_830_519, Some(19_486_170)),
    of("dekker", dekker, 10, 6_144, Some(171_530)),
    of("dekker", dekker, 15, 278_528, Some(16_834_575)),
    of("swimming-pool", swimming_pool, 1, 89_621, Some(450_003)),
    of("swimming-pool", swimming_pool, 2, 3_408_031, Some(19_929_811)),
];

const fn of(
    name: &'static str,
    family: Family,
    size: u64,
    markings: usize,
    firings: Option<usize>,
) -> Yardstick {
    Yardstick { name, family, size, markings, firings, can_end: false, dead: 0 }
}

impl Yardstick {
    const fn which_can_end(self) -> Self {
        Self { can_end: true, ..self }
    }

    const fn with_dead(self, dead: usize) -> Self {
        Self { dead, ..self }
    }
}

/// Philosophers around a table, who take their two forks in any order: 3ⁿ markings.
pub fn philosophers(n: u64) -> Net {
    let mut draft = Draft::default();
    for i in 0..n {
        let right = (i + 1) % n;
        draft.places(1, &[format!("think{i}"), format!("fork{i}")]);
        draft.places(0, &[format!("left{i}"), format!("right{i}"), format!("eat{i}")]);
        draft.fires(&format!("think{i} fork{i} > left{i}"));
        draft.fires(&format!("think{i} fork{right} > right{i}"));
        draft.fires(&format!("right{i} fork{i} > eat{i}"));
        draft.fires(&format!("left{i} fork{right} > eat{i}"));
        draft.fires(&format!("eat{i} > think{i} fork{i} fork{right}"));
    }
    draft.build()
}

/// Four cells of a factory, each with `n` cards that say it may take more work.
pub fn kanban(n: u64) -> Net {
    let mut draft = Draft::default();
    for cell in 1..=4 {
        draft.places(0, &[format!("busy{cell}"), format!("back{cell}"), format!("out{cell}")]);
        draft.places(n, &[format!("free{cell}")]);
        draft.fires(&format!("busy{cell} > back{cell}"));
        draft.fires(&format!("busy{cell} > out{cell}"));
        draft.fires(&format!("back{cell} > busy{cell}"));
    }
    draft.fires("free1 > busy1");
    draft.fires("out1 free2 free3 > free1 busy2 busy3");
    draft.fires("out2 out3 free4 > free2 free3 busy4");
    draft.fires("out4 > free4");
    draft.build()
}

/// A flexible manufacturing system: three kinds of `n` parts on three kinds of machines; the first two are joined.
pub fn workshop(n: u64) -> Net {
    let mut draft = Draft::default();
    draft.places(n, &["p1", "p2", "p3"].map(Into::into));
    for (machine, count) in [("m1", 3), ("m2", 1), ("m3", 2)] {
        draft.places(count, &[machine.into()]);
    }
    for (part, other) in [(1, 2), (2, 1)] {
        let names = ["waits", "on-machine", "done", "shipped", "waits-for-other"];
        draft.places(0, &names.map(|name| format!("p{part}-{name}")));
        draft.fires(&format!("p{part} > p{part}-waits"));
        draft.fires(&format!("p{part}-waits m{part} > p{part}-on-machine"));
        draft.fires(&format!("p{part}-on-machine > p{part}-done m{part}"));
        draft.fires(&format!("p{part}-done > p{part}-shipped"));
        draft.fires(&format!("p{part}-shipped > p{part}"));
        draft.fires(&format!("p{part}-done > p{part}-waits-for-other"));
        if other == 1 {
            draft.places(
                0,
                &["joined", "joined-waits", "joined-on-machine", "joined-shipped"].map(Into::into),
            );
            draft.fires("p1-waits-for-other p2-waits-for-other > joined");
        }
    }
    draft.fires("joined > joined-waits");
    draft.fires("joined-waits m3 > joined-on-machine");
    draft.fires("joined-on-machine > joined-shipped m3");
    draft.fires("joined-shipped > p1 p2");
    draft.places(0, &["p3-on-machine", "p3-shipped"].map(Into::into));
    draft.fires("p3 > p3-on-machine");
    draft.fires("p3-on-machine m2 > p3-shipped m2");
    draft.fires("p3-shipped > p3");
    draft.build()
}

/// Dijkstra's ring of `n + 1` machines that finds back to a single token; each starts in a state of its own.
pub fn token_ring(n: u64) -> Net {
    let mut draft = Draft::default();
    let states = || 0..=n;
    for i in states() {
        for j in states() {
            draft.places(u64::from(i == j), &[format!("s{i}-{j}")]);
        }
    }
    for j in states() {
        draft.fires(&format!("s0-{j} s{n}-{j} > s0-{} s{n}-{j}", (j + 1) % (n + 1)));
    }
    for i in 1..=n {
        for (a, b) in states().flat_map(|a| states().map(move |b| (a, b))).filter(|(a, b)| a != b) {
            draft.fires(&format!("s{}-{a} s{i}-{b} > s{}-{a} s{i}-{a}", i - 1, i - 1));
        }
    }
    draft.build()
}

/// A vote that everybody answers once: 3ⁿ + 1 markings.
pub fn referendum(n: u64) -> Net {
    let mut draft = Draft::default();
    draft.places(1, &["ready".into()]);
    for i in 0..n {
        draft.places(0, &[format!("voting{i}"), format!("yes{i}"), format!("no{i}")]);
        draft.fires(&format!("voting{i} > yes{i}"));
        draft.fires(&format!("voting{i} > no{i}"));
    }
    let all: Vec<String> = (0..n).map(|i| format!("voting{i}")).collect();
    draft.fires(&format!("ready > {}", all.join(" ")));
    draft.build()
}

/// The sieve of Eratosthenes: every number strikes out its multiples, in any order.
pub fn sieve(n: u64) -> Net {
    let mut draft = Draft::default();
    for i in 2..=n {
        draft.places(1, &[format!("n{i}")]);
        for multiple in (2 * i..=n).step_by(i as usize) {
            draft.fires(&format!("n{i} n{multiple} > n{i}"));
        }
    }
    draft.build()
}

/// Processors with a memory each, and one bus to reach the memories of the others.
pub fn shared_memory(n: u64) -> Net {
    let mut draft = Draft::default();
    draft.places(1, &["bus".into()]);
    for i in 0..n {
        draft.places(1, &[format!("active{i}"), format!("memory{i}")]);
        draft.places(0, &[format!("own{i}"), format!("queue{i}")]);
        draft.fires(&format!("active{i} > own{i}"));
        draft.fires(&format!("own{i} memory{i} > active{i} memory{i}"));
        draft.fires(&format!("active{i} > queue{i}"));
        for j in (0..n).filter(|j| *j != i) {
            draft.places(0, &[format!("at{i}-{j}")]);
            draft.fires(&format!("queue{i} bus memory{j} > at{i}-{j}"));
            draft.fires(&format!("at{i}-{j} > active{i} bus memory{j}"));
        }
    }
    draft.build()
}

/// Dekker's algorithm among `n`: who raises a flag and sees another withdraws; (n + 2) · 2ⁿ⁻¹ markings.
pub fn dekker(n: u64) -> Net {
    let mut draft = Draft::default();
    for i in 0..n {
        draft.places(1, &[format!("out{i}"), format!("down{i}")]);
        draft.places(0, &[format!("tries{i}"), format!("in{i}"), format!("up{i}")]);
        draft.fires(&format!("out{i} down{i} > tries{i} up{i}"));
        let others: Vec<String> = (0..n).filter(|j| *j != i).map(|j| format!("down{j}")).collect();
        let others = others.join(" ");
        draft.fires(&format!("tries{i} {others} > in{i} {others}"));
        draft.fires(&format!("in{i} up{i} > out{i} down{i}"));
        for j in (0..n).filter(|j| *j != i) {
            draft.fires(&format!("tries{i} up{i} up{j} > out{i} down{i} up{j}"));
        }
    }
    draft.build()
}

/// Swimmers who need a cabin and a bag to change, twice.
pub fn swimming_pool(n: u64) -> Net {
    let mut draft = Draft::default();
    draft.places(20 * n, &["outside".into()]);
    draft.places(10 * n, &["cabins".into()]);
    draft.places(15 * n, &["bags".into()]);
    draft.places(0, &["entered", "waits", "undresses", "swims", "dresses", "dressed"].map(Into::into));
    draft.fires("outside > entered");
    draft.fires("entered cabins > waits");
    draft.fires("waits bags > undresses");
    draft.fires("undresses > cabins swims");
    draft.fires("cabins swims > dresses");
    draft.fires("dresses > bags dressed");
    draft.fires("dressed > outside cabins");
    draft.build()
}

#[derive(Default)]
struct Draft {
    net: NetBuilder,
    transitions: usize,
}

impl Draft {
    fn places(&mut self, tokens: u64, names: &[String]) {
        for name in names {
            self.net = std::mem::take(&mut self.net).place(name, tokens);
        }
    }

    /// Adds a transition from the places before the arrow to those behind it.
    fn fires(&mut self, text: &str) {
        let (inputs, outputs) = text.split_once('>').unwrap_or((text, ""));
        let [inputs, outputs] = [inputs, outputs].map(|side| side.split_whitespace().collect::<Vec<_>>());
        let name = format!("t{}", self.transitions);
        self.net = std::mem::take(&mut self.net).transition(name, Firing::Called, &inputs, &outputs);
        self.transitions += 1;
    }

    fn build(self) -> Net {
        self.net.build().unwrap_or_else(|errors| unreachable!("a family has a mistake: {errors:?}"))
    }
}
