//! What pages show of reads that were narrowed to it: what the API says.

use super::{SCHEMA, is_same, site};
use crate::served::{GRANTS, Served, config};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use thalweg_server::Config;
use thalweg_testkit::Database;

/// Whatever narrows a read, its rows are those of the API: for each column alone, here and in what is embedded, the values that the API
/// gives; and for each embed alone, whether there is one.
#[test]
fn each_column_alone_is_what_the_api_says() {
    let database = Database::new(&format!(
        "{SCHEMA}
         create table api.members (pilot_id int references api.pilots, site_id int references api.sites, primary key (pilot_id, site_id));
         insert into api.members values (1, 1), (1, 2), (2, 2);
         create function api.home(api.pilots) returns setof api.sites rows 1 language sql stable
           as $$ select * from api.sites where id = $1.id $$;
         {GRANTS}grant execute on all functions in schema api to test_reader;"
    ));
    let requests = [
        "/flights?order=id",
        "/flights?select=*,pilot:pilots(id,name),sites(*)&order=pilot(name).desc,id.desc",
        "/flights?select=id,pilots(name),sites(name)&pilots.name=like.A*&pilots=not.is.null&order=sites(name).nullsfirst,id",
        "/flights?select=title,pilots!inner(name)&pilots.id=eq.1&order=id.desc",
        "/flights?select=id,...pilots(who:name,pilot:id),sites(id)&order=id",
        "/flights?select=id,...pilots(who:name,others:flights(id,title))&order=id&pilots.flights.order=id",
        "/flights?select=id,...sites(where:name,near:flights(id,pilots(id,name)))&order=id",
        "/flights?select=id,meta->class->>en,n:meta->glider,longer,is_public&order=longer.desc.nullslast",
        "/flights?select=is_public,count()&order=is_public",
        "/flights?select=pilots(name),distance_km.sum()",
        "/pilots?select=*,flights(id,title,tags,sites(*))&flights.order=id&order=id",
        "/pilots?select=name,flights(id,title)&flights.limit=1&flights.order=id.desc&flights.title=like.*ir*&flights=not.is.null&order=id",
        "/pilots?select=id,...flights(titles:title,kms:distance_km)&flights.order=id&order=id",
        "/pilots?select=id,flights(count)&order=id",
        "/pilots?select=count",
        "/flights?select=id,...pilots(count)&order=id",
        "/pilots?select=id,photo,flights(sites(name))&order=id.desc&or=(id.eq.1,flights.is.null)",
        "/sites?select=*,flights(id,meta,pilots(name))&order=id&flights.order=id",
        "/flights?select=id,pilots(id),sites(id)&order=id",
        "/flights?select=id,pilots(id)&pilots.id=eq.1&order=id",
        "/flights?select=id,pilots(id,name)&order=pilots(name).desc,id",
        "/flights?select=id,pilots(id,flights(id,sites(id,name)))&pilots.flights.order=sites(name),id&order=id",
        "/flights?select=id,pilots(id,home(id,flights(id)))&order=id",
        "/flights?select=id,...pilots(who:id,home(id),flights(id,sites(id)))&pilots.flights.order=id&order=id",
        "/flights?select=id,pilots(),sites!inner(id)&pilots=not.is.null&order=id",
        "/flights?select=id,pilots!inner(id,home!inner(id))&pilots.home.id=eq.2&order=id",
        "/flights?select=id,pilots(id,home(id))&pilots.home=is.null&order=id",
        "/flights?select=pilots(id),count()",
        "/pilots?select=id,flights(id,pilots(id,name),sites(id))&flights.order=pilots(name),id&flights.pilots.name=eq.Ben&order=id",
        "/pilots?select=id,flights(id,sites(id))&flights.limit=1&flights.offset=1&flights.order=id&order=id",
        "/pilots?select=id,flights!inner(id,sites!inner(id))&order=id",
        "/pilots?select=id,sites(id,flights(id,pilots(id)))&sites.order=id&order=id",
        "/pilots?select=id,...flights(title,sites(id))&flights.order=id&order=id",
        "/pilots?select=id,...flights(title,sites(id,members(site_id,pilots(id))))&flights.order=id&order=id",
        "/pilots?select=id,...flights(sites(id))&flights.order=sites(id)&order=id&limit=2",
        "/members?select=pilots(id),sites(id,flights(id,pilots(id)))&order=pilot_id,site_id",
        "/members?select=...pilots(home(id),flights(pilots(id,home(id)))),sites(id)&order=pilot_id,site_id",
        "/rpc/longest?select=id,pilots(id,home(id))",
        "/rpc/of_pilot?pilot=1&select=*,pilots(name)&order=id",
        "/rpc/statistics",
    ];
    let config = Config { db_aggregates_enabled: true, ..config(&database.uri()) };
    let api = Served::start(config.clone());
    let mut files = Vec::new();
    let mut expected = Vec::new();
    for (number, request) in requests.iter().enumerate() {
        let answer = api.get(request);
        assert_eq!(answer.status, 200, "{request}: {}", answer.text());
        let rows = answer.json();
        let rows = if rows.is_object() { json!([rows]) } else { rows };
        assert!(rows.as_array().is_some_and(|rows| !rows.is_empty()), "{request}");
        let shows = if request.starts_with("/rpc/longest") { "[rows]" } else { "rows" };
        // no column at all, and each alone
        let counted = (format!("{{{{ {shows}|length }}}}"), json!(rows.as_array().unwrap().len()));
        for (index, (text, values)) in touched(&rows, shows, 0).into_iter().chain([counted]).enumerate() {
            files.push((format!("{number}/{index}.txt"), format!("+++\nrows = \"{request}\"\n+++\n{text}")));
            expected.push((format!("/{number}/{index}.txt"), request, text, values));
        }
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    let folder = site(&files);
    let served = Served::start(Config { pages_dir: Some(folder.path().to_owned()), ..config });
    let differs = |(path, request, text, values): &(String, &&str, String, Value)| {
        let answer = served.get(path);
        let is_same = serde_json::from_str(answer.text()).is_ok_and(|shown| is_same(&shown, values));
        (!is_same).then(|| format!("{request} {text}: {} {} and not {values}", answer.status, answer.text()))
    };
    let different: Vec<String> = expected.iter().filter_map(differs).collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// What is declared never to be null is, where nothing enforces it; the row that it is a column of is there all the same.
#[test]
fn a_row_is_there_whatever_of_it_is_null() {
    let database = Database::new(&format!(
        "create schema api; create schema inner_api;
         create domain api.word as text not null;
         create table api.places (id int primary key, name text not null);
         insert into api.places values (1, 'one'), (2, 'two');
         create table api.words (id int primary key references api.places, word api.word, other text);
         insert into api.words values (2, (select word from api.words where false), 'there');
         create view api.spoken as select p.id, w.word, p.name from api.places p left join api.words w on w.id = p.id;
         create table api.parents (id int primary key, label text not null, x text);
         create table inner_api.children () inherits (api.parents);
         alter table inner_api.children alter label drop not null;
         insert into inner_api.children values (2, null, 'xx');
         create table api.users (id int primary key, place_id int references api.places, word_id int references api.words);
         insert into api.users values (1, 1, null), (2, 2, 2), (3, null, null);
         create function api.made(api.users) returns setof api.places rows 1 stable language sql
           as $$ select null::int, 'made' || $1.id $$;
         create function api.parent(api.users) returns setof api.parents rows 1 stable language sql
           as $$ select * from api.parents where id = $1.place_id $$;
         {GRANTS}grant execute on all functions in schema api to test_reader; grant select on all tables in schema inner_api to test_reader;"
    ));
    let requests = [
        ("/users?select=id,words(word,other)&order=id", "words", "other"),
        ("/users?select=id,spoken!place_id(word,name)&order=id", "spoken", "name"),
        ("/users?select=id,made(id,name)&order=id", "made", "name"),
        ("/users?select=id,parent(label,x)&order=id", "parent", "x"),
        ("/users?select=id,places(id,name)&order=id", "places", "name"),
    ];
    let api = Served::database(&database.uri());
    for (request, embed, column) in requests {
        let first = request.split(['(', ',']).nth(2).unwrap();
        let text = format!(
            "+++\nrows = \"{request}\"\n+++\n{{% for r in rows %}}{{% if r.{embed} %}}{{{{ r.{embed}.{first} }}}}/{{{{ r.{embed}.{column} }}}}{{% else %}}none{{% endif %}};{{% endfor %}}"
        );
        let shown = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned).replace("null", "");
        let answer = api.get(request);
        assert_eq!(answer.status, 200, "{request}: {}", answer.text());
        let expected = answer.json().as_array().unwrap().iter().fold(String::new(), |all, row| match &row[embed] {
            Value::Null => all + "none;",
            there => all + &format!("{}/{};", shown(&there[first]), shown(&there[column])),
        });
        assert!(expected.contains('/'), "{request}: {expected}");
        assert_eq!(super::page(&database, &text), expected, "{request}");
    }
}

/// Whatever was read before: a name is the first column's that has it, of few columns and of many.
#[test]
fn a_name_is_the_first_columns_that_has_it() {
    let columns: Vec<String> = (0..100).map(|at| format!("c{at} int default {at}")).collect();
    let database = Database::new(&format!(
        "create schema api; create table api.wide (id int primary key, {}); insert into api.wide values (1), (2);{GRANTS}",
        columns.join(", ")
    ));
    let read = "{{ r.a }} {{ r.b }} {{ r.a }}";
    for (select, shown, expected) in [
        ("a:id,b:c7,a:c5", format!("{read};"), "1 7 1;2 7 2;"),
        (
            "a:id,b:c7,a:c5,*",
            format!("{read} {{{{ r.c99 }}}} {{{{ (r|items|length) > 100 }}}};"),
            "1 7 1 99 true;2 7 2 99 true;",
        ),
    ] {
        // what is set is the engine's to run
        let text = format!(
            "+++\nrows = \"/wide?select={select}&order=id\"\n+++\n{{% for r in rows %}}{{% set n = 1 %}}{shown}{{% endfor %}}"
        );
        assert_eq!(super::page(&database, &text), expected);
    }
}

/// A result has 1,664 columns at most; rows of others are values of one column where theirs would be more.
#[test]
fn wide_rows_within_a_row_fit() {
    let columns: Vec<String> = (0..300).map(|at| format!("c{at} int default {at}")).collect();
    let references: Vec<String> = (0..6).map(|at| format!("r{at} int default 1 references api.wide")).collect();
    let database = Database::new(&format!(
        "create schema api; create table api.wide (id int primary key, {}); insert into api.wide values (1);
         create table api.hubs (id int primary key, {}); insert into api.hubs values (1);{GRANTS}",
        columns.join(", "),
        references.join(", ")
    ));
    let embeds: Vec<String> = (0..6).map(|at| format!("e{at}:wide!hubs_r{at}_fkey(*)")).collect();
    let shown: Vec<String> = (0..6).flat_map(|of| (0..300).map(move |at| format!("{{{{ h.e{of}.c{at} }}}}"))).collect();
    let text = format!(
        "+++\nhubs = \"/hubs?select=id,{}\"\n+++\n{{% for h in hubs %}}{}{{% endfor %}}",
        embeds.join(","),
        shown.join(",")
    );
    let numbers: Vec<String> = (0..6).flat_map(|_| 0..300).map(|at| at.to_string()).collect();
    assert_eq!(super::page(&database, &text), numbers.join(","));
}

/// Templates that each touch one thing of some rows, with what it is according to the API: a column, or whether there is an embed.
fn touched(rows: &Value, shown: &str, depth: usize) -> Vec<(String, Value)> {
    let rows: Vec<&Value> = rows.as_array().unwrap().iter().collect();
    let of_each = |(text, values): (String, Value)| {
        let text = format!("[{{% for r{depth} in {shown} %}}{text}{{{{ \",\" if not loop.last }}}}{{% endfor %}}]");
        (text, values)
    };
    below(&rows, &format!("r{depth}"), depth + 1).into_iter().map(of_each).collect()
}

/// The same of what stands in each of them, at a place where there may be none.
fn below(places: &[&Value], shown: &str, depth: usize) -> Vec<(String, Value)> {
    let keys: BTreeSet<&String> = places.iter().filter_map(|place| place.as_object()).flat_map(Map::keys).collect();
    let mut all = Vec::new();
    for key in keys {
        let of_key: Vec<&Value> = places.iter().map(|place| &place[key]).collect();
        // what is named by a dot may be written without the engine
        let is_word = key.bytes().all(|byte| byte.is_ascii_lowercase());
        let name = if is_word { format!("{shown}.{key}") } else { format!("{shown}[\"{key}\"]") };
        let whole: Value = of_key.iter().map(|value| (*value).clone()).collect();
        all.push((format!("{{{{ {name}|default(none)|tojson }}}}"), whole));
        let is_there = |value: &Value| value.is_object() || value.as_array().is_some_and(|rows| !rows.is_empty());
        let is_many = of_key.iter().any(|value| value[0].is_object());
        if is_many || of_key.iter().any(|value| value.is_object()) {
            let found = of_key.iter().map(|value| u8::from(is_there(value))).collect();
            all.push((format!("{{{{ 1 if {name} else 0 }}}}"), found));
        }
        if is_many {
            let inner: Vec<Vec<&Value>> =
                of_key.iter().map(|rows| rows.as_array().into_iter().flatten().collect()).collect();
            let flat: Vec<&Value> = inner.iter().flatten().copied().collect();
            for (text, values) in below(&flat, &format!("r{depth}"), depth + 1) {
                let mut values = values.as_array().cloned().unwrap_or_default().into_iter();
                let grouped = inner.iter().map(|rows| values.by_ref().take(rows.len()).collect::<Value>()).collect();
                let each =
                    format!("[{{% for r{depth} in {name} %}}{text}{{{{ \",\" if not loop.last }}}}{{% endfor %}}]");
                all.push((each, grouped));
            }
        } else {
            all.extend(below(&of_key, &name, depth));
        }
    }
    all
}
