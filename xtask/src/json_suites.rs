//! The tests of serde_json and of published crates that use it, with `thalweg-json` in its place.
//!
//! A package with serde_json's name re-exports `thalweg-json` and replaces it (`[patch]`) in the
//! whole graph of each crate. Sources come from the registry, and are built below `target`.

use crate::{Outcome, cargo, root};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Suites to run, by the names of their crates [default: all]
    names: Vec<String>,
    /// Run them with serde_json itself, to see what fails there too
    #[arg(long)]
    theirs: bool,
}

/// Tests of a published crate.
struct Suite {
    name: &'static str,
    version: &'static str,
    /// Arguments of `cargo test`: features, and the targets whose files are published.
    arguments: &'static [&'static str],
    /// A section of the manifest that is removed, and a text that is replaced by another.
    without: &'static str,
    replaced: (&'static str, &'static str),
    /// Tests that fail, each for a reason in this file.
    failing: &'static [&'static str],
}

const PLAIN: Suite = Suite { name: "", version: "", arguments: &[], without: "", replaced: ("", ""), failing: &[] };

const SERDE_JSON: &str = "serde_json";
const SERDE_JSON_VERSION: &str = "1.0.154";

const SUITES: [Suite; 15] = [
    Suite {
        name: SERDE_JSON,
        version: SERDE_JSON_VERSION,
        // Of a reader, nothing after a word is read; a number keeps its text, `1e999` is not made `1e+999`.
        failing: &["test_json_stream_invalid_literal", "test_parse_number"],
        ..PLAIN
    },
    Suite {
        name: "geojson",
        version: "1.0.0",
        arguments: &["--all-features"],
        // It expects sorted keys, which serde_json has without `preserve_order`.
        failing: &["src/ser.rs - ser::serialize_geometry (line 277)"],
        ..PLAIN
    },
    Suite { name: "json-patch", version: "5.0.0", ..PLAIN },
    Suite {
        name: "jsonschema",
        version: "0.61.2",
        arguments: &["--lib", "--no-default-features", "--features", "arbitrary-precision"],
        // Its macros, which are not enabled, were not published with this version.
        replaced: (
            "[dependencies.jsonschema-macros]\nversion = \"0.61.2\"",
            "[dependencies.jsonschema-macros]\nversion = \"0.60.2\"",
        ),
        ..PLAIN
    },
    Suite {
        name: "serde_json_path",
        version: "0.7.2",
        // A number keeps its text; a file was not published; sorted keys are expected.
        failing: &["parser::primitive::number::tests::test_numbers", "compliance_test_suite", "spec_example_4"],
        ..PLAIN
    },
    Suite {
        name: "jsonpath-rust",
        version: "1.0.12",
        // Sorted keys are expected.
        failing: &["query::tests::descent_test"],
        ..PLAIN
    },
    Suite { name: "serde_path_to_error", version: "0.1.20", ..PLAIN },
    Suite { name: "serde_json_canonicalizer", version: "0.4.1", ..PLAIN },
    Suite {
        name: "rust_decimal",
        version: "1.43.0",
        // The files of the other tests were not published.
        arguments: &["--lib", "--features", "serde-arbitrary-precision,serde-float,serde-with-str"],
        // It needs a client of MySQL.
        without: "[target.'cfg(not(target_arch = \"wasm32\"))'.dev-dependencies.diesel]",
        ..PLAIN
    },
    Suite { name: "bigdecimal", version: "0.4.11", arguments: &["--features", "serde-json"], ..PLAIN },
    Suite {
        name: "schemars",
        version: "1.2.3",
        // The snapshots of the other tests were not published.
        arguments: &["--lib", "--test", "no_std", "--features", "preserve_order,raw_value"],
        ..PLAIN
    },
    Suite { name: "figment", version: "0.10.19", arguments: &["--features", "json,toml,yaml,env,test"], ..PLAIN },
    Suite { name: "axum", version: "0.8.9", arguments: &["--features", "macros"], ..PLAIN },
    Suite { name: "minijinja", version: "3.1.0", arguments: &["--features", "json,serde,preserve_order"], ..PLAIN },
    Suite {
        name: "serde_with",
        version: "3.25.0",
        arguments: &["--features", "json,macros,base64,hex"],
        // It reads the manifest of a folder that was not published.
        failing: &["test_serde_with_macros_dependency"],
        ..PLAIN
    },
];

pub(crate) fn run(options: &Options) -> Outcome {
    let folder = root().join("target/json-suites");
    let chosen = chosen(&options.names)?;
    let sources = sources(&folder.join("sources"), &chosen)?;
    let stand_in = if options.theirs { theirs(&folder, &sources)? } else { ours(&folder)? };
    let mut is_as_expected = true;
    for suite in chosen {
        let source = source(&sources, suite.name)?;
        let at = match suite.name {
            SERDE_JSON => own_tests(&folder, source, &stand_in)?,
            _ => patched(&folder, suite, source, &stand_in)?,
        };
        let Ran { passed, failed } = test(&folder, &at, suite)?;
        let (known, unknown): (Vec<_>, Vec<_>) = failed.iter().partition(|name| suite.failing.contains(&name.as_str()));
        println!("{} {}: {passed} passed, {} failed as expected", suite.name, suite.version, known.len());
        unknown.iter().for_each(|name| println!("    failed: {name}"));
        is_as_expected &= unknown.is_empty();
    }
    if is_as_expected { Ok(()) } else { Err("tests failed that should pass".into()) }
}

fn chosen(names: &[String]) -> Outcome<Vec<&'static Suite>> {
    if let Some(name) = names.iter().find(|name| SUITES.iter().all(|suite| suite.name != **name)) {
        return Err(format!("there is no suite `{name}`").into());
    }
    Ok(SUITES.iter().filter(|suite| names.is_empty() || names.iter().any(|name| name == suite.name)).collect())
}

/// The folders of the crates' sources, which Cargo downloads as dependencies of an empty package.
fn sources(at: &Path, suites: &[&Suite]) -> Outcome<Vec<(String, PathBuf)>> {
    let mut manifest = package("sources");
    writeln!(manifest, "[dependencies]\n{SERDE_JSON} = \"={SERDE_JSON_VERSION}\"")?;
    for suite in suites.iter().filter(|suite| suite.name != SERDE_JSON) {
        writeln!(manifest, "{} = \"={}\"", suite.name, suite.version)?;
    }
    write_package(at, &manifest, "")?;
    let mut metadata = cargo(&["metadata", "--format-version", "1"]);
    let output = metadata.current_dir(at).stderr(Stdio::inherit()).output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let folder = |package: &serde_json::Value| {
        Some((package["name"].as_str()?.to_owned(), Path::new(package["manifest_path"].as_str()?).parent()?.to_owned()))
    };
    Ok(packages.iter().filter_map(folder).collect())
}

fn source<'s>(sources: &'s [(String, PathBuf)], name: &str) -> Outcome<&'s Path> {
    let found = sources.iter().find(|(found, _)| found == name);
    found.map(|(_, folder)| folder.as_path()).ok_or_else(|| format!("{name} was not downloaded").into())
}

fn package(name: &str) -> String {
    format!("[workspace]\n\n[package]\nname = \"{name}\"\nversion = \"{SERDE_JSON_VERSION}\"\nedition = \"2021\"\n\n")
}

fn write_package(at: &Path, manifest: &str, library: &str) -> Outcome {
    fs::create_dir_all(at.join("src"))?;
    fs::write(at.join("Cargo.toml"), manifest)?;
    Ok(fs::write(at.join("src/lib.rs"), library)?)
}

/// Features of serde_json. All that they turn on is on, in both stand-ins.
const FEATURES: [&str; 6] =
    ["alloc", "arbitrary_precision", "float_roundtrip", "preserve_order", "raw_value", "unbounded_depth"];

/// `thalweg-json` by the name of serde_json.
fn ours(folder: &Path) -> Outcome<PathBuf> {
    let mut manifest = package(SERDE_JSON);
    writeln!(manifest, "[features]\ndefault = [\"std\"]\nstd = []")?;
    for feature in FEATURES {
        writeln!(manifest, "{feature} = [\"thalweg-json/{feature}\"]")?;
    }
    let json = root().join("crates/json");
    writeln!(manifest, "\n[dependencies]\nthalweg-json = {{ path = {json:?}, features = [\"serde\"] }}")?;
    let at = folder.join("ours");
    write_package(&at, &manifest, "pub use thalweg_json::*;\n")?;
    Ok(at)
}

/// serde_json itself, with all features.
fn theirs(folder: &Path, sources: &[(String, PathBuf)]) -> Outcome<PathBuf> {
    let at = folder.join("theirs");
    copy(source(sources, SERDE_JSON)?, &at)?;
    let all = FEATURES.map(|feature| format!("\"{feature}\"")).join(", ");
    let manifest = fs::read_to_string(at.join("Cargo.toml"))?;
    let manifest = manifest.replace("default = [\"std\"]", &format!("default = [\"std\", {all}]"));
    fs::write(at.join("Cargo.toml"), format!("{manifest}\n[workspace]\n"))?;
    Ok(at)
}

/// Copies a folder of sources. Their lock file names serde_json of the registry.
fn copy(from: &Path, to: &Path) -> Outcome {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    if !Command::new("cp").arg("-r").args([from, to]).status()?.success() {
        return Err(format!("{} could not be copied", from.display()).into());
    }
    let lock = to.join("Cargo.lock");
    if lock.exists() { Ok(fs::remove_file(lock)?) } else { Ok(()) }
}

/// serde_json's integration tests, in a package that depends on the stand-in. Without those of its
/// private modules and of the words of the compiler.
fn own_tests(folder: &Path, source: &Path, stand_in: &Path) -> Outcome<PathBuf> {
    let at = folder.join(SERDE_JSON);
    let mut manifest = package("serde_json-tests");
    let all = FEATURES.map(|feature| format!("\"{feature}\"")).join(", ");
    writeln!(manifest, "[features]\ndefault = [{all}]")?;
    FEATURES.iter().try_for_each(|feature| writeln!(manifest, "{feature} = []"))?;
    writeln!(manifest, "\n[dependencies]\nserde_json = {{ path = {stand_in:?}, features = [{all}] }}\n")?;
    manifest += "[dev-dependencies]\nautomod = \"1\"\nindoc = \"2\"\nref-cast = \"1\"\nrustversion = \"1\"\n";
    manifest += "serde = { version = \"1\", features = [\"derive\"] }\nserde_bytes = \"0.11\"\nserde_derive = \"1\"\n";
    manifest += "serde_stacker = \"0.1\"\n";
    write_package(&at, &manifest, "")?;
    copy(&source.join("tests"), &at.join("tests"))?;
    for other in ["compiletest.rs", "lexical.rs"] {
        fs::remove_file(at.join("tests").join(other))?;
    }
    Ok(at)
}

/// The crate of a suite, in whose graph the stand-in replaces serde_json.
fn patched(folder: &Path, suite: &Suite, source: &Path, stand_in: &Path) -> Outcome<PathBuf> {
    let at = folder.join(suite.name);
    copy(source, &at)?;
    let mut manifest = fs::read_to_string(at.join("Cargo.toml"))?;
    if let Some((before, rest)) = manifest.split_once(suite.without).filter(|_| !suite.without.is_empty()) {
        let after = rest.find("\n[").map_or("", |end| &rest[end..]);
        manifest = format!("{before}{after}");
    }
    if !suite.replaced.0.is_empty() {
        manifest = manifest.replace(suite.replaced.0, suite.replaced.1);
    }
    let patch = format!("\n[workspace]\n\n[patch.crates-io]\nserde_json = {{ path = {stand_in:?} }}\n");
    fs::write(at.join("Cargo.toml"), manifest + &patch)?;
    Ok(at)
}

/// The number of tests that passed, and the names of the others.
struct Ran {
    passed: usize,
    failed: Vec<String>,
}

fn test(folder: &Path, at: &Path, suite: &Suite) -> Outcome<Ran> {
    let mut tests = cargo(&["test", "--no-fail-fast"]);
    tests.args(suite.arguments).current_dir(at);
    tests.env("CARGO_TARGET_DIR", folder.join("target")).env("CARGO_INCREMENTAL", "0").env("RUST_BACKTRACE", "0");
    let output = tests.output()?;
    let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    fs::write(folder.join(suite.name).with_extension("log"), format!("{told}\n{errors}"))?;
    let outcome = |end: &str| {
        let tests = told.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(end));
        tests.map(str::to_owned).collect::<Vec<_>>()
    };
    let (passed, mut failed) = (outcome(" ... ok").len(), outcome(" ... FAILED"));
    failed.extend(errors.lines().filter(|line| line.starts_with("error: could not compile")).map(str::to_owned));
    if passed == 0 && failed.is_empty() {
        return Err(format!("no test of {} was run:\n{errors}", suite.name).into());
    }
    Ok(Ran { passed, failed })
}
