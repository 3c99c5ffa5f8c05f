//! Where the server is and how to sign in: the kubeconfig file, and how it is found.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};

use super::exit::{Exit, Failure};

pub(super) mod address;
pub(super) mod file;

/// The variable that names a kubeconfig file where `--kubeconfig` does not.
pub(super) const VARIABLE: &str = "HEARTH_KUBECONFIG";

/// The admin file of the default data directory.
pub(super) const ADMIN_FILE: &str = "/var/lib/hearth/admin.kubeconfig";

/// A server on the same machine or in the same home answers at once, or not at all.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The socket of the default data directory.
const SOCKET: &str = "/var/lib/hearth/hearth.sock";

/// The file to read: the one given, else that of the variable, else one's own where it leads anywhere, else for root the
/// server's socket, else the admin file.
pub(super) fn find(given: Option<&Path>) -> PathBuf {
    let own = || of_this_person().filter(|path| path.is_file() && leads_anywhere(path));
    let socket =
        || Some(PathBuf::from(SOCKET)).filter(|path| rustix::process::geteuid().is_root() && is_socket(path));
    said(given).or_else(own).or_else(socket).unwrap_or_else(|| ADMIN_FILE.into())
}

/// The file to write what is remembered into: the one given, else that of the variable, else one's own.
///
/// # Errors
/// A socket, or nobody's home to have one in.
pub(super) fn own(given: Option<&Path>) -> Result<PathBuf, Failure> {
    match said(given).or_else(of_this_person) {
        Some(path) if is_socket(&path) => {
            Err(Failure::usage(format!("{} is a server's socket, which holds no contexts", path.display()))
                .next("name a kubeconfig file with --kubeconfig FILE"))
        }
        Some(path) => Ok(path),
        None => Err(Failure::usage("there is no home folder to keep it in")
            .next("name a file with --kubeconfig FILE")),
    }
}

/// Whether it names a context: the last may have been forgotten. What cannot be read is not passed over in silence.
fn leads_anywhere(path: &Path) -> bool {
    file::File::read(path).map_or(true, |file| !file.contexts().is_empty())
}

fn said(given: Option<&Path>) -> Option<PathBuf> {
    given.map(Path::to_path_buf).or_else(|| set(VARIABLE))
}

fn set(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn of_this_person() -> Option<PathBuf> {
    let folder = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(folder.join("hearth/kubeconfig"))
}

/// Whether a path is a socket, so that the server is reached through it and not by what a file says.
pub(super) fn is_socket(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

/// Reads a kubeconfig file.
///
/// # Errors
/// A missing, unreadable or misshapen file, in one sentence that says what to do.
pub(super) async fn load(
    path: &Path,
    context: Option<&str>,
    server: Option<&str>,
) -> Result<kube::Config, Failure> {
    let shown = path.display();
    match std::fs::metadata(path).map_err(|error| error.kind()) {
        Err(std::io::ErrorKind::NotFound) => {
            let message = format!("there is no kubeconfig file {shown}");
            let next = format!(
                "`hearth serve` writes admin.kubeconfig into its data directory; name it with --kubeconfig FILE or {VARIABLE}"
            );
            return Err(Failure::new(Exit::Unreachable, message).next(next));
        }
        Err(std::io::ErrorKind::PermissionDenied) => return Err(not_readable(path)),
        _ => {}
    }
    if std::fs::File::open(path).is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied) {
        return Err(not_readable(path));
    }
    let bad = |error: &dyn std::fmt::Display| {
        Failure::new(Exit::Usage, format!("the kubeconfig file {shown} cannot be used: {error}"))
            .next("write it anew by starting `hearth serve`, or name another with --kubeconfig FILE")
    };
    let file = Kubeconfig::read_from(path).map_err(|error| bad(&error))?;
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    let mut config =
        kube::Config::from_custom_kubeconfig(file, &options).await.map_err(|error| bad(&error))?;
    if let Some(server) = server {
        let (server, ..) = address::address(server)?;
        if config.accept_invalid_certs {
            let message =
                format!("{shown} does not check who answers, so its token is sent to no other server");
            return Err(Failure::usage(message)
                .next("log in there with `hearth login`, which asks whether that server is trusted"));
        }
        config.cluster_url = server.parse().map_err(|error| bad(&error))?;
    }
    Ok(settled(config))
}

/// The same, as every verb needs it.
pub(super) fn settled(mut config: kube::Config) -> kube::Config {
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    // A followed log or a watch of a quiet home is silent for hours.
    config.read_timeout = None;
    // A refusal is told at once; whoever wants to try again does.
    config.default_retry = false;
    // The server is in the home; a proxy for the internet does not lead there.
    config.proxy_url = None;
    config
}

fn not_readable(path: &Path) -> Failure {
    Failure::new(Exit::NotAllowed, format!("you may not read the kubeconfig file {}", path.display()))
        .next("use sudo, or name a file of your own with --kubeconfig FILE")
}
