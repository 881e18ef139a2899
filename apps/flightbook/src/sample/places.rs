//! What the sample is made of: areas, gliders, and what pilots note.

/// A name, metres above the sea, latitude and longitude.
pub(super) type Spot = (&'static str, i32, f64, f64);

/// Where one flies: from a launch down to a field.
pub(super) struct Area {
    pub(super) country: &'static str,
    pub(super) launch: Spot,
    pub(super) landing: Spot,
}

pub(super) const AREAS: [Area; 12] = [
    area("CH", ("Fiesch Kühboden", 2212, 46.415, 8.124), ("Fiesch", 1060, 46.404, 8.131)),
    area("CH", ("Grindelwald First", 2166, 46.659, 8.054), ("Grindelwald Bodmi", 1110, 46.630, 8.042)),
    area("FR", ("Annecy Forclaz", 1250, 45.815, 6.246), ("Doussard", 460, 45.779, 6.223)),
    area("FR", ("Saint-Hilaire", 980, 45.307, 5.888), ("Lumbin", 240, 45.300, 5.912)),
    area("IT", ("Bassano Panettone", 780, 45.806, 11.727), ("Semonzo", 170, 45.793, 11.758)),
    area("AT", ("Kössen Unterberg", 1487, 47.640, 12.407), ("Kössen", 590, 47.660, 12.405)),
    area("AT", ("Greifenburg Emberger Alm", 1740, 46.764, 13.197), ("Greifenburg", 580, 46.744, 13.184)),
    area("DE", ("Brauneck", 1540, 47.663, 11.523), ("Lenggries", 690, 47.673, 11.566)),
    area("DE", ("Tegelberg", 1707, 47.559, 10.778), ("Schwangau", 815, 47.568, 10.753)),
    area("ES", ("Algodonales Levante", 950, 36.893, -5.405), ("Algodonales", 350, 36.878, -5.420)),
    area("IN", ("Bir Billing", 2430, 32.058, 76.737), ("Bir Chaugan", 1350, 32.036, 76.712)),
    area("CO", ("Roldanillo Los Tanques", 1800, 4.413, -76.190), ("Roldanillo", 960, 4.412, -76.155)),
];

/// Manufacturer, model, speed in m/s, glide ratio: from those one begins with to those for experts.
pub(super) const GLIDERS: [(&str, &str, f64, f64); 10] = [
    ("Advance", "Alpha 8", 9.4, 8.5),
    ("Skywalk", "Arak 2", 10.0, 9.9),
    ("Nova", "Ion 7", 9.9, 9.8),
    ("Ozone", "Rush 6", 10.2, 10.2),
    ("Gin", "Explorer 2", 10.1, 10.0),
    ("Flow", "Fusion 2", 10.6, 10.9),
    ("Advance", "Sigma DLS", 10.5, 10.8),
    ("Ozone", "Photon", 10.6, 11.0),
    ("Ozone", "Zeno 2", 11.1, 11.8),
    ("Ozone", "Enzo 3", 11.6, 12.5),
];

pub(super) const COMMENTS: [&str; 10] = [
    "Smooth all day.",
    "Rough near the ridge, then \"elevator\" to base.",
    "Landed out at first, it seemed, but the evening breeze carried me home.",
    "Strong valley wind after 14:00, 30 km/h at the landing field.",
    "Cloud street home 🪂",
    "Inversion at 1,800 m, no way through.",
    "Shared the climb with two griffons.",
    "Turned back before the pass: too low, and no regrets.",
    "Base rose by 300 m within an hour.",
    "Cold hands. Next time the thick gloves.",
];
pub(super) const ON_FOOT: [&str; 3] = [
    "Up on foot before breakfast, first in the air.",
    "An hour and a half uphill, ten minutes down.",
    "Hut, sunrise, glide.",
];

const fn area(country: &'static str, launch: Spot, landing: Spot) -> Area {
    Area { country, launch, landing }
}
