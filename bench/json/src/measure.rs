//! All ways to do a job timed in turns, in the rounds in which the processor was not another's too.

use serde::Serialize;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// One way to do a job: it returns how many bytes of text it wrote or read.
pub type Way<'a> = (&'static str, Box<dyn FnMut() -> usize + 'a>);

/// A job on a document, with all ways to do it.
pub struct Job<'a> {
    pub document: &'static str,
    pub job: &'static str,
    pub bytes: usize,
    pub ways: Vec<Way<'a>>,
}

/// What was measured of one way: megabytes of text a second, in each round.
#[derive(Serialize)]
pub struct Figure {
    pub document: &'static str,
    pub job: &'static str,
    pub way: &'static str,
    pub bytes: usize,
    pub rounds: Vec<f64>,
}

impl Figure {
    pub fn median(&self) -> f64 {
        let mut rounds = self.rounds.clone();
        rounds.sort_by(f64::total_cmp);
        rounds[rounds.len() / 2]
    }
}

/// All ways once.
struct Round {
    /// How fast additions in registers were meanwhile.
    pace: f64,
    /// Megabytes of text a second, by way.
    rates: Vec<f64>,
}

/// A round is undisturbed if additions were so fast in it, to the fastest round. Who shares a core with another machine has half of what it can
/// do at once, which costs most where most is done at once: such rounds compare other things than the others.
const UNDISTURBED: f64 = 0.94;

/// So many times as many rounds are tried at most.
const PATIENCE: usize = 12;

pub struct Measured {
    pub figures: Vec<Figure>,
    /// How many rounds were tried for those that count.
    pub tried: usize,
    pub counted: usize,
    /// The pace of the slowest that counts, to the fastest of all.
    pub pace: f64,
}

/// All ways in turn, in each round from another on, until there are as many undisturbed rounds as wanted; otherwise those that were the least
/// disturbed count.
pub fn measure(jobs: Vec<Job<'_>>, wanted: usize, at_least: Duration) -> Measured {
    let mut jobs: Vec<(Job<'_>, Vec<Round>)> = jobs.into_iter().map(|job| (job, Vec::new())).collect();
    let mut best = 0.0;
    // which pace is the best may be known at the end only
    for _ in 0..PATIENCE {
        for (job, rounds) in &mut jobs {
            for _ in 0..wanted {
                if rounds.iter().filter(|round| round.pace >= UNDISTURBED * best).count() >= wanted {
                    break;
                }
                let round = round(&mut job.ways, rounds.len(), at_least);
                best = f64::max(best, round.pace);
                rounds.push(round);
            }
            eprintln!("{} {}: {} rounds", job.document, job.job, rounds.len());
        }
    }
    let mut measured = Measured { figures: Vec::new(), tried: 0, counted: 0, pace: 1.0 };
    for (Job { document, job, bytes, ways }, mut rounds) in jobs {
        measured.tried += rounds.len();
        rounds.sort_by(|a, b| b.pace.total_cmp(&a.pace));
        rounds.truncate(wanted);
        measured.counted += rounds.len();
        measured.pace = rounds.iter().map(|round| round.pace / best).fold(measured.pace, f64::min);
        measured.figures.extend(ways.iter().enumerate().map(|(at, (way, _))| Figure {
            document,
            job,
            way,
            bytes,
            rounds: rounds.iter().map(|round| round.rates[at]).collect(),
        }));
    }
    measured
}

fn round(ways: &mut [Way<'_>], number: usize, at_least: Duration) -> Round {
    let (mut rates, mut paces) = (vec![0.0; ways.len()], 0.0);
    for step in 0..ways.len() {
        let at = (number + step) % ways.len();
        rates[at] = megabytes_a_second(&mut ways[at].1, at_least);
        paces += pace();
    }
    Round { pace: paces / ways.len() as f64, rates }
}

fn megabytes_a_second(way: &mut dyn FnMut() -> usize, at_least: Duration) -> f64 {
    let (start, mut bytes, mut times) = (Instant::now(), 0_usize, 1);
    loop {
        for _ in 0..times {
            bytes += way();
        }
        let taken = start.elapsed();
        if taken >= at_least {
            return bytes as f64 / taken.as_secs_f64() / 1e6;
        }
        times *= 2;
    }
}

/// How many millions of steps a second take place that do as much at once as the processor can: six sums that do not wait for each other, in
/// registers.
fn pace() -> f64 {
    const STEPS: u64 = 1_000_000;
    let (start, mut sums) = (Instant::now(), [1_u64, 2, 3, 4, 5, 6]);
    for step in 0..STEPS {
        sums = sums.map(|sum| sum.rotate_left(1).wrapping_add(step));
    }
    black_box(sums);
    STEPS as f64 / start.elapsed().as_secs_f64() / 1e6
}
