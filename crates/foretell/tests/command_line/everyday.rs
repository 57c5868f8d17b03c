//! What is needed every day: `doctor`, `init`, and the runs that are kept.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::Workplace;

#[test]
fn doctor_says_what_it_looked_at() {
    if !testing::has("gcc") {
        return testing::absent("gcc");
    }
    let place = Workplace::new();
    let ran = place.run(&["doctor", "--json"]);
    let report = ran.json();
    let checks = report["checks"].as_array().expect("there are checks");
    for check in checks {
        assert!(check["name"].is_string() && check["found"].is_string(), "{check}");
        assert!(check["ok"].is_boolean() && check["needed"].is_boolean(), "{check}");
        assert!(check["help"].is_string() || check["help"].is_null(), "{check}");
    }
    assert_eq!(report["schema"], 1);
    let compiler = checks.iter().find(|check| check["name"] == "C compiler").expect("it is looked for");
    assert_eq!(compiler["ok"], true, "{compiler}");
    // The exit status says the same.
    let well = checks.iter().all(|check| check["ok"] == true || check["needed"] == false);
    assert_eq!(ran.code, Some(if well { 0 } else { 2 }), "{report:#}");
    let text = place.run(&["doctor"]);
    assert!(
        checks.iter().all(|check| text.text().contains(check["name"].as_str().unwrap())),
        "{}",
        text.text()
    );
    assert_eq!(text.code, ran.code);
}

#[test]
fn init_says_what_it_wrote() {
    let place = Workplace::new();
    place.write("Cargo.toml", "");
    let report = place.run(&["init", "--json", "--with", "meson"]).succeeded().json();
    let expected = serde_json::json!({
        "schema": 1, "files": ["./foretell.toml", "./foretell-native.ini"], "next": "foretell cargo test"
    });
    assert_eq!(report, expected);
    assert!(place.path("foretell.toml").is_file() && place.path("foretell-native.ini").is_file());
    let again = place.run(&["init", "--json"]);
    assert_eq!((again.code, again.stdout), (Some(2), Vec::new()));
}

/// A directory with two hunts.
fn hunted() -> Option<Workplace> {
    if !testing::has("gcc") {
        testing::absent("gcc");
        return None;
    }
    let place = Workplace::new();
    place.write("quiet.c", "#include <pthread.h>\nstatic void *run(void *none) { return none; }\nint main(void) { pthread_t one; pthread_create(&one, 0, run, 0); return pthread_join(one, 0); }\n");
    for _ in 0..2 {
        place.run(&["hunt", "--quiet", "quiet.c"]).succeeded();
    }
    Some(place)
}

#[test]
fn open_hands_the_page_to_the_browser() {
    let Some(place) = hunted() else { return };
    place.write("browser", "#!/bin/sh\nprintf '%s' \"$1\" > opened\ngrep -q '<html' \"$1\"\n");
    std::fs::set_permissions(place.path("browser"), PermissionsExt::from_mode(0o755)).expect("it can be set");
    let open = |browser: &str, run: &[&str]| {
        let mut command = place.command(&[&["open"], run].concat());
        command.env("BROWSER", browser).output().expect("it starts")
    };
    let browser = place.path("browser").display().to_string();
    assert!(open(&browser, &[]).status.success());
    assert_eq!(place.read("opened"), b".foretell/latest/report.html");
    assert!(open(&browser, &[".foretell/1"]).status.success());
    assert_eq!(place.read("opened"), b".foretell/1/report.html");
    for (browser, run) in [("false", ".foretell/1"), (&*browser, ".foretell/9")] {
        let refused = open(browser, &[run]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }
}

#[test]
fn clean_keeps_the_newest() {
    let Some(place) = hunted() else { return };
    let numbers = |report: &Value| {
        let runs = report["runs"].as_array().expect("there are runs");
        runs.iter().filter_map(|run| run["number"].as_u64()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&place.run(&["list", "--json"]).succeeded().json()), [1, 2]);
    let removed = place.run(&["clean", "--json"]).succeeded().json();
    assert_eq!((numbers(&removed), &removed["schema"]), (vec![1], &1.into()));
    assert_eq!(numbers(&place.run(&["list", "--json"]).succeeded().json()), [2]);
    assert!(!place.path(".foretell/1").exists());
    let none = place.run(&["clean"]).succeeded().text();
    assert!(none.starts_with("removed 0 runs"), "{none}");
    assert!(place.run(&["clean", "--keep", "0"]).succeeded().text().starts_with("removed 1 run,"));
}
