//! The line of an error that is not the client's.

use super::error_line;
use crate::error::ApiError;

/// Logs an error with a status from 500 on, with all details that a client could be shown
/// (operations §9). Equal errors are counted, because a database that is away fails every request
/// in the same way.
pub(crate) fn failure(error: &ApiError) {
    if !error.status.is_server_error() {
        return;
    }
    let (said, fault) = (error.json(true), error.fault().map_or(String::new(), |fault| format!(" {}", fault.message)));
    let line = format!("{}{fault}", String::from_utf8_lossy(&said));
    error_line(&line);
}
