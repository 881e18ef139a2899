//! The admin server of a program.

use crate::Client;
use serde_json::Value;
use std::net::SocketAddr;

/// The admin server of a program, by its address.
#[derive(Debug, Clone, Copy)]
pub struct Admin(pub SocketAddr);

impl Admin {
    /// Returns the findings of the gauge that name a route which holds up its executor.
    ///
    /// # Panics
    ///
    /// If the admin server does not answer, or shows no bills.
    pub fn blocked_executor(&self) -> Vec<Value> {
        let findings = self.get("/admin/bill/findings");
        assert_eq!(findings.status, 200, "{}", findings.text());
        let findings = findings.json();
        let is_blocked = |finding: &&Value| finding["kind"] == "blocked_executor";
        findings.as_array().expect("findings are a list").iter().filter(is_blocked).cloned().collect()
    }

    /// Returns the number of requests that the gauge has billed to a route.
    ///
    /// # Panics
    ///
    /// If the admin server does not answer.
    pub fn requests(&self, route: &str) -> u64 {
        let name: String = route.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let route = self.get(&format!("/admin/bill/route?name={name}"));
        if route.status == 200 { route.json()["requests"].as_u64().expect("requests are a number") } else { 0 }
    }

    /// The admin server answers only requests that name it by a name of its own.
    fn get(&self, target: &str) -> crate::Response {
        Client::connect(self.0).request("GET", target, &[("host", "localhost")])
    }
}
