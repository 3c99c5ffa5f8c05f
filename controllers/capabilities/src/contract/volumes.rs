//! What every hand that reaches the folders of instances promises.
//!
//! A side gives a [`VolumeWorld`] and makes one test of each promise that
//! [`volume_promises`](crate::volume_promises) names.

use std::collections::BTreeMap;

use async_trait::async_trait;
use futures::future::BoxFuture;

use super::files::{
    a_file_may_become_a_folder_and_back, a_package_is_read_whole,
    a_package_path_that_is_not_absolute_is_refused, a_package_that_is_not_there_is_missing,
    a_package_that_is_too_large_is_refused, a_package_with_a_link_is_refused,
    file_paths_that_are_not_plain_are_refused, files, files_are_read_back_as_saved,
    files_not_named_again_are_removed, files_of_nobody_are_none, removing_files_again_is_success,
    removing_files_leaves_the_data, save, saved_nothing_is_not_none, saving_files_touches_no_data,
};
use super::given::{
    a_given_file_that_was_changed_by_hand_is_made_in_another_place, another_content_has_another_place,
    given_files_are_as_they_were_asked_for, holders_that_are_not_plain_are_refused,
    removing_files_takes_back_what_was_given_and_leaves_the_data,
    what_was_given_is_taken_back_from_its_holder_alone,
    whether_a_holder_has_anything_is_told_without_naming_it,
};
use crate::volumes::{GivenFile, Leaf, LeafFacts, LeafState, ListedLeaf};
use crate::{Fault, Volumes};

/// A root for instances of one's own, and around it what the suite needs.
#[async_trait]
pub trait VolumeWorld: Send + Sync {
    /// The hands.
    fn volumes(&self) -> &dyn Volumes;

    /// Whether owners can be given, which only root may.
    fn may_give_away(&self) -> bool;

    /// Fills a leaf as a hostile app does: files, deep folders, links to folders outside.
    async fn fill(&self, leaf: &Leaf);

    /// Whether what the links of [`VolumeWorld::fill`] lead to is still there.
    async fn outside_is_whole(&self) -> bool;

    /// Puts a link in the place of a folder under an instance's `data/`, which may be a leaf.
    async fn put_link(&self, leaf: &Leaf);

    /// Puts a file in the place of a leaf.
    async fn put_file(&self, leaf: &Leaf);

    /// Loses a leaf's data: an empty folder without a marker is in its place.
    async fn lose(&self, leaf: &Leaf);

    /// Takes a leaf away.
    async fn take_away(&self, leaf: &Leaf);

    /// Sets the mode of a leaf.
    async fn chmod(&self, leaf: &Leaf, mode: u32);

    /// A new package folder with these files; its path.
    async fn package(&self, files: &BTreeMap<String, Vec<u8>>) -> String;

    /// Puts a link into a package folder.
    async fn link_in_package(&self, path: &str);

    /// What is in a given file now, by where it is on the machine; `None` means it is not there.
    async fn read_given(&self, path: &str) -> Option<GivenFile>;

    /// Changes a given file by hand: in its place, or another file is put there.
    async fn change_given(&self, path: &str, text: &str, replaces: bool);
}

/// One promise about the folders of instances.
pub struct Promise {
    /// Its sentence.
    pub name: &'static str,
    /// Sees whether it is kept.
    pub keep: for<'a> fn(&'a dyn VolumeWorld) -> BoxFuture<'a, ()>,
}

/// Hands every promise about the folders of instances to a macro, one after the other.
#[macro_export]
macro_rules! volume_promises {
    ($callback:ident) => {
        $callback! {
            what_is_not_there_is_absent
            a_leaf_is_made_with_its_marker_owner_and_mode
            a_leaf_without_a_mode_can_be_entered_by_all
            making_again_is_success_and_changes_nothing
            making_over_another_marker_is_a_conflict
            making_over_a_folder_without_a_marker_is_a_conflict
            making_over_a_link_or_a_file_is_a_conflict
            a_leaf_may_be_nested_in_plain_folders
            a_leaf_inside_another_leaf_is_refused
            a_leaf_below_a_link_is_refused
            a_leaf_over_the_folder_of_another_is_a_conflict
            names_that_are_not_plain_are_refused
            lost_data_is_present_without_a_marker
            a_link_and_a_file_are_unsafe
            a_changed_mode_is_seen_and_set_back
            set_changes_only_what_is_said
            set_needs_the_leaf_and_its_marker
            remove_takes_the_leaf_and_everything_in_it
            remove_follows_no_link
            remove_again_is_success
            remove_with_another_marker_is_a_conflict_and_removes_nothing
            remove_leaves_the_neighbours
            adopt_gives_a_leaf_another_marker_and_touches_nothing_in_it
            adopt_again_is_success
            adopt_needs_the_marker_that_was_named
            adopt_marks_a_leaf_whose_marker_is_lost
            adopt_needs_a_plain_folder
            list_names_every_leaf_with_a_marker_and_nothing_else
            instances_are_all_that_have_a_folder
            files_are_read_back_as_saved
            files_not_named_again_are_removed
            a_file_may_become_a_folder_and_back
            saving_files_touches_no_data
            files_of_nobody_are_none
            saved_nothing_is_not_none
            file_paths_that_are_not_plain_are_refused
            removing_files_leaves_the_data
            removing_files_again_is_success
            given_files_are_as_they_were_asked_for
            whether_a_holder_has_anything_is_told_without_naming_it
            another_content_has_another_place
            a_given_file_that_was_changed_by_hand_is_made_in_another_place
            what_was_given_is_taken_back_from_its_holder_alone
            removing_files_takes_back_what_was_given_and_leaves_the_data
            holders_that_are_not_plain_are_refused
            a_package_is_read_whole
            a_package_with_a_link_is_refused
            a_package_that_is_too_large_is_refused
            a_package_that_is_not_there_is_missing
            a_package_path_that_is_not_absolute_is_refused
        }
    };
}

macro_rules! promises {
    ($($promise:ident)*) => {
        /// Every promise about the folders of instances.
        pub const ALL: &[Promise] = &[$(Promise {
            name: stringify!($promise),
            keep: |world| Box::pin($promise(world)),
        }),*];
    };
}
volume_promises!(promises);

/// Sees whether a world keeps the promise of that name.
///
/// # Panics
/// When the promise is broken or not known.
pub async fn keep(world: &dyn VolumeWorld, name: &str) {
    let promise = ALL.iter().find(|promise| promise.name == name).expect("the promise is one of ALL");
    (promise.keep)(world).await;
}

pub(super) const MARKER: &str = "5a2f7a0e-6d0c-4a3e-9a53-0c4f6a1f2b11";
const OTHER_MARKER: &str = "e0f9b2f4-0000-4000-8000-000000000002";

pub(super) fn leaf(instance: &str, path: &str) -> Leaf {
    Leaf { instance: instance.to_owned(), path: path.to_owned() }
}

pub(super) async fn make(world: &dyn VolumeWorld, leaf: &Leaf) {
    world.volumes().make(leaf, MARKER, None, None).await.expect("a leaf can be made");
}

async fn state(world: &dyn VolumeWorld, leaf: &Leaf) -> LeafState {
    world.volumes().inspect(leaf).await.expect("a leaf can be looked at")
}

pub(super) async fn facts(world: &dyn VolumeWorld, leaf: &Leaf) -> LeafFacts {
    match state(world, leaf).await {
        LeafState::Present(facts) => facts,
        other => panic!("{leaf:?} is {other:?}"),
    }
}

fn is_conflict<T: std::fmt::Debug>(answer: Result<T, Fault>) {
    assert!(matches!(answer, Err(Fault::Conflict(_))), "{answer:?}");
}

pub(super) fn is_refused<T: std::fmt::Debug>(answer: Result<T, Fault>) {
    assert!(matches!(answer, Err(Fault::Refused(_))), "{answer:?}");
}

async fn adopt_gives_a_leaf_another_marker_and_touches_nothing_in_it(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    world.volumes().make(&leaf, MARKER, None, Some(0o750)).await.expect("a leaf can be made");
    world.fill(&leaf).await;
    let before = facts(world, &leaf).await;
    world.volumes().adopt(&leaf, Some(MARKER), OTHER_MARKER).await.expect("a leaf can be adopted");
    let after = facts(world, &leaf).await;
    assert_eq!(after, LeafFacts { marker: Some(OTHER_MARKER.to_owned()), ..before });
    world.volumes().set(&leaf, OTHER_MARKER, None, Some(0o700)).await.expect("it is the new one's");
    is_conflict(world.volumes().remove(&leaf, MARKER).await);
    assert!(world.outside_is_whole().await);
}

async fn adopt_again_is_success(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    make(world, &leaf).await;
    for _ in 0..2 {
        world.volumes().adopt(&leaf, Some(MARKER), OTHER_MARKER).await.expect("a leaf can be adopted");
    }
    assert_eq!(facts(world, &leaf).await.marker.as_deref(), Some(OTHER_MARKER));
}

async fn adopt_needs_the_marker_that_was_named(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    make(world, &leaf).await;
    is_conflict(world.volumes().adopt(&leaf, None, OTHER_MARKER).await);
    is_conflict(world.volumes().adopt(&leaf, Some("somebody-else"), OTHER_MARKER).await);
    assert_eq!(facts(world, &leaf).await.marker.as_deref(), Some(MARKER));
    world.lose(&leaf).await;
    is_conflict(world.volumes().adopt(&leaf, Some(MARKER), OTHER_MARKER).await);
    assert_eq!(facts(world, &leaf).await.marker, None);
}

async fn adopt_marks_a_leaf_whose_marker_is_lost(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    make(world, &leaf).await;
    world.lose(&leaf).await;
    world.volumes().adopt(&leaf, None, OTHER_MARKER).await.expect("a leaf can be adopted");
    assert_eq!(facts(world, &leaf).await.marker.as_deref(), Some(OTHER_MARKER));
}

async fn adopt_needs_a_plain_folder(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    let missing = world.volumes().adopt(&leaf, None, OTHER_MARKER).await;
    assert!(matches!(missing, Err(Fault::Missing(_))), "{missing:?}");
    make(world, &leaf).await;
    is_refused(world.volumes().adopt(&self::leaf("i", "pgdata/inner"), None, OTHER_MARKER).await);
    world.take_away(&leaf).await;
    world.put_link(&leaf).await;
    is_conflict(world.volumes().adopt(&leaf, None, OTHER_MARKER).await);
    assert!(world.outside_is_whole().await);
}

async fn instances_are_all_that_have_a_folder(world: &dyn VolumeWorld) {
    assert_eq!(world.volumes().instances().await, Ok(Vec::new()));
    make(world, &leaf("b", "pgdata")).await;
    save(world, "a", &files(&[("compose.yaml", "services: {}")])).await;
    assert_eq!(world.volumes().instances().await, Ok(vec!["a".to_owned(), "b".to_owned()]));
    world.volumes().remove_files("a").await.expect("files can be removed");
    assert_eq!(world.volumes().instances().await, Ok(vec!["b".to_owned()]));
}

async fn what_is_not_there_is_absent(world: &dyn VolumeWorld) {
    assert_eq!(state(world, &leaf("i", "pgdata")).await, LeafState::Absent);
    make(world, &leaf("i", "other")).await;
    assert_eq!(state(world, &leaf("i", "pgdata")).await, LeafState::Absent);
    assert_eq!(state(world, &leaf("i", "deep/er/pgdata")).await, LeafState::Absent);
}

async fn a_leaf_is_made_with_its_marker_owner_and_mode(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    let owner = world.may_give_away().then_some((1234, 2345));
    world.volumes().make(&leaf, MARKER, owner, Some(0o2750)).await.expect("a leaf can be made");
    let facts = facts(world, &leaf).await;
    assert_eq!((facts.marker.as_deref(), facts.mode), (Some(MARKER), 0o2750));
    if let Some((uid, gid)) = owner {
        assert_eq!((facts.uid, facts.gid), (uid, gid));
    }
    assert!(facts.host_path.starts_with('/') && facts.host_path.ends_with("/i/data/pgdata"), "{facts:?}");
}

async fn a_leaf_without_a_mode_can_be_entered_by_all(world: &dyn VolumeWorld) {
    make(world, &leaf("i", "pgdata")).await;
    assert_eq!(facts(world, &leaf("i", "pgdata")).await.mode, 0o755);
}

async fn making_again_is_success_and_changes_nothing(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    world.volumes().make(&leaf, MARKER, None, Some(0o700)).await.expect("a leaf can be made");
    let before = facts(world, &leaf).await;
    world.volumes().make(&leaf, MARKER, None, Some(0o777)).await.expect("a leaf can be made again");
    assert_eq!(facts(world, &leaf).await, before);
}

async fn making_over_another_marker_is_a_conflict(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    make(world, &leaf).await;
    is_conflict(world.volumes().make(&leaf, OTHER_MARKER, None, None).await);
    assert_eq!(facts(world, &leaf).await.marker.as_deref(), Some(MARKER));
}

async fn making_over_a_folder_without_a_marker_is_a_conflict(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    make(world, &leaf).await;
    world.lose(&leaf).await;
    is_conflict(world.volumes().make(&leaf, MARKER, None, None).await);
    assert_eq!(facts(world, &leaf).await.marker, None);
}

async fn making_over_a_link_or_a_file_is_a_conflict(world: &dyn VolumeWorld) {
    let (link, file) = (leaf("i", "link"), leaf("i", "file"));
    make(world, &leaf("i", "other")).await;
    world.put_link(&link).await;
    world.put_file(&file).await;
    is_conflict(world.volumes().make(&link, MARKER, None, None).await);
    is_conflict(world.volumes().make(&file, MARKER, None, None).await);
    assert!(world.outside_is_whole().await);
}

async fn a_leaf_may_be_nested_in_plain_folders(world: &dyn VolumeWorld) {
    let nested = leaf("i", "db/main/pgdata");
    make(world, &nested).await;
    let facts = facts(world, &nested).await;
    assert_eq!(facts.marker.as_deref(), Some(MARKER));
    assert!(facts.host_path.ends_with("/i/data/db/main/pgdata"), "{facts:?}");
}

async fn a_leaf_inside_another_leaf_is_refused(world: &dyn VolumeWorld) {
    make(world, &leaf("i", "outer")).await;
    let inner = leaf("i", "outer/inner");
    is_refused(world.volumes().make(&inner, OTHER_MARKER, None, None).await);
    is_refused(world.volumes().make(&leaf("i", "outer/a/b"), OTHER_MARKER, None, None).await);
    is_refused(world.volumes().remove(&inner, OTHER_MARKER).await);
    assert!(matches!(state(world, &inner).await, LeafState::Unsafe(_)));
}

async fn a_leaf_below_a_link_is_refused(world: &dyn VolumeWorld) {
    make(world, &leaf("i", "other")).await;
    world.put_link(&leaf("i", "link")).await;
    let below = leaf("i", "link/pgdata");
    is_refused(world.volumes().make(&below, MARKER, None, None).await);
    is_refused(world.volumes().set(&below, MARKER, None, Some(0o700)).await);
    is_refused(world.volumes().remove(&below, MARKER).await);
    assert!(matches!(state(world, &below).await, LeafState::Unsafe(_)));
    assert!(world.outside_is_whole().await);
}

async fn a_leaf_over_the_folder_of_another_is_a_conflict(world: &dyn VolumeWorld) {
    let nested = leaf("i", "db/pgdata");
    make(world, &nested).await;
    is_conflict(world.volumes().make(&leaf("i", "db"), OTHER_MARKER, None, None).await);
    is_conflict(world.volumes().remove(&leaf("i", "db"), OTHER_MARKER).await);
    assert_eq!(facts(world, &nested).await.marker.as_deref(), Some(MARKER));
}

async fn names_that_are_not_plain_are_refused(world: &dyn VolumeWorld) {
    let long = "x".repeat(300);
    for bad in ["", ".", "..", "../x", "a/../b", "/a", "a/", "a//b", ".hearth-new-x", "a\0b", &long] {
        is_refused(world.volumes().inspect(&leaf("i", bad)).await);
        is_refused(world.volumes().make(&leaf("i", bad), MARKER, None, None).await);
        is_refused(world.volumes().remove(&leaf("i", bad), MARKER).await);
    }
    for bad in ["", ".", "..", "a/b", ".hearth-x"] {
        is_refused(world.volumes().inspect(&leaf(bad, "pgdata")).await);
        is_refused(world.volumes().make(&leaf(bad, "pgdata"), MARKER, None, None).await);
        is_refused(world.volumes().save_files(bad, &BTreeMap::new()).await);
        is_refused(world.volumes().load_files(bad).await);
        is_refused(world.volumes().remove_files(bad).await);
    }
}

async fn lost_data_is_present_without_a_marker(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    make(world, &leaf).await;
    world.lose(&leaf).await;
    assert_eq!(facts(world, &leaf).await.marker, None);
    world.take_away(&leaf).await;
    assert_eq!(state(world, &leaf).await, LeafState::Absent);
}

async fn a_link_and_a_file_are_unsafe(world: &dyn VolumeWorld) {
    make(world, &leaf("i", "other")).await;
    world.put_link(&leaf("i", "link")).await;
    world.put_file(&leaf("i", "file")).await;
    for (name, word) in [("link", "link"), ("file", "file")] {
        match state(world, &leaf("i", name)).await {
            LeafState::Unsafe(why) => assert!(why.contains(word), "{why}"),
            other => panic!("{name} is {other:?}"),
        }
    }
}

async fn a_changed_mode_is_seen_and_set_back(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    world.volumes().make(&leaf, MARKER, None, Some(0o700)).await.expect("a leaf can be made");
    world.chmod(&leaf, 0o1777).await;
    assert_eq!(facts(world, &leaf).await.mode, 0o1777);
    world.volumes().set(&leaf, MARKER, None, Some(0o700)).await.expect("a mode can be set");
    assert_eq!(facts(world, &leaf).await.mode, 0o700);
}

async fn set_changes_only_what_is_said(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    world.volumes().make(&leaf, MARKER, None, Some(0o750)).await.expect("a leaf can be made");
    let before = facts(world, &leaf).await;
    world.volumes().set(&leaf, MARKER, None, None).await.expect("nothing can be set");
    assert_eq!(facts(world, &leaf).await, before);
    if world.may_give_away() {
        world.volumes().set(&leaf, MARKER, Some((70, 71)), None).await.expect("an owner can be set");
        assert_eq!(facts(world, &leaf).await, LeafFacts { uid: 70, gid: 71, ..before });
    }
}

async fn set_needs_the_leaf_and_its_marker(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    let absent = world.volumes().set(&leaf, MARKER, None, Some(0o700)).await;
    assert!(matches!(absent, Err(Fault::Missing(_))), "{absent:?}");
    make(world, &leaf).await;
    is_conflict(world.volumes().set(&leaf, OTHER_MARKER, None, Some(0o700)).await);
    world.lose(&leaf).await;
    is_conflict(world.volumes().set(&leaf, MARKER, None, Some(0o700)).await);
    world.put_link(&leaf).await;
    is_conflict(world.volumes().set(&leaf, MARKER, None, Some(0o700)).await);
    is_refused(world.volumes().set(&leaf, MARKER, None, Some(0o17777)).await);
}

async fn remove_takes_the_leaf_and_everything_in_it(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "db/pgdata");
    make(world, &leaf).await;
    world.fill(&leaf).await;
    world.volumes().remove(&leaf, MARKER).await.expect("a leaf can be removed");
    assert_eq!(state(world, &leaf).await, LeafState::Absent);
    assert_eq!(world.volumes().list().await, Ok(Vec::new()));
}

async fn remove_follows_no_link(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    make(world, &leaf).await;
    world.fill(&leaf).await;
    world.volumes().remove(&leaf, MARKER).await.expect("a leaf can be removed");
    assert!(world.outside_is_whole().await);
}

async fn remove_again_is_success(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    assert_eq!(world.volumes().remove(&leaf, MARKER).await, Ok(()));
    make(world, &leaf).await;
    assert_eq!(world.volumes().remove(&leaf, MARKER).await, Ok(()));
    assert_eq!(world.volumes().remove(&leaf, MARKER).await, Ok(()));
}

async fn remove_with_another_marker_is_a_conflict_and_removes_nothing(world: &dyn VolumeWorld) {
    let leaf = leaf("i", "pgdata");
    make(world, &leaf).await;
    is_conflict(world.volumes().remove(&leaf, OTHER_MARKER).await);
    assert_eq!(facts(world, &leaf).await.marker.as_deref(), Some(MARKER));
    world.lose(&leaf).await;
    is_conflict(world.volumes().remove(&leaf, MARKER).await);
    world.put_link(&leaf).await;
    is_conflict(world.volumes().remove(&leaf, MARKER).await);
    assert!(world.outside_is_whole().await);
}

async fn remove_leaves_the_neighbours(world: &dyn VolumeWorld) {
    let (gone, stays) = (leaf("i", "db/a"), leaf("i", "db/b"));
    make(world, &gone).await;
    make(world, &stays).await;
    make(world, &leaf("j", "db/a")).await;
    world.volumes().remove(&gone, MARKER).await.expect("a leaf can be removed");
    let left: Vec<Leaf> = world
        .volumes()
        .list()
        .await
        .expect("leaves can be listed")
        .into_iter()
        .map(|listed| listed.leaf)
        .collect();
    assert_eq!(left, [stays, leaf("j", "db/a")]);
}

async fn list_names_every_leaf_with_a_marker_and_nothing_else(world: &dyn VolumeWorld) {
    assert_eq!(world.volumes().list().await, Ok(Vec::new()));
    for (instance, path) in [("i", "a"), ("i", "deep/b"), ("j", "c"), ("j", "lost")] {
        make(world, &leaf(instance, path)).await;
    }
    world.lose(&leaf("j", "lost")).await;
    world.put_link(&leaf("j", "link")).await;
    world.fill(&leaf("i", "a")).await;
    save(world, "j", &files(&[("data/x", "x")])).await;
    let wanted = [("i", "a"), ("i", "deep/b"), ("j", "c")]
        .map(|(instance, path)| ListedLeaf { leaf: leaf(instance, path), marker: MARKER.to_owned() });
    assert_eq!(world.volumes().list().await, Ok(wanted.to_vec()));
}
