use proptest::prelude::*;

use super::*;

const SESSION: u32 = 0xfeed;

fn streams() -> Streams {
    Streams::new(SESSION)
}

fn text(text: impl Into<String>) -> Arc<String> {
    Arc::new(text.into())
}

fn id(stream: u64, place: u64) -> EventId {
    EventId { session: SESSION, stream, place }
}

/// Says something about a request.
fn tell(streams: &mut Streams, request: i64, said: &str) {
    assert_eq!(streams.place(&text(said), Some(&Id::Number(request)), None), Placement::Well);
}

fn answer(streams: &mut Streams, request: i64, said: &str) -> Placement {
    streams.place(&text(said), None, Some(&Id::Number(request)))
}

/// All that a reader hears now, and what holds it up then; none where it has to wait.
fn drain(streams: &mut Streams, opening: &StreamOpening) -> (Vec<String>, Option<StreamItem>) {
    let mut heard = Vec::new();
    loop {
        match streams.hear(opening, Waker::noop()) {
            Poll::Ready(StreamItem::Message { text, .. }) => heard.push(text.to_string()),
            Poll::Ready(end) => return (heard, Some(end)),
            Poll::Pending => return (heard, None),
        }
    }
}

fn resumed(streams: &mut Streams, at: EventId) -> StreamOpening {
    match streams.resume(at) {
        Resumption::Open(opening) => opening,
        other => panic!("not resumed: {other:?}"),
    }
}

#[test]
fn a_stream_is_resumed_behind_any_event_that_was_told_and_not_outlived() {
    let mut streams = streams();
    let first = streams.open_request(&Id::Number(7)).unwrap();
    for said in ["a", "b", "c"] {
        tell(&mut streams, 7, said);
    }
    assert_eq!(drain(&mut streams, &first).0, ["a", "b", "c"]);
    streams.leave(&first, true);
    tell(&mut streams, 7, "d");
    for (place, rest) in [(0, vec!["a", "b", "c", "d"]), (2, vec!["c", "d"]), (2, vec!["c", "d"])] {
        let again = resumed(&mut streams, id(1, place));
        assert_eq!(drain(&mut streams, &again), (rest.into_iter().map(str::to_owned).collect(), None));
    }
    assert!(matches!(streams.resume(id(1, 1)), Resumption::Unknown), "its client has shown that it saw two");
    let last = resumed(&mut streams, id(1, 4));
    answer(&mut streams, 7, "the answer");
    assert_eq!(drain(&mut streams, &last), (vec!["the answer".to_owned()], Some(StreamItem::End)));
    streams.leave(&last, true);
    let again = resumed(&mut streams, id(1, 4));
    assert_eq!(drain(&mut streams, &again).0, ["the answer"], "nobody knows whether it arrived");
    assert!(matches!(streams.resume(id(1, 5)), Resumption::Over));
}

#[test]
fn what_was_never_an_event_of_this_session_is_not_resumed() {
    let mut streams = streams();
    let _ = streams.open_request(&Id::Number(7)).unwrap();
    tell(&mut streams, 7, "a");
    let mut elsewhere = Streams::new(SESSION + 1);
    let other = elsewhere.open_request(&Id::Number(7)).unwrap();
    for at in [other.at, id(1, 2), id(1, u64::MAX), id(2, 0), id(0, 0), id(u64::MAX, u64::MAX)] {
        assert!(matches!(streams.resume(at), Resumption::Unknown), "{at}");
    }
    assert!(matches!(streams.resume(id(1, 1)), Resumption::Open(_)));
}

#[test]
fn ids_are_read_as_they_are_written_and_in_no_other_way() {
    let fine = "0000feed-1-2";
    assert_eq!(EventId::parse(fine), Some(id(1, 2)));
    let endless = format!("0000feed-1-{}", "2".repeat(30_000));
    for odd in [
        "",
        "-",
        "--",
        "1-2",
        "feed-1-2",
        "0000FEED-1-2",
        "0000feed-01-2",
        "0000feed-1-+2",
        "0000feed-1-2 ",
        " 0000feed-1-2",
        "0000feed-1-2-3",
        "0000feed-1-",
        "0000feed--1-2",
        "10000feed-1-2",
        "0000feed-1-٢",
        "0000feed-1-18446744073709551616",
        "*",
        &endless,
    ] {
        assert_eq!(EventId::parse(odd), None, "{odd:.40}");
    }
}

#[test]
fn whoever_opens_a_stream_again_ends_the_one_before() {
    let mut streams = streams();
    let first = streams.open_request(&Id::Number(7)).unwrap();
    tell(&mut streams, 7, "a");
    let (one, two) = (resumed(&mut streams, id(1, 0)), resumed(&mut streams, id(1, 0)));
    for late in [&first, &one] {
        assert_eq!(drain(&mut streams, late), (vec![], Some(StreamItem::End)));
        // That it leaves says nothing about its successor.
        streams.leave(late, false);
    }
    answer(&mut streams, 7, "b");
    assert_eq!(drain(&mut streams, &two), (vec!["a".to_owned(), "b".to_owned()], Some(StreamItem::End)));
}

#[test]
fn messages_go_to_the_stream_they_belong_to_whether_it_is_read_or_not() {
    let mut streams = streams();
    let one = streams.open_request(&Id::Number(1)).unwrap();
    let two = streams.open_request(&Id::Number(2)).unwrap();
    assert_eq!(streams.open_request(&Id::Number(2)).err(), Some(IdInUse), "two open requests with one id");
    streams.leave(&one, true);
    tell(&mut streams, 1, "about one");
    streams.place(&text("about none"), None, None);
    let own = streams.open_own();
    streams.place(&text("about none"), None, None);
    assert_eq!(answer(&mut streams, 1, "answers one"), Placement::Well);
    assert_eq!(answer(&mut streams, 3, "answers three"), Placement::Unwanted);
    assert_eq!(drain(&mut streams, &two).0, ["about none"], "the newest request that is open");
    assert_eq!(drain(&mut streams, &own).0, ["about none"]);
    let one = resumed(&mut streams, id(1, 0));
    assert_eq!(drain(&mut streams, &one).0, ["about one", "answers one"]);
    assert!(streams.open_request(&Id::Number(1)).is_ok(), "it is answered");
}

#[test]
fn what_nobody_heard_on_the_clients_own_stream_waits_for_the_next() {
    let mut streams = streams();
    let say = |streams: &mut Streams, said: &str| streams.place(&text(said), None, None);
    let first = streams.open_own();
    say(&mut streams, "heard");
    assert_eq!(drain(&mut streams, &first).0, ["heard"]);
    say(&mut streams, "unheard");
    streams.leave(&first, true);
    say(&mut streams, "late");
    let second = streams.open_own();
    assert_eq!(drain(&mut streams, &second), (vec!["unheard".to_owned(), "late".to_owned()], None));
    assert!(matches!(streams.resume(first.at), Resumption::Unknown), "the client has begun another");
    let third = resumed(&mut streams, EventId { place: 1, ..second.at });
    assert_eq!(drain(&mut streams, &third).0, ["late"]);
}

#[test]
fn a_reader_that_is_lost_before_it_can_name_an_event_takes_its_stream_along() {
    let mut streams = streams();
    let opening = streams.open_request(&Id::Number(7)).unwrap();
    streams.leave(&opening, false);
    assert_eq!(answer(&mut streams, 7, "the answer"), Placement::Unwanted);
    assert!(matches!(streams.resume(opening.at), Resumption::Unknown));
}

#[test]
fn after_the_end_of_a_session_readers_hear_what_was_said_and_then_that_it_is_lost() {
    let mut streams = streams();
    let answered = streams.open_request(&Id::Number(1)).unwrap();
    let open = streams.open_request(&Id::Number(2)).unwrap();
    answer(&mut streams, 1, "a");
    tell(&mut streams, 2, "b");
    streams.end();
    assert_eq!(drain(&mut streams, &answered), (vec!["a".to_owned()], Some(StreamItem::End)));
    assert_eq!(drain(&mut streams, &open), (vec!["b".to_owned()], Some(StreamItem::Lost)));
}

#[test]
fn one_message_too_many_for_a_reader_has_to_wait() {
    let mut streams = streams();
    let opening = streams.open_request(&Id::Number(7)).unwrap();
    for _ in 0..WAITING_MAX {
        tell(&mut streams, 7, "x");
    }
    let one_more = |streams: &mut Streams| streams.place(&text("x"), Some(&Id::Number(7)), None);
    assert_eq!(one_more(&mut streams), Placement::Full(opening.reader));
    assert!(streams.hear(&opening, Waker::noop()).is_ready());
    assert_eq!(one_more(&mut streams), Placement::Well);
    assert_eq!(one_more(&mut streams), Placement::Full(opening.reader));
    streams.end_reader(opening.reader);
    assert_eq!(one_more(&mut streams), Placement::Well, "it waits for its client to come back");
    assert_eq!(drain(&mut streams, &opening), (vec![], Some(StreamItem::End)));
}

#[test]
fn one_message_too_many_without_a_stream_drops_the_oldest() {
    let mut streams = streams();
    let say = |streams: &mut Streams, said: Arc<String>| streams.place(&said, None, None);
    for n in 0..=KEPT_MAX {
        assert_eq!(streams.dropped(), 0);
        say(&mut streams, text(n.to_string()));
    }
    assert_eq!((streams.dropped(), streams.kept.len()), (1, KEPT_MAX));
    let own = streams.open_own();
    assert_eq!(drain(&mut streams, &own).0.first().map(String::as_str), Some("1"));
    streams.leave(&own, true);
    for (length, kept) in [(KEPT_BYTES_MAX - 1, 1), (1, 2), (1, 2)] {
        say(&mut streams, text("x".repeat(length)));
        assert_eq!(streams.kept.len(), kept);
    }
}

/// Whether a stream is kept from its beginning.
fn can_resume(streams: &Streams, number: u64) -> bool {
    streams.streams.iter().any(|stream| stream.number == number && stream.first_kept() == 1)
}

#[test]
fn one_message_too_many_makes_the_oldest_stream_say_that_it_cannot_be_resumed() {
    for (count, last, fits) in [
        (LOGGED_MAX, 1, true),
        (LOGGED_MAX + 1, 1, false),
        (2, LOGGED_BYTES_MAX - 1, true),
        (2, LOGGED_BYTES_MAX, false),
    ] {
        let mut streams = streams();
        let opening = streams.open_request(&Id::Number(7)).unwrap();
        streams.leave(&opening, true);
        for _ in 1..count {
            tell(&mut streams, 7, "x");
        }
        tell(&mut streams, 7, &"x".repeat(last));
        assert_eq!(matches!(streams.resume(opening.at), Resumption::Open(_)), fits, "{count} {last}");
        assert_eq!(streams.dropped(), u64::from(!fits));
        let next = resumed(&mut streams, id(1, 1));
        assert_eq!(drain(&mut streams, &next).0.len(), count - 1, "what is there is told");
    }
}

#[test]
fn what_was_told_is_dropped_before_what_waits() {
    let mut streams = streams();
    let waits = streams.open_request(&Id::Number(1)).unwrap();
    streams.leave(&waits, true);
    answer(&mut streams, 1, "waits");
    let chatty = streams.open_request(&Id::Number(2)).unwrap();
    for _ in 0..LOGGED_MAX * 2 {
        tell(&mut streams, 2, "x");
        assert!(streams.hear(&chatty, Waker::noop()).is_ready());
        assert!(streams.logged().0 <= LOGGED_MAX);
    }
    assert!(can_resume(&streams, 1) && !can_resume(&streams, 2));
    assert_eq!(streams.dropped(), 0, "nothing was lost that nobody had heard");
}

#[test]
fn one_stream_too_many_that_nobody_reads_is_forgotten_and_one_that_was_heard_goes_first() {
    let mut streams = streams();
    let leave = |streams: &mut Streams, request: i64, is_answered: bool| {
        let opening = streams.open_request(&Id::Number(request)).unwrap();
        if is_answered {
            answer(streams, request, "x");
            drain(streams, &opening);
        }
        streams.leave(&opening, true);
    };
    let most = LEFT_MAX as i64;
    for request in 1..=most {
        leave(&mut streams, request, request == most);
    }
    assert_eq!(streams.streams.len(), LEFT_MAX);
    for (forgotten, request) in [(most, most + 1), (1, most + 2)] {
        leave(&mut streams, request, false);
        assert_eq!(streams.streams.len(), LEFT_MAX);
        assert!(!can_resume(&streams, forgotten as u64), "{forgotten}");
    }
    let own = streams.open_own();
    streams.leave(&own, true);
    leave(&mut streams, most + 3, false);
    assert!(matches!(streams.resume(own.at), Resumption::Open(_)), "there is only one of these");
}

#[test]
fn coming_back_again_and_again_makes_nothing_grow() {
    let mut streams = streams();
    let _ = streams.open_request(&Id::Number(7)).unwrap();
    tell(&mut streams, 7, "a");
    for _ in 0..10_000 {
        resumed(&mut streams, id(1, 0));
    }
    assert_eq!((streams.streams.len(), streams.logged().0, streams.streams[0].log.len()), (1, 0, 1));
}

#[test]
fn an_answer_that_nobody_comes_back_for_is_forgotten_after_a_while() {
    let mut streams = streams();
    let (read, left) =
        (streams.open_request(&Id::Number(1)).unwrap(), streams.open_request(&Id::Number(2)).unwrap());
    let open = streams.open_request(&Id::Number(3)).unwrap();
    answer(&mut streams, 1, "a");
    answer(&mut streams, 2, "a");
    streams.leave(&left, true);
    streams.leave(&open, true);
    let kept = |streams: &Streams| streams.streams.iter().map(|stream| stream.number).collect::<Vec<_>>();
    streams.forget_left(Instant::now() + LEFT_AGE_MAX - Duration::from_secs(1));
    assert_eq!(kept(&streams), [1, 2, 3]);
    streams.forget_left(Instant::now() + LEFT_AGE_MAX + Duration::from_secs(1));
    assert_eq!(kept(&streams), [1, 3], "one is read, and one is not answered yet");
    assert_eq!(drain(&mut streams, &read).0, ["a"]);
}

/// What can happen to a stream and its client.
#[derive(Clone, Debug)]
enum Step {
    Say,
    Hear,
    /// The connection breaks, and the last few events that were sent do not arrive.
    Cut(usize),
    Resume,
}

fn steps() -> impl Strategy<Value = Vec<(i64, Step)>> {
    let step = prop_oneof![
        4 => Just(Step::Say),
        4 => Just(Step::Hear),
        1 => (0_usize..3).prop_map(Step::Cut),
        2 => Just(Step::Resume),
    ];
    prop::collection::vec((1_i64..4, step), 0..60)
}

proptest! {
    #[test]
    fn whatever_breaks_a_client_that_comes_back_hears_everything_once_and_in_order(steps in steps()) {
        let mut streams = streams();
        let mut said: Vec<Vec<String>> = vec![Vec::new(); 4];
        let mut seen: Vec<Vec<String>> = vec![Vec::new(); 4];
        let mut readers: Vec<Option<StreamOpening>> = vec![None];
        for request in 1..4 {
            readers.push(Some(streams.open_request(&Id::Number(request)).unwrap()));
        }
        let resume = |streams: &mut Streams, at: usize, seen: &[Vec<String>]| {
            Some(resumed(streams, id(at as u64, seen[at].len() as u64)))
        };
        for (request, step) in steps {
            let at = request as usize;
            match step {
                Step::Say => {
                    let message = format!("{request} {}", said[at].len());
                    if streams.place(&text(message.as_str()), Some(&Id::Number(request)), None) == Placement::Well {
                        said[at].push(message);
                    }
                }
                Step::Hear => {
                    let heard = readers[at].as_ref().map(|reader| streams.hear(reader, Waker::noop()));
                    if let Some(Poll::Ready(StreamItem::Message { id: event, text, is_answer })) = heard {
                        seen[at].push(text.to_string());
                        prop_assert_eq!((event, is_answer), (id(at as u64, seen[at].len() as u64), false));
                    }
                }
                Step::Cut(lost) => {
                    if let Some(reader) = readers[at].take() {
                        streams.leave(&reader, true);
                        // Only what came since the client named an event may have gone missing.
                        let known = reader.at.place as usize;
                        let arrived = seen[at].len().saturating_sub(lost).max(known);
                        seen[at].truncate(arrived);
                    }
                }
                Step::Resume => readers[at] = resume(&mut streams, at, &seen),
            }
        }
        for at in 1..4 {
            readers[at] = resume(&mut streams, at, &seen);
            let reader = readers[at].as_ref().unwrap();
            let (missed, _) = drain(&mut streams, reader);
            answer(&mut streams, at as i64, "answer");
            let (rest, end) = drain(&mut streams, reader);
            seen[at].extend(missed.into_iter().chain(rest));
            said[at].push("answer".to_owned());
            prop_assert_eq!((&seen[at], end), (&said[at], Some(StreamItem::End)));
        }
    }

    #[test]
    fn what_was_written_as_an_id_is_read_again(session: u32, stream: u64, place: u64) {
        let id = EventId { session, stream, place };
        prop_assert_eq!(EventId::parse(&id.to_string()), Some(id));
    }
}
