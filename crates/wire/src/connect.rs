//! Opening a connection: the way there, startup, authentication (section "Start-up").

use crate::cancel::CancelKey;
use crate::config::{Config, Host, SslMode, TargetSession};
use crate::connection::Connection;
use crate::error::{DbError, Error, ErrorKind};
use crate::message;
use crate::way::{Encryption, Opened, Way, addresses, is_this_machine};
use postgres_protocol::message::frontend;
use std::net::SocketAddr;
use std::time::Duration;
use thalweg_rows::Cursor;

impl Connection {
    /// Connects to the first host that will do.
    pub async fn connect(config: &Config) -> Result<Self, Error> {
        let mut target = config.target_session;
        let mut failure = None;
        for attempt in 0..2 {
            for host in &config.hosts {
                match tokio::time::timeout(config.connect_timeout, connect_host(config, host, target)).await {
                    Ok(Ok(connection)) => return Ok(connection),
                    // a wrong password is wrong everywhere
                    Ok(Err(error)) if matches!(error.kind(), ErrorKind::Authentication(_) | ErrorKind::Config(_)) => {
                        return Err(error);
                    }
                    Ok(Err(error)) => failure = Some(error),
                    Err(_) => {
                        let cause = std::io::Error::from(std::io::ErrorKind::TimedOut);
                        failure = Some(Error::caused(ErrorKind::Connect(host.to_string()), cause));
                    }
                }
            }
            if attempt == 0 && target == TargetSession::PreferStandby {
                target = TargetSession::Any;
            } else {
                break;
            }
        }
        Err(failure.unwrap_or_else(|| Error::new(ErrorKind::Config("no host".to_owned()))))
    }
}

async fn connect_host(config: &Config, host: &Host, target: TargetSession) -> Result<Connection, Error> {
    let addresses = addresses(host).await?;
    let (mut connection, way) = match ssl_mode(config, host, &addresses) {
        SslMode::Disable => greet(config, host, &addresses, Encryption::No).await?,
        SslMode::Allow => greet_plain_first(config, host, &addresses).await?,
        SslMode::Prefer => greet(config, host, &addresses, Encryption::IfOffered).await?,
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => {
            greet(config, host, &addresses, Encryption::Yes).await?
        }
    };
    loop {
        let (tag, body) = connection.read_message().await?;
        match tag {
            message::BACKEND_KEY_DATA => {
                let mut cursor = Cursor::new(&body);
                let process_id = cursor.i32()?;
                let secret = cursor.rest().to_vec();
                connection.set_cancel_key(CancelKey { way: way.clone(), process_id, secret });
            }
            message::READY_FOR_QUERY => break,
            message::ERROR_RESPONSE => {
                return Err(Error::new(ErrorKind::Database(Box::new(DbError::parse(&body)?))));
            }
            message::NEGOTIATE_PROTOCOL_VERSION => {}
            _ => return Err(Error::new(ErrorKind::Protocol("message during startup"))),
        }
    }
    accept_session(&connection, host, target)?;
    Ok(connection)
}

/// Whether and how to encrypt a connection to these addresses. On this machine encryption costs, and keeps nothing from anybody
/// who could listen.
fn ssl_mode(config: &Config, host: &Host, addresses: &[SocketAddr]) -> SslMode {
    match config.ssl_mode {
        // a channel can only be bound where there is encryption
        None | Some(SslMode::Allow) if config.require_channel_binding => SslMode::Prefer,
        None if is_this_machine(host, addresses) => SslMode::Allow,
        None => SslMode::Prefer,
        Some(mode) => mode,
    }
}

/// Opens a way, and is let in.
async fn greet(
    config: &Config,
    host: &Host,
    addresses: &[SocketAddr],
    encryption: Encryption,
) -> Result<(Connection, Way), Error> {
    match Way::open(config, host, addresses, encryption).await? {
        Some(opened) => start(config, opened).await,
        None => {
            let cause = "the server does not support TLS, but sslmode asks for it";
            Err(Error::caused(ErrorKind::Connect(host.to_string()), cause))
        }
    }
}

/// The same without encryption, unless the server does not let anybody in so: then with it.
async fn greet_plain_first(config: &Config, host: &Host, addresses: &[SocketAddr]) -> Result<(Connection, Way), Error> {
    let refused = match greet(config, host, addresses, Encryption::No).await {
        Err(error) if !matches!((error.kind(), host), (ErrorKind::Connect(_), _) | (_, Host::Unix { .. })) => error,
        done => return done,
    };
    match Way::open(config, host, addresses, Encryption::Yes).await? {
        Some(opened) => start(config, opened).await,
        None => Err(refused),
    }
}

async fn start(config: &Config, opened: Opened) -> Result<(Connection, Way), Error> {
    let mut connection = Connection::over(opened.stream);
    let mut parameters = vec![("client_encoding", "UTF8"), ("user", &config.user)];
    parameters.push(("database", config.dbname.as_deref().unwrap_or(&config.user)));
    parameters.extend(config.application_name.as_deref().map(|name| ("application_name", name)));
    parameters.extend(config.options.as_deref().map(|options| ("options", options)));
    frontend::startup_message(parameters, connection.output().buffer())?;
    connection.flush().await?;
    connection.authenticate(config, opened.end_point).await?;
    Ok((connection, opened.way))
}

/// PostgreSQL 14 and later report what is needed to know by themselves.
fn accept_session(connection: &Connection, host: &Host, target: TargetSession) -> Result<(), Error> {
    let standby = connection.parameter("in_hot_standby") == Some("on");
    let read_only = standby || connection.parameter("default_transaction_read_only") == Some("on");
    let (wanted, refused) = match target {
        TargetSession::Any => return Ok(()),
        TargetSession::ReadWrite => (!read_only, "session is read-only"),
        TargetSession::ReadOnly => (read_only, "session is not read-only"),
        TargetSession::Primary => (!standby, "server is in hot standby mode"),
        TargetSession::Standby | TargetSession::PreferStandby => (standby, "server is not in hot standby mode"),
    };
    if wanted { Ok(()) } else { Err(Error::caused(ErrorKind::Connect(host.to_string()), refused)) }
}

/// How long a connection that is closed properly may take to say so.
const TERMINATE_TIMEOUT: Duration = Duration::from_secs(1);

impl Connection {
    /// Says goodbye and closes the socket.
    pub async fn terminate(mut self) {
        frontend::terminate(self.output().buffer());
        let _ = tokio::time::timeout(TERMINATE_TIMEOUT, self.flush()).await;
    }
}
