//! Which of a track's two altitudes counts, without the leaps that sensors make.

use super::Fix;

/// Faster is a leap of the sensor's: no glider falls or is lifted so.
const VERTICAL_MS_MAX: i64 = 50;
/// What two altitudes beside each other may differ by in any case.
const STEP_M_MAX: i64 = 50;

/// The altitudes that pilots compare: by satellites, or by pressure where no satellite gave one.
pub(super) fn true_m(fixes: &[Fix]) -> Vec<i32> {
    let by_gnss = fixes.iter().any(|fix| fix.gnss_altitude_m != 0);
    without_leaps(fixes, |fix| if by_gnss { fix.gnss_altitude_m } else { fix.pressure_altitude_m })
}

/// The altitudes that err less from fix to fix: by pressure, where there is a sensor.
pub(super) fn steady_m(fixes: &[Fix]) -> Vec<i32> {
    let has_sensor = fixes.iter().any(|fix| fix.pressure_altitude_m != 0);
    without_leaps(fixes, |fix| if has_sensor { fix.pressure_altitude_m } else { fix.gnss_altitude_m })
}

/// An altitude that cannot be is the last one that can, until so much time has passed that it can be.
fn without_leaps(fixes: &[Fix], altitude: impl Fn(&Fix) -> i32) -> Vec<i32> {
    let mut last: Option<(i64, i32)> = None;
    let mut altitudes = Vec::with_capacity(fixes.len());
    for fix in fixes {
        let now = altitude(fix);
        let held = last.filter(|(time_s, altitude)| {
            i64::from(now.abs_diff(*altitude)) > STEP_M_MAX + VERTICAL_MS_MAX * (fix.time_s - time_s)
        });
        let kept = held.unwrap_or((fix.time_s, now));
        last = Some(kept);
        altitudes.push(kept.1);
    }
    altitudes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leap_is_held_and_a_change_of_level_is_believed_in_time() {
        let fix = |(time_s, gnss_altitude_m)| Fix {
            time_s,
            latitude: 46.0,
            longitude: 7.0,
            pressure_altitude_m: 0,
            gnss_altitude_m,
            is_valid: true,
        };
        let fixes = [(0, 1000), (1, 1005), (2, 0), (3, 1010), (4, 9000), (5, 1012), (70, 4000), (71, 4001)].map(fix);
        assert_eq!(true_m(&fixes), [1000, 1005, 1005, 1010, 1010, 1012, 4000, 4001]);
        assert_eq!(steady_m(&fixes), true_m(&fixes));
    }
}
