//! The figures as tables.

use serde_json::Value;
use std::fmt::Write as _;

const MIB: f64 = 1024.0 * 1024.0;

/// All tables, as Markdown.
pub fn text(figures: &Value) -> String {
    let mut out = String::new();
    times(&mut out, figures);
    counted(&mut out, figures);
    found(&mut out, &figures["found"]);
    novel(&mut out, &figures["novel"]);
    structures(&mut out, &figures["structures"]);
    build(&mut out, figures);
    memory(&mut out, figures);
    allocations(&mut out, figures);
    threads(&mut out, &figures["threads"]);
    out
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn rows(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn times(out: &mut String, figures: &Value) {
    let texts = &figures["texts"];
    let ancestor = &figures["ancestor"];
    let _ = write!(
        out,
        "## A story\n\nMicroseconds, medians of rounds in turn: the first {} characters of a story, and all {} stories of {} characters. *times* is \
         against the ancestor's way with the standard library's hash, of words or of words and names. The ancestor's way has {} pairs of \
         suffixes and makes {} look-ups for the story. Both give each entry of each place, one by one, ours in order. JSON of the story: {} bytes, {} with each entry once.\n\n| | story | times | all stories | times | instructions, story |\n|---|---|---|---|---|---|\n",
        texts["one_chars"],
        texts["stories"],
        texts["stories_chars"],
        ancestor["suffix_rules"],
        ancestor["lookups_one"],
        figures["json_bytes_one"],
        figures["json_once_bytes_one"],
    );
    let of = |name: &str| rows(&figures["times"]).find(|job| job["name"] == name).cloned().unwrap_or_default();
    for job in rows(&figures["times"]) {
        let name = job["name"].as_str().unwrap_or("");
        let base = of(if name.contains("names") { "ancestor: words and names" } else { "ancestor: words" });
        let times = |which: &str| number(&base[which]) / number(&job[which]);
        let counted = match name {
            "ancestor with foldhash: words" => "ancestor",
            "ancestor with foldhash: words and names" => "ancestor-names",
            "ours: words" => "words",
            "ours: words and names" => "names",
            "ours: words and names, only where they are" => "places",
            "ours: words and names, JSON written" => "json",
            "ours: words and names, JSON written, each entry once" => "json-once",
            "ours: words and names, columns written" => "columns",
            _ => "",
        };
        let counted = figures["instructions"][counted].as_u64().map_or("–".to_owned(), |count| count.to_string());
        let _ = writeln!(
            out,
            "| {name} | {:.1} | {:.1} | {:.0} | {:.1} | {counted} |",
            number(&job["one_us"]),
            times("one_us"),
            number(&job["stories_us"]),
            times("stories_us"),
        );
    }
}

fn counted(out: &mut String, figures: &Value) {
    let (entries, stories) = (&figures["entries_one"], &figures["instructions"]["stories"]);
    let _ = write!(
        out,
        "\nThe story's spans tell {} entries; each told once would be {}. All stories with names take {stories} instructions.\n",
        entries["told"], entries["once"],
    );
}

fn found(out: &mut String, found: &Value) {
    let _ = write!(
        out,
        "\nWhat both find in the stories, as places with their entries (of names: places), without what numbers count:\n\n| | both | only ours | only the ancestor's way |\n|---|---|---|---|\n"
    );
    for what in ["words", "names"] {
        let these = &found[what];
        let _ = writeln!(out, "| {what} | {} | {} | {} |", these["both"], these["only_ours"], these["only_ancestor"]);
    }
    for (what, name) in [
        ("words_only_ours", "Words, only ours"),
        ("words_only_ancestor", "Words, only the ancestor's way"),
        ("names_only_ours", "Names, only ours"),
        ("names_only_ancestor", "Names, only the ancestor's way"),
    ] {
        let these: Vec<_> =
            found[what].as_object().into_iter().flatten().map(|(name, count)| format!("{name} ({count})")).collect();
        if !these.is_empty() {
            let _ = writeln!(
                out,
                "\n{name}: {}.",
                these.iter().take(60).map(String::as_str).collect::<Vec<_>>().join("; ")
            );
        }
    }
}

fn novel(out: &mut String, novel: &Value) {
    let _ = write!(
        out,
        "\n## A novel\n\nStreamed, with names, each length in a process of its own. The peak is of the process with the pages of the file; the heap's is of what was allocated while reading and writing JSON.\n\n| characters | characters/s | with JSON | peak MiB | of the heap MiB |\n|---|---|---|---|---|\n"
    );
    for row in rows(novel) {
        let _ = writeln!(
            out,
            "| {} | {:.0} | {:.0} | {:.1} | {:.2} |",
            row["chars"],
            number(&row["chars_per_second"]),
            number(&row["chars_per_second_json"]),
            number(&row["peak_mib"]),
            number(&row["heap_peak_mib"])
        );
    }
}

fn structures(out: &mut String, structures: &Value) {
    let _ = write!(
        out,
        "\n## Keys\n\n{} keys of words and names, folded, {:.1} MiB of text. ns for all keys that begin at a place, over the stories' {} places.\n\n| | MiB | build s | ns a place |\n|---|---|---|---|\n",
        structures["keys"],
        number(&structures["key_bytes"]) / MIB,
        structures["positions"]
    );
    for row in rows(&structures["structures"]) {
        let _ = writeln!(
            out,
            "| {} | {:.1} | {:.2} | {:.1} |",
            row["name"].as_str().unwrap_or(""),
            number(&row["bytes"]) / MIB,
            number(&row["build_s"]),
            number(&row["ns_per_position"])
        );
    }
}

fn build(out: &mut String, figures: &Value) {
    let build = &figures["build"];
    let _ = write!(
        out,
        "\n## Building and opening\n\nBuilt in {:.2} s: words read {:.2}, names read {:.2}, compiled {:.2}, written to the disk {:.2}. {:.1} MiB:",
        number(&build["all_s"]),
        number(&build["words_s"]),
        number(&build["names_s"]),
        number(&build["finish_s"]),
        number(&build["write_and_sync_s"]),
        number(&build["bytes"]) / MIB,
    );
    for (at, (part, bytes)) in build["parts"].as_object().into_iter().flatten().enumerate() {
        let _ = write!(out, "{} {part} {:.2}", if at > 0 { "," } else { "" }, number(bytes) / MIB);
    }
    let (warm, cold) = (&figures["memory_warm"], &figures["memory_cold"]);
    let _ = write!(
        out,
        ".\n\nOpened in {:.0} us the first time in a process, {:.0} again; {:.0} if the file is not in the page cache. The first story takes {:.0} us, {:.0} if it is not.\n",
        number(&warm["open_first_us"]),
        number(&warm["open_again_us"]),
        number(&cold["open_first_us"]),
        number(&warm["first_story_us"]),
        number(&cold["first_story_us"]),
    );
}

fn memory(out: &mut String, figures: &Value) {
    let _ = write!(
        out,
        "\n## Memory\n\nResident, MiB: the process, its own, and of the mapped file; the file in the page cache before, and not.\n\n| | process | own | file | not cached: process | own | file |\n|---|---|---|---|---|---|---|\n"
    );
    let (warm, cold) = (&figures["memory_warm"]["resident"], &figures["memory_cold"]["resident"]);
    let mib = |value: &Value| number(value) / 1024.0;
    let of = |these: &Value| {
        ["all_kib", "own_kib", "mapping_kib"].map(|which| format!("{:.1}", mib(&these[which]))).join(" | ")
    };
    for (step, these) in warm.as_object().into_iter().flatten() {
        let _ = writeln!(out, "| {step} | {} | {} |", of(these), of(&cold[step]));
    }
    let ancestor = &figures["memory_ancestor"]["resident"]["after all stories"];
    let _ = writeln!(out, "| the ancestor's way, after all stories | {} | | | |", of(ancestor));
}

fn allocations(out: &mut String, figures: &Value) {
    let _ = write!(
        out,
        "\n## Allocations\n\nWhile all stories are read again by a reader that has read them, into a buffer that has held the result.\n\n| | a story | bytes in all |\n|---|---|---|\n"
    );
    for (job, counted) in figures["allocations"].as_object().into_iter().flatten() {
        let _ = writeln!(out, "| {job} | {:.1} | {} |", number(&counted["per_story"]), counted["bytes"]);
    }
}

fn threads(out: &mut String, threads: &Value) {
    let _ = write!(
        out,
        "\n## Threads\n\nfutex calls of the whole process (threads begin and end with some) while each thread reads the stories, once and 20 times, one dictionary shared, JSON written. Where there are as many for both, none waited for another.\n\n| threads | futex calls, once | 20 times | characters/s |\n|---|---|---|---|\n"
    );
    for row in rows(threads) {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {:.0} |",
            row["threads"],
            row["futex_calls_reading_once"],
            row["futex_calls_reading_20_times"],
            number(&row["chars_per_second"])
        );
    }
}
