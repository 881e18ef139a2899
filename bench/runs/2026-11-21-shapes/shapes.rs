//! Measures shapes of the same result: `cargo run --release` in a crate with `thalweg-wire`, `thalweg-rows` and `tokio`,
//! against a database with `bench/music.sql`, named by the first argument.

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

const TRACKS: &str = "select track_id, name, album_id, media_type_id, genre_id, composer, milliseconds, bytes, unit_price
    from track";
const ARRAY: &str = "select album_id, title, array(select row(t.composer, e.r, t.milliseconds, t.name, t.track_id, t.unit_price)
    from track t left join lateral (select row(g.name) r from genre g where g.genre_id = t.genre_id) e on true
    where t.album_id = a.album_id) from album a";
const ARRAY_OF_TEXT: &str = "select album_id, title, array(select row(t.composer, g.name, t.milliseconds::text, t.name,
    t.track_id::text, t.unit_price::text) from track t left join genre g on g.genre_id = t.genre_id
    where t.album_id = a.album_id) from album a";
const JOIN: &str = "select a.album_id, a.title, t.composer, g.name, t.milliseconds, t.name, t.track_id, t.unit_price
    from album a left join track t on t.album_id = a.album_id left join genre g on g.genre_id = t.genre_id
    order by a.album_id";
const ARRAYS_OF_COLUMNS: &str = "select album_id, title, e.* from album a left join lateral (select array_agg(t.composer),
    array_agg(g.name), array_agg(t.milliseconds), array_agg(t.name), array_agg(t.track_id), array_agg(t.unit_price)
    from track t left join genre g on g.genre_id = t.genre_id where t.album_id = a.album_id) e on true";
const GROUPED: &str = "select a.album_id, title, e.r from album a left join (select album_id,
    array_agg(row(t.composer, g.name, t.milliseconds, t.name, t.track_id, t.unit_price)) r
    from track t left join genre g on g.genre_id = t.genre_id group by album_id) e on e.album_id = a.album_id";
const ALBUMS: &str = "select album_id, title from album";
const FLAT_TRACKS: &str = "select composer, genre_id, milliseconds, name, track_id, unit_price, album_id from track";
const GENRES: &str = "select genre_id, name from genre";
const SORTED: &str = "select composer, g.name, milliseconds, t.name, track_id, unit_price, album_id
    from track t left join genre g using (genre_id) order by album_id";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let uri = std::env::args().nth(1).expect("a connection string");
    let mut connection = Connection::connect(&Config::parse(&uri).unwrap()).await.unwrap();
    connection.simple("set search_path = music").await.unwrap();
    let pid = connection.cancel_key().unwrap().process_id();
    for (name, statements, format) in [
        ("tracks, binary", &[TRACKS][..], Format::Binary),
        ("tracks, text", &[TRACKS], Format::Text),
        ("albums: array of rows", &[ARRAY], Format::Binary),
        ("albums: array of rows, cast to text", &[ARRAY_OF_TEXT], Format::Binary),
        ("albums: flat join, sorted, text", &[JOIN], Format::Text),
        ("albums: flat join, sorted, binary", &[JOIN], Format::Binary),
        ("albums: arrays of columns, text", &[ARRAYS_OF_COLUMNS], Format::Text),
        ("albums: grouped array_agg of rows", &[GROUPED], Format::Binary),
        ("albums: two flat results, joined and sorted", &[ALBUMS, SORTED], Format::Text),
        ("albums: three flat results, text", &[ALBUMS, FLAT_TRACKS, GENRES], Format::Text),
    ] {
        let formats = [format];
        let queries: Vec<Query<'_>> =
            statements.iter().map(|text| Query { text, params: &[], formats: &formats }).collect();
        for _ in 0..20 {
            connection.run(&queries, &mut Count(0, 0)).await.unwrap();
        }
        const ROUNDS: u32 = 200;
        let (before, started) = (cpu_ms(pid), Instant::now());
        let mut count = Count(0, 0);
        for _ in 0..ROUNDS {
            count = Count(0, 0);
            connection.run(&queries, &mut count).await.unwrap();
        }
        let wall = started.elapsed().as_secs_f64() * 1e3 / f64::from(ROUNDS);
        let cpu = (cpu_ms(pid) - before) / f64::from(ROUNDS);
        println!("| {name} | {wall:.2} | {cpu:.2} | {} | {} |", count.0, count.1);
    }
}
