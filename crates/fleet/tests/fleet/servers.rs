//! Servers of other kinds: a cluster, TLS, and all ways to say who we are. What the documentation shows is what is run here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nkeys::KeyPair;
use serde_json::{Value, json};

use super::support::{FLEET, Project, Server, findings, free_port};

/// A way to reach a server: options and variables.
#[derive(Clone, Copy)]
struct Access<'a> {
    options: &'a [&'a str],
    variables: &'a [(&'a str, &'a str)],
}

/// Submits, works and collects; what was found, or why not.
fn hunted(project: &Project, access: Access<'_>, replicas: &str) -> Result<BTreeSet<String>, String> {
    let run = |arguments: &[&str], statuses: &[i32]| {
        let (command, rest) = (&arguments[..1], &arguments[1..]);
        let mut command = project.command(&[command, access.options, rest].concat());
        let output = command.envs(access.variables.iter().copied()).output().unwrap();
        match output.status.code() {
            Some(code) if statuses.contains(&code) => Ok(String::from_utf8(output.stdout).unwrap()),
            _ => Err(String::from_utf8(output.stderr).unwrap()),
        }
    };
    let campaign = run(&["submit", "--replicas", replicas, "--seeds", "3", "--", "./check.sh"], &[0])?;
    run(&["work", "--replicas", replicas, "--drain", "--quiet", "--cache", &project.cache()], &[0])?;
    let report = run(&["collect", "--wait", "-o", "all", campaign.trim(), "--", "--json"], &[0, 1])?;
    let report: Value = serde_json::from_str(&report).unwrap();
    Ok(findings(&report))
}

fn project() -> Project {
    Project::of_corpus(&["pairs/lock_order_bug.c"])
}

/// The block of code after a heading of docs/fleet.md that holds this text.
fn documented(text: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fleet.md");
    let page = fs::read_to_string(page).unwrap();
    let mut blocks = page.split("\n```").skip(1).step_by(2);
    let block = blocks.find(|block| block.contains(text)).unwrap_or_else(|| panic!("no block with {text}"));
    block.split_once('\n').expect("the language of a block").1.to_owned()
}

/// The configuration of the documentation, with ports of this machine.
#[test]
fn three_servers_of_which_one_is_lost() {
    let (clients, routes) = ([(); 3].map(|()| free_port()), [(); 3].map(|()| free_port()));
    let stores = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let configuration = |number: usize| {
        let mut text =
            documented("server_name").replace("server_name: n1", &format!("server_name: n{number}"));
        for (at, route) in (1..).zip(routes) {
            text = text.replace(&format!("nats://n{at}:6222"), &format!("nats://127.0.0.1:{route}"));
        }
        text = text.replace("0.0.0.0:4222", &format!("127.0.0.1:{}", clients[number - 1]));
        text = text.replace("0.0.0.0:6222", &format!("127.0.0.1:{}", routes[number - 1]));
        text.replace("/var/lib/nats", stores[number - 1].path().to_str().unwrap())
    };
    let mut servers = Vec::new();
    for number in 1..=3 {
        let Some(server) = Server::on(clients[number - 1], &configuration(number)) else { return };
        servers.push(server);
    }
    let urls: Vec<String> = servers.iter().map(Server::url).collect();
    let urls = urls.join(",");
    let project = project();
    let access = Access { options: &["--nats", &urls], variables: &[] };
    // Servers that have just met, or lost one, choose who leads them.
    let eventually = || {
        let mut tries = (0..20).map(|_| {
            let found = hunted(&project, access, "3");
            std::thread::sleep(Duration::from_millis(if found.is_ok() { 0 } else { 500 }));
            found
        });
        tries.find(|found| found.is_ok()).expect("the cluster finds a leader").unwrap()
    };
    let whole = eventually();
    assert!(whole.iter().any(|finding| finding.starts_with("deadlock")), "{whole:#?}");
    servers[0].kill();
    assert_eq!(eventually(), whole);
}

/// Makes a certificate with openssl: signed by `ca`, or by itself.
fn certificate(directory: &Path, name: &str, ca: Option<&str>) {
    let (key, certificate) = (format!("{name}.key"), format!("{name}.pem"));
    let mut openssl = Command::new("openssl");
    openssl.current_dir(directory).args(["req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"]);
    openssl.args(["-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", &format!("/CN={name}")]);
    openssl.args(["-keyout", &key, "-out", &certificate]);
    if let Some(ca) = ca {
        openssl.args(["-CA", &format!("{ca}.pem"), "-CAkey", &format!("{ca}.key")]);
        openssl.args(["-addext", "subjectAltName=IP:127.0.0.1"]);
        openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    }
    let made = openssl.output().unwrap();
    assert!(made.status.success(), "{made:?}");
}

#[test]
fn tls_with_certificates_of_both_sides() {
    let is_there =
        Command::new("openssl").arg("version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        return testing::absent("openssl is not installed");
    }
    let project = project();
    let keys = project.path("keys");
    fs::create_dir(&keys).unwrap();
    certificate(&keys, "ca", None);
    certificate(&keys, "server", Some("ca"));
    certificate(&keys, "client", Some("ca"));
    let at = |name: &str| keys.join(name).display().to_string();
    let (ca, pem, key) = (at("ca.pem"), at("client.pem"), at("client.key"));
    let configuration = format!(
        "tls {{ cert_file: {:?}, key_file: {:?}, ca_file: {ca:?}, verify: true }}",
        at("server.pem"),
        at("server.key")
    );
    let Some(server) = Server::configured(&configuration) else { return };
    let url = server.url().replace("nats://", "tls://");
    let options = ["--nats", &url, "--tls-ca", &ca, "--tls-cert", &pem, "--tls-key", &key];
    let by_options = hunted(&project, Access { options: &options, variables: &[] }, "1").unwrap();
    assert!(!by_options.is_empty());
    let variables = [("NATS_URL", &*url), ("NATS_CA", &ca), ("NATS_CERT", &pem), ("NATS_KEY", &key)];
    assert_eq!(hunted(&project, Access { options: &[], variables: &variables }, "1"), Ok(by_options));
    for wrong in [&options[..2], &options[..4]] {
        let refused = hunted(&project, Access { options: wrong, variables: &[] }, "1").unwrap_err();
        assert!(refused.contains("cannot reach the NATS server"), "{wrong:?}: {refused}");
    }
}

#[test]
fn nothing_is_said_to_a_server_without_tls_that_must_have_it() {
    let Some(server) = Server::start() else { return };
    let output = Project::empty().run(&["status", "--tls", "--nats", &server.url()]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("cannot reach the NATS server"), "{said}");
}

/// A token of NATS: claims, signed by a key.
fn token(key: &KeyPair, claims: &Value) -> String {
    let encoded = |value: &[u8]| data_encoding::BASE64URL_NOPAD.encode(value);
    let head = json!({ "typ": "JWT", "alg": "ed25519-nkey" });
    let signed =
        format!("{}.{}", encoded(head.to_string().as_bytes()), encoded(claims.to_string().as_bytes()));
    let signature = key.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", encoded(&signature))
}

/// Accounts as an operator makes them with NATS's own tools: the user has a file of credentials.
#[test]
fn credentials_of_an_account() {
    let (operator, account, system, user) =
        (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account(), KeyPair::new_user());
    let claims = |by: &KeyPair, of: &KeyPair, nats: Value| json!({ "jti": "1", "iat": 1, "iss": by.public_key(), "name": "test", "sub": of.public_key(), "nats": nats });
    let everything = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1,
        "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1
    });
    let of_operator = json!({ "type": "operator", "version": 2, "system_account": system.public_key() });
    let of_account = json!({ "type": "account", "version": 2, "limits": everything });
    let without_streams = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1
    });
    let of_system = json!({ "type": "account", "version": 2, "limits": without_streams });
    let of_user =
        json!({ "type": "user", "version": 2, "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1 });
    let configuration = format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{ {}: {}, {}: {} }}\n",
        token(&operator, &claims(&operator, &operator, of_operator)),
        system.public_key(),
        account.public_key(),
        token(&operator, &claims(&operator, &account, of_account)),
        system.public_key(),
        token(&operator, &claims(&operator, &system, of_system)),
    );
    let Some(server) = Server::configured(&configuration) else { return };
    let project = project();
    let credentials = |signer: &KeyPair| {
        format!(
            "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            token(signer, &claims(signer, &user, of_user.clone())),
            user.seed().unwrap()
        )
    };
    let (file, forged) = (project.path("worker.creds"), project.path("forged.creds"));
    fs::write(&file, credentials(&account)).unwrap();
    fs::write(&forged, credentials(&KeyPair::new_account())).unwrap();
    let (url, file, forged) = (server.url(), file.display().to_string(), forged.display().to_string());
    let by_option = Access { options: &["--nats", &url, "--creds", &file], variables: &[] };
    let found = hunted(&project, by_option, "1").unwrap();
    assert!(!found.is_empty());
    let by_variable = Access { options: &["--nats", &url], variables: &[("NATS_CREDS", &file)] };
    assert_eq!(hunted(&project, by_variable, "1"), Ok(found));
    for options in [&["--nats", &*url][..], &["--nats", &url, "--creds", &forged]] {
        let refused = hunted(&project, Access { options, variables: &[] }, "1").unwrap_err();
        assert!(refused.contains("cannot reach the NATS server"), "{refused}");
    }
}

#[test]
fn keys_passwords_and_tokens() {
    let (user, project) = (KeyPair::new_user(), project());
    let configuration = format!(
        "authorization {{ users: [ {{ nkey: {} }}, {{ user: worker, password: \"of the test\" }} ] }}",
        user.public_key()
    );
    let Some(server) = Server::configured(&configuration) else { return };
    let seed = project.path("user.nk");
    fs::write(&seed, user.seed().unwrap() + "\n").unwrap();
    let (url, seed) = (server.url(), seed.display().to_string());
    let by_key = Access { options: &["--nats", &url, "--nkey", &seed], variables: &[] };
    let found = hunted(&project, by_key, "1").unwrap();
    assert!(!found.is_empty());
    let password = |password| [("NATS_URL", &*url), ("NATS_USER", "worker"), ("NATS_PASSWORD", password)];
    let by_password = hunted(&project, Access { options: &[], variables: &password("of the test") }, "1");
    assert_eq!(by_password.as_ref(), Ok(&found));
    let refused =
        hunted(&project, Access { options: &[], variables: &password("another") }, "1").unwrap_err();
    assert!(refused.contains("cannot reach the NATS server"), "{refused}");
    drop(server);
    let server = Server::configured("authorization { token: \"of the test\" }").unwrap();
    let url = server.url();
    let by_token = Access { options: &["--nats", &url], variables: &[("NATS_TOKEN", "of the test")] };
    assert_eq!(hunted(&project, by_token, "1"), Ok(found));
}

/// The users of the documentation: who may not submit cannot, and neither can a worker that has no targets to publish.
#[test]
fn who_may_submit_is_decided_by_the_server() {
    let configuration =
        documented("submitter").replace("$SUBMIT_PASSWORD", "s").replace("$WORK_PASSWORD", "w");
    let Some(server) = Server::configured(&configuration.replace("$READ_PASSWORD", "r")) else { return };
    let (url, project) = (server.url(), project());
    let run = |user: &str, password: &str, arguments: &[&str]| {
        let mut command = project.command(arguments);
        command
            .envs([("NATS_URL", &*url), ("NATS_USER", user), ("NATS_PASSWORD", password)])
            .output()
            .unwrap()
    };
    let submit = ["submit", "--seeds", "3", "--", "./check.sh"];
    let output = run("submitter", "s", &submit);
    assert!(output.status.success(), "{output:?}");
    for (user, password) in [("worker", "w"), ("reader", "r")] {
        let output = run(user, password, &submit);
        assert_eq!(output.status.code(), Some(2), "{user}: {output:?}");
    }
    let output = run("worker", "w", &["work", "--drain", "--quiet", "--cache", &project.cache()]);
    assert!(output.status.success(), "{output:?}");
    let output = run("reader", "r", &["collect", "--wait", "-o", "all"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let output = run("reader", "r", &["status", "--json"]);
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (first, more) = (&status["campaigns"][0], status["campaigns"].as_array().unwrap().len());
    assert_eq!((&first["done"], &first["queued"], more), (&3.into(), &0.into(), 1), "{status}");
}

/// The job script of the documentation, run as Slurm runs it.
#[test]
fn a_job_of_slurm_works_until_the_queue_is_empty() {
    let Some(server) = Server::start() else { return };
    let project = project();
    let campaign = project.submit(&server, &["--seeds", "4", "--", "./check.sh"]);
    let script = documented("#SBATCH").replace("nats://login-node:4222", &server.url());
    fs::write(project.path("job.sh"), script).unwrap();
    let programs = Path::new(FLEET).parent().unwrap().display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let temporary = project.path("scratch");
    fs::create_dir(&temporary).unwrap();
    let mut job = Command::new("sh");
    job.arg(project.path("job.sh"))
        .env("PATH", path)
        .env("TMPDIR", &temporary)
        .env("SLURM_CPUS_PER_TASK", "2");
    let output = job.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(project.status(&server, &campaign)["done"], 4);
}

/// The manifest of the documentation: its server and its workers are started with the arguments it gives them.
#[test]
fn the_containers_of_kubernetes_work_together() {
    use serde::Deserialize;
    let manifest = documented("kind: StatefulSet");
    let parts: Vec<Value> = serde_norway::Deserializer::from_str(&manifest)
        .map(|part| Value::deserialize(part).unwrap())
        .collect();
    let kinds: Vec<&str> = parts.iter().map(|part| part["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["StatefulSet", "Service", "Deployment"]);
    let container = |part: &Value| part["spec"]["template"]["spec"]["containers"][0].clone();
    let listed = |container: &Value, key: &str| -> Vec<String> {
        container[key].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let words = |container: &Value| listed(container, "args");
    for part in [&parts[0], &parts[2]] {
        let labels = &part["spec"]["template"]["metadata"]["labels"];
        assert_eq!(&part["spec"]["selector"]["matchLabels"], labels, "{}", part["kind"]);
        let volumes = &part["spec"];
        let mounted = &container(part)["volumeMounts"][0]["name"];
        let claims = &volumes["volumeClaimTemplates"][0]["metadata"]["name"];
        let inside = &volumes["template"]["spec"]["volumes"][0]["name"];
        assert!(mounted == claims || mounted == inside, "{}", part["kind"]);
    }
    let (server, worker) = (container(&parts[0]), container(&parts[2]));
    // The image's own entry point is `foretell`.
    assert_eq!(listed(&worker, "command"), ["foretell-fleet"]);
    let selected = &parts[1]["spec"]["selector"];
    assert_eq!(&parts[0]["spec"]["template"]["metadata"]["labels"], selected);
    let address = format!(
        "nats://{}:{}",
        parts[1]["metadata"]["name"].as_str().unwrap(),
        parts[1]["spec"]["ports"][0]["port"]
    );
    if !testing::has("nats-server") {
        return;
    }
    assert_eq!(words(&server), ["-js", "-sd", "/data"], "what `Server::start` starts");
    let server = Server::start().unwrap();
    let project = project();
    let campaign = project.submit(&server, &["--seeds", "3", "--", "./check.sh"]);
    let (url, cache) = (server.url(), project.cache());
    let told = words(&worker);
    assert!(told.contains(&address), "{told:?}");
    let told = told.iter().map(|word| match word.as_str() {
        "/cache" => cache.as_str(),
        word if word == address => url.as_str(),
        word => word,
    });
    let output = project.run(&told.chain(["--drain"]).collect::<Vec<&str>>());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(project.status(&server, &campaign)["done"], 3);
}
