//! All that decides who asks, and the answer.

use crate::algorithm::sha256;
use crate::audience::Audience;
use crate::claims::{Claims, Members, Registered};
use crate::keys::Keys;
use crate::path::RolePath;
use crate::refusal::{ClaimError, Refusal};
use crate::tree::Value;
use std::borrow::Cow;
use std::fmt;

/// Keys, the role's path and the audience: what the configuration says of tokens.
#[derive(Debug)]
pub struct Verifier {
    keys: Keys,
    role_path: RolePath,
    audience: Option<Audience>,
    fingerprint: [u8; 32],
}

/// Who asks: a signed token's claims and the role that stands in them.
#[derive(Clone)]
pub struct Identity {
    role: Option<Box<str>>,
    subject: Option<Box<str>>,
    members: Members,
    /// The members with the role, if there is one: what is asked for most.
    as_role: Box<str>,
    registered: Registered,
}

impl Verifier {
    /// Takes the three settings. The audience is `jwt-aud`; without it every audience will do.
    pub fn new(keys: Keys, role_path: RolePath, audience: Option<Audience>) -> Self {
        let is_audience = [u8::from(audience.is_some())];
        let text = audience.as_ref().map_or("", Audience::text);
        let parts = [&keys.fingerprint()[..], role_path.text().as_bytes(), &is_audience, text.as_bytes()];
        let fingerprint = sha256(&parts);
        Self { keys, role_path, audience, fingerprint }
    }

    /// The same with other keys in addition.
    pub fn with(&self, keys: &Keys) -> Self {
        Self::new(self.keys.and(keys), self.role_path.clone(), self.audience.clone())
    }

    /// Whose token this is, if it is signed and its claims hold at `now_s`, whole seconds since 1970.
    /// [`Cache::identify`](crate::Cache::identify) is the same with a memory.
    pub fn identify(&self, token: &[u8], now_s: i64) -> Result<Identity, Refusal> {
        let claims = self.keys.verify(token)?;
        claims.check(now_s, self.audience.as_ref())?;
        Ok(Identity::of(&self.role_path, claims)?)
    }

    /// A token that claims this JSON object, signed by HS256 with the first of the keys that is a secret.
    pub fn sign(&self, claims: &[u8]) -> Option<String> {
        self.keys.sign(claims)
    }

    /// What the log should say of these settings, each a sentence.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.keys.warnings().to_vec();
        if self.role_path.is_deprecated() {
            let path = self.role_path.text();
            warnings
                .push(format!("jwt-role-claim-key, {path:?}, has the syntax of versions before 16: write a JSONPath."));
        }
        warnings
    }

    /// Whether the claims of somebody who was identified before still hold.
    pub(crate) fn check(&self, identity: &Identity, now_s: i64) -> Result<(), ClaimError> {
        identity.registered.check(now_s, self.audience.as_ref())
    }

    /// Equal for equal settings only: what one verifier has found holds for another of the same.
    pub(crate) fn fingerprint(&self) -> &[u8; 32] {
        &self.fingerprint
    }
}

impl Identity {
    /// Who sends no token: no role, no claims.
    pub fn anonymous() -> Self {
        let nothing = Claims::default();
        Self {
            role: None,
            subject: None,
            members: nothing.members,
            as_role: Box::default(),
            registered: nothing.registered,
        }
    }

    /// Whose claims these are, whether they were signed or not.
    ///
    /// # Errors
    ///
    /// As [`RolePath::role`].
    pub fn of(role_path: &RolePath, claims: Claims) -> Result<Self, ClaimError> {
        let role = role_path.role(&claims)?;
        let subject = claims.tree.present("sub").and_then(Value::as_name).map(Into::into);
        let Claims { tree: _, members, registered } = claims;
        let as_role = role.as_deref().map(|role| members.with_role(role)).unwrap_or_default();
        Ok(Self { role: role.map(Into::into), subject, members, as_role: as_role.into(), registered })
    }

    /// The role that the token asks for. `None` if its claims name none: then it is nobody's, and keeps its claims.
    pub fn role(&self) -> Option<&str> {
        self.role.as_deref()
    }

    /// Returns the account that owns the token: the claim `sub`, if it is a number or a string that
    /// is not empty.
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// When the token ends to hold but for the skew, in seconds since 1970.
    pub fn expires_s(&self) -> Option<i64> {
        self.registered.expires_s()
    }

    /// The claims as JSON text, for `request.jwt.claims`, with the member `role` as chosen: [`Self::role`], or that of who is
    /// anonymous.
    pub fn claims_as(&self, role: &str) -> Cow<'_, str> {
        if self.role() == Some(role) { Cow::Borrowed(&self.as_role) } else { Cow::Owned(self.members.with_role(role)) }
    }

    /// What it takes in memory, nearly.
    pub(crate) fn size_bytes(&self) -> usize {
        size_of::<Self>()
            + self.role.as_deref().map_or(0, str::len)
            + self.subject.as_deref().map_or(0, str::len)
            + self.members.size_bytes()
            + self.as_role.len()
            + self.registered.size_bytes()
    }
}

/// Shows the role only: claims may be private.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("role", &self.role).finish_non_exhaustive()
    }
}
