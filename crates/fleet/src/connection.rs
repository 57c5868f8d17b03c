//! How to reach the server, and who we are to it: everything here is NATS's own.

use std::path::PathBuf;
use std::time::Duration;

use async_nats::{Client, ConnectOptions};
use clap::Args;
use foretell::diagnostics::Diagnostic;

/// Which server, and who we are.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct Connection {
    /// The NATS server, or several of a cluster with commas between them: nats://host:4222, tls://host.
    #[arg(long = "nats", value_name = "URL", env = "NATS_URL", default_value = "nats://127.0.0.1:4222")]
    url: String,
    /// A credentials file.
    #[arg(long, value_name = "FILE", env = "NATS_CREDS", conflicts_with_all = ["nkey", "user", "token"])]
    creds: Option<PathBuf>,
    /// A file with the seed of an nkey.
    #[arg(long, value_name = "FILE", env = "NATS_NKEY", conflicts_with_all = ["user", "token"])]
    nkey: Option<PathBuf>,
    /// A user's name; the password is in the environment variable NATS_PASSWORD.
    #[arg(long, value_name = "NAME", env = "NATS_USER", conflicts_with = "token")]
    user: Option<String>,
    #[arg(long, env = "NATS_PASSWORD", hide = true, hide_env_values = true)]
    password: Option<String>,
    #[arg(long, env = "NATS_TOKEN", hide = true, hide_env_values = true)]
    token: Option<String>,
    /// Certificates of authorities to trust, in addition to the system's.
    #[arg(long, value_name = "FILE", env = "NATS_CA")]
    tls_ca: Option<PathBuf>,
    /// Our certificate, for servers that ask for one.
    #[arg(long, value_name = "FILE", env = "NATS_CERT", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of our certificate.
    #[arg(long, value_name = "FILE", env = "NATS_KEY", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Require TLS.
    #[arg(long)]
    tls: bool,
    /// How many servers of a cluster keep each message: 1, 3 or 5.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=5))]
    pub(crate) replicas: u8,
}

impl Connection {
    /// Connects. Later interruptions are repaired silently.
    pub(crate) async fn connect(&self) -> Result<Client, Diagnostic> {
        let cannot = |error: &dyn std::fmt::Display| {
            Diagnostic::new(format!("cannot reach the NATS server at `{}`: {error}", self.url))
                .help("start one with `nats-server -js -sd ./nats`, or name another with `--nats`: see docs/fleet.md")
        };
        let options = self.options().await?;
        let servers: Vec<async_nats::ServerAddr> = self
            .url
            .split(',')
            .map(|server| server.trim().parse())
            .collect::<Result<_, std::io::Error>>()
            .map_err(|error| cannot(&error))?;
        options.connect(servers).await.map_err(|error| cannot(&error))
    }

    async fn options(&self) -> Result<ConnectOptions, Diagnostic> {
        let read = |path: &PathBuf| {
            let text = std::fs::read_to_string(path);
            text.map_err(|error| Diagnostic::from_io("read", &format!("`{}`", path.display()), &error))
        };
        let mut options = ConnectOptions::new()
            .name("foretell-fleet")
            .connection_timeout(Duration::from_secs(10))
            .request_timeout(Some(Duration::from_secs(20)))
            .reconnect_delay_callback(|attempt| Duration::from_millis((attempt as u64 * 100).min(2_000)));
        if let Some(path) = &self.creds {
            options = options.credentials(&read(path)?).map_err(|error| {
                Diagnostic::new(format!("not a credentials file: {error}"))
                    .in_file(path.display().to_string())
            })?;
        }
        if let Some(path) = &self.nkey {
            options = options.nkey(read(path)?.trim().to_owned());
        }
        if let Some(user) = &self.user {
            options = options.user_and_password(user.clone(), self.password.clone().unwrap_or_default());
        }
        if let Some(token) = &self.token {
            options = options.token(token.clone());
        }
        if let Some(path) = &self.tls_ca {
            options = options.add_root_certificates(path.clone());
        }
        if let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        Ok(options.require_tls(self.tls))
    }
}
