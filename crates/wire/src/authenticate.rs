//! Proving who we are: cleartext, MD5, SCRAM with or without channel binding.

use crate::config::Config;
use crate::connection::Connection;
use crate::error::{DbError, Error, ErrorKind};
use crate::message;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256};
use postgres_protocol::message::frontend;
use thalweg_rows::Cursor;

impl Connection {
    /// Answers the server's questions until it is content.
    pub(crate) async fn authenticate(&mut self, config: &Config, end_point: Option<Vec<u8>>) -> Result<(), Error> {
        let refuse = |what: &str| Error::new(ErrorKind::Authentication(what.to_owned()));
        let password =
            || config.password.as_deref().ok_or_else(|| refuse("the server asks for a password, none is given"));
        let mut bound = false;
        loop {
            let body = self.authentication_message().await?;
            let mut cursor = Cursor::new(&body);
            let method = cursor.i32()?;
            if config.require_channel_binding && !bound && !matches!(method, 10..=12) {
                return Err(refuse("channel binding is required, but the server did not ask for it"));
            }
            match method {
                0 => return Ok(()),
                3 => frontend::password_message(password()?.as_bytes(), self.output().buffer())?,
                5 => {
                    let salt = cursor.take(4)?;
                    let salt = [salt[0], salt[1], salt[2], salt[3]];
                    let hash = md5_hash(config.user.as_bytes(), password()?.as_bytes(), salt);
                    frontend::password_message(hash.as_bytes(), self.output().buffer())?;
                }
                10 => {
                    self.scram(config, password()?, cursor, end_point.clone()).await?;
                    bound = true;
                }
                _ => return Err(refuse(&format!("the server asks for method {method}, which is not supported"))),
            }
            self.flush().await?;
        }
    }

    async fn scram(
        &mut self,
        config: &Config,
        password: &str,
        mut offered: Cursor<'_>,
        end_point: Option<Vec<u8>>,
    ) -> Result<(), Error> {
        let refuse = |what: &str| Error::new(ErrorKind::Authentication(what.to_owned()));
        let (mut plain, mut plus) = (false, false);
        loop {
            match offered.cstr()? {
                b"" => break,
                name if name == SCRAM_SHA_256.as_bytes() => plain = true,
                name if name == SCRAM_SHA_256_PLUS.as_bytes() => plus = true,
                _ => {}
            }
        }
        let (mechanism, binding) = match end_point {
            Some(hash) if plus => (SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(hash)),
            _ if config.require_channel_binding => return Err(refuse("channel binding is required, but not possible")),
            Some(_) if plain => (SCRAM_SHA_256, ChannelBinding::unrequested()),
            None if plain => (SCRAM_SHA_256, ChannelBinding::unsupported()),
            _ => return Err(refuse("the server offers no mechanism that is supported")),
        };
        let mut scram = ScramSha256::new(password.as_bytes(), binding);
        frontend::sasl_initial_response(mechanism, scram.message(), self.output().buffer())?;
        self.flush().await?;
        let failed = |cause: std::io::Error| Error::caused(ErrorKind::Authentication("SCRAM".to_owned()), cause);
        let body = self.authentication_message().await?;
        let mut cursor = Cursor::new(&body);
        if cursor.i32()? != 11 {
            return Err(Error::new(ErrorKind::Protocol("SCRAM without a challenge")));
        }
        scram.update(cursor.rest()).map_err(failed)?;
        frontend::sasl_response(scram.message(), self.output().buffer())?;
        self.flush().await?;
        let body = self.authentication_message().await?;
        let mut cursor = Cursor::new(&body);
        if cursor.i32()? != 12 {
            return Err(Error::new(ErrorKind::Protocol("SCRAM without an end")));
        }
        scram.finish(cursor.rest()).map_err(failed)
    }

    async fn authentication_message(&mut self) -> Result<Vec<u8>, Error> {
        let (tag, body) = self.read_message().await?;
        match tag {
            message::AUTHENTICATION => Ok(body),
            message::ERROR_RESPONSE => {
                let error = DbError::parse(&body)?;
                // class 28: the role or its password; anything else may pass
                if error.code.starts_with("28") {
                    return Err(Error::new(ErrorKind::Authentication(error.message)));
                }
                Err(Error::new(ErrorKind::Database(Box::new(error))))
            }
            _ => Err(Error::new(ErrorKind::Protocol("message during authentication"))),
        }
    }
}
