//! Backups as files: what is written is read back, and what was changed is refused.

use std::path::Path;
use std::sync::Arc;

use hearth_engine::store::copy_closed;
use hearth_engine::{ManualClock, OpenOptions, Store};
use tempfile::TempDir;

use super::{Packed, backups_in, file_name, is_known, unpack};

async fn backup() -> (TempDir, Vec<u8>) {
    let folder = TempDir::new().unwrap();
    let data_dir = folder.path().join("data");
    let clock = Arc::new(ManualClock::new("2026-11-29T12:00:00Z".parse().unwrap()));
    let options = OpenOptions { data_dir: data_dir.clone(), kinds: Vec::new(), clock };
    Store::open(options).await.unwrap().close().await;
    std::fs::create_dir(data_dir.join("pki")).unwrap();
    std::fs::write(data_dir.join("pki/ca.key"), "the authority's key").unwrap();
    std::fs::write(data_dir.join("pki/ca.new"), "half").unwrap();
    std::fs::write(data_dir.join("admin.kubeconfig"), "token: t").unwrap();
    let copy = folder.path().join("copy.db");
    let facts = copy_closed(&data_dir, &copy).await.unwrap();
    let packed = Packed::new(&copy, &data_dir, &facts, "2026-11-29T12:00:00Z".parse().unwrap()).unwrap();
    let mut bytes = Vec::new();
    packed.write(&mut bytes).unwrap();
    (folder, bytes)
}

fn read(folder: &TempDir, bytes: &[u8]) -> Result<TempDir, String> {
    let (file, into) = (folder.path().join("b.tar"), TempDir::new().unwrap());
    std::fs::write(&file, bytes).unwrap();
    unpack(&file, into.path()).map_err(|error| format!("{error:#}"))?;
    Ok(into)
}

#[tokio::test]
async fn every_part_is_read_back_as_it_was() {
    let (folder, bytes) = backup().await;
    let into = read(&folder, &bytes).unwrap();
    let text = |name: &str| std::fs::read_to_string(into.path().join(name)).unwrap();
    assert_eq!(
        (text("pki/ca.key").as_str(), text("admin.kubeconfig").as_str()),
        ("the authority's key", "token: t")
    );
    assert!(!into.path().join("pki/ca.new").exists());
    let key = |folder: &Path| std::fs::read(folder.join("store.key")).unwrap();
    assert_eq!(key(into.path()), key(&folder.path().join("data")));
    let found = backups_in(folder.path()).unwrap();
    assert_eq!(
        (found.len(), found[0].sort, found[0].at.to_string().as_str()),
        (1, "backup", "2026-11-29T12:00:00Z")
    );
}

#[tokio::test]
async fn a_backup_that_is_cut_or_changed_anywhere_is_refused() {
    let (folder, bytes) = backup().await;
    let mut refused = 0;
    for place in (0..bytes.len()).step_by(97) {
        let mut changed = bytes.clone();
        changed[place] ^= 0x10;
        // What lies between the parts belongs to nobody, and times are not looked at.
        refused += usize::from(read(&folder, &changed).is_err());
        let cut = read(&folder, &bytes[..place]).err();
        let is_end = place + 1024 >= bytes.len();
        assert!(cut.is_some() || is_end, "cut at {place} of {}", bytes.len());
    }
    let tried = bytes.len() / 97;
    assert!(refused * 10 > tried * 8, "{refused} of {tried}");
    let at = bytes.windows(19).position(|window| window == b"the authority's key").unwrap();
    let mut changed = bytes.clone();
    changed[at] = b'T';
    let error = read(&folder, &changed).unwrap_err();
    assert_eq!(error, "it was changed: pki/ca.key is not what was put into it");
    assert_eq!(
        read(&folder, b"no tar").unwrap_err(),
        "it is no backup of Hearth: failed to read entire block"
    );
}

#[test]
fn a_part_lies_only_where_it_belongs() {
    for name in ["store.db", "store.key", "admin.kubeconfig", "pki/ca.key", "pki/admin.token.sha256"] {
        assert!(is_known(name), "{name}");
    }
    for name in
        ["", "/etc/passwd", "../store.db", "pki/../store.db", "pki/", "pki/.x", "pki/a/b", "instances/x"]
    {
        assert!(!is_known(name), "{name}");
    }
    assert_eq!(
        file_name("2026-11-29T12:00:00.5Z".parse().unwrap()),
        "hearth-backup-2026-11-29T12-00-00Z.tar"
    );
}
