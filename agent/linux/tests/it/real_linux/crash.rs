//! A process that is killed at any moment leaves everything whole.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use hearth_capabilities::volumes::{Leaf, LeafState, Volumes};
use hearth_linux::LinuxVolumes;
use tempfile::TempDir;

const MARKER: &str = "5a2f7a0e-6d0c-4a3e-9a53-0c4f6a1f2b11";
const MODE: u32 = 0o2750;
const ROUNDS: u64 = 30;

/// Tells this program, run by itself, where to work until it is killed.
const ROOT: &str = "HEARTH_TEST_CRASH_ROOT";

fn leaf() -> Leaf {
    Leaf { instance: "i".into(), path: "db/pgdata".into() }
}

/// Files that belong together: all hold the same letter.
fn files(letter: u8) -> BTreeMap<String, Vec<u8>> {
    ["one", "deep/two"].map(|path| (path.to_owned(), vec![letter; 200_000])).into()
}

/// Not a test of its own: what the test below starts and kills.
#[tokio::test]
async fn works_until_it_is_killed() {
    let Ok(root) = std::env::var(ROOT) else { return };
    let hands = LinuxVolumes::new(&root).unwrap();
    loop {
        hands.make(&leaf(), MARKER, None, Some(MODE)).await.unwrap();
        let inside = Path::new(&root).join("i/data/db/pgdata");
        for number in 0..8 {
            std::fs::create_dir_all(inside.join(format!("d{number}/e"))).unwrap();
            std::fs::write(inside.join(format!("d{number}/e/f")), "x").unwrap();
        }
        hands.save_files("i", &files(b'a')).await.unwrap();
        hands.save_files("i", &files(b'b')).await.unwrap();
        hands.remove(&leaf(), MARKER).await.unwrap();
        hands.remove_files("i").await.unwrap();
    }
}

#[tokio::test]
async fn killed_at_any_moment_it_leaves_the_whole_leaf_or_none_and_each_file_whole() {
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("instances");
    if let Err(fault) = LinuxVolumes::new(&root) {
        assert!(std::env::var("HEARTH_REAL").as_deref() != Ok("1"), "{fault}");
        return eprintln!("skipped: {fault}");
    }
    let mut seen = BTreeMap::new();
    for round in 0..ROUNDS {
        work_for(&root, Duration::from_millis(20 + round * 3));
        let hands = LinuxVolumes::new(&root).unwrap();
        match hands.inspect(&leaf()).await.unwrap() {
            LeafState::Absent => *seen.entry("absent").or_insert(0) += 1,
            LeafState::Present(facts) => {
                assert_eq!((facts.marker.as_deref(), facts.mode), (Some(MARKER), MODE));
                *seen.entry("present").or_insert(0) += 1;
            }
            LeafState::Unsafe(why) => panic!("{why}"),
        }
        for (path, bytes) in hands.load_files("i").await.unwrap().unwrap_or_default() {
            let is_whole = bytes.len() == 200_000 && bytes.iter().all(|byte| *byte == bytes[0]);
            assert!(is_whole, "{path} is not whole");
        }
        // Whatever was left, the next calls find their way.
        hands.make(&leaf(), MARKER, None, Some(MODE)).await.unwrap();
        hands.save_files("i", &files(b'c')).await.unwrap();
        assert_eq!(hands.load_files("i").await.unwrap(), Some(files(b'c')));
        hands.remove(&leaf(), MARKER).await.unwrap();
        hands.remove_files("i").await.unwrap();
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0, "nothing is left behind");
    }
    eprintln!("of {ROUNDS} rounds: {seen:?}");
}

/// Runs the work in a process of its own and kills it.
fn work_for(root: &Path, how_long: Duration) {
    #[expect(clippy::disallowed_methods, reason = "only a process of its own can be killed")]
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "real_linux::crash::works_until_it_is_killed"])
        .env(ROOT, root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(how_long);
    child.kill().unwrap();
    child.wait().unwrap();
}
