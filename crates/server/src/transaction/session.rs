//! What a request needs of its session: role, search path, mode, and what SQL may ask about it (functions §6, auth §8).
//!
//! A plan that runs nothing but PostgreSQL's own harmless code needs an identity only, which a connection may have been
//! given before; one that asks for settings is told besides, for its transaction, what it may ask of the request. Every other
//! has all of it said anew, for its transaction alone.

use crate::auth::Who;
use crate::config::{InForce, RequestSettings};
use crate::schema::Snapshot;
use crate::state::State;
use thalweg_catalog::{Function, RoleSetting, Runs, Setting};
use thalweg_wire::Identity;

/// What a request needs of its session.
pub(crate) struct Session<'a> {
    pub(super) who: &'a Who<'a>,
    pub(super) role: &'a str,
    pub(super) search_path: &'a str,
    pub(super) snapshot: &'a Snapshot,
    pub(super) in_force: &'a InForce,
    pub(super) facts: RequestFacts<'a>,
    pub(super) is_read_only: bool,
    /// Whether its statements must see one snapshot.
    pub(super) one_snapshot: bool,
    pub(super) runs: Runs,
}

/// What SQL may ask about a request.
pub(crate) struct RequestFacts<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a hyper::HeaderMap,
    /// `Prefer: timezone`
    pub(crate) timezone: Option<&'a str>,
    /// The function that is called.
    pub(crate) function: Option<&'a Function>,
}

impl<'a> Session<'a> {
    /// A session that only reads, for a request of `who` in `schema`, which may run anything.
    pub(crate) fn anew(
        in_force: &'a InForce,
        snapshot: &'a Snapshot,
        schema: &'a str,
        who: &'a Who<'a>,
        facts: RequestFacts<'a>,
    ) -> Self {
        Self {
            who,
            role: who.role(),
            search_path: snapshot.search_path(schema),
            snapshot,
            in_force,
            facts,
            is_read_only: true,
            one_snapshot: false,
            runs: Runs::Anything,
        }
    }

    /// The same for a plan that runs this.
    pub(crate) fn of(
        state: &'a State,
        in_force: &'a InForce,
        snapshot: &'a Snapshot,
        schema: &'a str,
        who: &'a Who<'a>,
        runs: Runs,
        facts: RequestFacts<'a>,
    ) -> Self {
        // what relations run may have changed
        let is_certain = in_force.pre_request.is_none() && !state.reloader.is_behind();
        let runs = if is_certain { runs } else { Runs::Anything };
        Self { runs, ..Self::anew(in_force, snapshot, schema, who, facts) }
    }

    /// The same for one that may write, unless it says that it does not.
    pub(crate) fn writing(mut self, writes: bool) -> Self {
        self.is_read_only = !writes;
        self
    }

    /// The same for one whose statements must see one snapshot.
    pub(crate) fn in_one_snapshot(mut self, one_snapshot: bool) -> Self {
        self.one_snapshot = one_snapshot;
        self
    }

    /// Whether it is that of who sends no token.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.who.is_anonymous()
    }

    /// The identity that is all it needs to be given before; `None` where everything must be said for the transaction.
    pub(super) fn identity(&self) -> Option<Identity<'a>> {
        let is_enough = self.runs != Runs::Anything
            && self.in_force.config.db_request_settings == RequestSettings::Auto
            && self.facts.timezone.is_none();
        let settings = self.snapshot.role_settings(self.role);
        // of a transaction; a session does not keep it
        let is_kept =
            settings.is_empty() || self.role_settings().iter().all(|set| *set.name != *"transaction_read_only");
        (is_enough && is_kept).then_some(Identity { role: self.role, search_path: self.search_path, settings })
    }

    /// Whether statements are compiled where PostgreSQL finds them long, since nobody has said anything about it.
    pub(super) fn compiles_by_default(&self) -> bool {
        self.snapshot.catalog.session().compiles_by_default
    }

    /// `ALTER ROLE … SET` of the role.
    pub(super) fn role_settings(&self) -> &'a [RoleSetting] {
        self.snapshot.catalog.session().role_settings.get(self.role).map_or(&[], Vec::as_slice)
    }

    /// The settings of the called function that hold for the whole transaction.
    pub(super) fn hoisted(&self) -> impl Iterator<Item = &'a Setting> {
        let settings = self.facts.function.map(|function| function.settings.as_slice()).unwrap_or_default();
        let in_force = self.in_force;
        settings.iter().filter(move |(name, _)| in_force.hoists(name))
    }
}
