//! Random logs, loaded with their plain accesses in bulk and event by event: the traces are the same bytes.

use wire::{Branched, Context, Key, Kind, LogProgress, MAX_RECORD, STREAM_START, Table};
use wire::{write_detailed, write_run, write_simple, write_switch};

use super::*;

const THREADS: usize = 3;

/// Writes a log as the runtime does.
#[derive(Default)]
struct Log {
    bytes: Vec<u8>,
    run: u64,
    tables: Vec<Table>,
    contexts: Vec<Context>,
    current: usize,
}

impl Log {
    fn record(&mut self, write: impl FnOnce(&mut wire::Sink<'_>, &mut Table, &mut Context)) {
        let mut buffer = [0; MAX_RECORD];
        let mut sink = wire::Sink::new(&mut buffer);
        write_run(&mut sink, std::mem::take(&mut self.run));
        write(&mut sink, &mut self.tables[self.current], &mut self.contexts[self.current]);
        let used = sink.used();
        self.bytes.extend(&buffer[..used]);
    }

    fn switch(&mut self, thread: usize) {
        self.record(|sink, _, _| write_switch(sink, thread as u32));
        self.current = thread;
    }

    fn simple(&mut self, key: Key, address: u64) {
        if self.tables[self.current].hit(&mut self.contexts[self.current], key, address) {
            self.run += 1;
        } else {
            self.record(|sink, table, context| write_simple(sink, table, context, key, address));
        }
    }

    fn detailed(&mut self, kind: Kind, address: u64, arguments: &[u64]) {
        self.record(|sink, _, context| write_detailed(sink, context, kind, 9, address, arguments, b""));
    }

    fn file(&self) -> Vec<u8> {
        let progress = LogProgress::new(self.bytes.len() as u64, self.run);
        let mut file = Header::new(1, progress).to_bytes().to_vec();
        file.resize(STREAM_START, 0);
        file.extend(&self.bytes);
        file
    }
}

/// A random run: loops of accesses to few addresses, around a border of pages and in a block that is allocated again and again.
fn random_log(seed: u64) -> Vec<u8> {
    let mut dice = seed;
    let mut roll = move |below: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % below
    };
    let mut log = Log {
        tables: (0..THREADS).map(|_| Table::default()).collect(),
        contexts: vec![Context::default(); THREADS],
        ..Log::default()
    };
    for thread in 0..THREADS as u64 {
        if thread > 0 {
            log.switch(0);
            log.detailed(Kind::Create, 0, &[thread]);
            log.switch(thread as usize);
        }
        let stack = 0x10_0000 * (thread + 1);
        log.detailed(Kind::Begin, stack, &[stack + 4096, thread, 7, stack + 2048]);
    }
    let plain: Vec<Kind> = Kind::ALL[..15].to_vec();
    for _ in 0..300 {
        match roll(12) {
            0 | 1 => log.switch(roll(THREADS as u64) as usize),
            2 => log.detailed(Kind::Allocate, 0x7_0000, &[64]),
            3 => log.detailed(Kind::WriteRange, 0x1fe0 + roll(40), &[1 + roll(60)]),
            4 => log.simple(Key::new(Kind::AtomicUpdate4, 0x55), 0x2100),
            5 => log.simple(Key::new(Kind::FunctionEntry, 0x60), 0x70 + roll(3)),
            6 => log.simple(Key::new(Kind::FunctionExit, 0x61), 0),
            7 => log.simple(Key::new(Kind::Destroyed, 0x62), 0x1ff8),
            _ => {
                let start = if roll(3) == 0 { 0x7_0000 + roll(60) } else { 0x1ff0 + roll(32) };
                let step = [0, 4, 8][roll(3) as usize];
                let body: Vec<(Kind, Branched)> = (0..1 + roll(3))
                    .map(|_| {
                        let branched = [Branched::default(), Branched::YES][roll(2) as usize];
                        (plain[roll(15) as usize], branched)
                    })
                    .collect();
                for round in 0..1 + roll(40) {
                    for (pc, &(kind, branched)) in body.iter().enumerate() {
                        let key = Key::new(kind, 0x100 + pc as u64 * 8).after(branched);
                        log.simple(key, start + step * round);
                    }
                }
            }
        }
    }
    log.file()
}

/// What [`load`] does, event by event.
fn loaded_one_by_one(file: &[u8], options: &Options) -> (u64, Vec<u8>) {
    let events: Vec<Event<'_>> = Reader::new(file).unwrap().map(Result::unwrap).collect();
    let mut first = FirstPass::default();
    events.iter().for_each(|event| first.see(event, event));
    let modules = || Modules::listed("", Path::new("/"));
    let choose = |shared: &_| Chosen::by(options, modules(), events.iter().copied(), shared);
    let writer = Writer::new(Vec::new()).unwrap();
    let mut translator = first.second_pass(modules(), choose, &Metadata::default(), options, writer).unwrap();
    let mut count = 0;
    for event in &events {
        if translator.is_full() {
            break;
        }
        count += 1;
        translator.event(event).unwrap();
    }
    (count, translator.finish(&mut Loaded::default()).unwrap().finish().unwrap())
}

#[test]
fn accesses_in_bulk_become_the_same_trace() {
    let sample = Some(Sample { share: 0.5, seed: 3 });
    let mut kept = 0;
    for seed in 0..60 {
        let file = random_log(seed);
        let all = [
            Options::default(),
            Options { sample, ..Options::default() },
            Options { drop_repeated: true, ..Options::default() },
            Options { max_events: NonZeroU64::new(1 + seed * 40), ..Options::default() },
        ];
        for options in all {
            let recorded = Recorded { log: &file, modules: "", directory: Path::new("/") };
            let mut bytes = Vec::new();
            let loaded = load(recorded, &Metadata::default(), &options, &mut bytes).unwrap();
            let (count, expected) = loaded_one_by_one(&file, &options);
            assert!(bytes == expected, "seed {seed}, {options:?}");
            assert_eq!(loaded.recorded, count, "seed {seed}, {options:?}");
            kept += loaded.events;
        }
    }
    assert!(kept > 100_000, "{kept}");
}
