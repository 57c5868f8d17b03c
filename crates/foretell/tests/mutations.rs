//! Every reader of files that may be hostile, on mutated seeds: none panics, hangs, or takes what does not hold. The fuzz targets in
//! fuzz/ judge by the same functions; here they run for a moment, or as long as `FORETELL_MUTATION_SECONDS` says.

#[path = "../../../fuzz/judges.rs"]
mod judges;

use std::path::Path;
use std::time::{Duration, Instant};

/// No input of these sizes may take longer: a hang.
const LONGEST: Duration = Duration::from_secs(10);

fn seeds(kind: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(kind);
    let entries = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{directory:?}: {error}"));
    entries.flatten().map(|entry| std::fs::read(entry.path()).expect("a seed can be read")).collect()
}

struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }
}

/// Numbers that readers trip over.
const ODD: [&[u8]; 12] = [
    b"0",
    b"-1",
    b"4294967295",
    b"4294967296",
    b"18446744073709551616",
    b"1e400",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\0\0\0\0",
    b"\xf0\x9f\x92\xa9",
    b"\"",
    b"((((((((((((((((((((((((((((((((",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
];

/// A seed with a few changes: bytes, numbers, pieces that are moved, doubled, left out or taken from another seed.
fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..1 + random.below(6) {
        let at = random.below(bytes.len() + 1);
        let length = random.below(24).min(bytes.len() - at);
        match random.below(7) {
            0 if at < bytes.len() => bytes[at] = random.below(256) as u8,
            1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            2 => drop(bytes.drain(at..at + length)),
            3 => {
                let piece: Vec<u8> = bytes[at..at + length].repeat(1 + random.below(40));
                bytes.splice(at..at, piece);
            }
            4 => drop(bytes.splice(at..at + length, ODD[random.below(ODD.len())].iter().copied())),
            5 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len() + 1);
                let piece = other[from..].iter().take(random.below(400)).copied().collect::<Vec<u8>>();
                bytes.splice(at..at, piece);
            }
            _ => bytes.truncate(at),
        }
    }
    bytes
}

fn judge(kind: &str, judge: fn(&[u8])) {
    let seconds = std::env::var("FORETELL_MUTATION_SECONDS").ok().and_then(|text| text.parse().ok());
    let time = Duration::from_secs_f64(seconds.unwrap_or(0.5));
    let seeds = seeds(kind);
    seeds.iter().for_each(|seed| judge(seed));
    let mut random =
        Random(std::env::var("FORETELL_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1));
    let (started, mut inputs) = (Instant::now(), 0u64);
    while started.elapsed() < time {
        let input = mutated(&seeds, &mut random);
        let since = Instant::now();
        if std::panic::catch_unwind(|| judge(&input)).is_err() || since.elapsed() > LONGEST {
            let kept = std::env::temp_dir().join(format!("foretell-{kind}-{inputs}"));
            std::fs::write(&kept, &input).expect("the input can be kept");
            panic!("{kind}: input {inputs} breaks the reader or takes {:?}: {kept:?}", since.elapsed());
        }
        inputs += 1;
    }
    println!("{kind}: {inputs} inputs in {:?}", started.elapsed());
    assert!(inputs > 10, "{inputs}");
}

macro_rules! judges {
    ($($kind:ident $seeds:literal;)*) => {
        $(
            #[test]
            fn $kind() {
                judge($seeds, judges::$kind);
            }
        )*
    };
}

judges! {
    raw_log "raw_log";
    events "events";
    evidence "evidence";
    schedule "schedule";
    findings "findings";
    rules "rules";
    predicate "predicate";
    suppressions "suppressions";
    lenient "text";
    scrubbed "native";
}
