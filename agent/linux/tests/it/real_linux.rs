//! Every promise on a temporary folder, and what only a real disk can show.

mod crash;

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use hearth_capabilities::Fault;
use hearth_capabilities::contract::volumes::{VolumeWorld, keep};
use hearth_capabilities::volumes::{Given, GivenFile, Leaf, LeafState, Volumes};
use hearth_linux::LinuxVolumes;
use tempfile::TempDir;

const MARKER: &str = "5a2f7a0e-6d0c-4a3e-9a53-0c4f6a1f2b11";

struct World {
    folder: TempDir,
    hands: LinuxVolumes,
}

/// `None` where there is no fit disk and it may be left out.
fn world() -> Option<World> {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("outside")).unwrap();
    std::fs::write(folder.path().join("outside/precious"), "precious").unwrap();
    match LinuxVolumes::new(folder.path().join("instances")) {
        Ok(hands) => Some(World { folder, hands }),
        Err(fault) => {
            assert!(std::env::var("HEARTH_REAL").as_deref() != Ok("1"), "{fault}");
            eprintln!("skipped: {fault}");
            None
        }
    }
}

impl World {
    fn path(&self, leaf: &Leaf) -> PathBuf {
        self.folder.path().join("instances").join(&leaf.instance).join("data").join(&leaf.path)
    }

    fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }
}

fn clear(path: &Path) {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path).unwrap(),
        Ok(_) => std::fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

#[async_trait]
impl VolumeWorld for World {
    fn volumes(&self) -> &dyn Volumes {
        &self.hands
    }

    fn may_give_away(&self) -> bool {
        rustix::process::geteuid().is_root()
    }

    async fn fill(&self, leaf: &Leaf) {
        let path = self.path(leaf);
        std::fs::write(path.join("file"), "x").unwrap();
        std::fs::create_dir_all(path.join("a/b/c/.hearth-new-0")).unwrap();
        std::fs::write(path.join("a/b/c/file"), "x").unwrap();
        symlink(self.outside(), path.join("link")).unwrap();
        symlink(self.outside(), path.join("a/link")).unwrap();
        symlink(self.outside().join("precious"), path.join("a/b/link-to-file")).unwrap();
        symlink("..", path.join("a/up")).unwrap();
        symlink("nowhere", path.join("broken")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path.join("socket")).unwrap();
    }

    async fn outside_is_whole(&self) -> bool {
        let names: Vec<_> =
            std::fs::read_dir(self.outside()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names == ["precious"]
    }

    async fn put_link(&self, leaf: &Leaf) {
        clear(&self.path(leaf));
        symlink(self.outside(), self.path(leaf)).unwrap();
    }

    async fn put_file(&self, leaf: &Leaf) {
        clear(&self.path(leaf));
        std::fs::write(self.path(leaf), "x").unwrap();
    }

    async fn lose(&self, leaf: &Leaf) {
        clear(&self.path(leaf));
        std::fs::create_dir(self.path(leaf)).unwrap();
    }

    async fn take_away(&self, leaf: &Leaf) {
        clear(&self.path(leaf));
    }

    async fn chmod(&self, leaf: &Leaf, mode: u32) {
        std::fs::set_permissions(self.path(leaf), Permissions::from_mode(mode)).unwrap();
    }

    async fn package(&self, files: &BTreeMap<String, Vec<u8>>) -> String {
        let number = std::fs::read_dir(self.folder.path()).unwrap().count();
        let path = self.folder.path().join(format!("package{number}"));
        std::fs::create_dir(&path).unwrap();
        for (name, bytes) in files {
            let file = path.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, bytes).unwrap();
        }
        path.to_str().unwrap().to_owned()
    }

    async fn link_in_package(&self, path: &str) {
        symlink(self.outside().join("precious"), Path::new(path).join("link")).unwrap();
    }

    async fn read_given(&self, path: &str) -> Option<GivenFile> {
        let bytes = std::fs::read(path).ok()?;
        let found = std::fs::metadata(path).unwrap();
        Some(GivenFile { bytes, mode: found.mode() & 0o7777, uid: found.uid(), gid: found.gid() })
    }

    async fn change_given(&self, path: &str, text: &str, replaces: bool) {
        let held = std::fs::File::open(path).unwrap();
        if replaces {
            let mode = held.metadata().unwrap().permissions();
            std::fs::remove_file(path).unwrap();
            std::fs::write(path, text).unwrap();
            std::fs::set_permissions(path, mode).unwrap();
        } else {
            std::fs::write(path, text).unwrap();
        }
        // Held on to, as by a container that has it mounted: its number is not given to another file.
        std::mem::forget(held);
    }
}

macro_rules! tests {
    ($($promise:ident)*) => { $(
        #[tokio::test]
        async fn $promise() {
            if let Some(world) = world() {
                keep(&world, stringify!($promise)).await;
            }
        }
    )* };
}
hearth_capabilities::volume_promises!(tests);

fn leaf() -> Leaf {
    Leaf { instance: "i".into(), path: "pgdata".into() }
}

async fn make(world: &World) {
    world.hands.make(&leaf(), MARKER, None, Some(0o700)).await.unwrap();
}

#[tokio::test]
async fn what_a_process_that_died_left_half_made_is_cleared_and_never_taken_for_the_leaf() {
    let Some(world) = world() else { return };
    let half = world.folder.path().join("instances/i/data/.hearth-new-pgdata");
    std::fs::create_dir_all(half.join("deep/er")).unwrap();
    assert_eq!(world.hands.inspect(&leaf()).await, Ok(LeafState::Absent));
    assert_eq!(world.hands.list().await, Ok(Vec::new()));
    make(&world).await;
    assert!(!half.exists());
    assert!(matches!(world.hands.inspect(&leaf()).await, Ok(LeafState::Present(_))));
}

#[tokio::test]
async fn what_was_left_half_deleted_is_cleared_by_the_next_removal() {
    let Some(world) = world() else { return };
    make(&world).await;
    let half = world.folder.path().join("instances/i/data/.hearth-gone-0-pgdata");
    std::fs::rename(world.path(&leaf()), &half).unwrap();
    std::fs::write(half.join("file"), "x").unwrap();
    assert_eq!(world.hands.inspect(&leaf()).await, Ok(LeafState::Absent));
    assert_eq!(world.hands.list().await, Ok(Vec::new()));
    world.hands.remove(&leaf(), MARKER).await.unwrap();
    assert!(!half.exists());
}

#[tokio::test]
async fn what_was_left_half_taken_back_is_told_of_and_cleared_by_the_next_time() {
    let Some(world) = world() else { return };
    let file = GivenFile { bytes: b"secret".to_vec(), mode: 0o400, uid: 0, gid: 0 };
    let file = GivenFile {
        uid: rustix::process::getuid().as_raw(),
        gid: rustix::process::getgid().as_raw(),
        ..file
    };
    let given = Given { instance: "i".into(), holder: "web".into(), files: vec![file] };
    world.hands.give(&given).await.unwrap();
    let all = world.folder.path().join("instances/i/given");
    std::fs::rename(all.join("web"), all.join(".hearth-gone-0-web")).unwrap();
    let anything = |holder: &str| Given { holder: holder.into(), files: Vec::new(), ..given.clone() };
    assert_eq!(world.hands.find_given(&given).await, Ok(None));
    assert_eq!(world.hands.find_given(&anything("web")).await, Ok(Some(Vec::new())));
    assert_eq!(world.hands.find_given(&anything("eb")).await, Ok(None), "of another");
    world.hands.take_back("i", "web").await.unwrap();
    assert_eq!(world.hands.find_given(&anything("web")).await, Ok(None));
    assert!(!all.exists());
}

/// Whoever wished it gone sees it gone and asks no more: a server that died half way finishes with its next start.
#[tokio::test]
async fn what_was_left_half_deleted_anywhere_is_erased_by_whoever_starts_to_serve() {
    let Some(world) = world() else { return };
    make(&world).await;
    std::fs::create_dir(world.path(&leaf()).join(".hearth-gone-0-its-own")).unwrap();
    let other = Leaf { instance: "j".into(), path: "db/pgdata".into() };
    world.hands.make(&other, MARKER, None, None).await.unwrap();
    world.hands.save_files("i", &BTreeMap::from([("compose.yaml".into(), b"x".to_vec())])).await.unwrap();
    let instances = world.folder.path().join("instances");
    let hide = |at: &str, name: &str| {
        let at = instances.join(at);
        std::fs::create_dir_all(&at).unwrap();
        if at.join(name).exists() {
            std::fs::rename(at.join(name), at.join(format!(".hearth-gone-0-{name}"))).unwrap();
        } else {
            std::fs::create_dir(at.join(format!(".hearth-gone-0-{name}"))).unwrap();
            std::fs::write(at.join(format!(".hearth-gone-0-{name}/0-17")), "secret").unwrap();
        }
        at.join(format!(".hearth-gone-0-{name}"))
    };
    let remains = [
        hide("j/data/db", "pgdata"),
        hide("i/given", "web"),
        hide("i", "files-of-before"),
        hide("k", "files"),
    ];
    world.hands.erase_remains().unwrap();
    for remains in &remains {
        assert!(!remains.exists(), "{}", remains.display());
    }
    assert!(!instances.join("k").exists() && !instances.join("i/given").exists());
    assert!(world.path(&leaf()).join(".hearth-gone-0-its-own").exists(), "what is in a leaf is its app's");
    assert_eq!(world.hands.load_files("i").await.unwrap().map(|files| files.len()), Some(1));
    assert_eq!(world.hands.list().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_very_deep_tree_is_removed() {
    let Some(world) = world() else { return };
    make(&world).await;
    // Deeper than a path may be long, as only a program that goes down step by step can make it.
    let mut here = rustix::fs::open(world.path(&leaf()), flags(), rustix::fs::Mode::empty()).unwrap();
    for _ in 0..3000 {
        rustix::fs::mkdirat(&here, "d", rustix::fs::Mode::from_raw_mode(0o700)).unwrap();
        here = rustix::fs::openat(&here, "d", flags(), rustix::fs::Mode::empty()).unwrap();
    }
    world.hands.remove(&leaf(), MARKER).await.unwrap();
    assert_eq!(std::fs::read_dir(world.folder.path().join("instances/i/data")).unwrap().count(), 0);
}

fn flags() -> rustix::fs::OFlags {
    rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY
}

#[tokio::test]
async fn a_wide_tree_is_removed() {
    let Some(world) = world() else { return };
    make(&world).await;
    for folder in 0..10 {
        let folder = world.path(&leaf()).join(format!("d{folder}"));
        std::fs::create_dir(&folder).unwrap();
        for file in 0..1000 {
            std::fs::write(folder.join(format!("f{file}")), "").unwrap();
        }
    }
    world.hands.remove(&leaf(), MARKER).await.unwrap();
    assert_eq!(world.hands.inspect(&leaf()).await, Ok(LeafState::Absent));
}

#[tokio::test]
async fn two_makers_of_one_leaf_do_not_meet() {
    let Some(world) = world() else { return };
    let other = LinuxVolumes::new(world.folder.path().join("instances")).unwrap();
    let leaf = leaf();
    for _ in 0..20 {
        let (one, two) = tokio::join!(
            world.hands.make(&leaf, MARKER, None, Some(0o700)),
            other.make(&leaf, MARKER, None, Some(0o700)),
        );
        assert_eq!((one, two), (Ok(()), Ok(())));
        let (one, two) = tokio::join!(world.hands.remove(&leaf, MARKER), other.remove(&leaf, MARKER));
        assert_eq!((one, two), (Ok(()), Ok(())));
    }
}

#[tokio::test]
async fn a_root_that_vanished_is_blind_and_not_empty() {
    let Some(world) = world() else { return };
    make(&world).await;
    std::fs::rename(world.folder.path().join("instances"), world.folder.path().join("moved")).unwrap();
    for answer in [
        world.hands.inspect(&leaf()).await.map(|_| ()),
        world.hands.list().await.map(|_| ()),
        world.hands.load_files("i").await.map(|_| ()),
        world.hands.make(&leaf(), MARKER, None, None).await,
        world.hands.remove(&leaf(), MARKER).await,
    ] {
        assert!(matches!(answer, Err(Fault::Blind(_))), "{answer:?}");
    }
}

#[tokio::test]
async fn files_are_for_their_owner_alone() {
    let Some(world) = world() else { return };
    let files = BTreeMap::from([("a/b".to_owned(), b"secret".to_vec())]);
    world.hands.save_files("i", &files).await.unwrap();
    let instance = world.folder.path().join("instances/i");
    for (path, wanted) in [("", 0o700), ("files", 0o700), ("files/a", 0o700), ("files/a/b", 0o600)] {
        let mode = std::fs::symlink_metadata(instance.join(path)).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, wanted, "{path:?}");
    }
}

#[tokio::test]
async fn an_unchanged_file_is_not_written_again() {
    let Some(world) = world() else { return };
    let files = BTreeMap::from([("a".to_owned(), b"x".to_vec())]);
    let inode = || {
        let path = world.folder.path().join("instances/i/files/a");
        std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(path).unwrap())
    };
    world.hands.save_files("i", &files).await.unwrap();
    let before = inode();
    world.hands.save_files("i", &files).await.unwrap();
    assert_eq!(inode(), before);
}

#[tokio::test]
async fn a_link_where_files_should_go_is_refused() {
    let Some(world) = world() else { return };
    std::fs::create_dir(world.folder.path().join("instances/i")).unwrap();
    symlink(world.outside(), world.folder.path().join("instances/i/files")).unwrap();
    let files = BTreeMap::from([("a".to_owned(), b"x".to_vec())]);
    let answer = world.hands.save_files("i", &files).await;
    assert!(matches!(answer, Err(Fault::Refused(_))), "{answer:?}");
    world.hands.remove_files("i").await.unwrap();
    assert!(world.outside_is_whole().await);
}

#[tokio::test]
async fn a_package_below_a_link_is_refused_and_a_pipe_does_not_hold_it() {
    let Some(world) = world() else { return };
    symlink(world.outside(), world.folder.path().join("package")).unwrap();
    let answer = world.hands.read_package(world.folder.path().join("package").to_str().unwrap()).await;
    assert!(matches!(&answer, Err(Fault::Refused(why)) if why.contains("link")), "{answer:?}");
    let pipe = world.outside().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let answer = world.hands.read_package(world.outside().to_str().unwrap()).await;
    assert!(matches!(&answer, Err(Fault::Refused(why)) if why.contains("special")), "{answer:?}");
}

/// As root the marker is one that no app can see, let alone set.
#[tokio::test]
async fn the_marker_is_out_of_reach_where_this_runs_as_root() {
    let Some(world) = world() else { return };
    make(&world).await;
    let name = if world.may_give_away() { "trusted.hearth.uid" } else { "user.hearth.uid" };
    let mut buffer = [0_u8; 64];
    let length = rustix::fs::getxattr(world.path(&leaf()), name, &mut buffer[..]).unwrap();
    assert_eq!(&buffer[..length], MARKER.as_bytes());
}

/// Somebody's photos, mounted into an app's folder, are not the app's.
#[tokio::test]
async fn what_is_mounted_inside_a_leaf_is_not_deleted() {
    let Some(world) = world() else { return };
    if !world.may_give_away() {
        return eprintln!("skipped: only root may mount");
    }
    make(&world).await;
    let place = world.path(&leaf()).join("photos");
    std::fs::create_dir(&place).unwrap();
    let mount = |arguments: &[&str]| {
        #[expect(clippy::disallowed_methods, reason = "a test needs a real mount")]
        std::process::Command::new(arguments[0]).args(&arguments[1..]).status().unwrap().success()
    };
    if !mount(&["mount", "--bind", world.outside().to_str().unwrap(), place.to_str().unwrap()]) {
        return eprintln!("skipped: this machine does not let root mount");
    }
    let answer = world.hands.remove(&leaf(), MARKER).await;
    let is_whole = world.outside_is_whole().await;
    // Taken away before anything is judged, so that a failing test leaves no mount behind.
    let moved = world.folder.path().join("instances/i/data/.hearth-gone-0-pgdata/photos");
    assert!(mount(&["umount", moved.to_str().unwrap()]) || mount(&["umount", place.to_str().unwrap()]));
    assert!(is_whole);
    assert!(matches!(&answer, Err(Fault::Failed(why)) if why.contains("mounted")), "{answer:?}");
    world.hands.remove(&leaf(), MARKER).await.unwrap();
    assert_eq!(std::fs::read_dir(world.folder.path().join("instances/i/data")).unwrap().count(), 0);
    assert!(world.outside_is_whole().await);
}
