//! Scores beside those of a search that leaves nothing out, and beside geometry.

use super::sphere::{RADIUS_M, distance_m, points};
use super::*;
use crate::random::Random;
use crate::sample::FlightBook;

#[test]
fn scores_are_those_of_a_search_that_leaves_nothing_out() {
    let mut kinds = Vec::new();
    for seed in 0..400 {
        let mut random = Random(seed);
        let fixes = wander(&mut random);
        let found = score(&fixes).unwrap();
        let places: Vec<_> = points(fixes.iter().map(|fix| (fix.latitude, fix.longitude)));
        let free_flight = longest_way_m(&places) / 1000.0;
        assert!(found.free_flight.is_proven);
        assert!((found.free_flight.points - free_flight).abs() <= 0.001, "{seed}: {found:?}, not {free_flight}");
        for (shape, found) in [(&FREE_TRIANGLE, &found.free_triangle), (&FAI_TRIANGLE, &found.fai_triangle)] {
            let best = best_triangle_points(&places, shape);
            let points = found.as_ref().map_or(free_flight * TRIANGLE_PART_MIN, |found| found.points);
            let best = best.max(free_flight * TRIANGLE_PART_MIN);
            assert!((points - best).abs() <= 0.001, "{seed}: {points}, not {best}: {found:?}");
            assert!(found.as_ref().is_none_or(|found| found.is_proven));
            kinds.extend(found.as_ref().map(|found| found.kind));
        }
    }
    for kind in [Kind::FreeTriangle, Kind::ClosedFreeTriangle, Kind::FaiTriangle, Kind::ClosedFaiTriangle] {
        let count = kinds.iter().filter(|found| **found == kind).count();
        assert!(count > 20, "{kind:?} is tried {count} times");
    }
}

#[test]
fn what_a_score_says_of_its_places_is_so() {
    for flight in FlightBook::new(10).flights() {
        let track = crate::igc::read(flight.igc.as_bytes()).unwrap();
        let scores = score(&track.fixes).unwrap();
        let place = |fix: usize| {
            let fix = &track.fixes[fix];
            sphere::point(fix.latitude, fix.longitude)
        };
        let leg = |a: usize, b: usize| distance_m(place(a), place(b));
        for found in [Some(scores.free_flight), scores.free_triangle, scores.fai_triangle].into_iter().flatten() {
            let Score { start, turnpoints: [a, b, c], finish, .. } = found;
            assert!([start, a, b, c, finish].is_sorted());
            let sides = [leg(a, b), leg(b, c), leg(c, a)];
            let distance = match found.kind {
                Kind::FreeFlight => leg(start, a) + leg(a, b) + leg(b, c) + leg(c, finish),
                Kind::FreeTriangle | Kind::ClosedFreeTriangle | Kind::FaiTriangle | Kind::ClosedFaiTriangle => {
                    assert!((leg(start, finish) - found.closing_distance_m).abs() < 0.001);
                    sides.iter().sum()
                }
            };
            assert!((distance - found.distance_m).abs() < 0.001, "{found:?}");
            let (closing_max, side_min, factor) = match found.kind {
                Kind::FreeFlight => (0.0, 0.0, 1.0),
                Kind::FreeTriangle => (0.2, 0.0, 1.2),
                Kind::ClosedFreeTriangle => (0.05, 0.0, 1.4),
                Kind::FaiTriangle => (0.2, 0.28, 1.4),
                Kind::ClosedFaiTriangle => (0.05, 0.28, 1.6),
            };
            assert!(found.closing_distance_m <= closing_max * distance + 0.001, "{found:?}");
            assert!(sides.iter().all(|side| *side >= side_min * distance - 0.001), "{found:?}");
            assert!(
                (found.points - (distance - found.closing_distance_m) * factor / 1000.0).abs() < 0.001,
                "{found:?}"
            );
        }
    }
}

#[test]
fn an_equilateral_triangle_is_an_fai_triangle() {
    // 0.3 degrees from a pole it is equilateral on any sphere
    let fixes = polygon(&[(89.7, 0.0), (89.7, 120.0), (89.7, -120.0), (89.7, 0.0)]);
    let side = distance_m(sphere::point(89.7, 0.0), sphere::point(89.7, 120.0));
    let found = score(&fixes).unwrap().fai_triangle.unwrap();
    assert_eq!(found.kind, Kind::ClosedFaiTriangle);
    assert!((found.points - 3.0 * side * 1.6 / 1000.0).abs() < 0.01, "{found:?}");
}

#[test]
fn out_and_return_is_a_flat_triangle_across_the_date_line() {
    let fixes = polygon(&[(0.0, 179.9), (0.0, -179.8), (0.0, 179.9)]);
    let scores = score(&fixes).unwrap();
    let out_km = RADIUS_M.to_radians() * 0.3 / 1000.0;
    assert!((scores.free_flight.points - 2.0 * out_km).abs() < 0.01, "{scores:?}");
    let found = scores.free_triangle.unwrap();
    assert_eq!(found.kind, Kind::ClosedFreeTriangle);
    assert!((found.points - 2.0 * out_km * 1.4).abs() < 0.01, "{found:?}");
    assert!(scores.fai_triangle.is_none_or(|found| found.points < out_km));
}

#[test]
fn one_fix_or_none_is_no_trouble() {
    assert!(score(&[]).is_none());
    let mut fix = polygon(&[(46.0, 7.0), (46.0, 7.0)])[0];
    let scores = score(&[fix]).unwrap();
    assert!(scores.free_flight.points.abs() < 1e-9 && scores.free_triangle.is_none());
    assert!(score(&[fix; 5000]).unwrap().free_flight.is_proven);
    fix.is_valid = false;
    assert!(score(&[fix]).is_none());
}

/// A track that leaps about at random has as many best triangles as fixes.
#[test]
fn a_track_of_noise_ends_within_its_budget() {
    let mut random = Random(7);
    let noise: Vec<Fix> = (0..40_000).map(|at| fix(at, random.between(45.0, 46.0), random.between(6.0, 8.0))).collect();
    let places = points(noise.iter().map(|fix| (fix.latitude, fix.longitude)));
    let tree = Tree::new(&places);
    for shape in [&FREE_TRIANGLE, &FAI_TRIANGLE] {
        let mut budget = Budget::new(20_000);
        let (_, is_proven) = triangle::best(&tree, shape, 0.0, &mut budget);
        assert!(budget.is_spent() && !is_proven);
    }
    let mut budget = Budget::new(20_000);
    let way = free_flight::longest(&tree, &mut budget);
    assert!(!way.is_proven && way.distance_m > 500_000.0, "{way:?}");
}

/// The samples' long days have 17,000 to 25,000 fixes, the others fewer.
#[test]
fn flights_need_a_part_of_the_budget() {
    for flight in FlightBook::new(30).flights() {
        let track = crate::igc::read(flight.igc.as_bytes()).unwrap();
        let scores = score(&track.fixes).unwrap();
        assert!(scores.free_flight.is_proven, "flight {}", flight.number);
        assert!(scores.free_triangle.is_none_or(|found| found.is_proven), "flight {}", flight.number);
        assert!(scores.fai_triangle.is_none_or(|found| found.is_proven), "flight {}", flight.number);
    }
}

#[test]
fn flights_share_a_budget_and_what_is_beyond_it_is_not_proven() {
    let flight = FlightBook::new(10).flights().last().unwrap();
    let fixes = crate::igc::read(flight.igc.as_bytes()).unwrap().fixes;
    let mut all = Budget::new(u64::MAX);
    let best = score_within(&fixes, &mut all).unwrap();
    let steps = u64::MAX - all.left;
    assert!(best.are_proven && steps > 0);
    // One step more than two flights take, since a search that has spent its last step does not know that it has ended.
    let mut budget = Budget::new(2 * steps + 1);
    for left in [steps + 1, 1] {
        let same = score_within(&fixes, &mut budget).unwrap();
        assert!(same.are_proven && budget.left == left, "{left}");
        assert!((same.best().points - best.best().points).abs() < 1e-9);
    }
    let third = score_within(&fixes, &mut budget).unwrap();
    assert_eq!(budget.left, 0);
    assert!(!third.are_proven && !third.free_flight.is_proven);
    assert!(third.free_flight.distance_m > best.free_flight.distance_m / 2.0, "{third:?}");
    assert!(!score_within(&fixes[..1], &mut budget).unwrap().are_proven, "nothing is proven without a step");
    let mut short = Budget::new(steps);
    assert!(!score_within(&fixes, &mut short).unwrap().are_proven);
}

/// A recorder that saw nothing for an hour leaves one box that is large down to the last two fixes.
#[test]
fn a_gap_in_a_track_costs_little() {
    let mut random = Random(3);
    let (mut latitude, mut longitude) = (46.0, 7.0);
    let fixes: Vec<Fix> = (0..4000)
        .map(|at| {
            latitude += if at == 2001 { 0.5 } else { 0.0001 * random.normal() };
            longitude += 0.0001 * random.normal();
            fix(at, latitude, longitude)
        })
        .collect();
    let places = points(fixes.iter().map(|fix| (fix.latitude, fix.longitude)));
    let mut budget = Budget::new(200_000);
    assert!(free_flight::longest(&Tree::new(&places), &mut budget).is_proven);
}

fn fix(time_s: i64, latitude: f64, longitude: f64) -> Fix {
    Fix { time_s, latitude, longitude, pressure_altitude_m: 1000, gnss_altitude_m: 1000, is_valid: true }
}

/// Some fixes of a walk at random, that comes back more or less.
fn wander(random: &mut Random) -> Vec<Fix> {
    let count = 3 + random.below(22);
    let homing = random.between(0.0, 0.3);
    let (mut latitude, mut longitude, mut turn) = (46.0, 7.0, random.between(0.0, 6.0));
    (0..count as i64)
        .map(|at| {
            turn += 0.3 + 0.4 * random.normal();
            latitude += 0.05 * turn.sin() - homing * (latitude - 46.0);
            longitude += 0.07 * turn.cos() - homing * (longitude - 7.0);
            fix(at, latitude, longitude)
        })
        .collect()
}

/// Fixes along the straight lines between corners, a hundred each.
fn polygon(corners: &[(f64, f64)]) -> Vec<Fix> {
    let vector = |(latitude, longitude): (f64, f64)| sphere::point(latitude, longitude).0;
    let mut fixes = Vec::new();
    for leg in corners.windows(2) {
        let (a, b) = (vector(leg[0]), vector(leg[1]));
        for step in 0..=100 {
            let part = f64::from(step) / 100.0;
            let [x, y, z] = [0, 1, 2].map(|axis| a[axis] + (b[axis] - a[axis]) * part);
            let (latitude, longitude) = (z.atan2(x.hypot(y)).to_degrees(), y.atan2(x).to_degrees());
            fixes.push(fix(fixes.len() as i64, latitude, longitude));
        }
    }
    fixes
}

/// By trying all five places.
fn longest_way_m(places: &[sphere::Point]) -> f64 {
    let mut longest: f64 = 0.0;
    let leg = |a: usize, b: usize| distance_m(places[a], places[b]);
    let all = places.len();
    for a in 0..all {
        for b in a..all {
            for c in b..all {
                for d in c..all {
                    let first = leg(a, b) + leg(b, c) + leg(c, d);
                    longest = (d..all).map(|e| first + leg(d, e)).fold(longest, f64::max);
                }
            }
        }
    }
    longest
}

/// By trying all turnpoints with all starts and finishes.
fn best_triangle_points(places: &[sphere::Point], shape: &Shape) -> f64 {
    let mut best: f64 = 0.0;
    let leg = |a: usize, b: usize| distance_m(places[a], places[b]);
    let all = places.len();
    for a in 0..all {
        for b in a..all {
            for c in b..all {
                let sides = [leg(a, b), leg(b, c), leg(c, a)];
                let perimeter: f64 = sides.iter().sum();
                if sides.iter().any(|side| *side < shape.side_min * perimeter) {
                    continue;
                }
                let closings = (0..=a).flat_map(|start| (c..all).map(move |finish| leg(start, finish)));
                let closing = closings.fold(f64::INFINITY, f64::min);
                for (part, factor) in shape.closings {
                    if closing <= part * perimeter {
                        best = best.max((perimeter - closing) * factor / 1000.0);
                    }
                }
            }
        }
    }
    best
}
