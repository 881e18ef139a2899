//! The key of a form, by which one that is sent twice is carried out once.

use super::Sent;
use crate::sent_forms::{Begun, FormHasher, FormId, new_key};
use crate::upload::{Received, Stint};
use minijinja::value::{Enumerator, Object, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thalweg_pages::Values;

/// The name under which a template finds the hidden field.
pub(super) const NAME: &str = "once";
/// The name of the hidden field.
pub(super) const FIELD: &str = "_once";
/// Size of the longest key, in bytes.
const ONCE_BYTES_MAX: usize = 64;

/// A note that a page has given a form a key.
#[derive(Debug, Default)]
pub(in crate::flow) struct Once(AtomicBool);

impl Once {
    pub(in crate::flow) fn is_given(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// The hidden field of a form, with a new key.
    fn field(&self) -> Option<Value> {
        let field = format!("<input type=\"hidden\" name=\"{FIELD}\" value=\"{}\">", new_key()?);
        self.0.store(true, Ordering::Release);
        Some(Value::from_safe_string(field))
    }
}

/// The state of a form as a template finds it.
#[derive(Debug)]
pub(super) struct State {
    pub(super) values: Arc<Values>,
    pub(super) once: Arc<Once>,
}

impl Object for State {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            NAME => self.once.field(),
            name => self.values.get_value_by_str(name),
        }
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.values.enumerate()
    }
}

impl Sent<'_> {
    /// Begins to carry out a form with a key, or finds the outcome of the same one. A form without a
    /// key is carried out each time.
    pub(super) async fn begin(&self, received: &Received) -> Option<Begun<'_>> {
        let id = self.id(received).await?;
        Some(self.making.state.sent_forms.begin(id, self.making.parts).await)
    }

    /// The identity of a form with a key. What was typed is a part of it, so that a form that is
    /// changed after it was sent, and sent again by the back button, is another one.
    async fn id(&self, received: &Received) -> Option<FormId> {
        // A column or an argument of this name is the form's own.
        if self.form.field(FIELD).is_some() {
            return None;
        }
        let fields = received.fields();
        let key = fields.iter().rfind(|field| field.name() == FIELD && field.is_typed())?;
        key.text(ONCE_BYTES_MAX).filter(|key| !key.is_empty())?;
        let mut hasher = FormHasher::new(self.making.address(), &self.making.who.claims());
        let mut stint = Stint::default();
        for field in fields.iter().filter(|field| !field.is_made()) {
            hasher.part(field.name().as_bytes());
            hasher.begin_part(field.content.iter().map(|chunk| chunk.len()).sum());
            for piece in field.content.iter().flat_map(|chunk| chunk.chunks(PIECE_BYTES)) {
                hasher.piece(piece);
                stint.worked(piece.len()).await;
            }
        }
        Some(hasher.finish())
    }
}

/// Number of bytes that are hashed before other requests get their turn.
const PIECE_BYTES: usize = 64 * 1024;
