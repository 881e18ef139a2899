//! JSON of all kinds by all libraries (`bench/json`), and what it takes to compile types that are derived.

use crate::bench::{computer, keep_run};
use crate::{Outcome, cargo, root};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Where `twitter.json`, `canada.json` and `citm_catalog.json` are; without it they are fetched by pip, with a source archive of orjson
    #[arg(long)]
    data: Option<PathBuf>,
    /// How often each job is timed
    #[arg(long, default_value_t = 25)]
    rounds: u32,
    /// For how many milliseconds each time
    #[arg(long, default_value_t = 40)]
    millis: u32,
    /// What the run is called; the date stands before it
    #[arg(long, default_value = "json")]
    name: String,
}

/// The archive that has the documents, and its checksum.
const ARCHIVE: &str = "orjson==3.10.0 --hash=sha256:ba4d8cac5f2e2cff36bea6b6481cdb92b38c202bcec603d6f5ff91960595a1ed\n";

/// What all of them are compiled with. Libraries that have no vectors but those that they are compiled for have more of them in the second.
const BUILDS: [(&str, &str, &[&str]); 3] = [
    ("For any x86-64", "", &[]),
    ("For processors with AVX2 (`-C target-cpu=x86-64-v3`)", "-C target-cpu=x86-64-v3", &[]),
    ("For any x86-64, with the C library's allocator", "", &["--no-default-features"]),
];

pub(crate) fn run(options: &Options) -> Outcome {
    let built = root().join("target/bench-json");
    fs::create_dir_all(&built)?;
    let data = match &options.data {
        Some(data) => data.clone(),
        None => documents(&built)?,
    };
    let machine = format!("{}, {} rounds of {} ms", computer(), options.rounds, options.millis);
    let mut text = format!(
        "# JSON by all libraries\n\n`cargo xtask bench-json`, {machine}. MB of text a second, medians. All Rust is compiled with the same flags and has the same allocator, mimalloc where nothing else is said; RapidJSON (C++, for processors with AVX2, SSE4.2 in its own code) reads into values of a pool of its own. Those rounds count in which additions in registers, timed between all others, were the fastest: in the others another machine had a part of the processor.\n\n"
    );
    let mut raw = serde_json::json!({"machine": machine});
    for (number, (title, flags, features)) in BUILDS.iter().enumerate() {
        let target = built.join(number.to_string());
        let mut build =
            cargo(&["build", "--quiet", "--release", "--locked", "--manifest-path", "bench/json/Cargo.toml"]);
        if !build.args(*features).arg("--target-dir").arg(&target).env("RUSTFLAGS", flags).status()?.success() {
            return Err("the build failed".into());
        }
        let figures = built.join("figures.json");
        let mut bench = Command::new(target.join("release/thalweg-bench-json"));
        bench.arg("--data").arg(&data).arg("--raw").arg(&figures);
        bench.args(["--rounds", &options.rounds.to_string(), "--millis", &options.millis.to_string()]);
        let output = bench.stderr(std::process::Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err("the comparison failed".into());
        }
        write!(text, "# {title}\n\n{}\n", String::from_utf8(output.stdout)?)?;
        raw[*title] = serde_json::from_slice(&fs::read(&figures)?)?;
    }
    let (compiled, figures) = compile(&built.join("compile"))?;
    text += &compiled;
    raw["compiled"] = figures;
    keep_run(&options.name, &text, Some(&raw))
}

fn documents(built: &Path) -> Outcome<PathBuf> {
    let data = built.join("documents");
    if data.join("twitter.json").exists() {
        return Ok(data);
    }
    fs::create_dir_all(&data)?;
    fs::write(data.join("wanted.txt"), ARCHIVE)?;
    const FETCH: &str = "python3 -m pip download --quiet --require-hashes --no-deps --no-binary :all: --dest . -r wanted.txt && \
        tar xzf orjson-3.10.0.tar.gz && \
        for name in canada citm_catalog twitter; do xz -dc orjson-3.10.0/data/$name.json.xz >$name.json || exit 1; done";
    match Command::new("sh").args(["-c", FETCH]).current_dir(&data).status()?.success() {
        true => Ok(data),
        false => Err("the documents could not be fetched: say where they are with --data".into()),
    }
}

/// Fifty structs, each written and read once.
const STRUCTS: u32 = 50;
const TIMES: usize = 3;

/// How a program derives, writes and reads.
struct Kind {
    name: &'static str,
    derives: &'static str,
    write: &'static str,
    read: &'static str,
    dependencies: &'static str,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "serde with serde_json",
        derives: "serde::Serialize, serde::Deserialize",
        write: "serde_json::to_vec(&value).unwrap()",
        read: "serde_json::from_slice",
        dependencies: "serde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"=1.0.154\"\n",
    },
    Kind {
        name: "ours, derived",
        derives: "thalweg_json::ToJson, thalweg_json::FromJson",
        write: "{ let mut text = Vec::new(); thalweg_json::write(&value, &mut text); text }",
        read: "thalweg_json::read",
        dependencies: "thalweg-json = { path = \"JSON\", features = [\"derive\"] }\n",
    },
    Kind {
        name: "ours, serde",
        derives: "serde::Serialize, serde::Deserialize",
        write: "thalweg_json::to_vec(&value).unwrap()",
        read: "thalweg_json::from_slice",
        dependencies: "serde = { version = \"1\", features = [\"derive\"] }\nthalweg-json = { path = \"JSON\", features = [\"serde\"] }\n",
    },
];

fn program(kind: &Kind) -> String {
    const TYPES: [&str; 10] =
        ["String", "u64", "i32", "f64", "bool", "Option<String>", "Vec<u32>", "Option<u64>", "String", "Vec<String>"];
    let (mut types, mut calls) = (String::new(), String::new());
    for number in 0..STRUCTS {
        let fields: String =
            TYPES.iter().enumerate().map(|(at, ty)| format!("    field_{at}_of_{number}: {ty},\n")).collect();
        let inner = if number % 5 == 4 { format!("    inner: Option<S{}>,\n", number - 1) } else { String::new() };
        let _ = write!(types, "#[derive({})]\npub struct S{number} {{\n{fields}{inner}}}\n\n", kind.derives);
        let _ = write!(
            calls,
            "    if let Ok(value) = {}::<S{number}>(&text) {{\n        bytes += {}.len();\n    }}\n",
            kind.read, kind.write
        );
    }
    format!(
        "{types}fn main() {{\n    let text = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();\n    let mut bytes = 0;\n{calls}    println!(\"{{bytes}}\");\n}}\n"
    )
}

fn compile(at: &Path) -> Outcome<(String, serde_json::Value)> {
    let json = root().join("crates/json");
    for (number, kind) in KINDS.iter().enumerate() {
        let folder = at.join(number.to_string());
        fs::create_dir_all(folder.join("src"))?;
        let dependencies = kind.dependencies.replace("JSON", &json.to_string_lossy());
        let head =
            format!("[workspace]\n\n[package]\nname = \"fifty-{number}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        let profile = "[profile.release]\ncodegen-units = 1\nstrip = true\n";
        fs::write(folder.join("Cargo.toml"), format!("{head}\n[dependencies]\n{dependencies}\n{profile}"))?;
        fs::write(folder.join("src/main.rs"), program(kind))?;
    }
    let mut text = format!(
        "# What derived types take to compile\n\n{STRUCTS} structs of ten fields and a few with another of them, each read and written once; the program alone, its dependencies compiled before. Seconds, medians of {TIMES} in turn; stripped, with what of its libraries is in it.\n\n| | debug build | release build | program, KiB |\n|---|---|---|---|\n"
    );
    let mut seconds: [[Vec<f64>; 2]; KINDS.len()] = Default::default();
    for round in 0..=TIMES {
        for (number, seconds) in seconds.iter_mut().enumerate() {
            for (mode, flag) in [None, Some("--release")].into_iter().enumerate() {
                let folder = at.join(number.to_string());
                // its time is what cargo looks at
                let main = folder.join("src/main.rs");
                fs::write(&main, fs::read(&main)?)?;
                let mut build = cargo(&["build", "--quiet"]);
                build.args(flag).arg("--target-dir").arg(at.join("target")).current_dir(&folder);
                let start = Instant::now();
                if !build.env("CARGO_INCREMENTAL", "0").status()?.success() {
                    return Err("fifty structs could not be compiled".into());
                }
                // the first time the dependencies are compiled too
                if round > 0 {
                    seconds[mode].push(start.elapsed().as_secs_f64());
                }
            }
        }
    }
    let mut figures = Vec::new();
    for (number, kind) in KINDS.iter().enumerate() {
        let bytes = fs::metadata(at.join(format!("target/release/fifty-{number}")))?.len();
        let [debug, release] = &mut seconds[number];
        figures.push(serde_json::json!({"kind": kind.name, "debug": debug, "release": release, "bytes": bytes}));
        let (debug, release) = (median(debug), median(release));
        writeln!(text, "| {} | {debug:.2} | {release:.2} | {} |", kind.name, bytes / 1024)?;
    }
    Ok((text, figures.into()))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
