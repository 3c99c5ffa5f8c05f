//! A server killed again and again while the files of its folder change, half a write at a time.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{at, lose, pass_until_gone, secret, write};
use crate::home::{Dice, Home, budget, on_pretend_with_folder};

const KILLS: usize = 25;
/// A process lives at most so long.
const LIFE: Duration = Duration::from_millis(700);
/// These have a file all the time, though it may be half written.
const KEPT: [&str; 3] = ["a", "b", "c"];
/// These come and go.
const LOST: [&str; 3] = ["x", "y", "z"];

#[test]
fn pretend_a_server_killed_while_its_files_change_ends_as_they_say_and_takes_nothing_that_has_one() {
    on_pretend_with_folder(async |home| killed(home, &mut Dice::seeded(Dice::fresh_seed())).await);
}

fn file_of(name: &str) -> String {
    format!("{name}.yaml")
}

/// In base64, as it is kept.
const FIRST: &str = "Zmlyc3Q=";
const LAST: &str = "bGFzdA==";
const BY_HAND: &str = "YnkgaGFuZA==";

async fn until_word(home: &Home, name: &str, word: &str) {
    home.until(&format!("secret {name} says {word}"), async || {
        home.pass(1).await;
        (home.find("Secret", name)?.to_value()["data"]["word"] == word).then_some(())
    })
    .await;
}

async fn killed(home: &Home, dice: &mut Dice) {
    home.apply(&secret("mine", "by hand")).await;
    for name in KEPT.iter().chain(&LOST) {
        write(home, &file_of(name), &[&secret(name, "first")]);
    }
    let mut uids = BTreeMap::new();
    for name in KEPT {
        until_word(home, name, FIRST).await;
        uids.insert(name, home.get("Secret", name)["metadata"]["uid"].clone());
    }
    home.stop().await;
    home.world.leave().await;
    for kill in 0..KILLS * budget() {
        let mut process = home.begin_process();
        if dice.below(4) > 0 {
            home.until_accepting(&mut process).await;
        }
        for act in 0..4 {
            change(home, dice, &format!("{kill}-{act}"));
            tokio::time::sleep(dice.time_below(LIFE / 4)).await;
        }
        process.kill();
    }
    for name in KEPT {
        write(home, &file_of(name), &[&secret(name, "last")]);
    }
    write(home, &file_of("x"), &[&secret("x", "last")]);
    for name in ["y", "z"] {
        // It may be lost already.
        let _ = std::fs::remove_file(at(home, &file_of(name)));
    }
    home.world.take_back().await;
    home.serve().await;
    for name in ["x"].into_iter().chain(KEPT) {
        until_word(home, name, LAST).await;
    }
    for name in ["y", "z"] {
        pass_until_gone(home, "Secret", name).await;
    }
    for (name, uid) in uids {
        assert_eq!(home.get("Secret", name)["metadata"]["uid"], uid, "{name} always had its file");
    }
    assert_eq!(home.get("Secret", "mine")["data"]["word"], BY_HAND);
}

/// One thing that happens to the files.
fn change(home: &Home, dice: &mut Dice, word: &str) {
    match dice.below(5) {
        0 | 1 => {
            let name = *dice.one_of(&KEPT);
            write(home, &file_of(name), &[&secret(name, word)]);
        }
        // As an editor that writes in place, and is not done.
        2 => {
            let (name, text) = (*dice.one_of(&KEPT), secret("half", word).to_string());
            let end = 1 + usize::try_from(dice.below(text.len() as u64 - 2)).unwrap();
            std::fs::write(at(home, &file_of(name)), &text[..end]).unwrap();
        }
        3 => {
            let name = *dice.one_of(&LOST);
            write(home, &file_of(name), &[&secret(name, word)]);
        }
        _ => {
            let name = *dice.one_of(&LOST);
            if at(home, &file_of(name)).exists() {
                lose(home, &file_of(name));
            }
        }
    }
}
