//! The flight book's database: who reaches what, what its statistics come to, what a CSV file becomes.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use thalweg_flightbook::join::{csv_cell, csv_first_cell};
use thalweg_testkit::{Database, query_at};

/// Ann (1) and Bob (2), each with a glider, a site and two flights, of which the first has a track.
const PILOTS: &str = r"
select flightbook_private.register('Ann Arbor', 'ann@club.example', '$argon2id$v=19$ann');
select flightbook_private.register('Bob Berg', 'bob@club.example', '$argon2id$v=19$bob');
insert into flightbook.gliders (pilot_id, manufacturer, model) values (1, 'Aster', 'One'), (2, 'Bergwind', 'Two');
insert into flightbook.sites (pilot_id, name) values (1, 'Alp'), (2, 'Berg');
insert into flightbook.flights (pilot_id, date, glider_id, launch_site_id, landing_site_id)
  select n, day, n, n, n from generate_series(1, 2) n, unnest(array['2025-05-01', '2026-05-01']::date[]) day order by n, day;
insert into flightbook.track_files (pilot_id, igc) values (1, 'A'), (2, 'B');
insert into flightbook.tracks (flight_id, pilot_id, igc_sha256, igc_name, starts_at, seconds, latitudes, longitudes, altitudes_m, climbs_dms)
  values (1, 1, sha256('A'), 'a.igc', '2025-05-01', '{0}', '{46}', '{7}', '{900}', '{0}'),
    (3, 2, sha256('B'), 'b.igc', '2025-05-01', '{0}', '{46}', '{7}', '{900}', '{0}');
insert into flightbook.shares (flight_id, pilot_id, token) values (1, 1, 'of-ann');
";
const TABLES: [&str; 5] = ["gliders", "sites", "flights", "tracks", "shares"];
/// Columns of flights that only the program writes, each with a value.
const COMPUTED: [(&str, &str); 10] = [
    ("duration", "'1 hour'"),
    ("altitude_max_m", "9000"),
    ("height_gain_m", "9000"),
    ("free_flight_km", "999"),
    ("free_flight_points", "999"),
    ("free_triangle_km", "999"),
    ("free_triangle_points", "999"),
    ("fai_triangle_km", "999"),
    ("fai_triangle_points", "999"),
    ("scores_are_proven", "true"),
];

struct Book(Database);

impl Book {
    fn new(script: &str) -> Self {
        let book = Self(Database::new(""));
        book.migrate(|_| true);
        book.0.execute(script);
        book
    }

    /// Applies the migrations with these numbers, in order.
    fn migrate(&self, is_meant: impl Fn(u32) -> bool) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/schema");
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let number = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap()[..3].parse().unwrap();
        for file in files.iter().filter(|file| is_meant(number(file))) {
            // Each file is applied in one transaction, as the program does.
            self.0.execute(&format!("begin; {}; commit", fs::read_to_string(file).unwrap()));
        }
    }

    /// The one value of a query that a pilot makes, as the server would for their token.
    fn value_of(&self, pilot: u32, sql: &str) -> String {
        let options = format!("-c role=flightbook_pilot -c request.jwt.claims={{\"sub\":\"{pilot}\"}}");
        self.value_with(&options, sql)
    }

    fn value_of_anybody(&self, sql: &str) -> String {
        self.value_with("-c role=flightbook_anon", sql)
    }

    fn value_with(&self, options: &str, sql: &str) -> String {
        let encoded: String = options.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let uri = self.0.uri();
        let rows = query_at(&format!("{uri}{}options={encoded}", if uri.contains('?') { '&' } else { '?' }), sql);
        rows.into_iter().next().and_then(|row| row.into_iter().next().flatten()).unwrap_or_default()
    }

    /// Whether the database lets a pilot do it.
    fn lets(&self, pilot: u32, sql: &str) -> bool {
        self.0.try_execute(&format!(
            "set role flightbook_pilot; set request.jwt.claims = '{{\"sub\":\"{pilot}\"}}'; {sql}"
        ))
    }

    /// Whether the database lets a pilot do two things at once: a row that is held keeps the first waiting until the second waits too.
    fn lets_at_once(&self, pilot: u32, held: &str, things: [&str; 2]) -> bool {
        let waiting =
            "(select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')";
        let hold = format!(
            "do $$ begin
               perform from {held} for update;
               perform pg_advisory_xact_lock(1);
               while {waiting} < 2 loop perform pg_sleep(0.01), pg_stat_clear_snapshot(); end loop;
             end $$"
        );
        let until = |sql: &str| {
            let started = Instant::now();
            while self.0.value(sql) != "t" {
                assert!(started.elapsed() < Duration::from_secs(60), "this does not become true: {sql}");
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(|| self.0.execute(&hold));
            until("select exists (select from pg_locks where locktype = 'advisory' and granted)");
            let first = scope.spawn(|| self.lets(pilot, things[0]));
            until(&format!("select {waiting} = 1"));
            self.lets(pilot, things[1]) && first.join().unwrap()
        })
    }

    fn lets_anybody(&self, sql: &str) -> bool {
        self.0.try_execute(&format!("set role flightbook_anon; {sql}"))
    }
}

#[test]
fn pilots_reach_nothing_of_each_other() {
    let book = Book::new(PILOTS);
    for table in TABLES {
        let of_ann = format!("select count(*) from flightbook.{table} where pilot_id = 1");
        assert_ne!(book.value_of(1, &of_ann), "0", "{table}");
        assert_eq!(book.value_of(2, &of_ann), "0", "{table}");
        let before = book.0.value(&of_ann);
        assert!(book.lets(2, &format!("delete from flightbook.{table} where pilot_id = 1")));
        assert_eq!(book.0.value(&of_ann), before, "{table}");
        assert!(!book.lets(2, &format!("update flightbook.{table} set pilot_id = 2")), "{table}");
    }
    assert!(book.lets(2, "update flightbook.flights set comment = 'mine'"));
    assert_eq!(book.0.value("select count(*) from flightbook.flights where comment = 'mine' and pilot_id = 1"), "0");
    assert_eq!(book.value_of(2, "select string_agg(name, ',') from flightbook.pilots"), "Bob Berg");
    assert_eq!(book.value_of(2, "select string_agg(name, ',') from flightbook.flights_by_site"), "Berg");
    assert_eq!(book.value_of(2, "select flights from flightbook.flights_in_all"), "2");
}

#[test]
fn no_flight_refers_to_what_is_anothers() {
    let book = Book::new(PILOTS);
    for refused in [
        "insert into flightbook.flights (date, pilot_id) values ('2026-06-01', 1)",
        "insert into flightbook.flights (date, glider_id) values ('2026-06-01', 1)",
        "insert into flightbook.flights (date, launch_site_id) values ('2026-06-01', 1)",
        "update flightbook.flights set landing_site_id = 1 where id = 3",
        "insert into flightbook.shares (flight_id) values (2)",
    ] {
        assert!(!book.lets(2, refused), "{refused}");
    }
    assert!(
        book.lets(1, "insert into flightbook.flights (date, glider_id, launch_site_id) values ('2026-06-01', 1, 1)")
    );
}

/// A file was stored with each of its flights. The migration retains all data of such books.
#[test]
fn files_that_were_stored_with_each_flight_are_moved_without_losing_a_byte() {
    let book = Book(Database::new(""));
    book.migrate(|number| number < 12);
    book.0.execute(
        "select flightbook_private.register('Ann', 'ann@club.example', '$x$'), flightbook_private.register('Bob', 'bob@club.example', '$x$');
         create table public.files (name text, igc bytea);
         insert into public.files select name, (select string_agg(sha256((name || n)::bytea), '') from generate_series(1, 8192) n)
           from unnest(array['many.igc', 'two.igc', 'one.igc', 'of_bob.igc']) name;
         insert into public.files values ('text.igc', convert_to(repeat('B1001014630000N00700001EA0123401230', 20000), 'UTF8')), ('byte.igc', '\\x00');
         insert into flightbook.flights (pilot_id, date, comment)
           select case when n > 104 then 2 else 1 end, date '2024-01-01' + n, 'flight ' || n from generate_series(1, 108) n;
         insert into flightbook.tracks (flight_id, pilot_id, igc, igc_name, starts_at, seconds, latitudes, longitudes, altitudes_m, climbs_dms)
           select f.id, f.pilot_id, igc, f.id || name, f.date, '{0}', array[46 + f.id / 1000.0], '{7}', '{900}', '{0}'
           from flightbook.flights f join public.files on name = case when f.id <= 100 then 'many.igc' when f.id <= 102 then 'two.igc'
             when f.id = 103 then 'one.igc' when f.id = 104 then 'text.igc' when f.id = 105 then 'many.igc' when f.id = 106 then 'byte.igc'
             else 'of_bob.igc' end;
         insert into flightbook.uploads (pilot_id, place, file, flight_id, number) values (1, 1, 'many.igc', 1, 1);",
    );
    let contents = |file: &str| {
        format!(
            "select string_agg(concat_ws(' ', t.pilot_id, t.flight_id, t.igc_name, t.starts_at, t.latitudes, t.line_latitudes, f.comment,
               encode(sha256({file}), 'hex'), octet_length({file})), ', ' order by t.flight_id)
             from flightbook.tracks t join flightbook.flights f on f.id = t.flight_id"
        )
    };
    let stored = |tables: &str| -> u64 {
        let sizes =
            format!("select sum(pg_total_relation_size(t::regclass)) from unnest(string_to_array('{tables}', ' ')) t");
        book.0.value(&sizes).parse().unwrap()
    };
    let (before, bytes_before) = (book.0.value(&contents("t.igc")), stored("flightbook.tracks"));
    book.migrate(|number| number >= 12);
    assert_eq!(
        book.0.value(&contents("(select i.igc from flightbook.igc_files i where i.flight_id = t.flight_id)")),
        before
    );
    let files =
        "select string_agg(pilot_id || ' ' || bytes, ', ' order by pilot_id, bytes) from flightbook.track_files";
    assert_eq!(book.0.value(files), "1 262144, 1 262144, 1 262144, 1 700000, 2 1, 2 262144, 2 262144");
    let bytes_after = stored("flightbook.tracks flightbook.track_files");
    eprintln!("{bytes_before} bytes of tracks are {bytes_after} now");
    assert!(bytes_before > 100 * 262_144 && bytes_after < 10 * 262_144, "{bytes_before} bytes are {bytes_after}");
    let lasting = "select count(*) from flightbook.track_files where pilot_id = 1";
    assert!(book.lets(1, "delete from flightbook.flights where id < 100"));
    assert_eq!(book.0.value(lasting), "4");
    assert!(book.lets(1, "delete from flightbook.flights where id = 100"));
    assert_eq!(book.0.value(lasting), "3");
    assert!(book.lets(1, "delete from flightbook.tracks where flight_id = 101"));
    assert_eq!(book.0.value(lasting), "3");
    assert!(book.lets(1, "select flightbook.delete_account('ann@club.example')"));
    assert_eq!(book.0.value(lasting), "0");
    assert_eq!(book.0.value("select count(*) from flightbook.track_files"), "3");
}

/// Two concurrent deletions that each see the other's track would leave the file behind, and one of
/// them could delete the file during an upload.
#[test]
fn a_file_is_deleted_by_the_later_of_two_deletions_and_not_under_an_upload() {
    let book = Book::new(PILOTS);
    let add = |days: &str| {
        format!(
            "reset role; select flightbook_private.add_track(1, 'X', 'x.igc', (select json_agg(json_build_object('date', '2026-01-01',
               'starts_at', day, 'seconds', '{{0}}'::int[], 'latitudes', '{{46}}'::int[], 'longitudes', '{{7}}'::int[],
               'altitudes_m', '{{0}}'::int[], 'climbs_dms', '{{0}}'::int[], 'score_latitudes', '{{}}'::int[],
               'score_longitudes', '{{}}'::int[])) from unnest('{days}'::date[]) day)::jsonb)"
        )
    };
    let delete = |day: &str| {
        format!(
            "delete from flightbook.flights f using flightbook.tracks t where t.flight_id = f.id and t.starts_at = '{day}'"
        )
    };
    let file = "flightbook.track_files where igc = 'X'";
    let files = &format!("select count(*) from {file}");
    assert!(book.lets(1, &add("{2026-01-01,2026-01-02}")));
    assert!(book.lets_at_once(1, file, [&delete("2026-01-01"), &delete("2026-01-02")]));
    assert_eq!(book.0.value(files), "0");
    assert!(book.lets(1, &add("{2026-01-01}")));
    assert!(book.lets_at_once(1, file, [&delete("2026-01-01"), &add("{2026-01-03}")]));
    assert_eq!(book.0.value(files), "1");
    assert_eq!(book.0.value("select count(*) from flightbook.tracks where igc_sha256 = sha256('X')"), "1");
    assert!(book.lets_at_once(1, file, [&add("{2026-01-04}"), &delete("2026-01-03")]));
    assert_eq!(book.0.value(files), "1");
}

#[test]
fn pilots_call_no_function_of_the_program_and_write_no_column_that_it_computes() {
    let book = Book::new(PILOTS);
    for (column, value) in COMPUTED {
        assert!(!book.lets(1, &format!("update flightbook.flights set {column} = {value} where id = 1")), "{column}");
        let insert = format!("insert into flightbook.flights (date, {column}) values ('2026-06-01', {value})");
        assert!(!book.lets(1, &insert), "{column}");
    }
    for refused in [
        "insert into flightbook.track_files (igc) values ('x')",
        "update flightbook.track_files set igc = 'x'",
        "delete from flightbook.track_files",
        "insert into flightbook.tracks (flight_id, igc_sha256, igc_name, starts_at, seconds, latitudes, longitudes, altitudes_m, climbs_dms)
           values (2, sha256('A'), 'x.igc', now(), '{0}', '{0}', '{0}', '{0}', '{0}')",
        "update flightbook.tracks set scored_as = 'fai_triangle'",
        "insert into flightbook.uploads (place, file) values (1, 'x')",
        "update flightbook.uploads set problem = 'x'",
        "insert into flightbook.import_rows (line, date, problems) values (2, '2026-01-01', '{}')",
        "update flightbook.import_rows set problems = '{}'",
        "update flightbook_private.quotas set flights = 1000000",
        "select flightbook_private.add_track(1, 'x', 'x.igc', '[]')",
        "select flightbook_private.note_uploads(1, '[]')",
        "select flightbook_private.glider_of(2, 'Mine')",
        "select flightbook_private.nearest_site(2, 0, 0)",
        "select flightbook_private.enter_import()",
    ] {
        assert!(!book.lets(1, refused), "{refused}");
    }
    // Every function of the served schema is listed with the roles that may call it, so that each
    // new one is a decision here.
    let granted = "select string_agg(p.proname || ' ' || concat_ws('+',
        case when has_function_privilege('flightbook_anon', p.oid, 'execute') then 'anon' end,
        case when has_function_privilege('flightbook_pilot', p.oid, 'execute') then 'pilot' end), ', ' order by p.proname)
      from pg_proc p where p.pronamespace = 'flightbook'::regnamespace";
    assert_eq!(
        book.0.value(granted),
        "choose_language anon+pilot, delete_account pilot, finish_import pilot, shared_flight anon+pilot, \
         shared_track anon+pilot, sign_out anon+pilot, sign_out_everywhere pilot, start_import pilot"
    );
    // Every column that a pilot may write is listed.
    let written = "select string_agg(table_name || ' ' || columns, ', ' order by table_name) from (
        select table_name, string_agg(distinct column_name, '+' order by column_name) as columns
        from information_schema.column_privileges
        where grantee in ('flightbook_pilot', 'PUBLIC') and table_schema like 'flightbook%' and privilege_type in ('INSERT', 'UPDATE')
        group by table_name) written";
    assert_eq!(
        book.0.value(written),
        "flights comment+date+glider_id+hike_and_fly+landing_site_id+landing_time+launch_site_id+launch_time+number+track_distance+\
         video_url+xcontest_scored_distance+xcontest_tracktype+xcontest_url, gliders comment+manufacturer+model+since+until, \
         pilots email+name, shares flight_id, sites comment+country+elevation_m+latitude+longitude+name"
    );
}

/// A cell is what the regular expressions make of a text, an import reads it back as the text, and
/// it does not begin with a character that a spreadsheet runs.
#[test]
fn texts_are_restored_from_their_cells() {
    const PIECES: [&str; 15] = ["=", "+", "-", "@", "'", "\"", " ", ";", "\t", "\r", "\n", "a", "1", ".", "\u{ff1d}"];
    let book = Book::new("");
    let texts = (0..15_usize.pow(4)).map(|at| [3375, 225, 15, 1].map(|unit| PIECES[at / unit % 15]).concat());
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let rows = texts.map(|text| {
        let [cell, first] = [csv_cell(&text), csv_first_cell(&text)];
        format!("({},{},{})", literal(&text), literal(&cell), literal(&first))
    });
    let rows: Vec<String> = rows.collect();
    let cells = format!("with cells (value, cell, first) as (values {}),", rows.join(","))
        + r#"expected as (
        select *, case when value ~ '^[+-]?[0-9]+([.,][0-9]+)?$' then value
          else regexp_replace(
            regexp_replace(value, U&'(^|[;\0009\000A\000D])(["'' ]*)([=+@\FF1D\FF0B\FF20\FF0D-])', '\1\2''\3', 'g'),
            U&'^(''*[\0009\000A\000D])', '''\1') end as expected
        from cells)
      select count(*) filter (where cell <> expected or first <> regexp_replace(expected, '^[+-]', '''\&')) || ' ' ||
        count(*) filter (where flightbook_private.csv_value(cell) <> value or flightbook_private.csv_value(first) <> value) || ' ' ||
        count(*) filter (where left(cell, 1) in ('=', '+', '-', '@', E'\t', E'\r', E'\n', U&'\FF1D') and value !~ '^[-+][0-9]+([.][0-9]+)?$')
        || ' ' || count(*)
      from expected"#;
    assert_eq!(book.0.value(&cells), "0 0 0 50625");
}

#[test]
fn nobody_who_is_served_reads_a_hash_or_runs_what_does() {
    let book = Book::new(PILOTS);
    let passwords = "select * from flightbook_private.passwords";
    let for_the_program = [
        "select * from flightbook_private.credentials('ann@club.example')",
        "select * from flightbook_private.credentials_of(2)",
        "select flightbook_private.set_password(2, '$x$')",
        "select flightbook_private.register('C', 'c@club.example', '$x$')",
    ];
    for refused in for_the_program.iter().chain(&[passwords]) {
        assert!(!book.lets(2, refused), "{refused}");
        assert!(!book.lets_anybody(refused), "{refused}");
    }
    for allowed in for_the_program {
        assert!(book.0.try_execute(&format!("set role flightbook_accounts; {allowed}")), "{allowed}");
    }
    assert!(!book.0.try_execute(&format!("set role flightbook_accounts; {passwords}")));
    assert_eq!(
        book.0.value("select hash from flightbook_private.credentials(' ANN@Club.example ')"),
        "$argon2id$v=19$ann"
    );
}

#[test]
fn whoever_has_a_link_sees_one_flight_until_it_is_withdrawn() {
    let book = Book::new(PILOTS);
    for table in TABLES.iter().chain(&["pilots", "import_rows", "flights_by_year", "flights_in_all"]) {
        assert!(!book.lets_anybody(&format!("select * from flightbook.{table}")), "{table}");
    }
    let shared = "select concat_ws(' ', pilot, date, has_track) from flightbook.shared_flight('of-ann')";
    let track = "select altitudes_m from flightbook.shared_track('of-ann')";
    assert_eq!(book.value_of_anybody(shared), "Ann Arbor 2025-05-01 t");
    assert_eq!(book.value_of_anybody(track), "{900}");
    assert_eq!(book.value_of_anybody("select count(*) from flightbook.shared_flight('')"), "0");
    assert!(book.lets(2, "delete from flightbook.shares"));
    assert_eq!(book.value_of(2, track), "{900}");
    assert!(book.lets(1, "delete from flightbook.shares where flight_id = 1"));
    assert_eq!(book.value_of_anybody(shared), "");
    assert_eq!(book.value_of_anybody(track), "");
}

#[test]
fn a_flight_is_numbered_and_its_airtime_is_the_tracks_or_the_clocks() {
    let book = Book::new(PILOTS);
    assert!(book.lets(1, "insert into flightbook.flights (date, number, launch_time, landing_time) values ('2026-06-01', 10, '23:30', '01:15')"));
    book.0.execute("insert into flightbook.flights (pilot_id, date, launch_time, landing_time, duration) values (1, '2026-06-02', '9:00', '10:00', '0:55')");
    assert!(!book.lets(1, "insert into flightbook.flights (date, number) values ('2026-06-03', 10)"));
    assert!(book.lets(2, "insert into flightbook.flights (date, number) values ('2026-06-03', 10)"));
    let told = "select string_agg(concat_ws(' ', number, airtime), ', ' order by number) from flightbook.flights where number > 2";
    assert_eq!(book.value_of(1, told), "10 01:45:00, 11 00:55:00");
}

#[test]
fn statistics_come_to_what_is_added_up_by_hand() {
    let book = Book::new(PILOTS);
    book.0.execute(
        "insert into flightbook.flights (pilot_id, date, glider_id, launch_site_id, landing_site_id, launch_time, landing_time, track_distance,
           hike_and_fly, free_flight_points, fai_triangle_points)
         select 1 + n % 2, '2024-11-20'::date + n * 7, 1 + n % 2, 1 + n % 2, 1 + n % 2, '10:00', '10:00'::time + n * interval '3 minutes',
           n, n % 3 = 0, n, case when n % 5 = 0 then n * 1.4 end
         from generate_series(1, 60) n",
    );
    // one row after the other, in a loop, and nothing of what the views are made of
    book.0.execute(
        "create table by_hand (of text, key text, flights int, airtime interval, distance numeric, points numeric, primary key (of, key));
         do $$ declare f record; k record; begin
           for f in select * from flightbook.flights where pilot_id = 1 loop
             for k in select * from (values ('year', to_char(f.date, 'FMYYYY')), ('month', to_char(f.date, 'FMYYYY-FMMM')),
                 ('glider', f.glider_id::text), ('site', f.launch_site_id::text)) k (of, key) loop
               insert into by_hand values (k.of, k.key, 1, f.airtime, f.track_distance, f.points)
               on conflict on constraint by_hand_pkey do update set flights = by_hand.flights + 1,
                 airtime = coalesce(by_hand.airtime + excluded.airtime, by_hand.airtime, excluded.airtime),
                 distance = coalesce(by_hand.distance + excluded.distance, by_hand.distance, excluded.distance),
                 points = greatest(by_hand.points, excluded.points);
             end loop;
           end loop;
         end $$;
         grant select on by_hand to flightbook_pilot;",
    );
    for (of, view, key, flights) in [
        ("year", "flights_by_year", "year::text", "flights"),
        ("month", "flights_by_month", "year || '-' || month", "flights"),
        ("glider", "flights_by_glider", "glider_id::text", "flights"),
        ("site", "flights_by_site", "site_id::text", "launches"),
    ] {
        let columns = format!("{key} as key, {flights} as flights, airtime, track_distance, best_points");
        let told = format!("select {columns} from flightbook.{view}");
        let by_hand = format!("select key, flights, airtime, distance, points from by_hand where of = '{of}'");
        let apart =
            format!("select count(*) from (({told} except {by_hand}) union all ({by_hand} except {told})) apart");
        assert_eq!(book.value_of(1, &apart), "0", "{view}");
        assert_ne!(book.value_of(1, &format!("select count(*) from ({told}) told")), "0", "{view}");
    }
    let years = "select string_agg(year::text, ' ' order by year) from flightbook.flight_years";
    assert_eq!(book.value_of(1, years), "2024 2025 2026");
    assert_eq!(
        book.value_of(1, "select flights || ' ' || hikes || ' ' || best_points from flightbook.flights_in_all"),
        "32 10 84.00"
    );
}

#[test]
fn a_csv_file_becomes_flights_but_for_rows_that_cannot() {
    let book = Book::new(PILOTS);
    let file = "number;date;glider;launch_site;launch_time_utc;hikeandfly;comment;xcontest_tracktype;video_url\r\n\
        7;2024-02-29;Aster  One;Alp;9:05;1;\"said \"\"go\"\"\nand went\";FAI triangle;\r\n\
        7;2024-02-30;;;25:00;maybe;;spiral;ftp://x\r\n\
        1;2024-03-01;;;;;;;\r\n\
        ;2024-03-02;Cirrus Nine Light;New site;;;;;https://v.example\r\n";
    let start = |file: &str| format!("select flightbook.start_import(convert_to('{file}', 'UTF8'))");
    assert_eq!(book.value_of(1, &start(file)), "4");
    let told = "select string_agg(line || ' ' || array_to_string(problems, '+'), ', ' order by line) from flightbook.import_rows";
    let wrong = "2 , 3 number-twice+date+launch-time+hike-and-fly+xcontest-tracktype+video-url, 4 number-taken, 5 ";
    assert_eq!(book.value_of(1, told), wrong);
    assert_eq!(book.value_of(2, told), "");
    assert_eq!(book.value_of(1, "select flightbook.finish_import()"), "2");
    let flights = "select string_agg(concat_ws('|', f.number, f.date, g.name, s.name, f.launch_time, f.hike_and_fly, f.comment,
        f.xcontest_tracktype, f.video_url), ' / ' order by f.number)
      from flightbook.flights f join flightbook.gliders g on g.id = f.glider_id join flightbook.sites s on s.id = f.launch_site_id
      where f.number > 2";
    let taken_over = "7|2024-02-29|Aster One|Alp|09:05:00|t|said \"go\"\nand went|fai_triangle| / \
        8|2024-03-02|Cirrus Nine Light|New site|f||https://v.example";
    assert_eq!(book.value_of(1, flights), taken_over);
    assert_eq!(book.value_of(1, "select count(*) from flightbook.import_rows"), "0");
    assert_eq!(book.0.value("select count(*) from flightbook.gliders where name = 'Aster One'"), "1");
}

#[test]
fn what_can_be_looked_at_can_be_taken_over() {
    let book = Book::new(PILOTS);
    let rows = "number,date,glider\r1000000,1890-01-01,\tAster;  One \r1000001,1889-12-31,\t\r0,2024-01-01,\r";
    let start = format!("select flightbook.start_import(convert_to('{rows}', 'UTF8'))");
    assert_eq!(book.value_of(1, &start), "3");
    let told = "select string_agg(line || ' ' || array_to_string(problems, '+'), ', ' order by line) from flightbook.import_rows";
    assert_eq!(book.value_of(1, told), "2 , 3 number+date, 4 number");
    assert_eq!(book.value_of(1, "select flightbook.finish_import()"), "1");
    let flight =
        "select f.date || ' ' || g.name from flightbook.flights f left join flightbook.gliders g on g.id = f.glider_id
      where f.number = 1000000";
    assert_eq!(book.value_of(1, flight), "1890-01-01 Aster; One");
}

/// What has just been written has no statistics, and the highest number so far was looked for among all flights for each row.
#[test]
fn flights_that_are_imported_are_numbered_at_once() {
    const ROWS: u32 = 4_000;
    let book = Book::new("insert into flightbook.pilots (name, email) values ('Ann', 'ann@club.example')");
    book.0.execute(
        "insert into flightbook.flights (pilot_id, number, date) select 1, n, date '2024-07-01' from generate_series(1, 1000) n;
         delete from flightbook.flights",
    );
    let file = format!(
        "select 'date,launch_site' || string_agg(format(E'\\n2024-07-01,Site %s', n), '') from generate_series(1, {ROWS}) n"
    );
    let start = format!("select flightbook.start_import(convert_to(({file}), 'UTF8'))");
    assert_eq!(book.value_of(1, &start), ROWS.to_string());
    let finish = "select rows || ' ' || (
        select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relname = 'flights' and taken.rows > 0)
      from (select flightbook.finish_import() as rows offset 0) taken";
    let told = book.value_of(1, finish);
    let (taken, read) = told.split_once(' ').unwrap();
    assert_eq!(taken, ROWS.to_string());
    assert!(read.parse::<u32>().unwrap() <= ROWS, "{read} flights are read for {ROWS} rows");
}

#[test]
fn what_is_no_csv_file_is_refused_and_bounded() {
    let book = Book::new(PILOTS);
    for (file, is_read) in [
        ("'date\n2024-01-01'", true),
        ("'number\n1'", false),
        ("''", false),
        ("'date'", false),
        ("'date\n\"2024-01-01'", false),
        ("'date\n20\"24\"-01-01'", false),
        (r"'\x00'", false),
        ("convert_to('date,comment\n2024-01-01,' || chr(252), 'LATIN1')", true),
        ("convert_to('date' || repeat(E'\n2024-01-01', 20000), 'UTF8')", true),
        ("convert_to('date' || repeat(E'\n2024-01-01', 20001), 'UTF8')", false),
        ("convert_to('date' || E'\n' || repeat(',', 400000), 'UTF8')", false),
        ("convert_to('date' || E'\n' || repeat('x', 2097147), 'UTF8')", true),
        ("convert_to('date' || E'\n' || repeat('x', 2097148), 'UTF8')", false),
    ] {
        assert_eq!(book.lets(1, &format!("select flightbook.start_import({file})")), is_read, "{file}");
    }
}

#[test]
fn an_account_is_deleted_with_all_that_is_its_own_and_nothing_else() {
    let book = Book::new(PILOTS);
    assert!(!book.lets(2, "select flightbook.delete_account('ann@club.example')"));
    assert!(book.lets(2, "select flightbook.delete_account(' BOB@club.example ')"));
    for table in TABLES.iter().chain(&["pilots"]) {
        let pilot = if *table == "pilots" { "id" } else { "pilot_id" };
        let left = format!("select string_agg(distinct {pilot}::text, ',') from flightbook.{table}");
        assert_eq!(book.0.value(&left), "1", "{table}");
    }
    assert_eq!(book.0.value("select count(*) from flightbook_private.passwords"), "1");
}

#[test]
fn what_a_pilot_does_at_once_waits_for_each_other_one_way() {
    let book = Book::new(PILOTS);
    book.0.execute(
        "insert into flightbook.uploads (pilot_id, place, file, flight_id, number) values (1, 1, 'a.igc', 1, 1), (1, 2, 'b.igc', 2, 2)",
    );
    // This runs as the program, which is not a pilot.
    let note = r#"reset role; select flightbook_private.note_uploads(1, '[{"place": 1, "file": "a.igc", "flight_id": 1, "number": 1}]')"#;
    let delete = "delete from flightbook.flights where id = 1";
    assert!(book.lets_at_once(1, "flightbook.uploads where place = 2", [note, delete]));
    assert_eq!(book.0.value("select count(*) from flightbook.uploads"), "0");
    let delete = "select flightbook.delete_account('bob@club.example')";
    let edit = "update flightbook.flights set glider_id = 2 where id = 3";
    book.0.execute("update flightbook.flights set glider_id = null where id = 3");
    assert!(book.lets_at_once(2, "flightbook.sites where pilot_id = 2", [delete, edit]));
    assert_eq!(book.0.value("select count(*) from flightbook.flights where pilot_id = 2"), "0");
}
