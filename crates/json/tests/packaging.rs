//! The features that the crate enables in its dependencies.

use std::process::Command;

/// The crate does not enable serde's derives. A dependent crate decides whether it needs them.
#[test]
fn serdes_derives_are_not_enabled() {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--offline", "--package", "thalweg-json", "--features", "serde", "--edges", "normal,features"]);
    let output = tree.args(["--prefix", "none"]).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(listed.lines().any(|line| line.starts_with("serde_core ")), "{listed}");
    for line in listed.lines() {
        assert!(!line.starts_with("serde_derive") && !line.contains("feature \"derive\""), "{line}\n{listed}");
    }
}
