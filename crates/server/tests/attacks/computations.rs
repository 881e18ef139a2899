//! Pages whose rendering takes long: however many clients request one, all other requests are
//! answered meanwhile.

use crate::served::{GRANTS, Served, config};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use thalweg_server::{Config, Server, ServerBuilder};
use thalweg_testkit::{Client, Database, Response};

const SCHEMA: &str =
    "create schema api; create table api.t (id int primary key, name text); insert into api.t values (1, 'one');";
const CLIENTS: usize = 8;

/// Number of computations that may run at once.
fn permits() -> usize {
    thread::available_parallelism().map_or(1, usize::from).saturating_sub(1).max(1)
}

/// A function that reports its beginning, and continues when the test allows it.
struct Gate {
    begun: Receiver<String>,
    open: Sender<()>,
}

impl Gate {
    fn join(server: ServerBuilder) -> (Gate, ServerBuilder) {
        let ((begins, begun), (open, opened)) = (channel(), channel::<()>());
        let (begins, opened) = (Mutex::new(begins), Mutex::new(opened));
        let gate = Arc::new(move |name: String| {
            begins.lock().unwrap().send(name.clone()).unwrap();
            opened.lock().unwrap().recv().unwrap();
            name
        });
        let filter = gate.clone();
        let server =
            server.function("gate", move |name: String| gate(name)).filter("gated", move |name: String| filter(name));
        (Gate { begun, open }, server)
    }
}

fn with_pages(uri: &str, folder: &Path, pages: &[(&str, &str)]) -> Config {
    for (name, text) in pages {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    Config { pages_dir: Some(folder.to_owned()), ..config(uri) }
}

fn asking(served: &Served, target: &'static str) -> JoinHandle<Response> {
    let address = served.address;
    thread::spawn(move || Client::connect(address).request("GET", target, &[]))
}

const PAGES: [(&str, &str); 6] = [
    ("slow.html", "{{ gate('slow') }}"),
    ("filtered.html", "{% for name in ['filtered'] %}{{ name|gated }}{% endfor %}"),
    ("asks.html", "{% if request.query.slow %}{{ gate('asked') }}{% endif %}quick"),
    ("quick.html", "+++\nrows = \"/t\"\n+++\n{% for row in rows %}{{ row.name }}{% endfor %}"),
    ("404.html", "{% if request.query.slow %}{{ gate('error page') }}{% endif %}"),
    ("static/file.txt", "a file"),
];

#[test]
fn quick_requests_are_answered_while_all_permits_are_held_by_slow_pages() {
    let database = Database::new(&format!("{SCHEMA}{GRANTS}"));
    let folder = tempfile::tempdir().unwrap();
    let config = with_pages(&database.uri(), folder.path(), &PAGES);
    let (gate, server) = Gate::join(Server::builder(config));
    let served = Served::of_builder(server);
    let slow = ["/slow", "/filtered", "/asks?slow=1", "/nothing-there?slow=1"];
    let clients: Vec<_> = (0..CLIENTS).map(|number| asking(&served, slow[number % slow.len()])).collect();
    let at_once = permits().min(CLIENTS);
    for _ in 0..at_once {
        gate.begun.recv().unwrap();
    }
    // Each request has a connection of its own, and there are many more than the server has
    // threads.
    for _ in 0..5 {
        for (target, text) in [
            ("/quick", "one"),
            ("/asks", "quick"),
            ("/static/file.txt", "a file"),
            ("/api/t?select=name&id=eq.1", r#"[{"name":"one"}]"#),
        ] {
            let answer = served.get(target);
            assert_eq!((answer.status, answer.text()), (200, text), "{target}");
        }
        assert_eq!(served.get("/nothing-there").status, 404);
    }
    // Only as many computations have begun as there are permits.
    assert!(gate.begun.try_recv().is_err());
    for left in (0..CLIENTS).rev() {
        gate.open.send(()).unwrap();
        if left >= at_once {
            gate.begun.recv().unwrap();
        }
    }
    let mut answers: Vec<String> = clients.into_iter().map(|client| client.join().unwrap().text().to_owned()).collect();
    answers.sort();
    answers.dedup();
    assert_eq!(answers, ["askedquick", "error page", "filtered", "slow"]);
}
