//! Attempts to sign in: the calls that count as attempts, and the limit of each client.

use crate::callers::SignInAttempt;
use crate::config::InForce;
use crate::error::{ApiError, Retry};
use crate::schema::Snapshot;
use crate::state::State;
use hyper::http::request::Parts;
use thalweg_plan::Plan;

/// Counts a call that may be an attempt to sign in: one with `Prefer: session` or by a form with
/// `session`, and each other call of a function that such a form calls or that `sign-in-functions`
/// names. A call without arguments is not counted: it checks no password, and is used to sign out.
pub(super) fn count<'s>(
    (state, in_force): (&'s State, &InForce),
    (parts, peer): (&Parts, Option<&str>),
    snapshot: &Snapshot,
    plan: &Plan<'_>,
    is_session: bool,
) -> Result<Option<SignInAttempt<'s>>, ApiError> {
    let Some(call) = plan.call().filter(|call| !call.arguments.is_empty()) else { return Ok(None) };
    let function = call.function;
    if !is_session && !is_sign_in((state, in_force), snapshot, (&function.schema, &function.name)) {
        return Ok(None);
    }
    attempt((state, in_force), (parts, peer))
}

/// Counts a call that a page of the table browser makes.
pub(super) fn count_browsed(
    (state, in_force): (&State, &InForce),
    (parts, peer): (&Parts, Option<&str>),
    snapshot: &Snapshot,
    function: (&str, &str),
) -> Result<(), ApiError> {
    if parts.uri.query().is_none_or(str::is_empty) || !is_sign_in((state, in_force), snapshot, function) {
        return Ok(());
    }
    attempt((state, in_force), (parts, peer)).map(drop)
}

/// Returns the result of a call with the attempt that it counts as. If the call was not executed,
/// because it is retried or was refused before, the attempt is restored.
pub(super) fn result<'s, T>(
    carried_out: Result<T, ApiError>,
    attempt: Option<SignInAttempt<'s>>,
) -> Result<(T, Option<SignInAttempt<'s>>), ApiError> {
    match carried_out {
        Ok(value) => Ok((value, attempt)),
        Err(error) => {
            let is_executed = error.retry == Retry::Never && !error.is_before_execution();
            restore(attempt.filter(|_| !is_executed));
            Err(error)
        }
    }
}

/// Restores an attempt, if there is one.
pub(super) fn restore(attempt: Option<SignInAttempt<'_>>) {
    if let Some(attempt) = attempt {
        attempt.take_back();
    }
}

fn attempt<'s>(
    (state, in_force): (&'s State, &InForce),
    (parts, peer): (&Parts, Option<&str>),
) -> Result<Option<SignInAttempt<'s>>, ApiError> {
    // Code in the same process limits its own callers.
    let Some(peer) = peer else { return Ok(None) };
    state.callers.sign_in(&in_force.config, peer, &parts.headers)
}

fn is_sign_in((state, in_force): (&State, &InForce), snapshot: &Snapshot, (schema, name): (&str, &str)) -> bool {
    let is_named = |listed: &String| match listed.split_once('.') {
        Some((of, listed)) => of == schema && listed == name,
        None => listed == name,
    };
    let is_of_form = || {
        let site = state.site.as_deref().filter(|_| schema == in_force.config.default_schema());
        site.is_some_and(|site| site.bound(&site.loaded(), in_force, snapshot).signs_in_by(name))
    };
    in_force.config.sign_in_functions.iter().any(is_named) || is_of_form()
}
