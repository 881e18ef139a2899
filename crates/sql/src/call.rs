//! Functions in `FROM`.

use crate::Param;
use crate::quote::{array_literal, quote};
use crate::read::{Scope, Writer};
use std::borrow::Cow;
use thalweg_catalog::Returns;
use thalweg_plan::{Argument, Call, Given};

/// A call of the function that runs before every request, found by the search path where its schema is not named.
pub fn pre_request(schema: Option<&str>, name: &str) -> String {
    let mut text = String::from("SELECT ");
    if let Some(schema) = schema {
        quote(&mut text, schema);
        text.push('.');
    }
    quote(&mut text, name);
    text.push_str("()");
    text
}

/// The text before a call that returns one row, and the text after it. In `FROM`, PostgreSQL makes a row of nulls of NULL.
/// Here it makes no row. The offset keeps it from calling the function once for each column.
pub(crate) const ROW_START: &str = "(SELECT (thalweg_row.r).* FROM (SELECT ";
pub(crate) const ROW_END: &str = " AS r OFFSET 0) AS thalweg_row WHERE thalweg_row.r IS DISTINCT FROM NULL)";

impl<'a> Writer<'a> {
    /// The call as a table expression, with its alias.
    pub(crate) fn call(&mut self, scope: Scope<'a>, call: &'a Call<'a>) {
        // a record's columns are known only to PostgreSQL: it stays one value
        let is_record = matches!(call.function.returns, Returns::Record);
        let may_be_null = matches!(call.function.returns, Returns::Row(_)) && !call.function.returns_set;
        if is_record {
            self.text.push_str("(SELECT ");
        } else if may_be_null {
            self.text.push_str(ROW_START);
        }
        self.name(&call.function.schema, &call.function.name);
        self.text.push('(');
        for (at, argument) in call.arguments.iter().enumerate() {
            self.text.push_str(if at == 0 { "" } else { ", " });
            self.argument(argument);
        }
        self.text.push(')');
        if is_record {
            self.text.push_str(" AS pgrst_scalar)");
        } else if may_be_null {
            self.text.push_str(ROW_END);
        }
        self.text.push_str(" AS ");
        self.table(scope);
        if matches!(call.function.returns, Returns::Scalar(_)) {
            self.text.push_str(" (pgrst_scalar)");
        }
    }

    /// `"name" := value::type`; the type's name is without a length, so that nothing is cut.
    fn argument(&mut self, argument: &'a Argument<'a>) {
        if argument.variadic {
            self.text.push_str("VARIADIC ");
        }
        if !argument.name.is_empty() {
            quote(&mut self.text, argument.name);
            self.text.push_str(" := ");
        }
        match &argument.given {
            Given::Texts(values) => match (argument.variadic, values.as_slice()) {
                (false, [only]) => self.param(Cow::Borrowed(only)),
                (_, values) => self.param(Cow::Owned(array_literal(values))),
            },
            Given::Bound(bound) => self.param_of(Param::Bound(*bound)),
            Given::Body => self.param_of(Param::Document),
            Given::BytesOfBody => {
                self.text.push_str("convert_to(");
                self.param_of(Param::Document);
                self.text.push_str("::text, 'UTF8')");
                return;
            }
            Given::Document { is_array, is_json_in_string } => {
                self.text.push_str("(SELECT pgrst_body.");
                quote(&mut self.text, argument.name);
                if *is_json_in_string {
                    self.text.push_str("::");
                    self.name(argument.type_schema, argument.type_name);
                }
                self.text.push_str(if *is_array {
                    " FROM pg_catalog.json_to_recordset("
                } else {
                    " FROM pg_catalog.json_to_record("
                });
                self.param_of(Param::Document);
                self.text.push_str("::pg_catalog.json) AS pgrst_body(");
                quote(&mut self.text, argument.name);
                self.text.push(' ');
                if *is_json_in_string {
                    self.text.push_str("pg_catalog.text");
                } else {
                    self.name(argument.type_schema, argument.type_name);
                }
                self.text.push_str(if *is_array { ") LIMIT 1)" } else { "))" });
                return;
            }
        }
        self.text.push_str("::");
        self.name(argument.type_schema, argument.type_name);
    }
}
