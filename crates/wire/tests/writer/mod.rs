//! A writer of raw logs as the runtime has one. The tests here use it, and what fuzzes the loader with whole records (fuzz/judges.rs).

use wire::{
    Branched, Context, Forecast, Header, Key, Kind, LogProgress, MAX_RECORD, STREAM_START, Sink, Table,
    write_detailed, write_other_address, write_other_site, write_run, write_simple, write_switch,
};

/// A writer as the runtime has one, over a growing vector.
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) run: u64,
    tables: Vec<Table>,
    contexts: Vec<Context>,
    current: usize,
}

impl Writer {
    pub(crate) fn new(threads: usize, tables: usize) -> Writer {
        let mut writer = Writer {
            bytes: Vec::new(),
            run: 0,
            tables: vec![Table::default(); tables],
            contexts: vec![Context::default(); threads],
            current: 0,
        };
        for thread in 0..threads {
            if thread > 0 {
                writer.detailed(Kind::Create, 0, 0, &[thread as u64], b"");
            }
        }
        for thread in 0..threads {
            writer.switch(thread);
            writer.detailed(Kind::Begin, 0, 0x7000, &[0x8000, (thread % tables) as u64, 77, 0x7f00], b"");
        }
        writer
    }

    fn record(&mut self, write: impl FnOnce(&mut Sink<'_>, &mut Table, &mut Context)) {
        let mut buffer = [0; MAX_RECORD];
        let mut sink = Sink::new(&mut buffer);
        write_run(&mut sink, std::mem::take(&mut self.run));
        let table = self.current % self.tables.len();
        write(&mut sink, &mut self.tables[table], &mut self.contexts[self.current]);
        let used = sink.used();
        self.bytes.extend(&buffer[..used]);
    }

    pub(crate) fn switch(&mut self, thread: usize) {
        if thread != self.current {
            self.record(|sink, _, _| write_switch(sink, thread as u32));
            self.current = thread;
        }
    }

    pub(crate) fn simple(&mut self, kind: Kind, pc: u64, address: u64) {
        self.simple_after(Branched::default(), kind, pc, address);
    }

    pub(crate) fn simple_after(&mut self, branched: Branched, kind: Kind, pc: u64, address: u64) {
        let table = self.current % self.tables.len();
        let key = Key::new(kind, pc).after(branched);
        let (table, context) = (&mut self.tables[table], &mut self.contexts[self.current]);
        if matches!(kind, Kind::FunctionEntry | Kind::FunctionExit) {
            if table.hit(context, key, address) {
                self.run += 1;
            } else {
                self.record(|sink, table, context| write_simple(sink, table, context, key, address));
            }
            return;
        }
        match table.forecast(context, key, address) {
            Forecast::Right => self.run += 1,
            Forecast::OtherAddress => {
                self.record(|sink, table, context| write_other_address(sink, table, context, address));
            }
            Forecast::OtherSite => {
                self.record(|sink, table, context| write_other_site(sink, table, context, key, address));
            }
        }
    }

    pub(crate) fn detailed(&mut self, kind: Kind, pc: u64, address: u64, arguments: &[u64], text: &[u8]) {
        self.record(|sink, _, context| write_detailed(sink, context, kind, pc, address, arguments, text));
    }

    pub(crate) fn file(&self) -> Vec<u8> {
        let progress = LogProgress::new(self.bytes.len() as u64, self.run);
        let mut file = Header::new(12, progress).to_bytes().to_vec();
        file.resize(STREAM_START, 0);
        file.extend(&self.bytes);
        file.resize(file.len() + 1000, 0xAA);
        file
    }
}
