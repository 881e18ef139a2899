//! The time of a line.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt::Display;
use std::sync::OnceLock;

/// Now, where the machine is, as Apache writes it: `02/May/2026:09:14:03 +0000`.
pub(super) fn apache() -> impl Display {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    let zone = ZONE.get_or_init(TimeZone::system).clone();
    Timestamp::now().to_zoned(zone).strftime("%d/%b/%Y:%H:%M:%S %z").to_string()
}

/// Now, everywhere: `2026-05-02T09:14:03.123456Z`.
pub(super) fn universal() -> impl Display {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
