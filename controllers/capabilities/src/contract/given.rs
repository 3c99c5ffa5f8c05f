//! What every hand that reaches the folders of instances promises of files that are given to containers.

use super::volumes::{VolumeWorld, is_refused, leaf, make};
use crate::volumes::{Given, GivenFile};

fn file(text: &str) -> GivenFile {
    GivenFile { bytes: text.as_bytes().to_vec(), mode: 0o440, uid: 0, gid: 0 }
}

fn given(files: &[&str]) -> Given {
    Given {
        instance: "i".to_owned(),
        holder: "web".to_owned(),
        files: files.iter().map(|text| file(text)).collect(),
    }
}

async fn find(world: &dyn VolumeWorld, given: &Given) -> Option<Vec<String>> {
    world.volumes().find_given(given).await.expect("given files can be looked for")
}

/// Gives the files; afterwards they are found where they were said to be.
async fn give(world: &dyn VolumeWorld, given: &Given) -> Vec<String> {
    let paths = world.volumes().give(given).await.expect("files can be given");
    assert_eq!(find(world, given).await.as_ref(), Some(&paths));
    assert_eq!(paths.len(), given.files.len());
    paths
}

pub(super) async fn given_files_are_as_they_were_asked_for(world: &dyn VolumeWorld) {
    let mut wanted = given(&["one", ""]);
    if world.may_give_away() {
        (wanted.files[1].uid, wanted.files[1].gid, wanted.files[1].mode) = (1234, 2345, 0o400);
    }
    assert_eq!(find(world, &wanted).await, None);
    let paths = give(world, &wanted).await;
    for (path, file) in paths.iter().zip(&wanted.files) {
        assert!(world.read_given(path).await.as_ref() == Some(file), "{path}");
    }
    assert_eq!(give(world, &wanted).await, paths, "what is there stays where it is");
}

pub(super) async fn another_content_has_another_place(world: &dyn VolumeWorld) {
    let before = give(world, &given(&["one", "two"])).await;
    let changed = given(&["one", "three"]);
    assert_eq!(find(world, &changed).await, None);
    let after = give(world, &changed).await;
    assert_eq!(after[0], before[0]);
    assert_ne!(after[1], before[1]);
    assert!(world.read_given(&before[1]).await.is_none(), "what nobody is given any more is gone");
    assert_eq!(give(world, &given(&["one"])).await, before[..1]);
    assert!(world.read_given(&after[1]).await.is_none());
}

pub(super) async fn a_given_file_that_was_changed_by_hand_is_made_in_another_place(world: &dyn VolumeWorld) {
    let wanted = given(&["one"]);
    let mut before = give(world, &wanted).await;
    for replaces in [false, true] {
        // Replaced by one that reads the same: who mounted the first does not see what is done to the second.
        let text = if replaces { "one" } else { "other" };
        world.change_given(&before[0], text, replaces).await;
        assert_eq!(find(world, &wanted).await, None, "replaced: {replaces}");
        let after = give(world, &wanted).await;
        assert_ne!(after, before);
        assert!(world.read_given(&after[0]).await.as_ref() == Some(&wanted.files[0]));
        before = after;
    }
}

pub(super) async fn what_was_given_is_taken_back_from_its_holder_alone(world: &dyn VolumeWorld) {
    let (mine, other) = (given(&["one"]), Given { holder: "db".to_owned(), ..given(&["one"]) });
    let (paths, others) = (give(world, &mine).await, give(world, &other).await);
    for _ in 0..2 {
        world.volumes().take_back("i", "web").await.expect("files can be taken back, and again");
    }
    assert_eq!(find(world, &mine).await, None);
    assert!(world.read_given(&paths[0]).await.is_none());
    assert_eq!(find(world, &other).await, Some(others));
    world.volumes().take_back("nobody", "web").await.expect("none is success");
}

pub(super) async fn whether_a_holder_has_anything_is_told_without_naming_it(world: &dyn VolumeWorld) {
    let anything = given(&[]);
    assert_eq!(find(world, &anything).await, None);
    give(world, &given(&["one", "two"])).await;
    assert_eq!(find(world, &anything).await, Some(Vec::new()));
    assert_eq!(find(world, &Given { holder: "we".to_owned(), ..anything.clone() }).await, None, "of another");
    world.volumes().take_back("i", "web").await.expect("files can be taken back");
    assert_eq!(find(world, &anything).await, None);
}

pub(super) async fn removing_files_takes_back_what_was_given_and_leaves_the_data(world: &dyn VolumeWorld) {
    make(world, &leaf("i", "pgdata")).await;
    let wanted = given(&["one"]);
    let paths = give(world, &wanted).await;
    world.volumes().remove_files("i").await.expect("files can be removed");
    assert_eq!(find(world, &wanted).await, None);
    assert!(world.read_given(&paths[0]).await.is_none());
    assert_eq!(world.volumes().list().await.expect("leaves can be listed").len(), 1);
}

pub(super) async fn holders_that_are_not_plain_are_refused(world: &dyn VolumeWorld) {
    for bad in ["", "..", "a/b", ".hearth-new-x"] {
        let wanted = Given { holder: bad.to_owned(), ..given(&["one"]) };
        is_refused(world.volumes().give(&wanted).await);
        is_refused(world.volumes().find_given(&wanted).await);
        is_refused(world.volumes().take_back("i", bad).await);
    }
    let mut wanted = given(&["one"]);
    wanted.files[0].mode = 0o4755;
    is_refused(world.volumes().give(&wanted).await);
}
