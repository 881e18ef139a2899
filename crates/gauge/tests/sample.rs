//! Samples of real threads: counts and names, no times.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![allow(unsafe_code)]

use flate2::read::GzDecoder;
use std::collections::HashMap;
use std::hint::black_box;
use std::io::{ErrorKind, Read as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;
use thalweg_gauge::sample::{self, Options, Place, Profile, Sampler, Samples, Session, Stack, Thread, Unit};

#[path = "counted/not_compared.rs"]
mod not_compared;
#[path = "counted/not_copied.rs"]
mod not_copied;

/// There is one session in a process, and so one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const OFTEN: Options = Options { hz: 999, seconds: 60, threads: 1024, stacks: sample::STACKS_MAX };

/// A thread that does something again and again, under a tag.
struct Busy {
    is_over: Arc<AtomicBool>,
    handle: thread::JoinHandle<()>,
    number: Thread,
}

impl Busy {
    fn new(tag: u64, work: fn(u64) -> u64) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let (tell, number) = mpsc::channel();
        let handle = thread::spawn(move || {
            assert_eq!(sample::tagged(tag), 0);
            tell.send(sample::this_thread()).unwrap();
            while !until.load(Ordering::Relaxed) {
                black_box(work(black_box(3))); // again and again
            }
            assert_eq!(sample::tagged(0), tag);
        });
        Self { is_over, handle, number: number.recv().unwrap() }
    }

    fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.handle.join().unwrap();
    }
}

/// Waits until a session has seen so many samples of each of the tags.
fn collected(session: Session, tags: &[u64], count: u64) -> Samples {
    while tags.iter().any(|tag| session.snapshot().of_tag(*tag).count() < count) {
        assert!(session.is_collecting(), "{:?}", session.snapshot().tags());
        thread::sleep(Duration::from_millis(5));
    }
    session.stop()
}

/// The stack of a thread, which may have no turn for a while on a busy machine.
fn taken(thread: Thread) -> Stack {
    (0..50).find_map(|_| sample::stack_of(thread)).expect("the thread has no turn")
}

#[inline(never)]
fn multiplies(seed: u64) -> u64 {
    let mut value = seed;
    for _ in 0..100_000 {
        value = value.wrapping_mul(6_364_136_223_846_793_005).rotate_left(7); // multiplied here
    }
    value
}

#[inline(never)]
fn calls_inlined(seed: u64) -> u64 {
    let mut value = seed;
    for _ in 0..1000 {
        value = inlined(value);
    }
    value
}

#[inline(always)]
fn inlined(seed: u64) -> u64 {
    let mut value = seed;
    let mut rounds = 0_u64;
    while rounds < 100 {
        value = (value ^ rounds) / 3 + 7; // divided here
        rounds += 1;
    }
    value
}

/// Where threads call what they do.
fn again() -> String {
    format!("crates/gauge/tests/sample.rs:{}", line_with("// again and again"))
}

/// The line of this file on which something stands.
fn line_with(what: &str) -> u32 {
    let marks = include_str!("sample.rs").lines().position(|line| line.ends_with(what));
    marks.unwrap() as u32 + 1
}

fn is_here(place: &Place) -> bool {
    place.file.as_deref().is_some_and(|file| file.ends_with("crates/gauge/tests/sample.rs"))
}

fn two_tags() -> Samples {
    let (one, other) = (Busy::new(11, multiplies), Busy::new(12, calls_inlined));
    let samples = collected(Sampler::start(OFTEN).unwrap(), &[11, 12], 100);
    one.end();
    other.end();
    samples
}

#[test]
fn a_hot_line_is_on_top_of_its_tag_and_of_no_other() {
    let _alone = alone();
    let samples = two_tags();
    let (one, other) = (samples.of_tag(11).named(), samples.of_tag(12).named());
    let hot = |profile: &Profile| {
        let own = |place: &Place| is_here(place) && place.function.ends_with("multiplies");
        profile.own_tops().iter().any(|(place, _)| own(place) && place.line == Some(line_with("// multiplied here")))
    };
    assert!(hot(&one), "{:#?}", one.own_tops());
    assert!(one.tops().iter().map(|(_, weight)| weight).sum::<u64>() > 0);
    assert!(one.folded().contains("sample::multiplies"), "{}", one.folded());
    assert!(!other.folded().contains("sample::multiplies"), "{}", other.folded());
    assert_eq!(samples.of_tags(&[11, 12]).count(), samples.of_tag(11).count() + samples.of_tag(12).count());
    assert!(samples.of_tag(13).named().tops().is_empty());
}

#[test]
fn an_inlined_loop_has_its_own_frame() {
    let _alone = alone();
    let folded = two_tags().of_tag(12).named().folded();
    let line = line_with("// divided here");
    let frame = format!("crates/gauge/tests/sample.rs:{line}");
    let found = folded.lines().find(|stack| stack.contains(&frame)).expect(&folded);
    let frames: Vec<&str> = found.split(';').collect();
    let at = frames.iter().position(|name| name.contains(&frame)).unwrap();
    assert!(frames[at].contains("inlined "), "{found}");
    assert!(frames[at - 1].contains("sample::calls_inlined "), "{found}");
}

#[test]
fn stacks_reach_from_the_thread_s_start_to_the_line() {
    let _alone = alone();
    let folded = two_tags().of_tag(11).named().folded();
    let whole = folded.lines().filter(|stack| stack.contains(&again()));
    let weight = |stack: &str| stack.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
    let all: u64 = folded.lines().map(weight).sum();
    assert!(whole.map(weight).sum::<u64>() * 10 > all * 9, "{folded}");
}

#[test]
fn the_stack_of_a_thread_that_sleeps_or_spins_can_be_taken() {
    let _alone = alone();
    let (tell, number) = mpsc::channel();
    let (wake, woken) = mpsc::channel::<()>();
    let sleeper = thread::spawn(move || sleeps(&tell, &woken));
    let sleeper_number = number.recv().unwrap();
    let names = |stack: Stack| stack.named().iter().map(Place::to_string).collect::<Vec<_>>().join("\n");
    let asleep = || {
        let stack = names(taken(sleeper_number));
        assert!(stack.contains("sample::sleeps "), "{stack}");
        stack.contains("nanosleep")
    };
    while !asleep() {
        thread::yield_now();
    }
    let spinner = Busy::new(0, multiplies);
    // it may still be telling its number, or be between two rounds
    let mut at_work = 0;
    while at_work < 100 {
        let stack = names(taken(spinner.number));
        assert!(stack.contains("thread_start"), "{stack}");
        at_work += u32::from(stack.contains(&again()));
    }
    let own = names(sample::stack_of(sample::this_thread()).unwrap());
    assert!(own.contains("the_stack_of_a_thread"), "{own}");
    let gone = spinner.number;
    spinner.end();
    wake.send(()).unwrap();
    sleeper.join().unwrap();
    assert!(sample::stack_of(gone).is_none());
}

#[inline(never)]
fn sleeps(tell: &mpsc::Sender<Thread>, woken: &mpsc::Receiver<()>) {
    tell.send(sample::this_thread()).unwrap();
    while woken.try_recv().is_err() {
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn one_s_own_stack_is_added_with_a_weight() {
    let _alone = alone();
    sample::prepare().unwrap();
    let mut samples = Samples::new(Unit::Bytes);
    for bytes in [100, 20] {
        samples.add(5, &takes_its_stack(), bytes);
    }
    samples.add(6, &sample::stack_here(), 3);
    assert_eq!((samples.weight(), samples.count(), samples.tags()), (123, 3, vec![5, 6]));
    let named = samples.of_tag(5).named();
    let (top, weight) = named.tops()[0];
    assert!(top.function.ends_with("takes_its_stack") && is_here(top), "{top}");
    assert_eq!(weight, 120);
    let mut both = samples.clone();
    both.merge(&samples);
    assert_eq!((both.weight(), both.count(), both.lost()), (246, 6, 0));
}

#[inline(never)]
fn takes_its_stack() -> Stack {
    black_box(sample::stack_here())
}

#[test]
fn what_there_is_no_room_for_is_lost_and_counted() {
    let _alone = alone();
    let (one, other) = (Busy::new(21, multiplies), Busy::new(22, calls_inlined));
    let session = Sampler::start(Options { stacks: 1, ..OFTEN }).unwrap();
    while session.snapshot().lost() < 20 {
        assert!(session.is_collecting());
        thread::sleep(Duration::from_millis(5));
    }
    let samples = session.stop();
    assert_eq!(samples.named().folded().lines().count(), 1);
    one.end();
    other.end();
}

#[test]
fn what_is_beyond_the_bounds_and_a_second_session_are_errors() {
    let _alone = alone();
    for options in [
        Options { hz: 0, ..OFTEN },
        Options { hz: 1000, ..OFTEN },
        Options { seconds: 121, ..OFTEN },
        Options { seconds: 0, ..OFTEN },
        Options { threads: 5000, ..OFTEN },
        Options { stacks: 20_000, ..OFTEN },
    ] {
        assert_eq!(Sampler::start(options).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    let session = Sampler::start(Options::default()).unwrap();
    assert_eq!(Sampler::start(Options::default()).unwrap_err().kind(), ErrorKind::ResourceBusy);
    drop(session);
    drop(Sampler::start(Options::default()).unwrap());
    let session = Sampler::start(Options { seconds: 1, ..OFTEN }).unwrap();
    while session.is_collecting() {
        thread::sleep(Duration::from_millis(20));
    }
    // its turn is over with its time, though nobody has asked for what it has
    drop(Sampler::start(Options::default()).unwrap());
    session.stop();
}

#[test]
fn threads_that_begin_during_a_session_are_sampled() {
    let _alone = alone();
    let session = Sampler::start(OFTEN).unwrap();
    let late = Busy::new(31, multiplies);
    let samples = collected(session, &[31], 5);
    late.end();
    assert!(samples.of_tag(31).weight() > 0);
}

#[test]
fn a_thousand_rounds_leave_nothing_behind() {
    const ROUNDS: usize = 1000;
    let _alone = alone();
    let busy = Busy::new(41, multiplies);
    drop(Sampler::start(OFTEN).unwrap());
    let count = |what: &str| std::fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
    let timers = || std::fs::read_to_string("/proc/self/timers").map_or(0, |text| text.matches("ID:").count());
    let queued = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        status.lines().find_map(|line| line.strip_prefix("SigQ:\t").map(str::to_owned)).unwrap()
    };
    let descriptors = count("fd");
    for round in 0..ROUNDS {
        let comes_and_goes = thread::spawn(|| black_box(multiplies(3)));
        let session = Sampler::start(OFTEN).unwrap();
        if round % 8 == 0 {
            taken(busy.number);
        }
        if round % 2 == 0 {
            comes_and_goes.join().unwrap();
            drop(session);
        } else {
            session.stop();
            comes_and_goes.join().unwrap();
        }
    }
    busy.end();
    let is_ours = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = std::fs::read_to_string(entry.unwrap().path().join("comm")).unwrap_or_default();
        name.trim() == "gauge-sampler"
    };
    // `pthread_join` returns a moment before the kernel has taken the thread from its list
    while std::fs::read_dir("/proc/self/task").unwrap().any(is_ours) {
        thread::yield_now();
    }
    assert_eq!((count("fd"), timers()), (descriptors, 0), "{}", queued());
}

#[test]
fn programs_start_during_a_session() {
    let _alone = alone();
    let session = Sampler::start(OFTEN).unwrap();
    let busy = Busy::new(51, multiplies);
    for _ in 0..20 {
        assert!(std::process::Command::new("/bin/true").status().unwrap().success());
    }
    collected(session, &[51], 5);
    busy.end();
}

#[test]
fn a_forked_child_has_no_session_and_can_have_its_own() {
    const SECONDS_MAX: u32 = 30;
    let _alone = alone();
    let busy = Busy::new(61, multiplies);
    let session = Sampler::start(OFTEN).unwrap();
    // SAFETY: the child uses memory, threads and files only, which glibc makes usable in it, none of the locks of this
    // program's other threads, and leaves without unwinding into the test.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: a child that hangs is ended by the system.
        unsafe { libc::alarm(SECONDS_MAX) };
        let is_right = std::panic::catch_unwind(|| {
            let own = Sampler::start(OFTEN).unwrap();
            let busy = Busy::new(62, multiplies);
            let samples = collected(own, &[62], 5);
            busy.end();
            assert_eq!(samples.of_tag(61).count(), 0);
            assert!(sample::stack_of(sample::this_thread()).is_some());
        });
        // SAFETY: nothing of the parent's is to be done at the end.
        unsafe { libc::_exit(i32::from(is_right.is_err())) };
    }
    collected(session, &[61], 5);
    busy.end();
    let mut status = 0;
    // SAFETY: the child is this test's, and the status lives here.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
}

#[test]
fn system_calls_go_on() {
    let _alone = alone();
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    let (tell, number) = mpsc::channel();
    let waiting = thread::spawn(move || {
        tell.send(sample::this_thread()).unwrap();
        let mut byte = [0];
        // one call of `read`, which says so if it is interrupted
        reader.read(&mut byte).map(|_| byte)
    });
    let number = number.recv().unwrap();
    for _ in 0..50 {
        taken(number);
    }
    std::io::Write::write_all(&mut writer, b"x").unwrap();
    assert_eq!(waiting.join().unwrap().unwrap(), [b'x']);
}

/// Stacks that are known beforehand: two of this file, one of them deeper.
fn known() -> (Samples, Samples) {
    sample::prepare().unwrap();
    let (mut before, mut after) = (Samples::new(Unit::Bytes), Samples::new(Unit::Bytes));
    for (to, weights) in [(&mut before, [10, 5]), (&mut after, [4, 9])] {
        for (at, weight) in weights.into_iter().enumerate() {
            let stack = if at == 0 { takes_its_stack() } else { goes_deeper() };
            to.add(at as u64 + 1, &stack, weight);
        }
    }
    (before, after)
}

#[inline(never)]
fn goes_deeper() -> Stack {
    black_box(takes_its_stack())
}

#[test]
fn folded_text_has_frames_and_a_weight_on_each_line() {
    let _alone = alone();
    let folded = known().0.named().folded();
    let weights: Vec<u64> = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap()).collect();
    assert_eq!(weights.iter().sum::<u64>(), 15);
    assert_eq!(weights.len(), 2);
    let deep = folded.lines().find(|line| line.contains("goes_deeper")).unwrap();
    let frames: Vec<&str> = deep.rsplit_once(' ').unwrap().0.split(';').collect();
    assert!(frames.last().unwrap().contains("sample::takes_its_stack /"), "{deep}");
    assert!(frames[frames.len() - 2].contains("sample::goes_deeper /"), "{deep}");
}

#[test]
fn a_difference_has_both_weights() {
    let _alone = alone();
    let (before, after) = known();
    let difference = after.minus(&before);
    let folded = difference.folded();
    assert_eq!(folded.lines().count(), 2);
    let weights = |line: &str| {
        let mut parts = line.rsplitn(3, ' ').map(str::to_owned);
        (parts.next().unwrap(), parts.next().unwrap())
    };
    let is_deep = |line: &&str| line.contains("goes_deeper");
    assert_eq!(weights(folded.lines().find(is_deep).unwrap()), ("9".to_owned(), "5".to_owned()));
    assert_eq!(weights(folded.lines().find(|line| !is_deep(line)).unwrap()), ("4".to_owned(), "10".to_owned()));
    well_formed(&difference.svg("grown & shrunk <b>").unwrap());
    let mut values: Vec<i64> =
        Decoded::new(&difference.pprof()).samples.iter().map(|sample| sample.values[1]).collect();
    values.sort_unstable();
    assert_eq!(values, [-6, 4]);
    assert_eq!(speedscope_weights(&difference.speedscope("difference")), [4, 6]);
}

#[test]
fn the_profile_for_pprof_decodes() {
    let _alone = alone();
    let profile = Decoded::new(&known().0.named().pprof());
    assert_eq!(profile.texts[0], "");
    let types: Vec<_> = profile.types.iter().map(|(a, b)| (&*profile.texts[*a], &*profile.texts[*b])).collect();
    assert_eq!(types, [("samples", "count"), ("space", "bytes")]);
    assert_eq!(profile.samples.len(), 2);
    let deep = profile.samples.iter().find(|sample| sample.values == [1, 5]).unwrap();
    let names: Vec<&str> = deep.locations.iter().map(|location| profile.name(*location)).collect();
    assert!(names[0].ends_with("takes_its_stack") && names[1].ends_with("goes_deeper"), "{names:?}");
    assert_eq!((&*profile.texts[deep.label.0], deep.label.1), ("tag", 2));
}

#[test]
fn speedscope_s_indices_are_within_bounds() {
    let _alone = alone();
    assert_eq!(speedscope_weights(&known().0.named().speedscope("a \"name\"\n")), [15]);
}

#[test]
fn flame_graphs_are_well_formed() {
    let _alone = alone();
    let svg = known().0.named().svg("bytes of <Vec<u8> as \"Clone\"> & others").unwrap();
    well_formed(&svg);
    assert!(svg.contains("sample::goes_deeper"));
    well_formed(&Samples::new(Unit::Count).named().svg("nothing").unwrap());
    let empty = Samples::new(Unit::Count);
    well_formed(&empty.minus(&known().0).svg("nothing is left").unwrap());
    assert_eq!(empty.named().folded(), "");
    Decoded::new(&empty.named().pprof());
}

/// The sum of weights of each profile.
fn speedscope_weights(text: &str) -> Vec<u64> {
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    let frames = json["shared"]["frames"].as_array().unwrap();
    assert!(frames.iter().all(|frame| frame["name"].is_string()));
    let profiles = json["profiles"].as_array().unwrap();
    let sum = |profile: &serde_json::Value| {
        let (samples, weights) = (profile["samples"].as_array().unwrap(), profile["weights"].as_array().unwrap());
        assert_eq!(samples.len(), weights.len());
        let mut indices = samples.iter().flat_map(|stack| stack.as_array().unwrap());
        assert!(indices.all(|index| (index.as_u64().unwrap() as usize) < frames.len()));
        let sum = weights.iter().map(|weight| weight.as_u64().unwrap()).sum();
        assert_eq!(profile["endValue"].as_u64(), Some(sum));
        sum
    };
    profiles.iter().map(sum).collect()
}

/// Holds each tag of an XML document to the one that ends it, and each `&` to an entity.
fn well_formed(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        let (text, tag) = rest.split_at(at);
        assert!(text.split('&').skip(1).all(|entity| entity.split_once(';').is_some_and(|(name, _)| name.len() < 8)));
        let end = [("<![CDATA[", "]]>"), ("<!--", "-->"), ("<?", "?>"), ("<", ">")];
        let (begin, end) = end.into_iter().find(|(begin, _)| tag.starts_with(begin)).unwrap();
        let length = tag.find(end).unwrap();
        let inner = &tag[begin.len()..length];
        rest = &tag[length + end.len()..];
        if begin != "<" || inner.starts_with('!') || inner.ends_with('/') {
            continue;
        }
        match inner.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name.trim())),
            None => {
                assert_eq!(inner.matches('"').count() % 2, 0, "{inner}");
                open.push(inner.split_whitespace().next().unwrap());
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// As much of a profile as the tests look at.
#[derive(Default)]
struct Decoded {
    types: Vec<(usize, usize)>,
    samples: Vec<DecodedSample>,
    /// By location the function.
    locations: HashMap<u64, u64>,
    /// By function its name.
    functions: HashMap<u64, usize>,
    texts: Vec<String>,
}

#[derive(Default)]
struct DecodedSample {
    locations: Vec<u64>,
    values: Vec<i64>,
    label: (usize, u64),
}

impl Decoded {
    fn new(gzip: &[u8]) -> Self {
        let mut bytes = Vec::new();
        GzDecoder::new(gzip).read_to_end(&mut bytes).unwrap();
        let mut decoded = Self::default();
        for (field, _, bytes) in fields(&bytes) {
            let numbers: HashMap<u64, u64> = match field {
                6 => HashMap::new(),
                _ => fields(bytes).iter().map(|(field, number, _)| (*field, *number)).collect(),
            };
            match field {
                1 => decoded.types.push((numbers[&1] as usize, numbers[&2] as usize)),
                2 => decoded.samples.push(DecodedSample::new(bytes)),
                4 => {
                    let line = fields(bytes).into_iter().find(|(field, ..)| *field == 4).unwrap();
                    assert!(decoded.locations.insert(numbers[&1], fields(line.2)[0].1).is_none());
                }
                5 => assert!(decoded.functions.insert(numbers[&1], numbers[&2] as usize).is_none()),
                6 => decoded.texts.push(String::from_utf8(bytes.to_vec()).unwrap()),
                other => panic!("field {other}"),
            }
        }
        let locations = decoded.samples.iter().flat_map(|sample| &sample.locations);
        locations.for_each(|location| assert!(!decoded.name(*location).is_empty()));
        decoded
    }

    fn name(&self, location: u64) -> &str {
        &self.texts[self.functions[&self.locations[&location]]]
    }
}

impl DecodedSample {
    fn new(bytes: &[u8]) -> Self {
        let mut sample = Self::default();
        for (field, _, bytes) in fields(bytes) {
            match field {
                1 => sample.locations = numbers(bytes),
                2 => sample.values = numbers(bytes).into_iter().map(|value| value as i64).collect(),
                _ => {
                    let pair = fields(bytes);
                    sample.label = (pair[0].1 as usize, pair[1].1);
                }
            }
        }
        sample
    }
}

/// A message's fields: number, value, bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = number(&mut bytes);
        let value = number(&mut bytes);
        let inner = match key & 7 {
            0 => &[],
            2 => {
                let (inner, rest) = bytes.split_at(value as usize);
                bytes = rest;
                inner
            }
            wire => panic!("wire type {wire}"),
        };
        fields.push((key >> 3, value, inner));
    }
    fields
}

fn numbers(mut bytes: &[u8]) -> Vec<u64> {
    let mut numbers = Vec::new();
    while !bytes.is_empty() {
        numbers.push(number(&mut bytes));
    }
    numbers
}

fn number(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}
