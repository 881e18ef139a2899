//! The tags of the messages that PostgreSQL sends (section "Message Formats").

pub(crate) const AUTHENTICATION: u8 = b'R';
pub(crate) const BACKEND_KEY_DATA: u8 = b'K';
pub(crate) const BIND_COMPLETE: u8 = b'2';
pub(crate) const CLOSE_COMPLETE: u8 = b'3';
pub(crate) const COMMAND_COMPLETE: u8 = b'C';
pub(crate) const COPY_IN_RESPONSE: u8 = b'G';
pub(crate) const DATA_ROW: u8 = b'D';
pub(crate) const EMPTY_QUERY_RESPONSE: u8 = b'I';
pub(crate) const ERROR_RESPONSE: u8 = b'E';
pub(crate) const NEGOTIATE_PROTOCOL_VERSION: u8 = b'v';
pub(crate) const NO_DATA: u8 = b'n';
pub(crate) const NOTICE_RESPONSE: u8 = b'N';
pub(crate) const NOTIFICATION_RESPONSE: u8 = b'A';
pub(crate) const PARAMETER_DESCRIPTION: u8 = b't';
pub(crate) const PARAMETER_STATUS: u8 = b'S';
pub(crate) const PARSE_COMPLETE: u8 = b'1';
pub(crate) const READY_FOR_QUERY: u8 = b'Z';
pub(crate) const ROW_DESCRIPTION: u8 = b'T';
