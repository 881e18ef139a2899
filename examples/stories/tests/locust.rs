//! The story as it was found: the real Locust with 3,000 users, and what the gauge says meanwhile.

#[path = "service/running.rs"]
mod service;

use serde_json::Value;
use service::{Stories, place};
use std::process::Command;

/// How long Locust runs, of which its 3,000 users take thirty to come, in seconds.
const RUN_SECONDS: u64 = 38;

/// The program that `TEST_LOCUST` names, or that of the search path.
fn locust() -> Option<String> {
    let program = std::env::var("TEST_LOCUST").unwrap_or_else(|_| "locust".to_owned());
    let is_there = Command::new(&program).arg("--version").output().is_ok_and(|output| output.status.success());
    is_there.then_some(program)
}

/// What it says of the requests that were answered.
fn drive(program: &str, stories: &Stories, class: &str, users: u64, seconds: u64) -> Value {
    let file = format!("{}/locustfile.py", env!("CARGO_MANIFEST_DIR"));
    let (host, users) = (format!("http://{}", stories.clients), users.to_string());
    let output = Command::new(program)
        .args(["-f", &file, class, "--headless", "--users", &users, "--spawn-rate", "100", "--json"])
        .args(["--run-time", &format!("{seconds}s"), "--stop-timeout", "0", "--host", &host])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let sums: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    sums[0].clone()
}

#[test]
fn three_thousand_users_of_locust() {
    let Some(program) = locust() else {
        println!(
            "Locust is not found (TEST_LOCUST, or locust in the search path): the stories are driven by threads only"
        );
        return;
    };
    let stories = Stories::start();
    let answered = drive(&program, &stories, "Read", 3000, RUN_SECONDS);
    let times = answered["num_requests"].as_u64().unwrap();
    assert!(
        (50..=20 * (RUN_SECONDS + 1)).contains(&times),
        "who holds a lock for 50 ms lets 20 a second pass: {times}"
    );
    let finding = stories.finding("GET /read", "guard_across_await");
    assert_eq!(finding["where"]["taken_at"], *place("locked.rs", "clients.lock().await"));
    assert_eq!(finding["where"]["awaited_at"], *place("locked.rs", "    ask_elsewhere().await"));
    let (what, figures) = (finding["what"].as_str().unwrap(), &finding["figures"]);
    assert!(what.contains("for lock `clients`") && what.contains("requests/s can pass"), "{what}");
    let most = figures["requests_per_second_max"].as_f64().unwrap();
    assert!((10.0..=20.0).contains(&most), "{what}");
    assert!(figures["times"].as_u64().unwrap() >= times, "{figures}");
    assert!(figures["behind_max"].as_u64().unwrap() >= 1000, "{figures}");
    println!("{times} answers in {RUN_SECONDS} s: {what}");

    let answered = drive(&program, &stories, "Fast", 300, 6);
    assert!(answered["num_requests"].as_u64().unwrap() >= 300, "{answered}");
    stories.has_none("GET /fast", &["guard_across_await", "lock", "allocations", "copies"]);
}
