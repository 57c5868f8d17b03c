//! What commands print with `--json` is what the schemas in docs/schemas say.

use std::path::Path;

use serde_json::Value;

use crate::support::{Workplace, example};

/// A trace with condition variables, semaphores and two locks in both orders.
const TABLE: &str = "A|acq(l)|a.c:1\nA|acq(m)|a.c:2\nA|w(x)|a.c:3\nA|rel(m)|a.c:4\nA|rel(l)|a.c:5\nB|acq(m)|b.c:1\nB|acq(l)|b.c:2\nB|r(x)|b.c:3\nB|rel(l)|b.c:4\nB|rel(m)|b.c:5\n";

/// All schemas, compiled; they may refer to each other.
struct Schemas(boon::Schemas, Vec<(String, boon::SchemaIndex)>);

impl Schemas {
    fn read() -> Schemas {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
        let mut compiler = boon::Compiler::new();
        let mut ids = Vec::new();
        for entry in std::fs::read_dir(&directory).expect("there are schemas") {
            let path = entry.expect("an entry").path();
            let schema: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).expect("it is JSON");
            let id = schema["$id"].as_str().expect("it has an id").to_owned();
            compiler.add_resource(&id, schema).expect("it is a resource");
            ids.push((path.file_stem().unwrap().to_string_lossy().into_owned(), id));
        }
        let mut schemas = boon::Schemas::new();
        let compiled = ids.into_iter().map(|(name, id)| {
            let index = compiler.compile(&id, &mut schemas).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, index)
        });
        let compiled = compiled.collect();
        Schemas(schemas, compiled)
    }

    fn refusal(&self, name: &str, json: &Value) -> Option<String> {
        let (_, index) = self.1.iter().find(|(known, _)| known == name).expect("there is such a schema");
        self.0.validate(json, *index).err().map(|error| format!("{error:#}"))
    }
}

#[test]
fn outputs_are_what_the_schemas_say() {
    let schemas = Schemas::read();
    let place = Workplace::new();
    place.write("account.std", example()).write("table.std", TABLE).write("none.std", "A|w(x)|a.c:1\n");
    place.write("impossible.std", "A|acq(l)|a.c:1\nB|acq(l)|b.c:1\nA|w(x)|a.c:2\nB|w(x)|b.c:2\n");
    let feasible = place.run(&["decide", "account.std", "--race", "6,15", "--json"]).stdout;
    let infeasible = place.run(&["decide", "account.std", "--race", "8,13", "--json"]).stdout;
    place.write("yes.json", &feasible).write("no.json", &infeasible);
    let wrong = String::from_utf8(infeasible).unwrap().replace("\"held\":7", "\"held\":5");
    place.write("wrong.json", &wrong);
    place.write("findings.json", place.run(&["predict", "account.std", "--json"]).stdout);
    place.write("fewer.json", place.run(&["predict", "account.std", "--json", "--only", "race"]).stdout);
    let commands: &[(&str, &str)] = &[
        ("stats", "stats account.std --json"),
        ("stats", "stats table.std --json"),
        ("findings", "predict account.std --json"),
        ("findings", "predict table.std --json"),
        ("findings", "predict impossible.std --json --lenient"),
        ("findings", "predict none.std --json"),
        ("findings", "predict account.std --json --all --model sync"),
        ("findings", "predict account.std --json --baseline fewer.json"),
        ("findings", "show account.std race-1 --json"),
        ("evidence", "decide account.std --json --race 6,15"),
        ("evidence", "decide account.std --json --race 8,13"),
        ("evidence", "decide account.std --json --race 6,19"),
        ("evidence", "decide account.std --json --race 6,15 --budget 1"),
        ("evidence", "decide account.std --json --reads 15=initial"),
        ("evidence", "decide account.std --json --cut main=4,auditor=2"),
        ("evidence", "decide table.std --json --deadlock 1,6"),
        ("check", "check yes.json --json"),
        ("check", "check no.json --json"),
        ("check", "check wrong.json --json"),
        ("states", "states account.std --json"),
        ("states", "states account.std --json --possibly done(auditor)==1"),
        ("compare", "compare --json account.std table.std"),
        ("compare", "compare --json account.std table.std --memory 4k"),
        ("diff", "diff --json fewer.json findings.json"),
        ("list", "list --json"),
    ];
    for (schema, command) in commands {
        let ran = place.run(&command.split(' ').collect::<Vec<_>>());
        let json = serde_json::from_slice(&ran.stdout)
            .unwrap_or_else(|_| panic!("{command}: no JSON\n{}", ran.stderr));
        if let Some(why) = schemas.refusal(schema, &json) {
            panic!("{command}: {why}\n{json:#}");
        }
    }
}

#[test]
fn hunts_and_replays_are_what_the_schemas_say() {
    if !testing::has("gcc") {
        return testing::absent("gcc");
    }
    let (schemas, place) = (Schemas::read(), Workplace::new());
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/weather_station.c");
    place.write("weather.c", std::fs::read(program).unwrap());
    place.run(&["cc", "-g", "-O1", "-pthread", "weather.c", "-o", "weather"]).succeeded();
    for (schema, command) in [
        ("findings", "hunt --json weather.c"),
        ("replay", "replay --json race-1"),
        ("findings", "test --json --timeout 20 -- ./weather"),
        ("findings", "merge --json .foretell/latest -o merged"),
        ("findings", "report --json merged"),
        ("list", "list --json"),
    ] {
        let ran = place.run(&command.split(' ').collect::<Vec<_>>());
        let json = serde_json::from_slice(&ran.stdout)
            .unwrap_or_else(|_| panic!("{command}: no JSON\n{}", ran.stderr));
        if let Some(why) = schemas.refusal(schema, &json) {
            panic!("{command}: {why}\n{json:#}");
        }
    }
}

#[test]
fn schemas_refuse_what_is_wrong() {
    let (schemas, place) = (Schemas::read(), Workplace::new());
    place.write("account.std", example());
    let good: Value =
        serde_json::from_slice(&place.run(&["predict", "account.std", "--json"]).stdout).unwrap();
    let changes: [(&str, Value); 4] = [
        ("/schema", 2.into()),
        ("/findings/0/kind", "rcae".into()),
        ("/findings/0/events/0", (-2).into()),
        ("/findings/0/question", serde_json::json!({"race": [1]})),
    ];
    for (at, value) in changes {
        let mut wrong = good.clone();
        *wrong.pointer_mut(at).expect("it is there") = value;
        assert!(schemas.refusal("findings", &wrong).is_some(), "{at} was accepted");
    }
}
