//! Who asks: JSON Web Tokens checked, their claims read, and the role found in them.
//!
//! ```text
//!  HTTP bytes
//!    │
//!    │ request   bytes → ApiRequest                       pure
//!    │ plan      ApiRequest + Catalog → Plan              pure
//!    │ sql       Plan → Statement { text, params, shape }  pure
//!    │ wire      Statement → DataRow bytes                the PostgreSQL socket
//!    │ encode    rows → JSON, CSV
//!    ▼ server    chunks → response                        the HTTP socket
//!  ► beside it: auth (who asks), catalog (what the database holds), gauge (what it cost)
//! ```
//!
//! Pure: the caller reads files and headers, and says what time it is.
//!
//! ```text
//!  jwt-secret ──────────► Keys ──────┐
//!  jwt-role-claim-key ──► RolePath ──┼─► Verifier ─┐
//!  jwt-aud ─────────────► Audience ──┘             ├─► Identity: role, claims as JSON
//!  Authorization ───────► bearer ──────► token ────┘   or Refusal: message, details
//!                                          └─ Cache: the same again, without a signature
//! ```
#![doc = include_str!("../README.md")]

mod algorithm;
mod audience;
mod base64url;
mod cache;
mod challenge;
mod claims;
mod jwk;
mod keys;
mod number;
mod path;
mod refusal;
mod token;
mod tree;
mod verifier;

pub use audience::{Audience, AudienceError};
pub use cache::{Cache, CacheCounts};
pub use challenge::{bearer, www_authenticate};
pub use claims::{Claims, SKEW_S};
pub use jwk::{RSA_BITS_MAX, RSA_BITS_MIN};
pub use keys::{JWKS_KEYS_MAX, KeyError, KeyErrorKind, Keys, SECRET_BYTES_MIN};
pub use path::{PATH_BYTES_MAX, RolePath, RolePathError, STEPS_MAX};
pub use refusal::{ClaimError, ClaimErrorKind, Refusal, TokenError, TokenErrorKind};
pub use token::TOKEN_BYTES_MAX;
pub use verifier::{Identity, Verifier};
