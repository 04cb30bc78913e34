//! What a program can do that can write to Redis and has no key; and what a server must keep.

use lockgate_testkit::{
    contract::{RedisRest, RedisServer, SharedRest, entry},
    store_api::{Backend, Reach, RedisOptions, RowWrite, StoreError, StrandStore},
};

use crate::shared::{fill, put, seal};

type Test = (&'static str, fn(&RedisServer));

/// The tests.
pub(crate) const TESTS: &[Test] = &[
    ("rows that were changed are refused", rows_that_were_changed_are_refused),
    ("verify finds every kind of tampering", verify_finds_every_kind_of_tampering),
    ("a halt cannot be taken back by who has no key", a_halt_cannot_be_taken_back_by_who_has_no_key),
    (
        "a server that can lose what it confirms is refused",
        a_server_that_can_lose_what_it_confirms_is_refused,
    ),
];

fn sealed(server: &RedisServer) -> RedisRest<'_> {
    let rest = server.rest().unwrap();
    fill(&rest);
    rest
}

fn rows_that_were_changed_are_refused(server: &RedisServer) {
    for lua in [
        "redis.call('HSET', p..'session:s', 'bytes', '1')",
        "redis.call('HDEL', p..'session:s', 'bytes')",
        "redis.call('HSET', p..'session:s', 'clock', '0')",
        "redis.call('HSET', p..'session:s', 'answers', '0')",
        "redis.call('HSET', p..'session:s', 'shared', '0')",
        "redis.call('HSET', p..'session:s', 'version', '9')",
        "redis.call('DEL', p..'session:s')",
        "redis.call('RENAME', p..'session:s', p..'session:t')",
        "redis.call('DEL', p..'strand:s')",
        "redis.call('DEL', p..'shared')",
        "redis.call('HSET', p..'shared', 'bytes', '')",
        "redis.call('HDEL', p..'shared', 'bytes')",
        "redis.call('DEL', p..'session:s') redis.call('SET', p..'session:s', 'x')",
        "redis.call('DEL', p..'log') redis.call('SET', p..'log', 'x')",
        "redis.call('DEL', p..'changed') redis.call('SET', p..'changed', 'x')",
    ] {
        let rest = sealed(server);
        rest.script(lua).unwrap();
        let before = rest.script("return redis.call('DBSIZE')").unwrap();
        assert!(put(&rest.store(), "s", b"9", "9").is_err(), "{lua}");
        assert_eq!(rest.script("return redis.call('DBSIZE')").unwrap(), before, "{lua}");
    }
    for lua in ["redis.call('HDEL', p..'answers:s', '1')", "redis.call('DEL', p..'answers:s')"] {
        let rest = sealed(server);
        rest.script(lua).unwrap();
        assert!(matches!(rest.store().answer("s", 1), Err(StoreError::Tampered(_))), "{lua}");
    }
}

fn verify_finds_every_kind_of_tampering(server: &RedisServer) {
    for (lua, kind) in [
        ("redis.call('HSET', p..'session:s', 'bytes', '1')", "ChangedRow"),
        ("redis.call('DEL', p..'session:s')", "MissingRow"),
        ("redis.call('XDEL', p..'strand:s', '2-0')", "Missing"),
        ("redis.call('XDEL', p..'strand:s', '4-0')", "Cut"),
        ("redis.call('DEL', p..'strand:s')", "Cut"),
        ("redis.call('XDEL', p..'seals', '1-0')", "Missing"),
        ("redis.call('XDEL', p..'seals', '2-0')", "Missing"),
        ("redis.call('DEL', p..'seals')", "Missing"),
        ("redis.call('HSET', p..'shared', 'bytes', '')", "ChangedRow"),
        ("redis.call('DEL', p..'shared')", "MissingRow"),
        ("redis.call('DEL', p..'answers:s')", "MissingRow"),
    ] {
        let rest = sealed(server);
        let store = rest.store();
        put(&store, "later", b"x", "later").unwrap();
        seal(&store);
        put(&store, "last", b"x", "last").unwrap();
        let problems = store.verify().unwrap().verified.problems;
        assert!(problems.is_empty(), "{problems:?}");
        drop(store);
        rest.script(lua).unwrap();
        let problems = rest.store().verify().unwrap().verified.problems;
        assert!(problems.iter().any(|problem| format!("{:?}", problem.kind) == kind), "{lua}: {problems:?}");
    }
}

fn a_halt_cannot_be_taken_back_by_who_has_no_key(server: &RedisServer) {
    let rest = server.rest().unwrap();
    let (gate, operator) = (rest.store(), rest.store());
    put(&gate, "s", b"1", "1").unwrap();
    rest.script("redis.call('COPY', p..'shared', 'old')").unwrap();
    let halt = RowWrite { shared_state: Some(b"halted"), entries: &[entry("halt")], ..RowWrite::default() };
    operator.lock("", Reach::SharedState).unwrap().write(&halt).unwrap();
    seal(&operator);
    rest.script("redis.call('COPY', 'old', p..'shared', 'REPLACE')").unwrap();
    for store in [operator, rest.store()] {
        assert!(matches!(store.lock("s", Reach::Session), Err(StoreError::Tampered(_))));
    }
    let problems = rest.store().verify().unwrap().verified.problems;
    assert!(problems.iter().any(|problem| format!("{:?}", problem.kind) == "OldRow"), "{problems:?}");
}

fn a_server_that_can_lose_what_it_confirms_is_refused(_: &RedisServer) {
    for (settings, accepted, told) in [
        (&["--appendonly", "no"][..], &["any"][..], "appendonly yes"),
        (&["--appendfsync", "everysec"], &["any", "everysec"], "appendfsync always"),
        (&["--appendfsync", "no"], &["any", "everysec"], "appendfsync always"),
        (&["--maxmemory-policy", "allkeys-lru"], &["any"], "noeviction"),
        (&["--replicaof", "127.0.0.1 1"], &["any", "everysec"], "replica"),
        (&["--rename-command", "CONFIG", ""], &["any"], "does not tell"),
    ] {
        let server = RedisServer::start(settings).unwrap();
        let open = |durability: &str| {
            let rest = server.rest().unwrap();
            StrandStore::open_redis(&rest.url_with(durability), &RedisOptions::default()).map(drop)
        };
        for word in ["", "&durability=always", "&durability=everysec", "&durability=any"] {
            let is_accepted = accepted.iter().any(|accepted| word.ends_with(&format!("={accepted}")));
            match open(word) {
                // A replica takes no writes, whatever is accepted.
                Err(error) if told == "replica" && is_accepted => {
                    assert!(error.to_string().contains("read only replica"), "{error}");
                }
                Ok(()) => assert!(is_accepted, "{settings:?} {word}"),
                Err(error) => {
                    assert!(!is_accepted && error.to_string().contains(told), "{settings:?} {word}: {error}");
                }
            }
        }
        assert!(open("&durability=maybe").unwrap_err().to_string().contains("everysec"));
    }
}
