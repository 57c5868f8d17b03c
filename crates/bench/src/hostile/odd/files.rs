//! Odd files other than traces: rules, evidence, schedules, findings, suppressions.

use std::io::Write as _;

use super::Odd;

/// Two writes that race.
const RACE: &str = "T0|w(x)|a:1\nT1|w(x)|a:2\n";

pub(super) const ROWS: [Odd; 10] = [
    Odd {
        name: "a condition of 100,000 parts joined by `&&`",
        before: "overflows the stack",
        arguments: &["predict", "@t.std", "--rules", "@rules.toml"],
        files: || rules(&vec!["true"; 100_000].join(" && ")),
    },
    Odd {
        name: "a condition that adds 400,000 numbers",
        before: "overflows the stack",
        arguments: &["predict", "@t.std", "--rules", "@rules.toml"],
        files: || rules(&format!("{} > 0", vec!["1"; 400_000].join("+"))),
    },
    Odd {
        name: "a condition about 90,000 threads",
        before: "overflows the stack after 10 s",
        arguments: &["predict", "@t.std", "--rules", "@rules.toml"],
        files: || {
            let names: Vec<String> = (0..90_000).map(|number| format!("a{number}")).collect();
            rules(&format!("exists {}: true", names.join(",")))
        },
    },
    Odd {
        name: "a condition that asks 35,000 times for the last writer",
        before: "overflows the stack",
        arguments: &["predict", "@t.std", "--rules", "@rules.toml"],
        files: || rules(&vec!["last_writer(x) == T0"; 35_000].join(" && ")),
    },
    Odd {
        name: "a refutation that splits 24,000 times into 50,000 cases",
        before: "aborts (995 MB)",
        arguments: &["check", "@evidence.json", "--trace", "@t.std"],
        files: || {
            let steps = vec![r#"{"split":{"source":0}},{"case":0}"#; 24_000].join(",");
            let evidence = format!(
                r#"{{"schema":1,"verdict":"infeasible","guaranteed":null,"model":"sync","schedule":null,"refutation":{{"steps":[{steps}]}},"question":{{"reads":[0]}},"trace":{{"path":"t.std","events":50001,"checksum":"crc32:f53d7ae3"}},"budget":null}}"#
            );
            let trace = format!("T0|r(x)|1\n{}", "T1|w(x)|2\n".repeat(50_000));
            vec![("evidence.json", evidence.into()), ("t.std", trace.into())]
        },
    },
    Odd {
        name: "evidence that unpacks to 1 GB of spaces",
        before: "2.5 s, 1.0 GB (1,002 MB)",
        arguments: &["check", "@evidence.json.zst", "--trace", "@t.std"],
        files: || vec![("evidence.json.zst", unpacking_to("{", " ", 1_000)), ("t.std", RACE.into())],
    },
    Odd {
        name: "a schedule that unpacks to 30 million lines",
        before: "aborts (982 MB)",
        arguments: &["check", "@schedule.zst", "--trace", "@t.std"],
        files: schedule,
    },
    Odd {
        name: "a schedule that unpacks to 30 million lines",
        before: "aborts",
        arguments: &["replay", "--schedule", "@schedule.zst"],
        files: schedule,
    },
    Odd {
        name: "findings that spell the name of one recording in 1,000 ways",
        before: "2.5 s, 841 MB",
        arguments: &["report", "@findings.json", "--trace", "@t.std"],
        files: || {
            let finding = |slashes: usize| {
                format!(
                    r#"{{"id":"race-1","kind":"race","rung":"predicted","harm":null,"guaranteed":true,"events":[0,1],"object":"x","locations":["a:1","a:2"],"count":1,"schedule":[],"question":{{"race":[0,1]}},"recording":"sub{}t.std"}}"#,
                    "/".repeat(slashes + 1)
                )
            };
            let findings: Vec<String> = (0..1_000).map(finding).collect();
            let findings = format!(
                r#"{{"schema":1,"trace":{{"events":2,"threads":2,"locks":0,"variables":1,"path":"t.std"}},"model":"rf","method":"poly","findings":[{}],"unknown":0,"candidates":1,"refuted":0,"suppressed":0}}"#,
                findings.join(",")
            );
            let trace = format!("{RACE}{}", "T1|w(x)|a:3\n".repeat(50_000));
            vec![("findings.json", findings.into()), ("t.std", RACE.into()), ("sub/t.std", trace.into())]
        },
    },
    Odd {
        name: "45,000 suppressions, and 20,000 races that none of them is for",
        before: "over 14 s",
        arguments: &["predict", "@t.std", "--only", "race", "--suppressions", "@known.txt"],
        files: || {
            let known: String = (0..45_000).map(|number| format!("race:nothing{number}\n")).collect();
            let races: String =
                (0..40_000).map(|event| format!("T{}|w(x{})|a:{event}\n", event % 2, event / 2)).collect();
            vec![("known.txt", known.into()), ("t.std", races.into())]
        },
    },
];

fn rules(condition: &str) -> Vec<(&'static str, Vec<u8>)> {
    let rules = format!("[[predicate]]\npossibly = '{condition}'\n");
    vec![("rules.toml", rules.into()), ("t.std", RACE.into())]
}

fn schedule() -> Vec<(&'static str, Vec<u8>)> {
    let header =
        "foretell-schedule 2\nmodel rf\nquestion race 0 1\ntrace crc32:add71b4e 2 t.std\nguaranteed yes\n";
    vec![("schedule.zst", unpacking_to(header, "1|T1|0|w(x)|2|0|0\n", 540)), ("t.std", RACE.into())]
}

/// A compressed file of a text, and then another one again and again, for this number of megabytes.
fn unpacking_to(start: &str, text: &str, megabytes: usize) -> Vec<u8> {
    let block = text.repeat((1 << 20) / text.len());
    let write = || {
        let mut out = zstd::Encoder::new(Vec::new(), 3)?;
        out.write_all(start.as_bytes())?;
        (0..megabytes).try_for_each(|_| out.write_all(block.as_bytes()))?;
        out.finish()
    };
    // Writing to memory does not fail; a row without bytes says so if it does.
    write().unwrap_or_default()
}
