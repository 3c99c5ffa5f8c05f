//! A bundle comes back as it was written, or not at all.

use std::collections::BTreeMap;

use super::{Bundle, FORMAT, Manifest};

fn bundle() -> Bundle {
    let manifest = Manifest {
        format: FORMAT,
        made_at: "2026-06-01T12:00:00Z".parse().unwrap(),
        program: "1".into(),
        server: "1".into(),
        namespace: "household".into(),
        redacted: 0,
        missing: Vec::new(),
        parts: Vec::new(),
    };
    let part = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
    Bundle::new(manifest, BTreeMap::from([part("doctor.json", "{}"), part("logs/a/b.log", "line\n")]))
}

fn written(bundle: &Bundle) -> Vec<u8> {
    let mut bytes = Vec::new();
    bundle.write(&mut bytes).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Result<Bundle, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("b.tar");
    std::fs::write(&file, bytes).unwrap();
    Bundle::read(&file).map_err(|error| format!("{error:#}"))
}

#[test]
fn what_was_written_comes_back() {
    let bundle = bundle();
    let back = read(&written(&bundle)).unwrap();
    assert_eq!((back.manifest, back.parts), (bundle.manifest, bundle.parts));
}

#[test]
fn one_that_was_cut_short_or_changed_is_refused() {
    let whole = written(&bundle());
    for end in [0, 100, 600, 1100, 2100] {
        assert!(read(&whole[..end]).is_err(), "cut at {end}");
    }
    let mut changed = whole.clone();
    let at = whole.windows(5).position(|part| part == b"line\n").unwrap();
    changed[at] = b'x';
    assert!(read(&changed).unwrap_err().contains("was changed"));
}

#[test]
fn a_backup_is_no_bundle() {
    let mut tar = tar::Builder::new(Vec::new());
    let text = br#"{"format":1,"lineage":"x"}"#;
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    tar.append_data(&mut header, "manifest.json", &text[..]).unwrap();
    assert!(read(&tar.into_inner().unwrap()).is_err());
}
