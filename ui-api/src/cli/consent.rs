//! Asking before something is done that a person should have looked at first, or that cannot be taken back.

use std::io::{BufRead, IsTerminal, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::signal::unix::{SignalKind, signal};

use super::exit::{Exit, Failure};
use super::output::Output;

/// Whether a person is being asked, so that an interruption is an answer: no.
static IS_ASKING: AtomicBool = AtomicBool::new(false);

/// Whether all of standard input is being read.
static IS_READING: AtomicBool = AtomicBool::new(false);

/// How the terminal was before it was told not to show what is typed.
static USUAL: Mutex<Option<Termios>> = Mutex::new(None);

/// Whether a person is being asked right now.
pub(super) fn is_asking() -> bool {
    IS_ASKING.load(Ordering::SeqCst)
}

/// Asks on a terminal; where there is none, or `--no-input` was said, `flags` says what to add to the command.
///
/// # Errors
/// The answer was not yes, or nobody could be asked.
pub(super) async fn ask(what: &str, flags: &str, out: &Output) -> Result<(), Failure> {
    if !can_ask(out) {
        return Err(
            Failure::usage(format!("{what}, and nobody can be asked whether that is meant")).next(flags)
        );
    }
    out.say(&format!("{what}. Type yes to go on:"));
    if line().await?.trim() == "yes" { Ok(()) } else { Err(Failure::usage("nothing was changed")) }
}

/// Whether somebody is there to answer.
pub(super) fn can_ask(out: &Output) -> bool {
    out.takes_input() && std::io::stdin().is_terminal()
}

/// What a person types and nobody beside them may read on the screen.
///
/// # Errors
/// Where the terminal is gone.
pub(super) async fn secret(what: &str, out: &Output) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    if let Ok(usual) = tcgetattr(&stdin) {
        let mut quiet = usual.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        *USUAL.lock().unwrap_or_else(PoisonError::into_inner) = Some(usual);
        // A terminal that will not be quiet is still read.
        let _ = tcsetattr(&stdin, OptionalActions::Flush, &quiet);
    }
    out.say(what);
    let read = line().await;
    leave();
    read
}

/// Leaves the terminal as it was found.
pub(super) fn leave() {
    if let Some(usual) = USUAL.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // Nothing more can be done for it if this fails.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &usual);
    }
}

/// What a person types. It is read beside everything else, so that they can be interrupted in it.
///
/// # Errors
/// Where the terminal is gone.
pub(super) async fn line() -> Result<String, Failure> {
    IS_ASKING.store(true, Ordering::SeqCst);
    let read = tokio::task::spawn_blocking(|| {
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer).map(|_| answer)
    })
    .await;
    IS_ASKING.store(false, Ordering::SeqCst);
    match read {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Failure::usage(format!("no answer could be read: {error}"))),
        Err(error) => Err(Failure::new(Exit::Bug, format!("the question was lost: {error}"))),
    }
}

/// All of standard input. Nothing else is done meanwhile, so an interruption is heard beside it, and ends the program.
///
/// # Errors
/// What cannot be read.
pub(super) fn input() -> std::io::Result<String> {
    IS_READING.store(true, Ordering::SeqCst);
    std::thread::spawn(until_left);
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    IS_READING.store(false, Ordering::SeqCst);
    read.map(|_| text)
}

/// Ends the program where a person interrupts it while it reads what they write.
fn until_left() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    runtime.block_on(async {
        let Ok(mut interruptions) = signal(SignalKind::interrupt()) else { return };
        interruptions.recv().await;
        if IS_READING.load(Ordering::SeqCst) {
            std::process::exit(Exit::Interrupted.code().into());
        }
    });
}
