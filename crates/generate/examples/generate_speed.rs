//! How fast events are made: `cargo run --release -p foretell-generate --example generate_speed [EVENTS]`.

use std::time::Instant;

use generate::{Generator, TraceSettings, generate};

fn main() -> Result<(), generate::SettingsError> {
    let events = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(100_000_000);
    let settings = TraceSettings::large(events, 16, 100, 100_000);
    let start = Instant::now();
    let hash = Generator::new(&settings)?.fold(0u32, |hash, event| hash.rotate_left(1) ^ event.op.target());
    report("streamed", events, start, u64::from(hash));
    let kept = TraceSettings { events: events.min(20_000_000), ..settings };
    let start = Instant::now();
    let trace = generate(&kept)?;
    report("kept and matched", kept.events, start, trace.len() as u64);
    Ok(())
}

fn report(what: &str, events: u64, start: Instant, check: u64) {
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{what}: {events} events in {seconds:.2} s, {:.1} million a second ({check})",
        events as f64 / seconds / 1e6
    );
}
