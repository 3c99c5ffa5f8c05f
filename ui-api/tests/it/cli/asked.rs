//! On a terminal: a person is asked, and may answer, decline or leave.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use hearth_engine::{Key, Object, WriteOptions};
use hearth_meta::labels::PAUSED_UNTIL;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use serde_json::json;

use super::home::Home;

/// The program on a terminal of its own.
struct OnTerminal {
    program: Child,
    ours: File,
    theirs: OwnedFd,
    /// What it says, as it comes: a terminal that stays silent cannot be read with a deadline.
    heard: Receiver<String>,
    said: String,
}

/// How long anything may take that nobody has to answer.
const SOON: Duration = Duration::from_secs(60);

/// Looks again until it is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: not within {SOON:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl OnTerminal {
    fn start(home: &Home, words: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let open = || File::options().read(true).write(true).open(&name).unwrap();
        #[expect(clippy::disallowed_methods, reason = "the program itself is what is tested")]
        let program = Command::new(env!("CARGO_BIN_EXE_hearth"))
            .args(["--kubeconfig", home.kubeconfig()])
            .args(words)
            .stdin(open())
            .stdout(Stdio::null())
            .stderr(open())
            .spawn()
            .unwrap();
        let (ours, (tell, heard)) = (File::from(ours), channel());
        let mut read = ours.try_clone().unwrap();
        // It ends with the terminal, or once nobody listens.
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = read.read(&mut buffer) {
                if tell.send(String::from_utf8_lossy(&buffer[..count]).into_owned()).is_err() {
                    return;
                }
            }
        });
        Self { program, ours, theirs: open().into(), heard, said: String::new() }
    }

    fn until(&mut self, part: &str) {
        let deadline = Instant::now() + SOON;
        while !self.said.contains(part) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.heard.recv_timeout(left) {
                Ok(text) => self.said.push_str(&text),
                Err(why) => panic!("it never said {part:?} ({why}): {}", self.said),
            }
        }
    }

    fn type_in(&mut self, text: &str) {
        self.ours.write_all(text.as_bytes()).unwrap();
    }

    fn interrupt(&self) {
        let id = rustix::process::Pid::from_raw(self.program.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    }

    /// Its exit code, which must come soon: nobody answers any more.
    fn ended(&mut self) -> Option<i32> {
        let deadline = Instant::now() + SOON;
        while Instant::now() < deadline {
            if let Some(status) = self.program.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.program.kill().unwrap();
        panic!("it never ended: {}", self.said)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_asked_may_answer_decline_or_leave_and_the_terminal_is_as_it_was() {
    let home = Home::start().await;
    home.app("photos").await;
    let file = home.folder.path().join("home.tar").display().to_string();
    let words = ["support", "bundle", "--out", &file];
    for (answer, code, is_written) in [(None, 130, false), (Some("no\n"), 2, false), (Some("yes\n"), 0, true)]
    {
        let (mut asked, before, after, said) = tokio::task::block_in_place(|| {
            let mut asked = OnTerminal::start(&home, &words);
            let before = tcgetattr(&asked.theirs).unwrap();
            asked.until("Type yes to go on:");
            match answer {
                Some(text) => asked.type_in(text),
                None => asked.interrupt(),
            }
            let end = asked.ended();
            assert_eq!(end, Some(code), "{answer:?}: {}", asked.said);
            let after = tcgetattr(&asked.theirs).unwrap();
            let said = asked.said.clone();
            (asked, before, after, said)
        });
        asked.program.wait().unwrap();
        assert_eq!(format!("{before:?}"), format!("{after:?}"), "{said}");
        assert_eq!(std::path::Path::new(&file).exists(), is_written, "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_typed_is_not_shown_and_who_leaves_finds_the_terminal_as_it_was() {
    let home = Home::start().await;
    for (typed, code) in [(Some("two words\n"), 2), (None, 130)] {
        tokio::task::block_in_place(|| {
            let mut asked = OnTerminal::start(&home, &["login", "127.0.0.1:9", "--token-file", "-"]);
            let before = tcgetattr(&asked.theirs).unwrap();
            asked.until("Token (it is not shown):");
            // It is said before the terminal is told.
            let is_quiet = || !tcgetattr(&asked.theirs).unwrap().local_modes.contains(LocalModes::ECHO);
            until("the terminal shows nothing", is_quiet);
            match typed {
                Some(text) => asked.type_in(text),
                None => asked.interrupt(),
            }
            assert_eq!(asked.ended(), Some(code), "{}", asked.said);
            asked.until(if typed.is_some() { "one word" } else { "nothing was changed" });
            assert!(!asked.said.contains("two words"), "{}", asked.said);
            let after = tcgetattr(&asked.theirs).unwrap();
            assert_eq!(format!("{before:?}"), format!("{after:?}"));
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_while_they_write_a_file_into_it_is_let_go() {
    let home = Home::start().await;
    tokio::task::block_in_place(|| {
        let mut asked = OnTerminal::start(&home, &["apply", "-f", "-"]);
        let status = format!("/proc/{}/status", asked.program.id());
        // From then on it hears an interruption; how far it is with reading cannot be seen from here.
        let hears = || {
            let status = std::fs::read_to_string(&status).unwrap_or_default();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0").trim();
            u64::from_str_radix(caught, 16).unwrap_or(0) & 0b10 != 0
        };
        until("it hears an interruption", hears);
        for _ in 0..600 {
            if asked.program.try_wait().unwrap().is_some() {
                break;
            }
            asked.interrupt();
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(asked.ended(), Some(130), "{}", asked.said);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn who_said_no_input_is_not_asked() {
    let home = Home::start().await;
    home.app("photos").await;
    tokio::task::block_in_place(|| {
        let mut asked = OnTerminal::start(&home, &["delete", "app/photos", "--data", "--no-input"]);
        assert_eq!(asked.ended(), Some(2));
        asked.until("add --yes");
        let mut asked =
            OnTerminal::start(&home, &["login", "127.0.0.1:9", "--token-file", "-", "--no-input"]);
        assert_eq!(asked.ended(), Some(2));
        asked.until("--token-file FILE");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_is_taken_back_while_an_upgrade_asks_does_not_come_back_with_it() {
    let home = Home::start().await;
    home.app("photos").await;
    let key = Key::new("App", "household", "photos");
    let mark = async |annotations: serde_json::Value| {
        let options = WriteOptions::default();
        let changed = home.store.update(&key, &options, move |old| {
            let mut value = old.to_value();
            value["metadata"]["annotations"] = annotations;
            Object::from_value(value).map_err(hearth_engine::WriteError::Conflict)
        });
        changed.await.unwrap();
    };
    let until = "2999-01-01T00:00:00Z";
    mark(json!({ PAUSED_UNTIL: until, "example.com/note": "mine" })).await;
    let file = home.file("compose.yml", "services: { web: { image: y } }\n");
    let words = ["upgrade", "photos", "--compose", &file, "--show"];
    let said = home.run(&[&words[..], &["--dry-run"]].concat()).await;
    assert!(said.out.contains("example.com/note: mine") && !said.out.contains(until), "{said:?}");
    let mut asked = tokio::task::block_in_place(|| {
        let mut asked = OnTerminal::start(&home, &words);
        asked.until("Type yes to go on:");
        asked
    });
    mark(json!({})).await;
    tokio::task::block_in_place(|| {
        asked.type_in("yes\n");
        assert_eq!(asked.ended(), Some(0), "{}", asked.said);
    });
    let object = home.store.get(&key).unwrap();
    assert_eq!(object.spec()["compose"], "services: { web: { image: y } }\n");
    assert!(object.annotation(PAUSED_UNTIL).is_none() && object.annotation("example.com/note").is_none());
}
