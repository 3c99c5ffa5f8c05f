//! The command line: `hearth VERB KIND/NAME`.
//!
//! Every verb is a file of its own and uses the same API as everyone. Data goes to standard output, everything
//! said beside it to standard error; how a verb ended is its exit code (`exit`).

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use hearth_meta::Timestamp;
use tokio::signal::unix::{SignalKind, signal};

pub mod exit;
pub mod output;
mod kubeconfig;
mod socket;
pub(crate) mod client;
pub(crate) mod resource;
pub(crate) mod duration;
pub(crate) mod manifest;
pub(crate) mod caret;
mod table;
mod yaml;
mod jsonpath;
mod progress;
mod apply;
mod get;
mod wait;
mod delete;
mod family;
mod events;
mod describe;
pub(crate) mod why;
pub(crate) mod text_diff;
mod differences;
mod drift;
mod consent;
mod logs;
mod history;
mod rollback;
mod edit;
mod set;
mod install;
mod export;
mod status;
mod top;
mod version;
mod power;
mod pause;
mod reconcile;
mod recover;
mod doctor;
mod support;
mod token;
mod login;
mod context;
mod schema;
mod backup;
mod restore;
mod explain;
mod validate;
mod test;
mod compose;
mod import;
mod completion;
mod complete;

use client::{Client, Reach};
use exit::{Exit, Failure, Outcome};
pub(crate) use login::trust::fingerprint;
use output::{Colour, Output};

/// Keeps a home server true to what its people declared.
#[derive(Debug, Parser)]
#[command(name = "hearth", version, arg_required_else_help = true, after_long_help = Exit::help())]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

/// What every verb takes.
#[derive(Debug, Args)]
struct Globals {
    /// How to reach the server: a kubeconfig file, or the server's socket [default: $HEARTH_KUBECONFIG, else
    /// ~/.config/hearth/kubeconfig, else for root /var/lib/hearth/hearth.sock, else /var/lib/hearth/admin.kubeconfig].
    #[arg(long, global = true, value_name = "FILE", help_heading = "Everywhere")]
    kubeconfig: Option<PathBuf>,
    /// Which context of the kubeconfig file.
    #[arg(long, global = true, value_name = "NAME", help_heading = "Everywhere")]
    context: Option<String>,
    /// Read a support bundle in the place of a server.
    #[arg(long, global = true, value_name = "FILE", conflicts_with_all = ["kubeconfig", "context", "server"], hide_short_help = true, help_heading = "Everywhere")]
    from: Option<PathBuf>,
    /// In which namespace [default: that of the context, else household].
    #[arg(short, long, global = true, value_name = "NAME", help_heading = "Everywhere")]
    namespace: Option<String>,
    /// When to colour.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        hide_short_help = true,
        value_name = "auto|always|never",
        help_heading = "Everywhere"
    )]
    color: Colour,
    /// Say nothing beside the data but errors.
    #[arg(short, long, global = true, help_heading = "Everywhere")]
    quiet: bool,
    /// Another address than that of the kubeconfig file, such as https://home.local:8420.
    #[arg(long, global = true, value_name = "URL", help_heading = "Everywhere")]
    server: Option<String>,
    /// How long an answer may take [default: 30s]; where a verb waits, how long for what it waits for.
    #[arg(long, global = true, value_name = "SPAN", value_parser = duration::parse, help_heading = "Everywhere")]
    timeout: Option<Duration>,
    /// Never ask; fail with the flag to pass instead.
    #[arg(long, global = true, hide_short_help = true, help_heading = "Everywhere")]
    no_input: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
enum Command {
    Serve(crate::serve::ServeOptions),
    Token(token::Token),
    Backup(backup::Backup),
    #[command(flatten)]
    Remote(Remote),
    Recover(recover::Recover),
    Doctor(doctor::Doctor),
    Support(support::Support),
    Login(login::Login),
    Context(context::Context),
    Schema(schema::Schema),
    Version(version::Version),
    #[command(flatten)]
    Local(Local),
}

impl Command {
    /// Whether it waits for something, or may be told to.
    fn waits(&self) -> bool {
        use Remote::{Apply, Delete, Install, Set, Start, Stop, Uninstall, Upgrade, Wait};
        match self {
            Self::Remote(verb) => matches!(
                verb,
                Apply(_)
                    | Delete(_)
                    | Install(_)
                    | Set(_)
                    | Start(_)
                    | Stop(_)
                    | Uninstall(_)
                    | Upgrade(_)
                    | Wait(_)
            ),
            _ => false,
        }
    }
}

/// Verbs that ask a server.
#[derive(Debug, Subcommand)]
enum Remote {
    Apply(apply::Apply),
    Get(get::Get),
    Describe(describe::Describe),
    Why(why::Why),
    Diff(differences::Diff),
    Drift(drift::Drift),
    Wait(wait::Wait),
    Delete(delete::Delete),
    Events(events::Events),
    Logs(logs::Logs),
    Tree(family::Tree),
    Status(status::Status),
    Top(top::Top),
    History(history::History),
    Rollback(rollback::Rollback),
    Edit(edit::Edit),
    Set(set::Set),
    Export(export::Export),
    Install(install::Install),
    Upgrade(install::Upgrade),
    Uninstall(install::Uninstall),
    /// Start an app.
    Start(power::Power),
    /// Stop an app.
    Stop(power::Power),
    Pause(pause::Pause),
    Resume(pause::Resume),
    Reconcile(reconcile::Reconcile),
}

/// Verbs that need none.
#[derive(Debug, Subcommand)]
enum Local {
    Validate(validate::Validate),
    Test(test::Test),
    Explain(explain::Explain),
    Compose(compose::Compose),
    Import(import::Import),
    Restore(restore::Restore),
    ApiResources(version::ApiResources),
    Completion(completion::Completion),
}

/// How the help of a verb is laid out: what it is like before what it takes.
const HELP: &str = "{before-help}{about}{after-help}\n\n{usage-heading} {usage}\n\n{all-args}";

/// The whole command line, as clap has it.
fn whole() -> clap::Command {
    fn shaped(command: clap::Command) -> clap::Command {
        command.help_template(HELP).mut_subcommands(shaped)
    }
    Cli::command().mut_subcommands(shaped)
}

fn parsed(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = whole();
    let found = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches(&found).map_err(|error| error.format(&mut command))
}

/// Carries out a command line on the terminal or pipe this program was started with.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    // A shell that asks what may come next is answered, and nothing else is done.
    clap_complete::CompleteEnv::with_factory(whole).var(completion::ASKED_BY).complete();
    let cli = match parsed(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help that nobody reads any more is no failure.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Done }.into();
        }
    };
    let cli = match cli {
        // A server has a runtime of its own, and no server to ask.
        Cli { command: Command::Serve(options), .. } => return crate::serve::run(options),
        cli => cli,
    };
    let out = Output::standard(cli.globals.color, cli.globals.quiet, cli.globals.no_input);
    // Each world turns a runtime of its own.
    if let Command::Local(Local::Test(args)) = &cli.command {
        return concluded(test::run(args, &out), &out).into();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let exit = match runtime {
        Ok(runtime) => {
            let exit = runtime.block_on(interruptible(cli, &out));
            // A person who was asked and left may never answer; nobody waits for that.
            runtime.shutdown_background();
            exit
        }
        Err(error) => tell(&Failure::new(Exit::Bug, format!("no runtime could be started: {error}")), &out),
    };
    exit.into()
}

/// Carries out a command line with its output kept, as tests do.
pub async fn run_kept(args: impl IntoIterator<Item = OsString>, out: &Output) -> Exit {
    run_kept_at(args, None, out).await
}

/// The same at a moment of the caller's choice, by which all ages are told.
pub async fn run_kept_at(
    args: impl IntoIterator<Item = OsString>,
    now: Option<Timestamp>,
    out: &Output,
) -> Exit {
    match parsed(args) {
        Ok(cli) => finish(cli, now, out).await,
        Err(error) if error.use_stderr() => {
            out.say(&error.to_string());
            Exit::Usage
        }
        Err(help) => {
            out.data(&help.to_string());
            Exit::Done
        }
    }
}

async fn interruptible(cli: Cli, out: &Output) -> Exit {
    // Heard from the beginning: what is done at an interruption must not depend on how far the verb has come.
    let mut interruptions = match signal(SignalKind::interrupt()) {
        Ok(interruptions) => interruptions,
        Err(error) => return tell(&Failure::new(Exit::Bug, format!("no signal can be heard: {error}")), out),
    };
    let mut work = std::pin::pin!(finish(cli, None, out));
    loop {
        tokio::select! {
            exit = &mut work => return exit,
            // The editor has the terminal, and what it makes of the key is its own affair.
            _ = interruptions.recv() => if consent::is_asking() {
                consent::leave();
                out.say("\nnothing was changed");
                return Exit::Interrupted;
            } else if !edit::is_editor_open() {
                out.say("interrupted; what was asked for goes on, see `hearth get all`");
                return Exit::Interrupted;
            },
        }
    }
}

async fn finish(cli: Cli, now: Option<Timestamp>, out: &Output) -> Exit {
    concluded(Box::pin(dispatch(cli, now, out)).await, out)
}

fn concluded(outcome: Outcome, out: &Output) -> Exit {
    match outcome {
        Ok(exit) => exit,
        // Whoever read the data has gone, and wants to hear no more.
        Err(_) if out.is_closed() => Exit::Done,
        Err(failure) => tell(&failure, out),
    }
}

async fn dispatch(cli: Cli, now: Option<Timestamp>, out: &Output) -> Outcome {
    let Globals { kubeconfig, context, namespace, from, server, timeout, .. } = &cli.globals;
    let reach = Reach {
        kubeconfig: kubeconfig.as_deref(),
        context: context.as_deref(),
        namespace: namespace.as_deref(),
        from: from.as_deref(),
        server: server.as_deref(),
        timeout: *timeout,
        waits: cli.command.waits(),
        now,
    };
    match cli.command {
        Command::Serve(_) => Err(Failure::usage("a server is started by the program alone")),
        Command::Token(args) => {
            // There it says what the token is good for.
            let reach = Reach { namespace: None, ..reach };
            token::run(args, namespace.as_deref(), || reach.client(), out).await
        }
        // Only some of it asks a server.
        Command::Backup(args) => backup::run(args, || reach.client(), out).await,
        Command::Local(Local::Validate(args)) => validate::run(&args, namespace.as_deref(), out),
        Command::Local(Local::Test(args)) => test::run_aside(&args, out),
        Command::Local(Local::Explain(args)) => explain::run(&args, out),
        Command::Local(Local::Compose(args)) => compose::run(&args, out),
        Command::Local(Local::Import(args)) => import::run(&args, out),
        Command::Local(Local::Restore(args)) => restore::run(&args, out).await,
        Command::Local(Local::ApiResources(args)) => version::list(&args, out),
        Command::Local(Local::Completion(args)) => completion::run(&args, out),
        Command::Recover(args) => recover::run(args, &reach, out).await,
        Command::Doctor(args) => doctor::run(args, &reach, out).await,
        Command::Login(args) => login::run(args, &reach, out).await,
        Command::Context(args) => context::run(&args, &reach, out),
        Command::Schema(args) => schema::run(args, &reach, out).await,
        Command::Version(args) => version::run(args, &reach, out).await,
        Command::Support(args) => support::run(args, &reach, out).await,
        Command::Remote(verb) => ask(verb, &reach.client().await?.telling(out), out).await,
    }
}

async fn ask(verb: Remote, client: &Client, out: &Output) -> Outcome {
    match verb {
        Remote::Apply(args) => apply::run(args, client, out).await,
        Remote::Get(args) => get::run(args, client, out).await,
        Remote::Describe(args) => describe::run(args, client, out).await,
        Remote::Why(args) => why::run(args, client, out).await,
        Remote::Diff(args) => differences::run(args, client, out).await,
        Remote::Drift(args) => drift::run(args, client, out).await,
        Remote::Wait(args) => wait::run(args, client, out).await,
        Remote::Delete(args) => delete::run(args, client, out).await,
        Remote::Events(args) => events::run(args, client, out).await,
        Remote::Logs(args) => logs::run(args, client, out).await,
        Remote::Status(args) => status::run(args, client, out).await,
        Remote::Top(args) => top::run(args, client, out).await,
        Remote::Tree(args) => family::run(args, client, out).await,
        Remote::History(args) => history::run(args, client, out).await,
        Remote::Rollback(args) => rollback::run(args, client, out).await,
        Remote::Edit(args) => edit::run(args, client, out).await,
        Remote::Set(args) => set::run(args, client, out).await,
        Remote::Export(args) => export::run(args, client, out).await,
        Remote::Install(args) => install::install(args, client, out).await,
        Remote::Upgrade(args) => install::upgrade(args, client, out).await,
        Remote::Uninstall(args) => install::uninstall(args, client, out).await,
        Remote::Start(args) => power::run(args, "Running", client, out).await,
        Remote::Stop(args) => power::run(args, "Stopped", client, out).await,
        Remote::Pause(args) => pause::pause(args, client, out).await,
        Remote::Resume(args) => pause::resume(args, client, out).await,
        Remote::Reconcile(args) => reconcile::run(args, client, out).await,
    }
}

fn tell(failure: &Failure, out: &Output) -> Exit {
    failure.shown.iter().for_each(|line| out.say(line));
    out.say(&format!("{}: {}", output::paint(output::Tone::Bad, "error"), failure.message));
    if !failure.next.is_empty() {
        out.say(&format!("  {}", failure.next));
    }
    failure.exit
}
