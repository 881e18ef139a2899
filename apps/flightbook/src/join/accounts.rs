//! Accounts in the database, through the functions that it has for them (`schema/004-accounts.sql`).

use super::passwords;
use std::fmt;
use thalweg_wire::{Config, Connection, Error, Param, Pool, PoolError, PoolLimits, Query, Texts};

/// Connections for accounts, besides the server's own.
const ACCOUNT_CONNECTIONS_MAX: usize = 2;
/// Sets the role that may call the functions of the program, for the rest of the transaction.
pub(super) const ROLE: &str = "set local role flightbook_accounts";

/// The accounts of a database.
pub(super) struct Accounts {
    pool: Pool,
}

/// The account that an address belongs to, if any.
pub(super) struct Account {
    /// The address in the form in which the database compares addresses. Two spellings have the
    /// same key exactly if they name the same account, whether or not it exists.
    pub(super) key: String,
    pub(super) credentials: Option<Credentials>,
}

/// A pilot and the hash of the pilot's password.
pub(super) struct Credentials {
    pub(super) pilot_id: i32,
    pub(super) hash: String,
}

/// Why an account cannot be asked for or changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum AccountError {
    /// The name is none.
    Name,
    /// The e-mail address is none.
    Email,
    /// Another account has this address.
    Taken,
    /// The database is not yet a flight book's.
    Unserved,
    /// There is no such account.
    Missing,
    /// The database does not answer as it should.
    Database(Error),
    /// There is no connection to it.
    Unavailable(PoolError),
    /// No password can be hashed.
    Password,
}

impl Accounts {
    pub(super) fn new(uri: &str) -> Result<Self, Error> {
        let limits = PoolLimits { connections_max: ACCOUNT_CONNECTIONS_MAX, ..PoolLimits::default() };
        Ok(Self { pool: Pool::new(Config::parse(uri)?, limits) })
    }

    /// Adds a pilot, and gives their id.
    pub(super) async fn register(&self, name: &str, email: &str, hash: &str) -> Result<i32, AccountError> {
        let row = self.ask("select flightbook_private.register($1, $2, $3)", &[name, email, hash], true).await?;
        number(&row, 0)
    }

    /// Looks up the account of an address.
    pub(super) async fn find(&self, email: &str) -> Result<Account, AccountError> {
        // PostgreSQL stores no text with a NUL, so that nobody has registered with this address.
        if email.contains('\0') {
            return Ok(Account { key: email.to_owned(), credentials: None });
        }
        let text = "select lower(btrim(typed)), pilot_id, hash
            from (select $1::text) address (typed) left join flightbook_private.credentials(typed) on true";
        let mut row = self.ask(text, &[email], false).await?;
        let key = text_of(&mut row, 0)?;
        let credentials = match number(&row, 1) {
            Ok(pilot_id) => Some(Credentials { pilot_id, hash: text_of(&mut row, 2)? }),
            Err(_) => None,
        };
        Ok(Account { key, credentials })
    }

    /// Returns the password hash of a pilot who is signed in.
    pub(super) async fn hash_of(&self, pilot_id: i32) -> Result<String, AccountError> {
        let text = "select hash from flightbook_private.credentials_of($1::int)";
        text_of(&mut self.ask(text, &[&pilot_id.to_string()], false).await?, 0)
    }

    /// Puts another hash in the place of a pilot's.
    pub(super) async fn set_password(&self, pilot_id: i32, hash: &str) -> Result<(), AccountError> {
        let text = "select flightbook_private.set_password($1::int, $2)";
        let mut row = self.ask(text, &[&pilot_id.to_string(), hash], true).await?;
        if text_of(&mut row, 0)? == "t" { Ok(()) } else { Err(AccountError::Missing) }
    }

    /// Begins a session of a pilot whose password has this hash, and returns the id of the session.
    /// [`AccountError::Missing`]: the password has been changed meanwhile.
    pub(super) async fn begin_session(&self, credentials: &Credentials) -> Result<String, AccountError> {
        let Credentials { pilot_id, hash } = credentials;
        let text = "select flightbook_private.begin_session($1::int, $2)";
        text_of(&mut self.ask(text, &[&pilot_id.to_string(), hash.as_str()], true).await?, 0)
    }

    /// The only row of a statement.
    async fn ask(&self, text: &str, params: &[&str], writes: bool) -> Result<Row, AccountError> {
        let mut connection = self.pool.get(None).await.map_err(AccountError::Unavailable)?;
        row_of(&mut connection, text, params, writes).await
    }
}

/// Gives the account of an address a new password, which is known to nobody but who calls this.
///
/// # Errors
///
/// [`AccountError::Missing`]: nobody has registered with this address.
pub async fn reset_password(uri: &str, email: &str) -> Result<String, AccountError> {
    let accounts = Accounts::new(uri)?;
    let Credentials { pilot_id, .. } = accounts.find(email).await?.credentials.ok_or(AccountError::Missing)?;
    let password = passwords::made();
    let hash = passwords::hash(&password).map_err(|_| AccountError::Password)?;
    accounts.set_password(pilot_id, &hash).await?;
    Ok(password)
}

type Row = Vec<Option<String>>;

async fn row_of(connection: &mut Connection, text: &str, params: &[&str], writes: bool) -> Result<Row, AccountError> {
    let params: Vec<Param<'_>> = params.iter().map(|value| Param::Text((*value).into())).collect();
    let queries = [Query::bare(ROLE), Query { params: &params, writes, ..Query::bare(text) }];
    let mut found = Texts::of_statement(1);
    connection.run(&queries, &mut found).await.map_err(Error::from)?;
    found.rows.pop().ok_or(AccountError::Missing)
}

fn text_of(row: &mut Row, at: usize) -> Result<String, AccountError> {
    row.get_mut(at).and_then(Option::take).ok_or(AccountError::Missing)
}

fn number<N: std::str::FromStr>(row: &Row, at: usize) -> Result<N, AccountError> {
    row.get(at).and_then(Option::as_deref).and_then(|text| text.parse().ok()).ok_or(AccountError::Missing)
}

impl From<Error> for AccountError {
    fn from(error: Error) -> Self {
        let constraint = error.database().and_then(|error| error.constraint.as_deref());
        match (error.code(), constraint) {
            (_, Some("pilots_email")) => Self::Taken,
            (_, Some("email_has_form")) => Self::Email,
            (_, Some("pilot_has_name")) => Self::Name,
            // no such schema, or no such role
            (Some("3F000" | "22023"), _) => Self::Unserved,
            _ => Self::Database(error),
        }
    }
}

impl fmt::Display for AccountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("a name has 1 to 80 characters"),
            Self::Email => f.write_str("this is no e-mail address"),
            Self::Taken => f.write_str("this address is registered already"),
            Self::Unserved => f.write_str("there is no flight book in this database yet: serve it once first"),
            Self::Missing => f.write_str("there is no such account"),
            Self::Database(error) => error.fmt(f),
            Self::Unavailable(error) => error.fmt(f),
            Self::Password => f.write_str("no password can be hashed"),
        }
    }
}

impl std::error::Error for AccountError {}
