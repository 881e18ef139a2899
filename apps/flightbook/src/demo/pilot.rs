//! The sample pilot as whom the API is asked from a command line.

use super::load::LoadError;
use crate::join::Claims;
use crate::sample::{NO_PASSWORD, PILOTS};
use thalweg_server::{Api, ApiFailure};
use thalweg_wire::{Config, Connection, Error, Param, Query, Texts};

const FIND: &str = "with pilot as materialized (
    select p.id, s.token from flightbook.pilots p left join flightbook.shares s on s.pilot_id = p.id
    where p.email = $1 order by s.shared_at limit 1
  )
  select pilot.id, flightbook_private.begin_session(pilot.id, $2), pilot.token from pilot";

/// Who shows the API.
#[derive(Debug)]
pub struct Guide {
    claims: Claims,
    /// The word in a link to a flight of theirs, if one is shared.
    pub shared: Option<String>,
}

impl Guide {
    /// The first of the sample pilots, if they are still there.
    ///
    /// # Errors
    ///
    /// The database is out of reach, or has another schema.
    pub async fn find(uri: &str) -> Result<Option<Self>, LoadError> {
        let mut connection = Connection::connect(&Config::parse(uri)?).await?;
        let params = [PILOTS[0].email, NO_PASSWORD].map(|text| Param::Text(text.into()));
        let mut found = Texts::default();
        connection
            .run(&[Query { params: &params, writes: true, ..Query::bare(FIND) }], &mut found)
            .await
            .map_err(Error::from)?;
        connection.terminate().await;
        Ok(found.rows.into_iter().next().and_then(|row| {
            let [id, session, shared] = <[Option<String>; 3]>::try_from(row).ok()?;
            Some(Self { claims: Claims::new(id?.parse().ok()?, session?), shared })
        }))
    }

    /// A token of theirs, as long as a session.
    ///
    /// # Errors
    ///
    /// The server has no secret.
    pub fn token(&self, api: &Api) -> Result<String, ApiFailure> {
        api.sign(&self.claims)
    }
}
