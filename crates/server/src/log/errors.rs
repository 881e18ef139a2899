//! The line of an error that is not the client's.

use super::Failures;
use crate::error::{ApiError, NO_ROOM};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Refusals for want of room are logged now and then: many clients are refused at once.
static NO_ROOM_TOLD: Mutex<Failures> = Mutex::new(Failures::told_each(Duration::from_secs(5)));

/// Tells of an error with a status from 500 on, with all that a client could be told (operations §9).
pub(crate) fn failure(error: &ApiError) {
    if !error.status.is_server_error() {
        return;
    }
    let times = match *error.code == *NO_ROOM {
        true => NO_ROOM_TOLD.lock().unwrap_or_else(PoisonError::into_inner).another(Instant::now()),
        false => Some(1),
    };
    let Some(times) = times else { return };
    let (said, fault) = (error.json(true), error.fault().map_or(String::new(), |fault| format!(" {}", fault.message)));
    tracing::error!(times = (times > 1).then_some(times), "{}{fault}", String::from_utf8_lossy(&said));
}
