//! What the server must know of the database's sessions to write what PostgreSQL would write,
//! and to send nothing that nobody can see.

use std::collections::HashMap;
use thalweg_rows::Scalar;

/// The settings and habits of the database's sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Session {
    /// `server_version_num`, such as 150018.
    pub server_version_num: u32,
    /// The session time zone by name.
    pub time_zone: Box<str>,
    /// Whether `IntervalStyle` is `postgres`.
    pub interval_style_postgres: bool,
    /// Whether `bytea_output` is `hex`.
    pub bytea_hex: bool,
    /// Whether floats have their shortest exact digits (`extra_float_digits` above 0).
    pub floats_shortest: bool,
    /// Whether `jit` is on because nobody has said anything.
    pub compiles_by_default: bool,
    /// What differs where the connecting role may take other roles, or one of them has another name.
    pub roles: Box<str>,
    /// Whether any function, view, policy, default, check or trigger of the database may set a response's status or
    /// headers.
    pub response_is_set: bool,
    /// `ALTER ROLE … SET` of the roles that the connecting role may become, by role.
    pub role_settings: HashMap<Box<str>, Vec<RoleSetting>>,
}

/// A setting of `ALTER ROLE … SET`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleSetting {
    /// Its name.
    pub name: Box<str>,
    /// Its value.
    pub value: Box<str>,
    /// Whether only the role itself may set it, not the connecting role: such are set once the session has the role,
    /// and all others before.
    pub is_the_roles: bool,
}

/// A setting's name and value.
pub type Setting = (Box<str>, Box<str>);

impl Session {
    /// Whether Thalweg writes the scalar exactly as this database's `to_json` does.
    pub fn standard(&self, scalar: Scalar) -> bool {
        match scalar {
            Scalar::Interval => self.interval_style_postgres,
            Scalar::Bytea => self.bytea_hex,
            Scalar::Float4 | Scalar::Float8 => self.floats_shortest,
            _ => true,
        }
    }
}
