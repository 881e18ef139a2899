//! The page of a relation or function: any request that the grammar can say, as a table, or one row.

use super::{Browsing, Shown};
use crate::answer::respond;
use crate::error::ApiError;
use crate::flow::batch::Batch;
use crate::flow::going::Going;
use crate::flow::{Answered, RequestText};
use crate::site::browse::{
    Address, CELL_CHARS_MAX, CELLS_MAX, Entry, INNER_ROWS_MAX, Kind, Level, ROWS_MAX, Template, Types, grouped, tools,
};
use hyper::StatusCode;
use std::borrow::Cow;
use thalweg_catalog::Relation;
use thalweg_gauge::{Lap, Laps};
use thalweg_json::{Value, json};
use thalweg_plan::{Form, plan};
use thalweg_request::{Action, ApiRequest, At, EmbedWindow, Headers, Item, Target};

/// How many rows a page shows where nobody says.
const PER_PAGE: u64 = 50;

/// How long the links of all headings may be together. Each says the whole address.
const HEADINGS_BYTES_MAX: usize = 1024 * 1024;

/// What is asked for where it is shown how PostgreSQL runs a request.
const PLAN: &str = "application/vnd.pgrst.plan+text";

/// What the role may do to a relation.
const PRIVILEGES: &str = "SELECT pg_catalog.has_any_column_privilege($1::pg_catalog.oid, 'insert'), \
     pg_catalog.has_any_column_privilege($1::pg_catalog.oid, 'update'), \
     pg_catalog.has_table_privilege($1::pg_catalog.oid, 'delete')";

impl Browsing<'_> {
    /// Whether the database makes HTML of the rows itself.
    pub(super) fn is_made_by_database(&self, target: Target<'_>) -> Result<bool, ApiError> {
        if self.snapshot.catalog.media_handlers().is_empty() && matches!(target, Target::Relation(_)) {
            return Ok(false);
        }
        let query = self.address.query();
        let headers = Headers { accept: Some("text/html"), ..Headers::default() };
        let text = RequestText::of_target(target, &query, headers)?;
        let request = text.request(Action::Read, (&self.snapshot.catalog, self.schema))?;
        let planned = plan(&request, None, self.going(&text).context(&request));
        // a function that returns nothing answers nothing, whatever is accepted
        Ok(planned.is_ok_and(|plan| plan.form != Form::Nothing))
    }

    /// The rows of a relation or function.
    pub(super) async fn rows(&self, target: Target<'_>, bill: &mut Laps) -> Answered {
        let query = self.address.query();
        let is_counted = self.address.says("count").is_some();
        let headers =
            Headers { prefer: is_counted.then_some("count=exact").into_iter().collect(), ..Headers::default() };
        let text = RequestText::of_target(target, &query, headers)?;
        let going = self.going(&text);
        let mut request = text.request(Action::Read, (&self.snapshot.catalog, self.schema))?;
        let per_page = fit(&mut request, &going)?;
        let mut planned = plan(&request, None, going.context(&request))?;
        let types = Types::of(&planned.read);
        planned.abridge(&self.snapshot.catalog, CELL_CHARS_MAX + 1);
        let (prepared, values) = going.prepare(&request, &planned, None);

        let accept = Headers { accept: Some(PLAN), ..Headers::default() };
        let text_of_plan = RequestText::of_target(target, &query, accept)?;
        let of_plan = text_of_plan.request(Action::Read, (&self.snapshot.catalog, self.schema))?;
        let asks_plan = self.in_force.config.db_plan_enabled && self.address.says("plan").is_some();
        let explaining = self.going(&text_of_plan);
        let explaining_plan = match asks_plan {
            true => Some(plan(&of_plan, None, explaining.context(&of_plan))?),
            false => None,
        };
        let explained = explaining_plan.as_ref().map(|plan| explaining.prepare(&of_plan, plan, None));

        let relation = planned.read.from.relation().filter(|_| matches!(target, Target::Relation(_)));
        let oid = relation.map(|relation| relation.oid.to_string());
        bill.lap(Lap::Plan);
        let mut batch = Batch::new(self.snapshot);
        batch.prepared(&prepared, &values);
        if let Some((prepared, values)) = &explained {
            batch.prepared(prepared, values);
        }
        if let Some(oid) = &oid {
            batch.own(PRIVILEGES, oid, &["insert", "update", "delete"]);
        }
        let function = planned.call().map(|call| call.function);
        let mut collected = batch.run(&going, function, bill).await?;
        let (set_by_sql, rows_bytes) = (std::mem::take(&mut collected.set_by_sql), collected.size_bytes());
        let mut found = collected.into_found().into_iter();
        let Some(rows) = found.next() else { return Err(ApiError::no_row()) };

        let level = Level::of(&self.snapshot.catalog, self.schema, &planned, &types);
        let (count, offset) = (rows.table.len() as u64, request.window.offset_rows);
        let is_one = count == 1 && relation.is_some_and(|relation| Entry::names_one_row(relation, self.address));
        let mut page = self.common();
        let comment = relation.map(|relation| &relation.comment).or(function.map(|function| &function.comment));
        page["title"] = planned.read.from.name().into();
        page["comment"] = comment.and_then(Option::as_deref).into();
        page["tools"] = tools(&self.kept(), planned.read.from.relation(), function.is_some());
        page["columns"] = self.headings(&level, relation.is_some());
        page["total"] = rows.tally.exact().map(|total| grouped(&total.to_string())).into();
        page["first"] = (offset + 1).into();
        page["last"] = (offset + count.min(per_page)).into();
        page["is_nothing"] = (planned.form == Form::Nothing).into();
        let is_list = matches!(planned.form, Form::Rows | Form::Values);
        page["links"] = self.links(is_list.then_some((offset, per_page, count)), is_counted);
        if let Some((prepared, _)) = &explained {
            let sql = prepared.last_text().and_then(|text| text.split_once(") ")).map(|(_, sql)| sql);
            let lines = found.next().map(|found| found.table.into_values());
            let lines: Vec<String> = lines
                .and_then(|lines| Some(lines.try_iter().ok()?.map(|line| line.to_string()).collect()))
                .unwrap_or_default();
            page["plan"] = json!({"sql": sql, "text": lines.join("\n")});
        }
        if let (Some(relation), Some(found)) = (relation, found.next()) {
            page["may"] = self.may(relation, is_one, found.table.into_row().as_ref());
        }
        page["asks_to_delete"] = (is_one && self.address.says("delete").is_some()).into();
        let template = if is_one { Template::Row } else { Template::Table };
        let rows = Some((rows.table.into_rows(None), count.min(per_page) as usize));
        let mut response = self.made(Shown { template, page, level, rows, rows_bytes }, StatusCode::OK, bill).await?;
        respond::set_by_sql(&mut response, set_by_sql)?;
        Ok((response, Some(count)))
    }

    /// The address with what it says of how rows are shown, and not of what is done.
    fn kept(&self) -> Address {
        match self.address.says("count") {
            Some(_) => self.address.saying(&[("count", "exact")]),
            None => self.address.saying(&[]),
        }
    }

    /// The headings of columns, each of which orders by it.
    fn headings(&self, level: &Level, can_order: bool) -> Value {
        let order = self.address.value("order").unwrap_or_default();
        let kept = self.kept().with(&[("offset", None)]);
        let can_order = can_order && kept.link().len() * level.columns.len() <= HEADINGS_BYTES_MAX;
        let heading = |shown: &crate::site::browse::Heading| {
            let by = shown.order_name().filter(|_| can_order);
            let is_number = matches!(shown.kind, Kind::Number | Kind::Bytes);
            let mut heading =
                json!({"name": &*shown.key, "type": shown.type_name, "comment": shown.comment, "is_number": is_number});
            if let Some(by) = by {
                let (ascends, descends) = (order == by || order == format!("{by}.asc"), order == format!("{by}.desc"));
                let next = if ascends { Some(format!("{by}.desc")) } else { (!descends).then_some(by) };
                heading["href"] = kept.with(&[("order", next)]).link().into();
                heading["order"] = if ascends {
                    "ascending".into()
                } else if descends {
                    "descending".into()
                } else {
                    Value::Null
                };
            }
            heading
        };
        level.columns.iter().map(heading).collect()
    }

    /// Links to other pages of the list, and to the same in other forms.
    fn links(&self, list: Option<(u64, u64, u64)>, is_counted: bool) -> Value {
        let kept = self.kept();
        let as_media = |media: &str| kept.saying(&[("as", media)]).link();
        let mut links = json!({"json": as_media("json"), "csv": as_media("csv")});
        if self.in_force.config.db_plan_enabled {
            links["plan"] = kept.saying(&[("plan", "1")]).link().into();
        }
        let Some((offset, per_page, count)) = list else { return links };
        let page = |offset: u64| kept.with(&[("offset", (offset > 0).then(|| offset.to_string()))]).link();
        if count > per_page && per_page > 0 {
            links["next"] = page(offset.saturating_add(per_page)).into();
        }
        if offset > 0 {
            links["previous"] = page(offset.saturating_sub(per_page)).into();
        }
        if !is_counted {
            links["count"] = kept.saying(&[("count", "exact")]).link().into();
        }
        links
    }

    /// Where the role may write.
    fn may(&self, relation: &Relation, is_one: bool, privileges: Option<&minijinja::Value>) -> Value {
        let is_granted = |name: &str| {
            privileges.and_then(|row| row.get_attr(name).ok()).is_some_and(|said| said.as_str() == Some("t"))
        };
        let (insert, update, delete) = relation.writable;
        let link = |can: bool, name: &str, address: &Address| {
            let says = match name {
                "insert" => "new",
                "update" => "edit",
                _ => "delete",
            };
            (can && is_granted(name)).then(|| address.saying(&[(says, "1")]).link())
        };
        let all = Address { path: self.address.path.clone(), ..Address::default() };
        let one = self.address.with(&[("select", None), ("order", None), ("limit", None), ("offset", None)]);
        json!({
            "new": link(insert, "insert", &all),
            "edit": link(update && is_one, "update", &one),
            "delete": link(delete && is_one, "delete", &one),
            "list": all.link(), "row": one.saying(&[]).link(),
        })
    }
}

/// Lets a request ask for no more than a page can show, and for one row more; how many it shows.
fn fit(request: &mut ApiRequest<'_>, going: &Going<'_>) -> Result<u64, ApiError> {
    within(&mut request.query.windows, &request.query.select, &mut Vec::new());
    let asked = request.window.limit_rows.unwrap_or(PER_PAGE).min(ROWS_MAX);
    let asked = going.in_force.config.db_max_rows.map_or(asked, |most| asked.min(most));
    request.window.limit_rows = Some(asked + 1);
    let columns = plan(request, None, going.context(request))?.read.outputs.len();
    let per_page = asked.min((CELLS_MAX / columns.max(1)).max(1) as u64);
    request.window.limit_rows = Some(per_page + 1);
    Ok(per_page)
}

/// Limits embeds to the rows that are shown within a row, and one more.
fn within<'a>(windows: &mut Vec<At<'a, EmbedWindow>>, items: &[Item<'a>], path: &mut Vec<Cow<'a, str>>) {
    const FETCHED: i64 = INNER_ROWS_MAX as i64 + 1;
    for item in items {
        let Item::Embed(embed) = item else { continue };
        path.push(embed.alias.clone().unwrap_or_else(|| embed.target.clone()));
        match windows.iter_mut().find(|window| window.path == *path) {
            Some(window) => {
                let asked = window.what.limit_rows;
                window.what.limit_rows = Some(asked.map_or(FETCHED, |asked| asked.min(FETCHED)));
            }
            None => {
                let what = EmbedWindow { limit_rows: Some(FETCHED), offset_rows: None };
                windows.push(At { path: path.clone(), what });
            }
        }
        within(windows, &embed.items, path);
        path.pop();
    }
}
