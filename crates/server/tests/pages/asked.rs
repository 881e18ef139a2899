//! What an address says to a page: filters that it may leave out, and orders that it may choose among.

use super::{SCHEMA, database, serve, site};
use crate::served::{GRANTS, Served, config};
use thalweg_server::{Config, Server};
use thalweg_testkit::{Client, Database};

/// What the start of a server says that has a page of this head.
fn refused(database: &Database, head: &str) -> String {
    let folder = site(&[("a.html", &format!("+++\n{head}\n+++\n"))]);
    let config = Config { pages_dir: Some(folder.path().to_owned()), ..config(&database.uri()) };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let ended = runtime.block_on(async { Server::builder(config).start().await?.serve(std::future::pending()).await });
    ended.unwrap_err().to_string()
}

#[test]
fn a_filter_is_there_where_there_is_a_value() {
    let text = "+++\nflights = \"/flights?site_id=eq.{site?}&or=(title.ilike.\\\"*{q?}*\\\",id.eq.3)&pilots.id=eq.{p?}\
                &id=in.({a?},{b?})&select=id,pilots(id)&order=id\"\n\
                found = \"/rpc/titled?wanted={q?}&order=id\"\n\
                list = { rows = \"/flights?pilot_id=eq.{pilot?}&order=id\", per_page = 1, count = \"exact\" }\n+++\n\
                {% for f in flights %}{{ f.id }}{% if f.pilots.id %}p{% endif %}{% endfor %};\
                {% for f in found %}{{ f.id }}{% endfor %};\
                {% for f in list %}{{ f.id }}{% endfor %} of {{ list.total }}";
    let database = Database::new(&format!(
        "{SCHEMA}
         create function api.titled(wanted text default null) returns setof api.flights language sql stable
           as $$ select * from api.flights where flights.title ilike '%' || wanted || '%' or wanted is null $$;
         {GRANTS}grant execute on all functions in schema api to test_reader;"
    ));
    let (served, _folder) = serve(&database, &[("index.html", text)]);
    for (query, said) in [
        ("", "1p2p3p;123;1 of 3"),
        ("?site=&q=&pilot=&a=1&b=", "1p2p3p;123;1 of 3"),
        ("?site=2", "3p;123;1 of 3"),
        ("?site=1&q=sec", ";2;1 of 3"),
        ("?q=sec", "2p3p;2;1 of 3"),
        ("?a=1&b=2", "1p2p;123;1 of 3"),
        ("?p=2", "123p;123;1 of 3"),
        ("?pilot=2", "1p2p3p;123;3 of 1"),
        // what is said says nothing but a value, and the first of several counts
        ("?q=x*)%22,id.gt.0)", "3p;;1 of 3"),
        ("?q=%22,id.gt.0,title.eq.%22", "3p;;1 of 3"),
        ("?site=2&site=1", "3p;123;1 of 3"),
        ("?pilot=2%26pilot_id=eq.1", "404"),
        ("?site=1;2", "1p;123;1 of 3"),
        ("?site=not.is.null", "404"),
        ("?site=%20", "404"),
    ] {
        let response = served.get(&format!("/{query}"));
        let shown = if response.status == 200 { response.text() } else { "404" };
        assert_eq!(shown, said, "{query}: {} {}", response.status, response.text());
    }
}

#[test]
fn a_visitor_chooses_among_the_orders_of_a_page() {
    let text = "+++\nflights = \"/flights?select=id,pilots(name)&order={sort=distance_km.desc.nullslast|pilots(name).desc,title|title.desc},id\"\n\
                pilots = \"/pilots?select=id,flights(id)&flights.order={of=id|id.desc}&order=id\"\n+++\n\
                {% for f in flights %}{{ f.id }}{{ f.pilots.name|first|lower }}{% endfor %};{% for p in pilots %}{% for f in p.flights %}{{ f.id }}{% endfor %},{% endfor %}\
                {{ request.query.sort }}";
    let database = database();
    let (served, _folder) = serve(
        &database,
        &[("index.html", text), ("error.html", "{{ error.code }} {{ error.message }} {{ error.hint }}")],
    );
    for (query, said) in [
        ("/", "2a1a3b;12,3,,"),
        ("/?sort=", "2a1a3b;12,3,,"),
        ("/?sort=title.desc", "3b1a2a;12,3,,title.desc"),
        ("/?sort=pilots(name).desc,title", "3b2a1a;12,3,,pilots(name).desc,title"),
        ("/?sort=pilots%28name%29.desc%2Ctitle&of=id.desc", "3b2a1a;21,3,,pilots(name).desc,title"),
    ] {
        assert_eq!(served.get(query).text(), said, "{query}");
    }
    for free in
        ["title", "TITLE.DESC", "title.desc,id", "title.desc%26limit=1", "track", "%20title.desc", "title.desc|title"]
    {
        let response = served.get(&format!("/?sort={free}"));
        let said = "TWG11 The address says sort otherwise than this page has it. \
                    It is one of distance_km.desc.nullslast | pilots(name).desc,title | title.desc.";
        assert_eq!((response.status, response.text()), (400, said), "{free}");
    }
}

/// A number of rows that was not a number was dropped by the request's grammar, and the limit with
/// it.
#[test]
fn a_text_that_is_not_a_number_lifts_no_limit() {
    let text = "+++\nflights = \"/flights?order=id&limit={n=1}&offset={from=0}\"\n\
                rated = \"/flights?order=id&limit={cookie.n=1}\"\n+++\n\
                {% for f in flights %}{{ f.id }}{% endfor %};{% for f in rated %}{{ f.id }}{% endfor %}";
    let database = database();
    let (served, _folder) = serve(
        &database,
        &[("index.html", text), ("error.html", "{{ error.code }} {{ error.message }} {{ error.hint }}")],
    );
    for (query, said) in [
        ("/", "1;1"),
        ("/?n=&from=", "1;1"),
        ("/?n=2", "12;1"),
        ("/?n=0", ";1"),
        ("/?n=2&n=abc", "12;1"),
        ("/?n=9223372036854775807&from=1", "23;1"),
    ] {
        assert_eq!(served.get(query).text(), said, "{query}");
    }
    for wrong in ["abc", "-1", "%2B1", "1.5", "1e3", "%201", "9223372036854775808", "NaN", "1%26limit%3D", "1&n=2,3"] {
        for name in ["n", "from"] {
            let response = served.get(&format!("/?{name}={wrong}").replace("1&n=2,3", "x&n=2"));
            let said = format!(
                "TWG11 The parameter {name} must be a whole number. \
                 Send digits only, for a number of at most 9223372036854775807."
            );
            assert_eq!((response.status, response.text()), (400, &*said), "{wrong}");
        }
    }
    for wrong in ["n=abc", "n=", "n=-1"] {
        let response = served.request("GET", "/", &[("Cookie", wrong)]);
        assert_eq!(response.status, 400, "{wrong}: {}", response.text());
        assert!(response.text().starts_with("TWG11 The cookie n must be a whole number."), "{}", response.text());
    }
}

/// A `Host` that anybody can send is in no page that a cache may keep.
#[test]
fn the_origin_of_a_site_is_not_what_a_stranger_says() {
    let database = database();
    let files = [("feed.xml", "<a>{{ origin }}/flights</a>")];
    let (served, folder) = serve(&database, &files);
    for (host, origin) in [
        ("localhost:3000", "http://localhost:3000"),
        ("[::1]", "http://[::1]"),
        ("evil.example", ""),
        ("evil.example:80", ""),
        ("localhost.evil.example", ""),
    ] {
        let mut client = Client::connect(served.address);
        let head = format!("GET /feed.xml HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-Host: evil.example\r\n\r\n");
        client.send_bytes(head.as_bytes());
        let response = client.receive(false);
        assert_eq!((response.status, response.text()), (200, &*format!("<a>{origin}/flights</a>")), "{host}");
    }
    // A request with two headers is refused before either of them is used.
    let mut client = Client::connect(served.address);
    client.send_bytes(b"GET /feed.xml HTTP/1.1\r\nHost: test\r\nHost: localhost\r\n\r\n");
    assert_eq!(client.receive(false).status, 400);
    drop(served);
    let pages_origin = Some("https://club.example".to_owned());
    let config = Config { pages_dir: Some(folder.path().to_owned()), pages_origin, ..config(&database.uri()) };
    let served = Served::start(config);
    for host in ["localhost:3000", "evil.example"] {
        let response = served.request("GET", "/feed.xml", &[("Host", host)]);
        assert_eq!(response.text(), "<a>https://club.example/flights</a>", "{host}");
    }
}

#[test]
fn what_an_address_may_say_is_held_against_the_database() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    for (head, wrong) in [
        ("f = \"/flights?titel=eq.{t?}\"", "a.html: f: no column is called titel"),
        ("f = \"/flights?order={sort=title|titel}\"", "a.html: f: no column is called titel"),
        ("f = \"/flights?order={sort=title|title.down}\"", "a.html: f: \"failed to parse order"),
        ("f = \"/flights?select=id,pilots(id)&order=pilots(name)\"", "a.html: f: it orders by name of an embed"),
        ("f = \"/pilots?select=id,flights(id,pilots(id))&flights.order=pilots(name)\"", "a.html: f: it orders by name"),
        ("f = \"/rpc/of_pilot?pilot={p?}\"", "a.html: f: Could not find the function api.of_pilot"),
        ("\nf = \"/flights?order={sort}\"", "a.html:3:5: f: an order is one of those that the page lists"),
        ("f = \"/flights?select={s?}\"", "a.html:2:5: f: no value can stand in select"),
        ("f = \"/{s?}\"", "a.html:2:5: f: a value stands behind the ="),
        ("f = { rows = \"/flights?limit={n?}\", per_page = 2 }", "a.html:2:14: f: per_page says which rows there are"),
        ("\nf = \"/flights?limit={n=all}\"", "a.html:3:5: f: limit and offset are whole numbers"),
        ("\nf = \"/flights?pilots.offset=-1\"", "a.html:3:5: f: limit and offset are whole numbers"),
        ("\nsign_in = \"//evil.example\"", "a.html:3:11: sign_in is the path of a page"),
        ("sign_in = true", "a.html:2:11: sign_in is the path of a page"),
        ("sign_in = \"/{x}\"", "a.html:2:11: sign_in is the path of a page"),
        ("sign_in = \"/a\"", "a.html: nobody could sign in at a.html, which has a sign_in itself"),
        ("[form]\nupdate = \"/flights?id=eq.{id?}\"", "a.html:3:10: {id?} would leave a filter out"),
        ("[form]\ndelete = \"/flights?id=eq.1&title=eq.{t?}\"", "a.html:3:10: {t?} would leave a filter out"),
        ("[form]\ninsert = \"/flights\"\nthen = \"/{id?}\"", "a.html:4:8: {id?} leaves a parameter of a query out"),
    ] {
        let said = refused(&database, head);
        assert!(said.contains(wrong), "{head}: {said}");
    }
}

#[test]
fn a_text_that_is_searched_for_is_no_pattern_and_blanks_around_it_do_not_count() {
    let text = "+++\nnotes = \"/notes?or=(body.icontains.{q?},title.icontains.\\\"{q?}\\\")&order=id\"\n\
                exact = \"/notes?body=contains.{q=}&order=id\"\n+++\n\
                {% for n in notes %}{{ n.id }}{% endfor %};{% for n in exact %}{{ n.id }}{% endfor %};{{ request.query.q }}";
    let database = Database::new(&format!(
        "create schema api;
         create table api.notes (id int primary key, title text, body text not null);
         insert into api.notes values (1, null, 'lost 500 m'), (2, 'a_b', '50% of it'), (3, 'Zürich', 'a*b'), (4, 'c\\d', '50 %'), (5, 'x', 'ab');
         {GRANTS}"
    ));
    let (served, _folder) = serve(&database, &[("index.html", text)]);
    for (query, found) in [
        ("", "12345;12345;"),
        ("50%25", "2;2;50%"),
        ("%2050%25%20", "2;2; 50% "),
        ("_", "2;;_"),
        ("*", "3;3;*"),
        ("%5C", "4;;\\"),
        ("OF", "2;;OF"),
        ("%C3%BCrich", "3;;ürich"),
        ("a,b)", ";;a,b)"),
        ("%22", ";;&quot;"),
        ("%20%20", "12345;12345;  "),
    ] {
        assert_eq!(served.get(&format!("/?q={query}")).text(), found, "{query}");
    }
}

#[test]
fn a_page_after_the_last_one_leads_to_it_or_is_not_found() {
    let text = |count: &str| {
        format!(
            "+++\nflights = {{ rows = '/flights?title=ilike.*{{q=}}*&order=id', per_page = 2{count} }}\n\
             pilots = {{ rows = '/pilots?order=id', per_page = 1, page_by = 'p'{count} }}\n+++\n\
             {{% for f in flights %}}{{{{ f.id }}}}{{% endfor %}}"
        )
    };
    let database = database();
    let files =
        [("counted.html", text(", count = 'exact'")), ("plain.html", text("")), ("404.html", "none".to_owned())];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let (served, _folder) = serve(&database, &files);
    for (address, status, location) in [
        ("/counted", 200, None),
        ("/counted?page=2", 200, None),
        ("/counted?page=3", 307, Some("/counted?page=2")),
        ("/counted?q=&page=999&p=2", 307, Some("/counted?q=&p=2&page=2")),
        ("/counted?page=999&p=999", 307, Some("/counted?p=999&page=2")),
        ("/counted?page=2&p=999", 307, Some("/counted?page=2&p=3")),
        // Without a row there is a first page, and no second one.
        ("/counted?q=nothing", 200, None),
        ("/counted?q=nothing&page=2", 307, Some("/counted?q=nothing")),
        ("/counted?page=0", 404, None),
        ("/plain?page=2", 200, None),
        ("/plain?page=3", 404, None),
        ("/plain?page=2&p=4", 404, None),
    ] {
        for method in ["GET", "HEAD"] {
            let response = served.request(method, address, &[]);
            assert_eq!((response.status, response.header("location")), (status, location), "{method} {address}");
        }
    }
}
