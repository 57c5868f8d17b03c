//! What `foretell fleet status --json` prints is what docs/json.md and its schema say.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::support::{Project, Server};

/// Why this is not what the schema says; none: it is.
fn refusal(json: &Value) -> Option<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas/fleet-status.json");
    let schema: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let id = schema["$id"].as_str().expect("it has an id").to_owned();
    let (mut compiler, mut schemas) = (boon::Compiler::new(), boon::Schemas::new());
    compiler.add_resource(&id, schema).unwrap();
    let index = compiler.compile(&id, &mut schemas).unwrap();
    schemas.validate(json, index).err().map(|error| format!("{error:#}"))
}

fn status(project: &Project, server: &Server, arguments: &[&str]) -> Value {
    let output = project.run(&[&["status", "--json", "--nats", &server.url()], arguments].concat());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// The sums are at the top, the campaigns beside them.
#[test]
fn the_status_has_the_sums_of_its_campaigns() {
    let Some(server) = Server::start() else { return };
    let project = Project::of_corpus(&["pairs/lock_order_bug.c"]);
    let nothing = status(&project, &server, &[]);
    assert_eq!(refusal(&nothing), None, "{nothing:#}");
    assert_eq!((&nothing["schema"], &nothing["queued"]), (&json!(1), &json!(0)));

    let first = project.submit(&server, &["--seeds", "2", "--", "./check.sh"]);
    project.worker(&server, &["--drain", "--jobs", "1"]).wait();
    let second = project.submit(&server, &["--seeds", "3", "--", "./check.sh"]);
    let both = status(&project, &server, &["--all"]);
    assert_eq!(refusal(&both), None, "{both:#}");
    let sums = ["queued", "running", "done", "failed"].map(|name| both[name].as_u64());
    assert_eq!(sums, [Some(3), Some(0), Some(2), Some(0)], "{both:#}");
    assert!(both["findings"].as_u64() > Some(0), "{both:#}");
    assert_eq!(both["campaigns"].as_array().map(Vec::len), Some(2), "{both:#}");
    for (campaign, done) in [(first, 2), (second, 0)] {
        let one = status(&project, &server, &[&campaign]);
        assert_eq!((&one["done"], &one["campaigns"][0]["campaign"]), (&json!(done), &json!(campaign)));
    }
}
