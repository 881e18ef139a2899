//! Places on the FAI sphere as points in space: what is far on the ground is far through the Earth, and boxes need no date line.

/// The Earth that contests measure on: FAI Sporting Code, Section 7D, "FAI sphere".
pub(crate) const RADIUS_M: f64 = 6_371_000.0;

/// A place in metres from the middle of the Earth, along three axes of which the first two lie level at the track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point(pub(crate) [f64; 3]);

/// Distance over ground in metres.
pub(crate) fn distance_m(a: Point, b: Point) -> f64 {
    arc_m(chord_squared(a, b))
}

/// Degrees of latitude and longitude to points, turned such that the track lies around the third axis and along the first: boxes fit it
/// best then, and those of a straight flight are slim.
pub(crate) fn points(places: impl Iterator<Item = (f64, f64)>) -> Vec<Point> {
    let mut points: Vec<Point> = places.map(|(latitude, longitude)| point(latitude, longitude)).collect();
    let mut middle = [0.0; 3];
    for point in &points {
        for (sum, part) in middle.iter_mut().zip(point.0) {
            *sum += part;
        }
    }
    let up = unit(middle).unwrap_or([0.0, 0.0, 1.0]);
    // at a pole any direction is as good as east
    let east = unit([-up[1], up[0], 0.0]).unwrap_or([1.0, 0.0, 0.0]);
    let north =
        [up[1] * east[2] - up[2] * east[1], up[2] * east[0] - up[0] * east[2], up[0] * east[1] - up[1] * east[0]];
    let (sin, cos) = direction(points.iter().map(|point| (dot(east, point.0), dot(north, point.0)))).sin_cos();
    for point in &mut points {
        let (x, y) = (dot(east, point.0), dot(north, point.0));
        *point = Point([x * cos + y * sin, y * cos - x * sin, dot(up, point.0)]);
    }
    points
}

/// The angle of the axis along which places in a plane around its origin are spread most.
fn direction(places: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in places {
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    0.5 * f64::atan2(2.0 * xy, xx - yy)
}

/// One place, not turned.
pub(crate) fn point(latitude: f64, longitude: f64) -> Point {
    let (sin_latitude, cos_latitude) = latitude.to_radians().sin_cos();
    let (sin_longitude, cos_longitude) = longitude.to_radians().sin_cos();
    Point([cos_latitude * cos_longitude, cos_latitude * sin_longitude, sin_latitude].map(|part| part * RADIUS_M))
}

/// The way over ground between the ends of a chord: increasing and convex, so that bounds of chords are bounds of distances.
pub(crate) fn arc_m(chord_squared: f64) -> f64 {
    let u = chord_squared / (4.0 * RADIUS_M * RADIUS_M);
    let chord = chord_squared.sqrt();
    if u > 0.001 {
        return 2.0 * RADIUS_M * u.sqrt().min(1.0).asin();
    }
    // the series of the arc sine; what is left out is less than a micrometre here
    chord * (1.0 + u * (1.0 / 6.0 + u * (3.0 / 40.0 + u * (15.0 / 336.0 + u * (105.0 / 3456.0)))))
}

fn chord_squared(a: Point, b: Point) -> f64 {
    let [x, y, z] = [a.0[0] - b.0[0], a.0[1] - b.0[1], a.0[2] - b.0[2]];
    x * x + y * y + z * z
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn unit(vector: [f64; 3]) -> Option<[f64; 3]> {
    let length = dot(vector, vector).sqrt();
    (length > 1e-6).then(|| vector.map(|part| part / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_a_sphere_across_the_date_line_and_poles() {
        let degree = RADIUS_M.to_radians();
        for (a, b, degrees) in [
            ((0.0, 0.0), (0.0, 1.0), 1.0),
            ((45.0, 7.0), (46.0, 7.0), 1.0),
            ((0.0, 179.5), (0.0, -179.5), 1.0),
            ((89.5, 0.0), (89.5, 180.0), 1.0),
            ((0.0, 0.0), (0.0, 3.0), 3.0),
            ((0.0, 0.0), (0.0, 4.0), 4.0),
            ((10.0, 20.0), (-10.0, -160.0), 180.0),
        ] {
            let places = points([a, b].into_iter());
            let distance = distance_m(places[0], places[1]);
            assert!((distance - degrees * degree).abs() < 0.001, "{a:?} to {b:?}: {distance}");
        }
    }
}
