//! Words found in texts: ours beside the ancestor's way, and the structures that keys could be in (`bench/gloss`).

use crate::bench::{computer, keep_run};
use crate::{Outcome, cargo, root};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// JMdict or EDICT2: the full dictionary's words
    #[arg(long)]
    words: PathBuf,
    /// ENAMDICT or JMnedict: its names
    #[arg(long)]
    names: PathBuf,
    /// How often each job is timed
    #[arg(long, default_value_t = 15)]
    rounds: u32,
    /// What the run is called; the date stands before it
    #[arg(long, default_value = "gloss")]
    name: String,
}

pub(crate) fn run(options: &Options) -> Outcome {
    let built = root().join("target/bench-gloss");
    let mut build = cargo(&[
        "build",
        "--quiet",
        "--release",
        "--locked",
        "--manifest-path",
        "bench/gloss/Cargo.toml",
        "--target-dir",
    ]);
    if !build.arg(&built).status()?.success() {
        return Err("the build failed".into());
    }
    let (raw, text) = (built.join("raw.json"), built.join("tables.md"));
    let mut compare = Command::new(built.join("release/compare"));
    compare.arg("run").arg("--made").arg(built.join("made")).arg("--stories").arg(root().join("apps/reader/stories"));
    compare.arg("--words").arg(&options.words).arg("--names").arg(&options.names);
    compare.args(["--rounds", &options.rounds.to_string()]).arg("--raw").arg(&raw).arg("--text").arg(&text);
    if !compare.status()?.success() {
        return Err("the comparison failed".into());
    }
    let machine = format!("{}, {} rounds", computer(), options.rounds);
    let text =
        format!("# Every word of a text\n\n`cargo xtask bench-gloss`, {machine}.\n\n{}", fs::read_to_string(&text)?);
    let raw = serde_json::json!({"machine": machine, "figures": serde_json::from_slice::<serde_json::Value>(&fs::read(&raw)?)?});
    keep_run(&options.name, &text, Some(&raw))
}
