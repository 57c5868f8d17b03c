//! A real server, workers, and programs to hunt in.

use std::collections::BTreeSet;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The program under test.
pub(crate) const FLEET: &str = env!("CARGO_BIN_EXE_foretell-fleet");

/// A NATS server with JetStream that keeps its messages in files; gone with the value.
pub(crate) struct Server {
    process: Child,
    port: u16,
    store: tempfile::TempDir,
    /// More of its configuration.
    configuration: String,
}

impl Server {
    /// Starts one; none: it is not installed, and the test is skipped.
    pub(crate) fn start() -> Option<Server> {
        Server::configured("")
    }

    /// One with more in its configuration.
    pub(crate) fn configured(configuration: &str) -> Option<Server> {
        Server::on(free_port(), configuration)
    }

    /// The same on this port.
    pub(crate) fn on(port: u16, configuration: &str) -> Option<Server> {
        if !testing::has("nats-server") {
            return None;
        }
        let (store, configuration) = (tempfile::tempdir().unwrap(), configuration.to_owned());
        Some(Server { process: launched(port, store.path(), &configuration), port, store, configuration })
    }

    /// Ends it at once, for good.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Kills it, and starts it again on the same files.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.process = launched(self.port, self.store.path(), &self.configuration);
    }
}

impl Server {
    /// Does something on the server that no command does.
    pub(crate) fn with_client<T>(&self, work: impl AsyncFnOnce(async_nats::jetstream::Context) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = async_nats::connect(self.url()).await.unwrap();
            work(async_nats::jetstream::new(client)).await
        })
    }

    /// What is in a stream.
    pub(crate) fn messages(&self, stream: &str) -> Vec<Value> {
        self.with_client(async |jetstream| {
            let stream = jetstream.get_stream(stream).await.unwrap();
            let (first, last) =
                (stream.cached_info().state.first_sequence, stream.cached_info().state.last_sequence);
            let mut all = Vec::new();
            for sequence in first..=last {
                // A job that is done is gone.
                if let Ok(message) = stream.get_raw_message(sequence).await {
                    all.push(serde_json::from_slice(&message.payload).unwrap());
                }
            }
            all
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn launched(port: u16, store: &Path, configuration: &str) -> Child {
    let file = store.join("nats.conf");
    fs::write(&file, configuration).unwrap();
    let mut server = Command::new("nats-server");
    server.args(["-a", "127.0.0.1", "-p", &port.to_string(), "-c"]).arg(file);
    // A configuration that says where messages are kept must be the only one to say so.
    if !configuration.contains("jetstream") {
        server.args(["-js", "-sd"]).arg(store);
    }
    let process = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(started.elapsed() < Duration::from_secs(30), "nats-server does not answer");
        std::thread::sleep(Duration::from_millis(20));
    }
    process
}

/// A worker; killed with the value.
pub(crate) struct Worker(pub(crate) Child);

impl Worker {
    /// Ends it at once, as a machine that loses its power does.
    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Waits for it to end by itself.
    pub(crate) fn wait(mut self) {
        let started = Instant::now();
        while self.0.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < Duration::from_secs(240), "the worker does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(signal).arg(self.0.id().to_string()).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A directory with programs, and what commands in it know.
pub(crate) struct Project {
    directory: tempfile::TempDir,
    cache: tempfile::TempDir,
}

impl Project {
    /// One with these programs of the corpus, built, and a script that runs them.
    pub(crate) fn of_corpus(programs: &[&str]) -> Project {
        let project = Project::empty();
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
        let mut script = "#!/bin/sh\n".to_owned();
        for program in programs {
            let source = corpus.join(program).canonicalize().unwrap();
            project.build_file(&source, &name(program));
            script.push_str(&format!("./{} > /dev/null 2>&1\n", name(program)));
        }
        script.push_str("exit 0\n");
        fs::write(project.path("check.sh"), script).unwrap();
        fs::set_permissions(project.path("check.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        project
    }

    pub(crate) fn empty() -> Project {
        let open = |directory: tempfile::TempDir| {
            // Jobs of a worker that root starts run as another user.
            fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
            directory
        };
        Project { directory: open(tempfile::tempdir().unwrap()), cache: open(tempfile::tempdir().unwrap()) }
    }

    /// Builds a program for recording.
    pub(crate) fn build(&self, source: &str, name: &str) {
        let file = self.path(&format!("{name}.c"));
        fs::write(&file, source).unwrap();
        self.build_file(&file, name);
    }

    /// Builds a program for recording, in the language that its file's name says.
    fn build_file(&self, source: &Path, name: &str) {
        let file = source.to_str().unwrap();
        let built = match source.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => return self.build_crate(source, name),
            Some("cc") => self.run(&["c++", "-std=c++20", "-g", "-O1", "-pthread", file, "-o", name]),
            _ => self.run(&["cc", "-g", "-O1", "-pthread", file, "-o", name]),
        };
        assert!(built.status.success(), "{built:?}");
    }

    /// Builds a crate with one file for recording.
    fn build_crate(&self, source: &Path, name: &str) {
        let at = self.path(&format!("{name}.crate"));
        fs::create_dir_all(at.join("src")).unwrap();
        fs::copy(source, at.join("src/main.rs")).unwrap();
        let manifest = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n[workspace]\n");
        fs::write(at.join("Cargo.toml"), manifest).unwrap();
        let mut build = self.command(&["cargo", "build", "--target-dir", "target"]);
        let built = build.current_dir(&at).output().unwrap();
        assert!(built.status.success(), "{built:?}");
        let program = format!("target/{}-unknown-linux-gnu/debug/{name}", std::env::consts::ARCH);
        fs::copy(at.join(program), self.path(name)).unwrap();
    }

    /// The directories of jobs that are in the cache.
    pub(crate) fn job_directories(&self) -> usize {
        let entries = fs::read_dir(self.cache.path().join("jobs")).unwrap().flatten();
        entries.filter(|entry| entry.path().is_dir()).count()
    }

    pub(crate) fn cache(&self) -> String {
        self.cache.path().display().to_string()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a command of the fleet, or of `foretell`.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(FLEET);
        command.current_dir(self.directory.path()).args(arguments).env_remove("FORETELL_OPTIONS");
        command.stdin(Stdio::null());
        command
    }

    /// Submits; the name of the campaign.
    pub(crate) fn submit(&self, server: &Server, arguments: &[&str]) -> String {
        let url = server.url();
        let output = self.run(&[&["submit", "--nats", &url], arguments].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Starts a worker.
    pub(crate) fn worker(&self, server: &Server, arguments: &[&str]) -> Worker {
        let (url, cache) = (server.url(), self.cache());
        let mut given = vec!["work", "--nats", &url, "--cache", &cache];
        if !arguments.contains(&"--patience") {
            given.extend(["--patience", "3"]);
        }
        let mut command = self.command(&[&given, arguments].concat());
        Worker(command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap())
    }

    /// How far a campaign has come.
    pub(crate) fn status(&self, server: &Server, campaign: &str) -> Value {
        let output = self.run(&["status", "--json", "--nats", &server.url(), campaign]);
        let status: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        status["campaigns"][0].clone()
    }

    /// Waits until a worker does a job.
    pub(crate) fn wait_until_running(&self, server: &Server, campaign: &str) {
        let started = Instant::now();
        loop {
            let status = self.status(server, campaign);
            if status["running"] == 1 {
                return;
            }
            assert!(started.elapsed() < Duration::from_secs(30) && status["done"] == 0, "{status}");
        }
    }

    /// Waits until so many jobs are done.
    pub(crate) fn wait_until_done(&self, server: &Server, campaign: &str, jobs: u64) {
        let started = Instant::now();
        while self.status(server, campaign)["done"].as_u64().unwrap() < jobs {
            assert!(started.elapsed() < Duration::from_secs(120), "{}", self.status(server, campaign));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The report of a campaign.
    pub(crate) fn collect(&self, server: &Server, campaign: &str) -> Value {
        let output =
            self.run(&["collect", "--wait", "--nats", &server.url(), "-o", "all", campaign, "--", "--json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }

    /// The report of the same on this machine alone, without a server.
    pub(crate) fn alone(&self, seeds: &str, command: &str) -> Value {
        let output = self.run(&[
            "test",
            "--json",
            "--seeds",
            seeds,
            "--timeout",
            "3000",
            "--results",
            "alone",
            "--",
            command,
        ]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }
}

/// The name of a program of the corpus.
pub(crate) fn name(program: &str) -> String {
    Path::new(program).file_stem().unwrap().to_str().unwrap().to_owned()
}

/// What a report says was found: what, how certain, where, and in which tests.
pub(crate) fn findings(report: &Value) -> BTreeSet<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut all = BTreeSet::new();
    for finding in list(&report["findings"]) {
        let mut tests: Vec<String> = list(&finding["tests"]).iter().map(text).collect();
        tests.sort();
        let further = list(&finding["more"]).into_iter().map(|more| more["locations"].clone());
        let mut places: Vec<Vec<String>> = std::iter::once(finding["locations"].clone())
            .chain(further)
            .map(|locations| {
                let mut locations: Vec<String> = list(&locations).iter().map(text).collect();
                locations.sort();
                locations
            })
            .collect();
        places.sort();
        let (kind, object, rung) = (text(&finding["kind"]), text(&finding["object"]), text(&finding["rung"]));
        all.insert(format!("{kind} {object} {rung} {} {places:?} {tests:?}", finding["shown"]));
    }
    all
}
