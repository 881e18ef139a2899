//! `thalweg demo`: the flight book with its sample pilots, as somebody sees it who has just installed the program.

use crate::program::{Directory, Program, runs};
use nix::sys::signal::Signal;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use thalweg_embedded_postgres::{Cluster, Options};
use thalweg_testkit::{Browser, Client, Response, query_at};

/// A demo that has greeted.
struct Demo {
    program: Program,
    address: SocketAddr,
    /// As which sample pilot it lets curl ask.
    token: String,
}

impl Demo {
    fn start(directory: &Directory, cluster: &str, more: &[&str]) -> Self {
        let mut program = Program::start(&arguments(directory, more), &[]);
        program.line(&format!("{cluster} cluster"));
        let address = program.address();
        let token = program.line("TOKEN=");
        Self { program, address, token: token.trim().strip_prefix("TOKEN=").unwrap().to_owned() }
    }

    fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Response {
        Client::connect(self.address).request_with(method, target, headers, body.as_bytes())
    }

    /// By a token, as JSON.
    fn api(&self, token: &str, target: &str) -> Response {
        self.ask("GET", target, &[("authorization", &format!("Bearer {token}"))], "")
    }

    /// How many rows the pilot of the token sees.
    fn count(&self, relation: &str) -> usize {
        let found = self.api(&self.token, &format!("/api/{relation}?select=id"));
        assert_eq!(found.status, 200, "{}", found.text());
        found.json().as_array().unwrap().len()
    }

    fn click(&self, email: &str, origin: &str) -> Response {
        let headers = [("content-type", "application/x-www-form-urlencoded"), ("origin", origin)];
        self.ask("POST", "/do/sign_in_sample", &headers, &format!("email={email}&back=/flights"))
    }

    /// What somebody sees who has this cookie.
    fn page(&self, target: &str, cookie: &str) -> Response {
        self.ask("GET", target, &[("cookie", cookie), ("accept", "text/html"), ("accept-language", "en")], "")
    }

    fn end(mut self, signal: Signal) -> bool {
        self.program.signal(signal);
        self.program.wait().success()
    }
}

fn arguments<'a>(directory: &'a Directory, more: &[&'a str]) -> Vec<&'a str> {
    [&["demo", "--data-dir", directory.path(), "--port", "0"], more].concat()
}

#[test]
fn the_demo_starts_stops_and_recovers() {
    let directory = Directory::new("demo");
    let flights = ["--flights", "30"];
    let postmaster = || {
        let pid_file = directory.0.join("cluster/postmaster.pid");
        std::fs::read_to_string(pid_file).ok().and_then(|text| text.lines().next().map(str::to_owned))
    };
    let secret = || std::fs::read_to_string(directory.0.join("flightbook/secret")).unwrap();

    let first = Demo::start(&directory, "new", &flights);
    assert_eq!(first.count("flights"), 30);
    let site = [("authorization", format!("Bearer {}", first.token)), ("content-type", "application/json".to_owned())];
    let site = site.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(first.ask("POST", "/api/sites", &site, r#"{"name": "Niesen", "country": "CH"}"#).status, 201);
    let sites = first.count("sites");
    // another start on the same directory says who has it, and does no harm
    let mut second = Program::start(&arguments(&directory, &flights), &[]);
    second.line(&format!("in use by process {}", first.program.process.id()));
    assert_eq!(second.wait().code(), Some(1));
    assert_eq!(first.count("flights"), 30);
    // ctrl-C stops both
    let (server, token) = (postmaster().unwrap(), first.token.clone());
    let mode = std::fs::metadata(directory.0.join("flightbook/secret")).unwrap().permissions().mode();
    let (kept, mode) = (secret(), mode & 0o777);
    assert!(first.end(Signal::SIGINT));
    assert!(!runs(&server) && postmaster().is_none() && mode == 0o600, "{mode:o}");

    // what was added is kept, and who has signed in stays so
    let page = directory.0.join("flightbook/pages/index.html");
    std::fs::write(&page, "{{ of another version }}").unwrap();
    let third = Demo::start(&directory, "known", &flights);
    assert_eq!((third.count("flights"), third.count("sites"), secret()), (30, sites, kept.clone()));
    assert_eq!(third.api(&token, "/api/flights?limit=1").status, 200);
    assert_eq!(third.page("/", "").status, 200);
    third.end(Signal::SIGKILL);

    // whatever the killed one left behind is cleared up
    let fourth = Demo::start(&directory, "known", &flights);
    assert_eq!(fourth.count("flights"), 30);
    assert!(fourth.end(Signal::SIGTERM));

    let fifth = Demo::start(&directory, "new", &["--flights", "3", "--fresh"]);
    assert_eq!((fifth.count("flights"), fifth.api(&token, "/api/flights").status), (3, 401));
    assert_ne!(secret(), kept);
    assert!(fifth.end(Signal::SIGINT));
}

#[test]
fn the_demo_lets_sample_pilots_in_at_a_click() {
    let directory = Directory::new("click");
    let demo = Demo::start(&directory, "new", &["--flights", "3"]);
    for page in ["/", "/sign_in"] {
        let page = demo.page(page, "");
        assert!(page.text().contains("value=\"ada@club.example\">Ada Zumtobel</button>"), "{}", page.text());
        assert_eq!(page.text().matches("name=\"email\" value=").count(), 14);
    }
    let entered = demo.click("ada@club.example", "http://test");
    assert_eq!((entered.status, entered.header("location")), (303, Some("/flights")), "{}", entered.text());
    let cookie = entered.header("set-cookie").unwrap();
    // over plain HTTP, not every browser takes one that is for TLS
    assert!(cookie.starts_with("flightbook-demo=") && cookie.ends_with("; HttpOnly; SameSite=Lax"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let list = demo.page("/flights", cookie);
    assert_eq!(list.text().matches("href=\"/flights/1\"").count(), 1, "{}", list.text());
    let own = demo.api(&demo.token, "/api/flights?select=id,number,points,track:tracks(igc_name,seconds)&order=number");
    let own = own.json();
    assert_eq!(own[2]["number"], 3);
    assert!(own[0]["points"].as_f64().unwrap() > 0.0 && own[0]["track"]["seconds"].as_array().unwrap().len() > 50);
    // what is another's is not hers, neither by page nor by API; her own is a page of the API's too
    let bo = demo.click("bo@club.example", "http://test");
    let bo = bo.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    assert_eq!((demo.page("/flights/1", cookie).status, demo.page("/flights/1", &bo).status), (200, 404));
    let browsed = demo.page("/api/flights", cookie);
    assert!(browsed.status == 200 && browsed.header("content-type").unwrap().starts_with("text/html"));
    // one is shared with everybody
    let shared = demo.api(&demo.token, "/api/shares?select=token").json();
    let shared = demo.page(&format!("/shared/{}", shared[0]["token"].as_str().unwrap()), "");
    assert!(shared.status == 200 && shared.text().contains("Ada Zumtobel"), "{}", shared.text());

    // a pilot may go; the browser of who was in as them forgets it
    let as_bo = [("cookie", bo.as_str()), ("origin", "http://test"), ("content-type", "application/json")];
    let gone = demo.ask("POST", "/api/rpc/delete_account", &as_bo, r#"{"email": "bo@club.example"}"#);
    assert_eq!(gone.status, 200, "{}", gone.text());
    let out = demo.page("/flights", &bo);
    assert_eq!(out.header("set-cookie"), Some("flightbook-demo=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"));
    // who registers with the address of one who is gone is no sample pilot
    let form = [("content-type", "application/x-www-form-urlencoded"), ("origin", "http://test")];
    let registered = demo.ask("POST", "/do/register", &form, "name=Bo&email=bo@club.example&password=over+the+ridge");
    assert_eq!((registered.status, registered.header("location")), (303, Some("/flights")), "{}", registered.text());
    // another site's page does not click, and nobody gets in who is no sample pilot
    assert_eq!(demo.click("ada@club.example", "http://elsewhere").status, 403);
    for nobody in ["bo@club.example", "", "nobody@club.example", "ADA@club.example'--", "%00"] {
        let refused = demo.click(nobody, "http://test");
        assert_eq!((refused.status, refused.header("set-cookie")), (303, None), "{nobody}");
        let page = demo.page(refused.header("location").unwrap(), "");
        assert!(page.text().contains("This pilot has left the demo."), "{}", page.text());
    }
    assert!(demo.end(Signal::SIGINT));
}

#[test]
fn the_demo_is_seen_in_a_browser() {
    let Some(mut browser) = Browser::start() else { return };
    let directory = Directory::new("seen");
    let demo = Demo::start(&directory, "new", &["--flights", "3"]);
    browser.open(&format!("http://{}/statistics", demo.address));
    browser.wait_for("location.pathname === '/sign_in'");
    browser.click("button[value='ada@club.example']");
    browser.wait_for("location.pathname === '/statistics'");
    browser.click("nav a[href='/flights']");
    browser.wait_for("document.querySelectorAll('main a[href^=\"/flights/\"]').length >= 3");
    assert!(!browser.text().contains("Look around"), "{}", browser.text());
    assert!(demo.end(Signal::SIGINT));
}

#[test]
fn the_demo_says_how_to_go_on_where_an_older_one_has_been() {
    let directory = Directory::new("older");
    let cluster = Cluster::start(&Options { data_dir: Some(directory.0.clone()), ..Options::default() }).unwrap();
    query_at(&cluster.uri("postgres"), "create schema flightbook create table flights (id int primary key)");
    cluster.stop().unwrap();
    let mut refused = Program::start(&arguments(&directory, &[]), &[]);
    refused.line("schema \"flightbook\" already exists");
    refused.line("--fresh throws it away");
    assert_eq!(refused.wait().code(), Some(1));
    let fresh = Demo::start(&directory, "new", &["--flights", "1", "--fresh"]);
    assert_eq!(fresh.count("flights"), 1);
    assert!(fresh.end(Signal::SIGINT));
}
