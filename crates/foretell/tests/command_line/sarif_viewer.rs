//! SARIF as the viewer of Visual Studio Code, and the validator it goes by, take it. The rules are those of Microsoft's SARIF multitool: URIs are
//! valid (SARIF1002), regions are consistent (1007), indices lie in their arrays (1009), ids of rules agree (1010). The viewer shows the
//! message of each step of a code flow, and finds relative files in the workspace if their base is `%SRCROOT%`.

use serde_json::Value;

use crate::support::{Workplace, example};

/// A trace whose names need care: spaces, other alphabets, no file at all.
const ODD: &str = "T 1|w([x](1))|a b:c.c:3\nT2|r([x](1))|/abs/ü.c:7:2\nT3|w([x](1))|12\n";

fn sarif_of(place: &Workplace, trace: &str) -> Value {
    place.run(&["predict", trace, "--quiet", "--sarif", "out.sarif"]);
    serde_json::from_slice(&place.read("out.sarif")).expect("it is JSON")
}

/// Every object below that has this field.
fn with_field<'v>(value: &'v Value, field: &str, found: &mut Vec<&'v Value>) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key(field) {
                found.push(value);
            }
            fields.values().for_each(|inner| with_field(inner, field, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| with_field(inner, field, found)),
        _ => {}
    }
}

fn all<'v>(value: &'v Value, field: &str) -> Vec<&'v Value> {
    let mut found = Vec::new();
    with_field(value, field, &mut found);
    found
}

#[test]
fn the_viewer_can_show_every_result() {
    let place = Workplace::new();
    place.write("account.std", example()).write("odd.std", ODD);
    let mut results = 0;
    for trace in ["account.std", "odd.std"] {
        let sarif = sarif_of(&place, trace);
        assert_eq!(sarif["version"], "2.1.0");
        let run = &sarif["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().expect("there are rules");
        for result in run["results"].as_array().expect("there are results") {
            results += 1;
            let index = result["ruleIndex"].as_u64().expect("a rule is named") as usize;
            assert_eq!(rules[index]["id"], result["ruleId"]);
            assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()));
            assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
            for step in all(&result["codeFlows"], "executionOrder") {
                assert!(
                    step["location"]["message"]["text"].as_str().is_some_and(|text| !text.is_empty()),
                    "{step}"
                );
            }
        }
        for place in all(&sarif, "uri").into_iter().chain(all(&sarif, "informationUri")) {
            let uri = place.get("uri").or(place.get("informationUri")).and_then(Value::as_str).unwrap();
            let is_plain = uri.chars().all(|c| c.is_ascii_graphic() && !"\\\"<>^`{|}".contains(c));
            assert!(is_plain, "not a URI: {uri}");
            // The part before a colon would be taken for a scheme.
            let is_relative = place.get("uriBaseId").is_some_and(|base| base == "%SRCROOT%");
            assert!(!is_relative || !uri.split('/').next().unwrap().contains(':'), "{uri}");
        }
        for region in all(&sarif, "startLine") {
            let line = region["startLine"].as_u64().expect("a number");
            assert!(line >= 1 && region["endLine"].as_u64().is_none_or(|end| end >= line), "{region}");
        }
    }
    assert!(results >= 4, "only {results} results were looked at");
}
