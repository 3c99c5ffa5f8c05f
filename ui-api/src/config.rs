//! The settings of a server: flags before variables before the file before what is built in.
//!
//! clap reads flags and `HEARTH_...` variables; here they are joined with the file and judged, every problem at
//! once, each named after where it was set.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use hearth_kinds::network::Pool;
use hearth_meta::name::check_label;
use serde::Deserialize;

use crate::serve::ServeOptions;

/// The file that is read where no other is named.
pub const FILE: &str = "/etc/hearth/hearth.toml";

/// The settings of a server, judged and complete.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where everything is kept.
    pub data_dir: PathBuf,
    /// Where the API listens.
    pub listen: SocketAddr,
    /// Where it listens in the home besides, where it does.
    pub lan_listen: Option<SocketAddr>,
    /// Docker's address.
    pub docker: String,
    /// The port apps are reached at.
    pub edge_http_port: u16,
    /// The port apps are reached at over TLS.
    pub edge_https_port: u16,
    /// Caddy's image, where it is not the built-in choice.
    pub caddy_image: Option<String>,
    /// Where the subnets of networks are taken from.
    pub network_pool: Pool,
    /// What names in Docker begin with.
    pub name_prefix: String,
    /// Whether to work on a pretend machine.
    pub pretend: bool,
    /// A folder whose files declare objects, where there is one.
    pub manifests: Option<PathBuf>,
    /// Which log lines are written.
    pub log: String,
}

/// Settings as a person wrote them, by the names of the flags.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct FileSettings {
    data_dir: Option<PathBuf>,
    listen: Option<String>,
    lan_listen: Option<String>,
    docker: Option<String>,
    edge_http_port: Option<u16>,
    edge_https_port: Option<u16>,
    caddy_image: Option<String>,
    network_pool: Option<String>,
    name_prefix: Option<String>,
    pretend: Option<bool>,
    manifests: Option<PathBuf>,
    log: Option<String>,
}

impl Config {
    /// Joins flags, variables and the file.
    ///
    /// # Errors
    /// Every problem, each in one sentence that names the setting.
    pub fn settle(options: ServeOptions) -> Result<Self, Vec<String>> {
        let file = read_file(options.config.as_deref()).map_err(|problem| vec![problem])?;
        let mut problems = Vec::new();
        let data_dir = options.data_dir.or(file.data_dir).unwrap_or_else(|| "/var/lib/hearth".into());
        let listen = options.listen.or(file.listen).unwrap_or_else(|| "127.0.0.1:8420".into());
        let listen = keep(
            &mut problems,
            "listen",
            listen
                .parse()
                .map_err(|_| format!("{listen:?} is not an address and a port; write it as 127.0.0.1:8420")),
        );
        let lan_listen = options.lan_listen.or(file.lan_listen).and_then(|listen| {
            let parsed = listen
                .parse()
                .map_err(|_| format!("{listen:?} is not an address and a port; write it as 0.0.0.0:8421"));
            keep(&mut problems, "lan-listen", parsed)
        });
        let pool = options.network_pool.or(file.network_pool);
        let network_pool =
            keep(&mut problems, "network-pool", pool.map_or(Ok(Pool::DEFAULT), |pool| Pool::parse(&pool)));
        let name_prefix = options.name_prefix.or(file.name_prefix).unwrap_or_else(|| "hearth".into());
        keep(&mut problems, "name-prefix", check_label(&name_prefix));
        let docker = options.docker.or(file.docker).unwrap_or_else(|| "unix:///var/run/docker.sock".into());
        if !docker.starts_with("unix:///") {
            problems.push(format!("docker: {docker:?} is not the address of a UNIX socket; write it as unix:///var/run/docker.sock"));
        }
        let edge_http_port = options.edge_http_port.or(file.edge_http_port).unwrap_or(80);
        let edge_https_port = options.edge_https_port.or(file.edge_https_port).unwrap_or(443);
        if edge_http_port == edge_https_port {
            problems.push(format!(
                "edge-https-port: {edge_https_port} is edge-http-port already; choose another"
            ));
        }
        let (Some(listen), Some(network_pool), true) = (listen, network_pool, problems.is_empty()) else {
            return Err(problems);
        };
        Ok(Self {
            data_dir,
            listen,
            lan_listen,
            docker,
            edge_http_port,
            edge_https_port,
            caddy_image: options.caddy_image.or(file.caddy_image),
            network_pool,
            name_prefix,
            pretend: options.pretend.or(file.pretend).unwrap_or(false),
            manifests: options.manifests.or(file.manifests),
            log: options.log.or(file.log).unwrap_or_else(|| "info".into()),
        })
    }
}

/// Keeps a value, or notes what is wrong with the setting.
fn keep<T>(problems: &mut Vec<String>, setting: &str, judged: Result<T, String>) -> Option<T> {
    judged.map_err(|problem| problems.push(format!("{setting}: {problem}"))).ok()
}

/// A file that was named must be there; the usual one may be missing, but not unreadable.
fn read_file(named: Option<&Path>) -> Result<FileSettings, String> {
    let path = named.unwrap_or(Path::new(FILE));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && named.is_none() => {
            return Ok(FileSettings::default());
        }
        Err(error) => return Err(format!("the settings in {} cannot be read: {error}", path.display())),
    };
    toml::from_str(&text).map_err(|error| format!("{}: {}", path.display(), error.to_string().trim_end()))
}

#[cfg(test)]
mod tests {
    use super::Config;
    use crate::serve::ServeOptions;

    fn with_file(text: &str, options: ServeOptions) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hearth.toml");
        std::fs::write(&file, text).unwrap();
        Config::settle(ServeOptions { config: Some(file), ..options }).map_err(|problems| problems.join("\n"))
    }

    #[test]
    fn what_is_said_on_the_command_line_goes_before_the_file_and_that_before_the_defaults() {
        let options = ServeOptions { listen: Some("127.0.0.1:1".into()), ..ServeOptions::default() };
        let config = with_file("listen = \"127.0.0.1:2\"\nname-prefix = \"den\"\n", options).unwrap();
        assert_eq!(config.listen.port(), 1);
        assert_eq!(config.name_prefix, "den");
        assert_eq!((config.edge_http_port, config.edge_https_port), (80, 443));
    }

    #[test]
    fn every_problem_is_told_at_once_by_its_name() {
        let text =
            "listen = \"here\"\nnetwork-pool = \"10.0.0.0\"\nname-prefix = \"a_b\"\nedge-http-port = 443\n";
        let problems = with_file(text, ServeOptions::default()).unwrap_err();
        for setting in ["listen:", "network-pool:", "name-prefix:", "edge-https-port:"] {
            assert!(problems.contains(setting), "{setting} in {problems}");
        }
    }

    #[test]
    fn a_misspelt_setting_is_refused() {
        let problem = with_file("listn = \"127.0.0.1:1\"\n", ServeOptions::default()).unwrap_err();
        assert!(problem.contains("listn"), "{problem}");
    }
}
