//! Opening a connection: socket, encryption, startup (section "Start-up").

use crate::cancel::CancelKey;
use crate::config::{Config, Host, SslMode, TargetSession};
use crate::connection::Connection;
use crate::error::{DbError, Error, ErrorKind};
use crate::message;
use crate::stream::Stream;
use crate::tls;
use bytes::BytesMut;
use postgres_protocol::message::frontend;
use std::time::Duration;
use thalweg_rows::Cursor;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

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
    let (stream, end_point) = open(config, host).await?;
    let mut connection = Connection::over(stream);
    let mut parameters = vec![("client_encoding", "UTF8"), ("user", &config.user)];
    parameters.push(("database", config.dbname.as_deref().unwrap_or(&config.user)));
    parameters.extend(config.application_name.as_deref().map(|name| ("application_name", name)));
    parameters.extend(config.options.as_deref().map(|options| ("options", options)));
    frontend::startup_message(parameters, connection.output().buffer())?;
    connection.flush().await?;
    connection.authenticate(config, end_point).await?;
    loop {
        let (tag, body) = connection.read_message().await?;
        match tag {
            message::BACKEND_KEY_DATA => {
                let mut cursor = Cursor::new(&body);
                let process_id = cursor.i32()?;
                let secret = cursor.rest().to_vec();
                connection.set_cancel_key(CancelKey { host: host.clone(), process_id, secret });
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

/// The bare socket of a host.
pub(crate) async fn open_socket(host: &Host) -> Result<Stream, Error> {
    let refused = |cause| Error::caused(ErrorKind::Connect(host.to_string()), cause);
    match host {
        Host::Unix { directory, port } => {
            let path = directory.join(format!(".s.PGSQL.{port}"));
            Ok(Stream::Unix(UnixStream::connect(path).await.map_err(refused)?))
        }
        Host::Tcp { name, address, port } => {
            let address = address.as_deref().unwrap_or(name);
            let stream = TcpStream::connect((address, *port)).await.map_err(refused)?;
            stream.set_nodelay(true).map_err(refused)?;
            Ok(Stream::Tcp(stream))
        }
    }
}

/// A socket, encrypted if it can or must be, and what SCRAM may bind the channel to.
async fn open(config: &Config, host: &Host) -> Result<(Stream, Option<Vec<u8>>), Error> {
    let (mut stream, name) = match (open_socket(host).await?, host) {
        (Stream::Tcp(stream), Host::Tcp { name, .. }) if config.ssl_mode != SslMode::Disable => (stream, name),
        (stream, _) => return Ok((stream, None)),
    };
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    stream.write_all(&request).await?;
    // One byte only: whatever follows it must not be read before encryption begins.
    let mut answer = [0];
    stream.read_exact(&mut answer).await?;
    if answer == *b"S" {
        let encrypted = tls::encrypt(config, name, stream).await?;
        let end_point = tls::end_point(&encrypted);
        return Ok((Stream::Other(Box::new(encrypted)), end_point));
    }
    if config.ssl_mode == SslMode::Prefer {
        return Ok((Stream::Tcp(stream), None));
    }
    Err(Error::caused(ErrorKind::Connect(host.to_string()), "the server does not support TLS, but sslmode asks for it"))
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
