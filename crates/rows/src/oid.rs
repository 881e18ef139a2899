//! Object identifiers of the built-in types that are read in binary
//! (source: PostgreSQL's `pg_type.dat`; they are the same in every installation).

/// A PostgreSQL object identifier.
pub type Oid = u32;

macro_rules! oids {
    ($($name:ident = $value:literal),* $(,)?) => {
        $(#[doc = concat!("The OID of `", stringify!($name), "`.")] pub const $name: Oid = $value;)*
    };
}

oids! {
    BOOL = 16, BYTEA = 17, NAME = 19, INT8 = 20, INT2 = 21, INT4 = 23, TEXT = 25, OID = 26, JSON = 114,
    BOX = 603,
    XML = 142, FLOAT4 = 700, FLOAT8 = 701, BPCHAR = 1042, VARCHAR = 1043, DATE = 1082, TIME = 1083,
    TIMESTAMP = 1114, TIMESTAMPTZ = 1184, INTERVAL = 1186, TIMETZ = 1266, NUMERIC = 1700, RECORD = 2249,
    RECORD_ARRAY = 2287, ANYELEMENT = 2283, UUID = 2950, BIT = 1560, VARBIT = 1562, TSVECTOR = 3614, JSONB = 3802, VOID = 2278,
}
