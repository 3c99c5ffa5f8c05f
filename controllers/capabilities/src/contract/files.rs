//! What every hand that reaches the folders of instances promises of the files an app is made of.

use std::collections::BTreeMap;

use super::volumes::{MARKER, VolumeWorld, facts, is_refused, leaf, make};
use crate::Fault;

pub(super) fn files(files: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

pub(super) async fn save(world: &dyn VolumeWorld, instance: &str, wanted: &BTreeMap<String, Vec<u8>>) {
    world.volumes().save_files(instance, wanted).await.expect("files can be saved");
    assert_eq!(load(world, instance).await.as_ref(), Some(wanted));
}

pub(super) async fn load(world: &dyn VolumeWorld, instance: &str) -> Option<BTreeMap<String, Vec<u8>>> {
    world.volumes().load_files(instance).await.expect("files can be loaded")
}

pub(super) async fn files_are_read_back_as_saved(world: &dyn VolumeWorld) {
    save(
        world,
        "i",
        &files(&[("compose.yaml", "services: {}\n"), ("rendered/web.json", "{}"), ("empty", "")]),
    )
    .await;
    save(world, "i", &BTreeMap::from([("compose.yaml".to_owned(), vec![0, 159, 146, 150])])).await;
}

pub(super) async fn files_not_named_again_are_removed(world: &dyn VolumeWorld) {
    save(world, "i", &files(&[("a", "1"), ("b/c", "2"), ("b/d", "3"), ("e/f/g", "4")])).await;
    save(world, "i", &files(&[("b/d", "3 anew")])).await;
    save(world, "i", &files(&[])).await;
}

pub(super) async fn a_file_may_become_a_folder_and_back(world: &dyn VolumeWorld) {
    save(world, "i", &files(&[("a", "1")])).await;
    save(world, "i", &files(&[("a/b", "2")])).await;
    save(world, "i", &files(&[("a", "3")])).await;
    is_refused(world.volumes().save_files("i", &files(&[("a", "1"), ("a/b", "2")])).await);
    assert_eq!(load(world, "i").await, Some(files(&[("a", "3")])));
}

pub(super) async fn saving_files_touches_no_data(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    make(world, &leaf).await;
    let before = facts(world, &leaf).await;
    save(world, "i", &files(&[("data/pgdata/x", "x")])).await;
    save(world, "i", &files(&[])).await;
    assert_eq!(facts(world, &leaf).await, before);
}

pub(super) async fn files_of_nobody_are_none(world: &dyn VolumeWorld) {
    assert_eq!(load(world, "i").await, None);
    make(world, &leaf("i", "pgdata")).await;
    assert_eq!(load(world, "i").await, None);
}

pub(super) async fn saved_nothing_is_not_none(world: &dyn VolumeWorld) {
    save(world, "i", &BTreeMap::new()).await;
}

pub(super) async fn file_paths_that_are_not_plain_are_refused(world: &dyn VolumeWorld) {
    for bad in ["", "..", "../../etc/x", "/etc/x", "a/../b", "a//b", "a/", ".hearth-new-x", "a\0"] {
        is_refused(world.volumes().save_files("i", &files(&[(bad, "x")])).await);
    }
    assert_eq!(load(world, "i").await, None);
}

pub(super) async fn removing_files_leaves_the_data(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    make(world, &leaf).await;
    save(world, "i", &files(&[("a/b", "1")])).await;
    world.volumes().remove_files("i").await.expect("files can be removed");
    assert_eq!(load(world, "i").await, None);
    assert_eq!(facts(world, &leaf).await.marker.as_deref(), Some(MARKER));
    world.volumes().remove(&leaf, MARKER).await.expect("a leaf can be removed");
    world.volumes().remove_files("i").await.expect("an instance can be removed");
    assert_eq!(world.volumes().list().await, Ok(Vec::new()));
}

pub(super) async fn removing_files_again_is_success(world: &dyn VolumeWorld) {
    assert_eq!(world.volumes().remove_files("i").await, Ok(()));
    save(world, "i", &files(&[("a", "1")])).await;
    assert_eq!(world.volumes().remove_files("i").await, Ok(()));
    assert_eq!(world.volumes().remove_files("i").await, Ok(()));
    save(world, "i", &files(&[("a", "2")])).await;
}

pub(super) async fn a_package_is_read_whole(world: &dyn VolumeWorld) {
    let wanted = files(&[("app.yaml", "name: x\n"), ("files/deep/er.conf", "a=b"), ("empty", "")]);
    let path = world.package(&wanted).await;
    assert_eq!(world.volumes().read_package(&path).await, Ok(wanted));
}

pub(super) async fn a_package_with_a_link_is_refused(world: &dyn VolumeWorld) {
    let path = world.package(&files(&[("app.yaml", "name: x\n")])).await;
    world.link_in_package(&path).await;
    is_refused(world.volumes().read_package(&path).await);
}

pub(super) async fn a_package_that_is_too_large_is_refused(world: &dyn VolumeWorld) {
    let large = BTreeMap::from([
        ("a".to_owned(), vec![b'x'; 9 * 1024 * 1024]),
        ("b".to_owned(), vec![b'x'; 9 * 1024 * 1024]),
    ]);
    let path = world.package(&large).await;
    is_refused(world.volumes().read_package(&path).await);
    let many = (0..1001).map(|n| (format!("f{n}"), Vec::new())).collect();
    let path = world.package(&many).await;
    is_refused(world.volumes().read_package(&path).await);
}

pub(super) async fn a_package_that_is_not_there_is_missing(world: &dyn VolumeWorld) {
    let path = world.package(&BTreeMap::new()).await;
    let seen = world.volumes().read_package(&format!("{path}-not")).await;
    assert!(matches!(seen, Err(Fault::Missing(_))), "{seen:?}");
}

pub(super) async fn a_package_path_that_is_not_absolute_is_refused(world: &dyn VolumeWorld) {
    let path = world.package(&files(&[("app.yaml", "x")])).await;
    is_refused(world.volumes().read_package(path.trim_start_matches('/')).await);
    is_refused(world.volumes().read_package(&format!("{path}/../x")).await);
}
