//! The statements for a plan whose levels are fetched flat.

use crate::Statement;
use crate::read::{Scope, Writer};
use std::sync::Arc;
use thalweg_catalog::Link;
use thalweg_plan::{From, Output, Plan, Read, Value};
use thalweg_rows::{Codec, Field, Level, Member, Shape};

/// One statement a level, the deepest first and the root last, and how their rows join. They must see one snapshot.
pub fn flat<'a>(plan: &'a Plan<'a>) -> Vec<(Statement<'a>, Level)> {
    let mut levels = Vec::new();
    level(&plan.read, &[], false, &mut levels);
    levels
}

/// Writes a level behind those below it, and returns its index.
fn level<'a>(read: &'a Read<'a>, link: &[u16], to_one: bool, levels: &mut Vec<(Statement<'a>, Level)>) -> usize {
    let mut writer = Writer::new();
    let scope = writer.scope(read, None);
    let mut select = Select { fields: Vec::new(), plain: Vec::new() };
    let mut members = Vec::with_capacity(read.outputs.len());
    writer.text.push_str("SELECT ");
    for output in &read.outputs {
        match &output.value {
            Value::Embed(index) => {
                let embed = &read.embeds[*index];
                let pairs = match &embed.relationship.link {
                    Link::Key(key) => key.columns.as_slice(),
                    // plans that are flat have only keys
                    Link::Junction { .. } | Link::Function { .. } => &[],
                };
                let inner: Vec<u16> = pairs.iter().map(|&(_, inner)| inner).collect();
                let below = level(&embed.read, &inner, embed.is_to_one(), levels);
                let outer = pairs.iter().map(|&(outer, _)| outer);
                let key = outer.map(|column| select.key_column(&mut writer, scope, read, column)).collect();
                members.push(Member::Embed { name: output.key.clone(), level: below, key });
            }
            _ => members.push(Member::Column(select.output(&mut writer, scope, read, output))),
        }
    }
    let link: Vec<usize> = link.iter().map(|&column| select.key_column(&mut writer, scope, read, column)).collect();
    writer.from(scope, read, false);
    writer.conditions(scope, read, " WHERE ");
    writer.order(scope, read);
    writer.window(read);
    let shape = Shape { fields: select.fields };
    let statement = Statement { text: writer.text, params: writer.params, shape: shape.clone() };
    levels.push((statement, Level { shape, members, link, to_one }));
    levels.len() - 1
}

/// The select list of a level as it grows.
struct Select<'a> {
    fields: Vec<Field>,
    /// Columns that stand in it as they are, in text format, by name.
    plain: Vec<(&'a str, usize)>,
}

impl<'a> Select<'a> {
    fn output(
        &mut self,
        writer: &mut Writer<'a>,
        scope: Scope<'a>,
        read: &'a Read<'a>,
        output: &'a Output<'a>,
    ) -> usize {
        let field = output.column();
        if let Value::Column { column, cast: None, shown_by: None } = &output.value
            && column.path.is_empty()
            && column.computed.is_none()
            && matches!(field.codec, Codec::Digits | Codec::Output)
        {
            self.plain.push((column.name, self.fields.len()));
        }
        self.separate(writer);
        writer.output(scope, read, output, 0, None);
        self.fields.push(field);
        self.fields.len() - 1
    }

    /// The index of a column that rows are joined by, added where it is not there yet.
    fn key_column(&mut self, writer: &mut Writer<'a>, scope: Scope<'a>, read: &'a Read<'a>, column: u16) -> usize {
        let From::Relation(relation) = &read.from else { return 0 };
        let column = &relation.columns[usize::from(column)];
        if let Some(&(_, at)) = self.plain.iter().find(|(name, _)| *name == &*column.name) {
            return at;
        }
        self.separate(writer);
        writer.named(scope, &column.name);
        self.plain.push((&column.name, self.fields.len()));
        self.fields.push(Field { name: Arc::from(""), codec: Codec::Output, type_oid: 0 });
        self.fields.len() - 1
    }

    fn separate(&self, writer: &mut Writer<'a>) {
        if !self.fields.is_empty() {
            writer.text.push_str(", ");
        }
    }
}
