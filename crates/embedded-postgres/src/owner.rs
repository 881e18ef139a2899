//! The user that PostgreSQL runs as.

use crate::error::Error;
use nix::unistd::{Gid, Uid, User};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Another user than root, or nobody in particular where the process itself is not root.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner(Option<(Uid, Gid)>);

impl Owner {
    /// The process itself, or for root `postgres`, else `nobody`.
    pub(crate) fn choose() -> Result<Self, Error> {
        if !nix::unistd::geteuid().is_root() {
            return Ok(Self(None));
        }
        let found = ["postgres", "nobody"].iter().find_map(|name| User::from_name(name).ok().flatten());
        let user = found
            .ok_or_else(|| Error::new("PostgreSQL refuses to run as root, and there is no user postgres or nobody"))?;
        Ok(Self(Some((user.uid, user.gid))))
    }

    /// A command run as this user.
    pub(crate) fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((uid, gid)) = self.0 {
            command.uid(uid.as_raw()).gid(gid.as_raw());
        }
        command
    }

    /// Makes a path this user's.
    pub(crate) fn own(self, path: &Path) -> Result<(), Error> {
        match self.0 {
            Some((uid, gid)) => std::os::unix::fs::chown(path, Some(uid.as_raw()), Some(gid.as_raw()))
                .map_err(|cause| Error::io("cannot change the owner of", path, cause)),
            None => Ok(()),
        }
    }
}
