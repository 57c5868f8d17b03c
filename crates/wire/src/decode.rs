//! Bytes to events, in the order they happened. Never panics; damage ends the log with an error that says where.

use std::fmt;
use std::ops::ControlFlow;

use crate::access::PlainAccess;
use crate::encode::{AFTER_BRANCH, CLASS_DETAILED, CLASS_SIMPLE, CLASS_SWITCH, MAX_TEXT, THREAD_FOLLOWS};
use crate::event::{self, Event, Op};
use crate::header::{Header, MAX_RUN, STREAM_START};
use crate::kind::{Kind, MAX_ARGUMENTS};
use crate::number;
use crate::predict::{Address, Branched, Context, Guess, Key, MAX_TABLES, Site, Table};

/// The file does not start like a log of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotALog;

impl fmt::Display for NotALog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a raw log of this version")
    }
}

impl std::error::Error for NotALog {}

/// A record that no writer wrote. The events before it stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where in the file the record starts.
    pub offset: usize,
    /// What is wrong with it.
    pub what: &'static str,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "damaged at byte {}: {}", self.offset, self.what)
    }
}

impl std::error::Error for Damage {}

/// How far beyond the threads that have run a log may name one, by which a small log cannot ask for much memory.
const MOST_TO_COME: u64 = 1 << 16;

/// What the reader knows of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    context: Context,
    table: usize,
    place: u64,
}

/// The events of a log: an iterator. After damage, or at the end of the valid part, it ends.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    header: Header,
    /// The valid part of the stream that is not yet read.
    rest: &'a [u8],
    /// Where in the file `rest` starts.
    offset: usize,
    /// Predicted events still to be yielded.
    run: u64,
    /// The run after the last record, not yet begun.
    last_run: u64,
    /// The event that follows the branches that were yielded last.
    after_branches: Option<Event<'a>>,
    current: u32,
    threads: Vec<Thread>,
    tables: Vec<Option<Box<Table>>>,
    ended: bool,
}

/// The end of the bytes inside a record: not damage, the log was cut there.
enum Trouble {
    Cut,
    Damage(&'static str),
}

impl<'a> Reader<'a> {
    /// Reads the log in these bytes: a whole file.
    pub fn new(file: &'a [u8]) -> Result<Reader<'a>, NotALog> {
        let header = Header::read(file).ok_or(NotALog)?;
        let stream = file.get(STREAM_START..).unwrap_or_default();
        let written = usize::try_from(header.progress.written()).unwrap_or(usize::MAX);
        let whole = written <= stream.len();
        Ok(Reader {
            header,
            rest: if whole { &stream[..written] } else { stream },
            offset: STREAM_START,
            run: 0,
            last_run: if whole { header.progress.run() } else { 0 },
            after_branches: None,
            current: 0,
            threads: vec![Thread::default()],
            tables: Vec::new(),
            ended: false,
        })
    }

    /// The head of the log.
    pub fn header(&self) -> Header {
        self.header
    }

    /// How many threads there are in what was read.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// How many bytes of the file were read.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Hands over the plain accesses that come next, and returns the event after them. None: the log is at its end, or `each` wants no
    /// more. This is the fast way through a log, which consists mostly of predicted accesses: the iterator yields the same events one by one.
    #[inline]
    pub fn next_after_accesses(
        &mut self,
        mut each: impl FnMut(&PlainAccess) -> ControlFlow<()>,
    ) -> Option<Result<Event<'a>, Damage>> {
        loop {
            if self.predicted_accesses(&mut each).is_break() {
                return None;
            }
            let event = match self.next()? {
                Ok(event) => event,
                damage => return Some(damage),
            };
            match PlainAccess::of(&event) {
                Some(access) if each(&access).is_break() => return None,
                Some(_) => {}
                None => return Some(Ok(event)),
            }
        }
    }

    /// Hands over the plain accesses that the run begins with.
    #[inline]
    fn predicted_accesses(
        &mut self,
        each: &mut impl FnMut(&PlainAccess) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // What is wrong with a run is the iterator's to say.
        if self.ended
            || self.after_branches.is_some()
            || self.run == 0 && !matches!(self.begin_run(), Ok(true))
        {
            return ControlFlow::Continue(());
        }
        let number = self.current;
        let mut run = self.run;
        let (thread, table) = self.thread_and_table();
        let mut context = thread.context;
        let mut place = thread.place;
        let mut flow = ControlFlow::Continue(());
        while run > 0 && flow.is_continue() {
            let is_plain = |key: Key| PlainAccess::is_code(key.code());
            let Some((key, address)) = table.predicted_if(&mut context, is_plain) else { break };
            flow = each(&PlainAccess::new(number, place, key, address));
            place += 1;
            run -= 1;
        }
        thread.context = context;
        thread.place = place;
        self.run = run;
        flow
    }

    fn step(&mut self) -> Result<Option<Event<'a>>, Trouble> {
        if let Some(event) = self.after_branches.take() {
            return Ok(Some(event));
        }
        loop {
            if self.run > 0 {
                self.run -= 1;
                return self.predicted().map(Some);
            }
            if self.begin_run()? {
                continue;
            }
            let Some((&tag, rest)) = self.rest.split_first() else { return Ok(None) };
            match tag & 3 {
                CLASS_SIMPLE => return self.simple(tag, rest).map(Some),
                CLASS_DETAILED if tag == CLASS_DETAILED => return self.detailed(rest).map(Some),
                CLASS_SWITCH => self.switch(tag, rest)?,
                _ => return Err(Trouble::Damage("an unknown record")),
            }
        }
    }

    /// Begins a run of predicted events if one comes next: whether one does.
    #[inline]
    fn begin_run(&mut self) -> Result<bool, Trouble> {
        let Some((&tag, rest)) = self.rest.split_first() else {
            self.run = std::mem::take(&mut self.last_run);
            return Ok(self.run > 0);
        };
        if tag & 0x80 == 0 {
            return Ok(false);
        }
        let (run, rest) = match tag & 0x7f {
            0 => number::read(rest).ok_or(Trouble::Cut)?,
            run => (u64::from(run), rest),
        };
        if run > MAX_RUN {
            return Err(Trouble::Damage("a run that is too long"));
        }
        self.run = run;
        self.advance(rest);
        Ok(true)
    }

    #[inline]
    fn advance(&mut self, rest: &'a [u8]) {
        self.offset += self.rest.len() - rest.len();
        self.rest = rest;
    }

    fn switch(&mut self, tag: u8, rest: &'a [u8]) -> Result<(), Trouble> {
        let (thread, rest) = match tag >> 2 {
            THREAD_FOLLOWS => number::read(rest).ok_or(Trouble::Cut)?,
            thread => (u64::from(thread), rest),
        };
        self.current = u32::try_from(thread).map_err(|_| Trouble::Damage("no such thread"))?;
        self.meet(self.current)?;
        self.advance(rest);
        Ok(())
    }

    /// Makes room for a thread: it is known, or the next number.
    fn meet(&mut self, thread: u32) -> Result<(), Trouble> {
        match (thread as usize).cmp(&self.threads.len()) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => self.threads.push(Thread::default()),
            std::cmp::Ordering::Greater => return Err(Trouble::Damage("no such thread")),
        }
        Ok(())
    }

    fn predicted(&mut self) -> Result<Event<'a>, Trouble> {
        let (thread, table) = self.thread_and_table();
        let (key, address) =
            table.predicted(&mut thread.context).ok_or(Trouble::Damage("nothing was predicted"))?;
        self.simple_event(key, address)
    }

    #[inline]
    fn thread_and_table(&mut self) -> (&mut Thread, &mut Table) {
        let thread = &mut self.threads[self.current as usize];
        if self.tables.len() <= thread.table {
            self.tables.resize_with(thread.table + 1, || None);
        }
        let table = self.tables[thread.table].get_or_insert_default();
        (thread, table)
    }

    fn simple(&mut self, tag: u8, rest: &'a [u8]) -> Result<Event<'a>, Trouble> {
        let context = self.threads[self.current as usize].context;
        let (site, rest) = match tag >> 2 & 3 {
            Site::NEXT => (Site::Next, rest),
            Site::OTHER => (Site::Other, rest),
            Site::SLOT => {
                let (index, rest) = rest.split_first_chunk().ok_or(Trouble::Cut)?;
                (Site::Slot(u16::from_le_bytes(*index)), rest)
            }
            _ => {
                let (&code, rest) = rest.split_first().ok_or(Trouble::Cut)?;
                let branched = if code & AFTER_BRANCH == 0 { Branched::default() } else { Branched::YES };
                let kind = Kind::from_code(code & !AFTER_BRANCH).filter(|kind| kind.arguments().is_none());
                let kind = kind.ok_or(Trouble::Damage("an unknown kind of event"))?;
                let (pc, rest) = difference(rest, context.pc)?;
                (Site::New(Key::new(kind, pc).after(branched)), rest)
            }
        };
        let (address, rest) = match tag >> 4 {
            Address::FAVOURED => (Address::Favoured, rest),
            Address::FROM_GUESS => {
                let (distance, rest) = number::read(rest).ok_or(Trouble::Cut)?;
                (Address::FromGuess(number::unzigzag(distance)), rest)
            }
            Address::FROM_PREVIOUS => {
                let (distance, rest) = number::read(rest).ok_or(Trouble::Cut)?;
                (Address::FromPrevious(number::unzigzag(distance)), rest)
            }
            code => {
                let guess = Guess::ALL.get(usize::from(code - Address::FIRST_GUESS));
                (Address::Guess(*guess.ok_or(Trouble::Damage("an unknown guess at an address"))?), rest)
            }
        };
        let (thread, table) = self.thread_and_table();
        let (key, address) = table.learn(&mut thread.context, site, address);
        let event = self.simple_event(key, address)?;
        self.advance(rest);
        Ok(event)
    }

    /// A simple event, or the branches before it if there are some; it comes next then.
    fn simple_event(&mut self, key: Key, address: u64) -> Result<Event<'a>, Trouble> {
        let kind = Kind::from_code(key.code());
        let op = kind.and_then(|kind| event::simple(kind, address));
        let (Some(kind), Some(op)) = (kind, op) else {
            return Err(Trouble::Damage("a site that was never told"));
        };
        let event = Event { thread: self.current, place: self.pass(kind), pc: key.pc(), op };
        if !key.is_after_branch() {
            return Ok(event);
        }
        self.after_branches = Some(event);
        Ok(Event { place: None, pc: 0, op: Op::Branches { count: 1 }, ..event })
    }

    fn detailed(&mut self, rest: &'a [u8]) -> Result<Event<'a>, Trouble> {
        let (&code, rest) = rest.split_first().ok_or(Trouble::Cut)?;
        let kind = Kind::from_code(code).and_then(|kind| Some((kind, kind.arguments()?)));
        let (kind, count) = kind.ok_or(Trouble::Damage("an unknown kind of event"))?;
        let context = self.threads[self.current as usize].context;
        let (pc, rest) = difference(rest, context.pc)?;
        let (address, mut rest) = difference(rest, context.previous)?;
        let mut arguments = [0; MAX_ARGUMENTS];
        for argument in &mut arguments[..count] {
            (*argument, rest) = number::read(rest).ok_or(Trouble::Cut)?;
        }
        let mut text: &[u8] = &[];
        if kind.has_text() {
            let (length, after) = number::read(rest).ok_or(Trouble::Cut)?;
            if length > MAX_TEXT as u64 {
                return Err(Trouble::Damage("a text that is too long"));
            }
            (text, rest) = after.split_at_checked(length as usize).ok_or(Trouble::Cut)?;
        }
        let op = event::detailed(kind, address, arguments, text)
            .ok_or(Trouble::Damage("an argument that makes no sense"))?;
        self.note(kind, arguments)?;
        let thread = &mut self.threads[self.current as usize];
        thread.context.pc = pc;
        thread.context.previous = address;
        let event = Event { thread: self.current, place: self.pass(kind), pc, op };
        self.advance(rest);
        Ok(event)
    }

    /// What the reader itself must know of a detailed event.
    fn note(&mut self, kind: Kind, arguments: [u64; MAX_ARGUMENTS]) -> Result<(), Trouble> {
        match kind {
            Kind::Create => {
                let child = u32::try_from(arguments[0]).map_err(|_| Trouble::Damage("no such thread"))?;
                self.meet(child)
            }
            Kind::Begin if arguments[1] < MAX_TABLES => {
                self.threads[self.current as usize].table = arguments[1] as usize;
                Ok(())
            }
            Kind::Begin => Err(Trouble::Damage("no such table")),
            // A thread that is named or joined may come later, but not this number of others before it.
            Kind::Join | Kind::Detach | Kind::ThreadName | Kind::JoinedAgain | Kind::AwaitsEnd
                if arguments[0] > self.threads.len() as u64 + MOST_TO_COME =>
            {
                Err(Trouble::Damage("no such thread"))
            }
            _ => Ok(()),
        }
    }

    /// The place of the current thread's event of this kind.
    fn pass(&mut self, kind: Kind) -> Option<u64> {
        let thread = &mut self.threads[self.current as usize];
        kind.is_schedulable().then(|| {
            thread.place += 1;
            thread.place - 1
        })
    }
}

fn difference(bytes: &[u8], from: u64) -> Result<(u64, &[u8]), Trouble> {
    let (number, rest) = number::read(bytes).ok_or(Trouble::Cut)?;
    Ok((from.wrapping_add(number::unzigzag(number) as u64), rest))
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Event<'a>, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let step = self.step();
        self.ended = !matches!(step, Ok(Some(_)));
        match step {
            Ok(event) => event.map(Ok),
            Err(Trouble::Cut) => None,
            Err(Trouble::Damage(what)) => Some(Err(Damage { offset: self.offset, what })),
        }
    }
}
