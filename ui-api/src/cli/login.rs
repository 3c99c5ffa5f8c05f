//! `hearth login`: a server, whom to trust there and who one is, remembered in a kubeconfig file.
//!
//! The token comes from a file or standard input, since others on a machine can read its command lines. It is sent only
//! once the authority of the server's certificate is trusted, and written only once the server took it.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::Args;
use hearth_kinds::HOUSEHOLD;
use k8s_openapi::ByteString;
use kube::config::AuthInfo;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::client::{Client, Reach};
use super::consent;
use super::exit::{Exit, Failure, Outcome};
use super::kubeconfig;
use super::kubeconfig::address::address;
use super::kubeconfig::file::{Entry, File};
use super::output::Output;

pub(crate) mod trust;

/// Remember a server and who you are there.
///
/// Shows the fingerprint of the server's authority and asks; `hearth doctor` on the home's machine shows the same. The
/// token is tried, then all of it is written into a kubeconfig file, which kubectl reads as well.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  hearth login https://home.local:8420 --token-file anna.token\n  pass hearth | hearth login home.local --token-file - --fingerprint 3f9a...\n  hearth login 10.0.0.2 --token-file anna.token --ca ca.crt --name cabin"
)]
pub(super) struct Login {
    /// The server's address.
    #[arg(value_name = "SERVER")]
    address: String,
    /// A file that holds the token, or - for standard input.
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
    /// The certificate of the home's authority, pki/ca.crt of its data directory.
    #[arg(long, value_name = "FILE", conflicts_with = "fingerprint")]
    ca: Option<PathBuf>,
    /// The SHA-256 fingerprint that its authority must have.
    #[arg(long, value_name = "SHA256")]
    fingerprint: Option<String>,
    /// What the context is called [default: the server's name].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Carries out `hearth login`.
///
/// # Errors
/// No server, one that is not trusted, a token it does not take, a file that cannot be written.
pub(super) async fn run(args: Login, reach: &Reach<'_>, out: &Output) -> Outcome {
    let (server, host, port) = address(&args.address)?;
    let path = kubeconfig::own(reach.kubeconfig)?;
    let name = args.name.clone().unwrap_or_else(|| host.clone());
    File::read(&path)?.check(&name, &server, None)?;
    let token = token(&args.token_file, out).await?;
    let root = authority(&args, &host, port, out).await?;
    let client = client(&server, &root, &token)?;
    let (user, seen) = client.who().await.map_err(|trouble| {
        let failure = Failure::from(trouble);
        match failure.exit {
            Exit::NotAllowed => Failure::new(Exit::NotAllowed, format!("{server} does not take this token"))
                .next("have one made there with `hearth token create`; nothing was written"),
            _ => failure,
        }
    })?;
    let usual = seen.into_iter().find(|namespace| namespace != hearth_kinds::token::EVERY_NAMESPACE);
    let namespace = reach.namespace.map(str::to_owned).or(usual).unwrap_or_else(|| HOUSEHOLD.to_owned());
    let authority = pem(&root);
    // Others may have written to it while questions were answered.
    let mut file = File::read(&path)?;
    file.put(&Entry {
        name: &name,
        server: &server,
        authority: &authority,
        user: &user,
        token: &token,
        namespace: &namespace,
    })?;
    file.write()?;
    out.line(&format!(
        "{user} at {server}, in namespace {namespace}: context {name} of {}",
        file.path().display()
    ));
    Ok(Exit::Done)
}

async fn token(file: &Path, out: &Output) -> Result<String, Failure> {
    let failed = |why: String| Failure::usage(format!("no token is in {}: {why}", file.display()));
    let text = match file == Path::new("-") {
        true if consent::can_ask(out) => Ok(consent::secret("Token (it is not shown):", out).await?),
        true if std::io::stdin().is_terminal() => {
            return Err(Failure::usage("a token would have to be typed, and nobody is asked")
                .next("send it through a pipe, or name a file that holds it with --token-file FILE"));
        }
        true => consent::input(),
        false => std::fs::read_to_string(file),
    };
    let text = text.map_err(|error| failed(error.to_string()))?;
    let token = text.trim();
    let is_one = !token.is_empty() && token.chars().all(|letter| letter.is_ascii_graphic());
    if is_one { Ok(token.to_owned()) } else { Err(failed("it must hold one word".into())) }
}

/// The authority that is trusted from now on.
async fn authority(
    args: &Login,
    host: &str,
    port: u16,
    out: &Output,
) -> Result<CertificateDer<'static>, Failure> {
    if let Some(file) = &args.ca {
        return CertificateDer::from_pem_file(file)
            .map_err(|error| Failure::usage(format!("{} holds no certificate: {error}", file.display())));
    }
    let shown = trust::shown(host, port).await?;
    let print = trust::fingerprint(&shown);
    let Some(wanted) = &args.fingerprint else {
        out.say(&format!("the server shows an authority with the SHA-256 fingerprint\n  {print}"));
        out.say("compare it with what `hearth doctor` shows on the home's machine");
        let flags = format!("add --fingerprint {print} once you have compared it, or --ca FILE");
        consent::ask("it would be trusted from now on", &flags, out).await?;
        return Ok(shown);
    };
    if trust::is_same(wanted, &print) {
        return Ok(shown);
    }
    let message = format!("the server's authority has another fingerprint: {print}");
    Err(Failure::new(Exit::NotAllowed, message)
        .next("that is another server than you meant; no token was sent"))
}

fn pem(certificate: &CertificateDer<'_>) -> String {
    let text = serde_json::to_value(ByteString(certificate.to_vec())).unwrap_or_default();
    let lines: Vec<String> = text
        .as_str()
        .unwrap_or_default()
        .as_bytes()
        .chunks(64)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

fn client(server: &str, root: &CertificateDer<'_>, token: &str) -> Result<Client, Failure> {
    let bad = |error: &dyn std::fmt::Display| Failure::usage(format!("{server} cannot be asked: {error}"));
    let mut config = kube::Config::new(server.parse().map_err(|error| bad(&error))?);
    config.root_cert = Some(vec![root.to_vec()]);
    config.auth_info = AuthInfo { token: Some(token.to_owned().into()), ..AuthInfo::default() };
    Client::of(kubeconfig::settled(config))
}
