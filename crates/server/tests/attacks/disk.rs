//! A disk that is full.

use crate::served::{GRANTS, Served};
use std::path::{Path, PathBuf};
use std::process::Command;
use thalweg_testkit::Database;

/// A small disk of its own, gone at the end.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Only root can make one, and not everywhere.
    fn new() -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("thalweg-disk-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| error.to_string())?;
        let disk = Self(path);
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m,mode=0777", "thalweg"]).arg(&disk.0).output();
        match mounted {
            Ok(output) if output.status.success() => Ok(disk),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Writes are refused with what the database says, reads and small writes elsewhere go on, and with room all is as before.
#[test]
fn a_full_disk_is_an_error_and_no_more() {
    let disk = match SmallDisk::new() {
        Ok(disk) => disk,
        Err(reason) => {
            println!("skipped: no small disk can be mounted here: {reason}");
            return;
        }
    };
    let space = disk.path().join("space");
    std::fs::create_dir(&space).unwrap();
    let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(thalweg_testkit::data_dir()).unwrap());
    std::os::unix::fs::chown(&space, Some(owner), None).unwrap();
    // given back later, as somebody who clears up would
    let reserve = disk.path().join("reserve");
    std::fs::write(&reserve, vec![0; 2 * 1024 * 1024]).unwrap();
    let database = Database::new("create schema api; create table api.elsewhere (id int)");
    database.execute(&format!("create tablespace small_disk location '{}'", space.display()));
    database.execute(&format!(
        "create table api.t (id int primary key, note text) tablespace small_disk;
         alter table api.t alter note set storage external;
         {GRANTS} grant insert, delete on all tables in schema api to test_reader"
    ));
    let served = Served::database(&database.uri());
    let note = "x".repeat(200_000);
    let one = |id: usize| format!("{{\"id\":{id},\"note\":\"{note}\"}}");
    let many = |id: usize| format!("[{},{}]", one(id), one(id + 1));
    let by_key = [("Prefer", "return=representation")];
    let (mut there, mut refused) = (0, 0);
    for attempt in 0..90 {
        let id = 2 * attempt;
        let (response, rows) = match attempt % 3 {
            0 => (served.send("POST", "/t", &[], one(id)), 1),
            1 => (served.send("POST", "/t", &[], many(id)), 2),
            _ => (served.send("POST", "/t?select=id", &by_key, one(id)), 1),
        };
        if response.status == 201 {
            there += rows;
            continue;
        }
        refused += 1;
        assert_eq!((response.status, response.json()["code"].as_str()), (503, Some("53100")), "{}", response.text());
        assert_eq!(response.header("retry-after"), Some("1"));
        // nothing of what was refused is there, what was there can be read, and other disks have room
        assert_eq!(served.get("/t?select=id").json().as_array().map(Vec::len), Some(there));
        assert_eq!(served.send("POST", "/elsewhere", &[], "{\"id\":1}").status, 201);
    }
    assert!(there > 10 && refused > 20, "{there} rows, {refused} refused");
    assert_eq!(served.request("DELETE", "/t?id=gte.0", &[]).status, 204);
    std::fs::remove_file(reserve).unwrap();
    database.execute("vacuum api.t");
    assert_eq!(served.send("POST", "/t", &[], many(1)).status, 201);
    assert_eq!(served.get("/t?select=id").json().as_array().map(Vec::len), Some(2));
    drop(served);
    database.execute("drop table api.t");
    database.execute("drop tablespace small_disk");
}
