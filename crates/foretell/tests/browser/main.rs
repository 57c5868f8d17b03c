//! The HTML report in a real browser: what a reader clicks, presses and sees. Skipped, except in CI, where there is no Chromium;
//! set `FORETELL_CHROMIUM` to name one, and `FORETELL_SCREENSHOTS` to a directory to keep pictures (base64 of PNG).

mod chromium;

use std::path::{Path, PathBuf};
use std::process::Command;

use chromium::Browser;
use serde_json::{Value, json};

/// A browser. None: the test is skipped.
fn browser() -> Option<Browser> {
    match chromium::program() {
        Some(program) => Some(Browser::start(&program)),
        None => {
            testing::skip("there is no Chromium; name one in FORETELL_CHROMIUM");
            None
        }
    }
}

/// The report of a trace.
fn report(directory: &Path, name: &str, trace: &str) -> PathBuf {
    std::fs::write(directory.join(format!("{name}.std")), trace).expect("it can be written");
    let file = directory.join(format!("{name}.html"));
    let ran = Command::new(env!("CARGO_BIN_EXE_foretell"))
        .args(["predict", "--quiet", &format!("{name}.std"), "--html"])
        .arg(&file)
        .current_dir(directory)
        .env_remove("FORETELL_OPTIONS")
        .output()
        .expect("it starts");
    assert_ne!(ran.status.code(), Some(2), "{}", String::from_utf8_lossy(&ran.stderr));
    file
}

/// A program of the corpus with its trace.
fn of_corpus(directory: &Path, name: &str) -> PathBuf {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/programs");
    let read = |file: String| std::fs::read_to_string(corpus.join(file)).expect("it is in the corpus");
    std::fs::write(directory.join(format!("{name}.c")), read(format!("{name}.c")))
        .expect("it can be written");
    report(directory, name, &read(format!("{name}.std")))
}

/// Whether something is drawn on both canvases.
const DRAWN: &str = "[...document.querySelectorAll('canvas')].every(c => c.width > 50 && c.getContext('2d').\
                     getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 === 3 && v > 0).length > 500)";

#[test]
fn a_reader_finds_steps_and_reads() {
    let Some(mut page) = browser() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let file = of_corpus(directory.path(), "apache-21285-buggy");
    page.looks(1500, 1000, "light");
    page.open(&file);
    assert_eq!(page.text("main h2"), "Data race on entry.complete");
    assert_eq!(page.value(DRAWN), json!(true));
    assert!(page.text("#where").starts_with("Next · T2: read entry.complete"), "{}", page.text("#where"));
    page.picture("desktop-light");

    // Stepping, by keyboard and by mouse; the source follows.
    page.press("Home");
    assert_eq!(page.text("#where"), "Before the first step");
    page.press("ArrowRight");
    page.press("ArrowRight");
    assert!(page.text("#where").starts_with("Step 2 of 34 · main: fork T2"), "{}", page.text("#where"));
    page.click("#forward", None);
    assert!(page.text("#where").starts_with("Step 3 of 34 · T1: write entry.key"));
    assert!(page.text(".source.moving").contains("entry.key = "), "{}", page.text(".source.moving"));
    assert_eq!(page.text("#live"), "Step 3 of 34: T1, write entry.key, apache-21285-buggy.c:22");
    page.click("#back", None);
    assert!(page.text("#where").starts_with("Step 2 of 34"));

    // A click on an event of the observed run goes to it: the second row, below the names of the threads.
    page.press("Home");
    page.frame();
    page.click("#observed", Some((60.0, 26.0 + 1.5 * 26.0)));
    assert!(page.text("#where").starts_with("Step 2 of 34"), "{}", page.text("#where"));
    assert!(page.text("#tip").contains("main: fork T2"), "{}", page.text("#tip"));

    // Filters, and the next finding.
    page.value("document.querySelector('#kind').value = 'nondeterminism'; document.querySelector('#kind').dispatchEvent(new Event('change'))");
    assert_eq!(page.text("#count"), "4 of 6 findings");
    page.click("#text", None);
    "initial value of cached".chars().for_each(|c| page.press(&c.to_string()));
    assert_eq!(page.text("#count"), "1 of 6 findings");
    page.press("Escape");
    page.press("j");
    assert!(page.text("main h2").contains("cached"), "{}", page.text("main h2"));
    assert!(
        page.text(".source .sees").contains("sees the initial value of cached, not"),
        "{}",
        page.text(".source .sees")
    );

    // A candidate that cannot happen is explained.
    page.value("document.querySelector('#text').value = ''; document.querySelector('#kind').value = ''; document.querySelector('#rung').value = 'ruled-out'; \
                document.querySelector('#rung').dispatchEvent(new Event('change'))");
    page.click(".item", None);
    assert!(page.text("main h2").starts_with("No data race on "), "{}", page.text("main h2"));
    assert!(page.text(".prose").len() > 100);
    page.picture("ruled-out");
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn it_can_be_used_with_the_keyboard_alone() {
    let Some(mut page) = browser() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    page.looks(1500, 1000, "dark");
    page.open(&of_corpus(directory.path(), "apache-21285-buggy"));
    let mut met: Vec<String> = Vec::new();
    for _ in 0..40 {
        page.press("Tab");
        let focus = "(e => e.id || e.className || e.tagName)(document.activeElement)";
        met.push(page.value(focus).as_str().unwrap_or_default().to_owned());
    }
    for wanted in [
        "skip",
        "theme",
        "text",
        "kind",
        "rung",
        "item",
        "first",
        "back",
        "show-reads",
        "observed",
        "predicted",
    ] {
        assert!(met.iter().any(|name| name == wanted), "{wanted} cannot be reached: {met:?}");
    }
    assert_eq!(met[0], "skip", "the first stop leads to the finding");
    // In the list the arrows move, and Enter opens.
    page.value("document.querySelector('.item').focus()");
    page.press("ArrowDown");
    page.press("Enter");
    assert_eq!(page.text("main h2"), "Data race on entry.cleanup");
    page.press("?");
    assert!(page.text("dialog[open]").contains("step forward"));
    page.picture("keyboard");
    page.press("Escape");
    page.press("t");
    assert_eq!(page.value("document.documentElement.dataset.theme"), json!("light"));
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn it_fits_phones_and_both_schemes() {
    let Some(mut page) = browser() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let file = of_corpus(directory.path(), "mozilla-timer-thread-buggy");
    for (name, width, height, scheme) in [
        ("phone-light", 390, 844, "light"),
        ("phone-dark", 390, 844, "dark"),
        ("tablet-light", 900, 1100, "light"),
        ("desktop-dark", 1500, 1000, "dark"),
    ] {
        page.looks(width, height, scheme);
        page.open(&file);
        assert_eq!(page.value("document.documentElement.dataset.theme"), json!(scheme));
        let wide = page.value("document.documentElement.scrollWidth - innerWidth");
        assert!(wide.as_i64().is_some_and(|wide| wide <= 0), "{name} scrolls sideways by {wide}");
        if width < 700 {
            page.picture(&format!("{name}-top"));
            page.click(".views [data-view=observed]", None);
            assert_eq!(
                page.value("getComputedStyle(document.querySelector('.panel.second')).display"),
                json!("none")
            );
            page.value("document.querySelector('.stage').scrollIntoView()");
        }
        page.frame();
        page.picture(name);
    }
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn a_deadlock_is_drawn_as_a_circle_and_small_traces_as_a_lattice() {
    let Some(mut page) = browser() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let trace = "main|fork(A)|t.c:1\nmain|fork(B)|t.c:1\nA|acq(left)|t.c:5\nA|acq(right)|t.c:6\nA|rel(right)|t.c:7\nA|rel(left)|t.c:8\n\
                 B|acq(right)|t.c:15\nB|acq(left)|t.c:16\nB|rel(left)|t.c:17\nB|rel(right)|t.c:18\n";
    page.looks(1500, 1700, "light");
    page.open(&report(directory.path(), "locks", trace));
    assert_eq!(
        page.value("document.querySelector('#wait-for').getAttribute('aria-label')"),
        json!("A waits for right, which B has; B waits for left, which A has")
    );
    assert!(
        page.value("document.querySelectorAll('#lattice circle').length")
            .as_u64()
            .is_some_and(|dots| dots > 8)
    );
    // Blocked acquires hold nothing.
    assert!(
        page.text("[aria-label='Source of A']").contains("is about to acquire right"),
        "{}",
        page.text("#sources")
    );
    assert!(page.text("[aria-label='Source of A'] .holds").ends_with("holds left"));
    page.picture("deadlock");
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn names_cannot_play_tricks() {
    let Some(mut page) = browser() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let name = "</script><img src=x onerror=window.tricked=1>\"'&amp;<!--${x}";
    let trace = format!(
        "{name}|w({name})|{name}:3\nT2|r({name})|__proto__:1\nT2|w(x)|constructor:2\n{name}|w(x)|b.c:9\n"
    );
    page.looks(1500, 1000, "light");
    page.open(&report(directory.path(), "tricks", &trace));
    page.wait("document.querySelectorAll('.item').length > 0");
    assert_eq!(page.value("window.tricked ?? null"), Value::Null);
    assert_eq!(page.value("document.images.length"), json!(0));
    let title = page.text("main h2");
    assert!(title.contains("</script><…>\"'&amp;<!--${x}"), "{title}");
    page.value("document.querySelector('details').open = true");
    page.press("Home");
    page.press("ArrowRight");
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn ten_thousand_events_zoom_and_pan_smoothly() {
    let Some(mut page) = browser() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let mut trace = String::new();
    for round in 0..1250 {
        for thread in ["A", "B"] {
            trace.push_str(&format!("{thread}|acq(m)|t.c:1\n{thread}|w(v{})|t.c:2\n{thread}|rel(m)|t.c:3\n{thread}|r(u{round})|t.c:4\n", round % 7));
        }
    }
    trace.push_str("A|w(x)|t.c:9\nB|w(x)|t.c:10\n");
    page.looks(1500, 1000, "light");
    page.open(&report(directory.path(), "long", &trace));
    page.value(
        "[...document.querySelectorAll('.item')].find(i => i.innerText.startsWith('Data race: x')).click()",
    );
    page.frame();
    assert_eq!(page.value(DRAWN), json!(true));
    page.picture("long-near");
    let started = "(() => { const c = document.querySelector('#observed'); window.drawn = 0; window.began = performance.now(); \
        const turn = () => { c.dispatchEvent(new WheelEvent('wheel', {deltaY: drawn % 2 ? 900 : -400, ctrlKey: drawn % 5 < 3, cancelable: true})); \
        if (++window.drawn < 60) requestAnimationFrame(turn); else window.took = performance.now() - window.began; }; turn(); })()";
    page.value(started);
    page.wait("window.took !== undefined");
    let took = page.value("window.took").as_f64().unwrap_or(f64::MAX);
    // Sixty frames take a second where the browser has a core of its own; here it may share one with other tests.
    assert!(took < 6_000.0, "sixty frames took {took} ms");
    page.press("0");
    page.frame();
    page.picture("long-all");
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn lanes_are_drawn_in_the_frame_that_resizes_them() {
    let Some(mut page) = browser() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    page.looks(1500, 1000, "light");
    page.open(&of_corpus(directory.path(), "apache-21285-buggy"));
    // Observers are called in the order they were made, after the frame's own callbacks: what this one sees is what is painted.
    let seen = format!(
        "new Promise(seen => {{ let first = true; new ResizeObserver(() => {{ if (first) {{ first = false; return; }} seen({DRAWN}); }})\
         .observe(document.querySelector('canvas')); setTimeout(() => {{ document.querySelector('.stage').style.width = '700px'; }}, 50); }})"
    );
    assert_eq!(page.value(&seen), json!(true));
}

#[test]
fn a_page_without_findings_says_what_was_covered() {
    let Some(mut page) = browser() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let trace =
        "main|fork(T1)|1\nmain|acq(m)|2\nmain|w(x)|3\nmain|rel(m)|4\nT1|acq(m)|5\nT1|w(x)|6\nT1|rel(m)|7\n";
    page.looks(400, 800, "light");
    page.open(&report(directory.path(), "clean", trace));
    assert_eq!(page.text("main h2"), "Nothing found");
    let covered = page.text("main");
    assert!(covered.contains("7 events, 2 threads, 1 lock and 1 shared variable"), "{covered}");
    assert_eq!(page.text("#count"), "Nothing found");
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn long_names_take_two_lines() {
    let Some(mut page) = browser() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let name =
        "std::map<std::basic_string<char>,std::vector<std::pair<int,std::shared_ptr<bank::Account>>>>::value"
            .repeat(3);
    let trace = format!(
        "main|fork(worker-thread-number-12)|1\nmain|w({name})|2\nworker-thread-number-12|w({name})|3\n"
    );
    page.looks(400, 800, "light");
    page.open(&report(directory.path(), "long", &trace));
    let lines = "(e => e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight))";
    for (heading, most) in [("main h2", 2.5), (".item b", 3.5)] {
        let height =
            page.value(&format!("{lines}(document.querySelector('{heading}'))")).as_f64().unwrap_or(9.0);
        assert!(height < most, "{heading} has {height} lines");
    }
    // Two of the lines are the name's, and are filled.
    let object = "document.querySelector('.item b .object').getBoundingClientRect().width";
    let item = "document.querySelector('.item b').getBoundingClientRect().width";
    assert_eq!(page.value(&format!("{object} > 0.9 * {item}")), json!(true));
}

/// A line that does not fit goes on below itself, not below its number.
#[test]
fn long_lines_of_source_start_beside_their_numbers() {
    let Some(mut page) = browser() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let call = "pthread_mutex_lock_or_another_function_with_a_long_name(&a_lock_with_a_long_name);";
    let source = format!("static int x;\nvoid f(void)\n{{\n\t\t\t{call}\n        x = 1; // {call}\n}}\n");
    std::fs::write(directory.path().join("deep.c"), source).expect("it can be written");
    let trace = "main|fork(T1)|deep.c:2\nmain|w(x)|deep.c:4\nT1|w(x)|deep.c:5\n";
    let file = report(directory.path(), "deep", trace);
    let beside = "[...document.querySelectorAll('.source pre div')].map(line => { const text = document.createRange();\
                  text.selectNodeContents(line.lastChild); const [first] = text.getClientRects();\
                  return Math.abs(first.top - line.firstChild.getBoundingClientRect().top) < 8; })";
    for width in [400, 1400] {
        page.looks(width, 900, "light");
        page.open(&file);
        let lines = page.value(beside);
        let lines = lines.as_array().expect("a list");
        assert!(lines.len() >= 8 && lines.iter().all(|line| *line == json!(true)), "{width}: {lines:?}");
    }
}

/// What the program does and what would fix it come before all that is long: what can happen, and how the output differs.
#[test]
fn harm_and_fix_are_seen_without_scrolling() {
    let Some(mut page) = browser() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let section =
        |line: u32| format!("main|acq(m)|{line}\nmain|w(x)|{}\nmain|rel(m)|{}\n", line + 1, line + 2);
    let trace = format!("main|fork(T1)|1\n{}{}T1|w(x)|30\nT1|w(x)|31\n", section(2), section(5));
    report(directory.path(), "fix", &trace);
    let foretell = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
        command.args(arguments).current_dir(directory.path()).env_remove("FORETELL_OPTIONS");
        command.output().expect("it starts").stdout
    };
    let found = foretell(&["predict", "fix.std", "--only", "race", "--json"]);
    let mut found: Value = serde_json::from_slice(&found).expect("it is JSON");
    let finding = &mut found["findings"][0];
    (finding["rung"], finding["harm"]) = (json!("confirmed"), json!("output"));
    finding["difference"] = (0..30).map(|line| json!(format!("+line {line}"))).collect();
    std::fs::write(directory.path().join("found.json"), found.to_string()).expect("it can be written");
    foretell(&["report", "found.json", "--html", "harm.html"]);
    for (width, height) in [(1400, 900), (400, 800)] {
        page.looks(width, height, "light");
        page.open(&directory.path().join("harm.html"));
        assert!(page.text(".effect").contains("prints something else"), "{}", page.text(".effect"));
        assert!(page.text(".fix").contains("hold `m` at 30"), "{}", page.text(".fix"));
        let top = |page: &mut Browser, what: &str, end: &str| {
            let place = format!("document.querySelector('{what}').getBoundingClientRect().{end}");
            page.value(&place).as_f64().expect("a number")
        };
        let (effect, fix) = (top(&mut page, ".effect", "top"), top(&mut page, ".fix", "top"));
        let title = top(&mut page, "main h2", "bottom");
        assert!(title < effect && effect < fix && fix < top(&mut page, ".statement", "top"), "{width}");
        let bottom = top(&mut page, ".fix", "bottom");
        assert!(bottom < f64::from(height), "{width}: {bottom}");
        page.picture(&format!("harm-and-fix-{width}"));
    }
}

/// A crash while another thread waits for a lock.
const CRASH: &str = "\
#include <pthread.h>
#include <stddef.h>
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int *pointer;
static void *waits(void *unused) { pthread_mutex_lock(&gate); pthread_mutex_unlock(&gate); return unused; }
static void write_it(void) { *pointer = 1; }
static void *crashes(void *unused) { write_it(); return unused; }
int main(void)
{
    pthread_t first, second;
    pthread_mutex_lock(&gate);
    pthread_create(&first, NULL, waits, NULL);
    pthread_create(&second, NULL, crashes, NULL);
    pthread_join(second, NULL);
    return 0;
}
";

#[test]
fn a_failure_is_shown_with_its_message_and_all_threads() {
    let Some(mut page) = browser() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("crash.c"), CRASH).expect("it can be written");
    let hunt =
        ["hunt", "crash.c", "--quiet", "--timeout", "4", "--html", "crash.html", "--sarif", "crash.sarif"];
    let ran = Command::new(env!("CARGO_BIN_EXE_foretell"))
        .args(hunt)
        .current_dir(directory.path())
        .env_remove("FORETELL_OPTIONS")
        .output()
        .expect("it starts");
    assert_eq!(ran.status.code(), Some(1), "{}", String::from_utf8_lossy(&ran.stderr));
    for (width, height) in [(1400, 900), (400, 800)] {
        page.looks(width, height, "light");
        page.open(&directory.path().join("crash.html"));
        assert_eq!(page.text(".effect.failure"), "The program fails in T2: SIGSEGV at 0x0.");
        let failed = page.text(".failed");
        assert!(failed.contains("T2 failed here") && failed.contains("#0 write_it at crash.c:6"), "{failed}");
        let bottom = page.value("document.querySelector('.failed').getBoundingClientRect().bottom").as_f64();
        assert!(bottom.is_some_and(|bottom| bottom < f64::from(height)), "{width}: {bottom:?}");
        let all = page.text(".ended");
        assert!(all.contains("T1 was waiting") && all.contains("main was "), "{all}");
        page.picture(&format!("failure-{width}"));
    }
    let sarif = std::fs::read(directory.path().join("crash.sarif")).expect("it is there");
    let sarif: Value = serde_json::from_slice(&sarif).expect("it is JSON");
    let stacks = sarif["runs"][0]["results"][0]["stacks"].as_array().expect("stacks");
    let headings: Vec<&str> = stacks.iter().filter_map(|stack| stack["message"]["text"].as_str()).collect();
    assert!(
        headings[0] == "T2 failed here" && headings.iter().any(|it| it.starts_with("T1 was waiting")),
        "{headings:?}"
    );
    assert_eq!(stacks[0]["frames"][0]["location"]["message"]["text"], "write_it");
}

/// However long a path is, its line is seen.
#[test]
fn lines_of_long_paths_are_seen() {
    let Some(mut page) = browser() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let path = "/home/somebody/projects/a-project-with-a-long-name/source/bank/transfer.c";
    let trace = format!("main|fork(T1)|{path}:2\nmain|w(x)|{path}:41\nT1|w(x)|{path}:52\n");
    let file = report(directory.path(), "paths", &trace);
    for width in [400, 1400] {
        page.looks(width, 900, "light");
        page.open(&file);
        let fits = "[...document.querySelectorAll('.item small, .source .at')].every(e => e.scrollWidth <= e.clientWidth)";
        assert_eq!(page.value(fits), json!(true), "{width}");
        assert!(page.text(".item small").contains("transfer.c:41"), "{}", page.text(".item small"));
    }
}
