//! Measures ways to fetch nested rows: `cargo run --release` in a crate with `thalweg-wire`, `thalweg-rows` and `tokio`,
//! against any database, named by the first argument, in which a schema `embeds` may be made.

use std::time::Instant;
use thalweg_rows::{Demand, Format, RowSink, RowView};
use thalweg_wire::{Config, Connection, Query};

struct Count(usize, usize);

impl RowSink for Count {
    type Error = std::convert::Infallible;

    fn row(&mut self, row: RowView<'_>) -> Result<Demand, Self::Error> {
        self.0 += 1;
        self.1 += row.size_bytes();
        Ok(Demand::More)
    }
}

/// CPU milliseconds of a process.
fn cpu_ms(pid: i32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e6
}

/// Parents, children of each, grandchildren of each child (0 is none), and how many parents are asked for (0 is all).
struct Case(&'static str, u32, u32, u32, u32);

const CASES: [Case; 7] = [
    Case("few parents, many children", 10, 10_000, 0, 0),
    Case("many parents, few children", 5_000, 2, 0, 0),
    Case("very many parents, few children", 100_000, 2, 0, 0),
    Case("10 of many parents", 100_000, 2, 0, 10),
    Case("1,000 of many parents", 100_000, 2, 0, 1_000),
    Case("three levels", 200, 10, 10, 0),
    Case("three levels, 10 of many", 5_000, 4, 4, 10),
];

fn shapes(case: &Case) -> Vec<(&'static str, Vec<String>)> {
    let some = if case.4 > 0 { format!(" order by id limit {}", case.4) } else { String::new() };
    let within = |column: &str, of: &str| match case.4 {
        0 => String::new(),
        _ => format!(" where {column} in (select id from {of})"),
    };
    let parents = format!("(select id from parents{some}) p");
    if case.3 > 0 {
        let below = "array(select row(g.id, g.name, g.amount) from grandchildren g where g.child_id = c.id)";
        let agg = "(select array_agg(row(g.id, g.name, g.amount)) r from grandchildren g where g.child_id = c.id) e";
        let children = format!("children{}", within("parent_id", &parents));
        return vec![
            ("arrays of rows", vec![format!("select id, name, array(select row(c.id, c.name, c.amount, {below}) from children c where c.parent_id = p.id) from parents p{some}")]),
            ("lateral joins", vec![format!("select p.id, p.name, d.r from parents p left join lateral (select array_agg(row(c.id, c.name, c.amount, e.r)) r from children c left join lateral {agg} on true where c.parent_id = p.id) d on true{}", some.replace(" id", " p.id"))]),
            ("flat, joined outside", vec![
                format!("select id, name, amount, child_id from grandchildren{}", within("child_id", &format!("{children} p"))),
                format!("select id, name, amount, parent_id from {children}"),
                format!("select id, name from parents{some}"),
            ]),
        ];
    }
    let inside = within("parent_id", &parents);
    vec![
        ("arrays of rows", vec![format!("select id, name, array(select row(c.id, c.name, c.amount) from children c where c.parent_id = p.id) from parents p{some}")]),
        ("lateral joins", vec![format!("select p.id, p.name, d.r from parents p left join lateral (select array_agg(row(c.id, c.name, c.amount)) r from children c where c.parent_id = p.id) d on true{}", some.replace(" id", " p.id"))]),
        ("grouped and joined", vec![format!("select p.id, p.name, d.r from parents p left join (select parent_id, array_agg(row(id, name, amount)) r from children{inside} group by parent_id) d on d.parent_id = p.id{}", some.replace(" id", " p.id"))]),
        ("flat, joined outside", vec![
            format!("select id, name, amount, parent_id from children{inside}"),
            format!("select id, name from parents{some}"),
        ]),
    ]
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let uri = std::env::args().nth(1).expect("a connection string");
    let mut connection = Connection::connect(&Config::parse(&uri).unwrap()).await.unwrap();
    let pid = connection.cancel_key().unwrap().process_id();
    println!("| case | index | shape | wall ms | backend CPU ms | bytes |\n|---|---|---|---|---|---|");
    for case in &CASES {
        let Case(name, parents, children, grandchildren, _) = case;
        for index in [true, false] {
            let all = parents * children;
            let below = all * grandchildren;
            connection
                .simple(&format!(
                    "drop schema if exists embeds cascade; create schema embeds; set search_path = embeds;
                     set max_parallel_workers_per_gather = 0; set statement_timeout = '20s';
                     create table parents as select i as id, 'parent ' || i as name from generate_series(1, {parents}) i;
                     create table children as select i as id, 'child ' || i as name, i * 1.5 as amount, i % {parents} + 1 as parent_id
                       from generate_series(1, {all}) i;
                     create table grandchildren as select i as id, 'grandchild ' || i as name, i * 1.5 as amount, i % {all} + 1 as child_id
                       from generate_series(1, {below}) i;
                     alter table parents add primary key (id); alter table children add primary key (id);
                     alter table grandchildren add primary key (id);
                     {} analyze;",
                    if index { "create index on children (parent_id); create index on grandchildren (child_id);" } else { "" }
                ))
                .await
                .unwrap();
            for (shape, statements) in shapes(case) {
                let formats = [if shape.starts_with("flat") { Format::Text } else { Format::Binary }];
                let queries: Vec<Query<'_>> =
                    statements.iter().map(|text| Query { text, params: &[], formats: &formats }).collect();
                let index = if index { "yes" } else { "no" };
                let started = Instant::now();
                if connection.run(&queries, &mut Count(0, 0)).await.is_err() {
                    println!("| {name} | {index} | {shape} | > 20,000 | | |");
                    continue;
                }
                let once = started.elapsed().as_secs_f64();
                let rounds = ((1.0 / once) as u32).clamp(1, 100);
                let (before, started) = (cpu_ms(pid), Instant::now());
                let mut count = Count(0, 0);
                for _ in 0..rounds {
                    count = Count(0, 0);
                    connection.run(&queries, &mut count).await.unwrap();
                }
                let wall = started.elapsed().as_secs_f64() * 1e3 / f64::from(rounds);
                let cpu = (cpu_ms(pid) - before) / f64::from(rounds);
                println!("| {name} | {index} | {shape} | {wall:.2} | {cpu:.2} | {} |", count.1);
            }
        }
    }
    connection.simple("drop schema embeds cascade").await.unwrap();
}
