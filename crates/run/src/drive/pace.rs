//! When a client that follows a script does what: the order rules, without any connection.
//!
//! A connection is opened after the one before it, and after those that the script ends before it. What is sent through it, and its end, waits
//! until the server has received all that was sent before, has sent as much as it had sent then, and has looked for more and found nothing as often: so
//! each connection goes as it went. Connections do not wait for each other otherwise: schedules may have them in any order.
//!
//! Whether a look finds something depends on how fast a client is. So the program asks before it finds nothing: what had come by then in the
//! recorded run is sent at once, if there was something, whatever the server has sent.
//!
//! Answers may be shorter than they were, and a server under another schedule looks less often. So if nothing happens for a while
//! ([`PATIENCE`]) what the server has received is enough.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use wire::{ClientRecord, Endpoint};

use super::script::{ClientAction, ClientStep, Conversation, Script, ServerProgress};

/// The server has done nothing for so long, so it waits for what comes next, whatever the script says.
pub(super) const PATIENCE: Duration = Duration::from_millis(50);
/// The same if it has done nothing with this connection, and follows no schedule, and if it does.
const FREE_PATIENCE: Duration = Duration::from_millis(150);
const LONG_PATIENCE: Duration = Duration::from_secs(1);

/// What is to be done now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Open this connection of the script.
    Connect(usize),
    /// Send this part of the script's bytes through a connection.
    Send(usize, Range<usize>),
    /// Close a connection.
    Close(usize),
}

/// Where a script stands.
#[derive(Debug)]
pub(super) struct Pace {
    script: Script,
    states: Vec<State>,
    /// How many connections are opened.
    opened: usize,
    /// How many of the script's endings have come.
    endings: usize,
    /// How often the server has looked for connections and found none.
    looks: u64,
    /// How many questions the server has asked.
    questions: u32,
    /// Which connection of the script comes from which port.
    by_port: HashMap<u16, usize>,
    /// Which connection of the script each is that the server has accepted; none: it is somebody else's.
    accepted: Vec<Option<usize>>,
    /// When somebody last did something.
    changed: Instant,
    hearing: Hearing,
    /// How long a connection may be without anything.
    patience: Duration,
}

/// Whether the program says what it does with its connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hearing {
    /// It does.
    Hears,
    /// It does not, so only time tells.
    Deaf,
}

/// Where a connection of the script stands.
#[derive(Debug)]
struct State {
    /// The next step.
    next: usize,
    /// How far the server has come.
    progress: ServerProgress,
    is_accepted: bool,
    /// The server looks for something.
    asks: bool,
    /// The server has learnt that the connection is closed.
    ended: bool,
    /// Somebody has closed it.
    closed: bool,
    changed: Instant,
}

impl Pace {
    pub(super) fn new(script: Script, hearing: Hearing, now: Instant) -> Pace {
        let state = |_: &Conversation| State {
            next: 0,
            progress: ServerProgress::default(),
            is_accepted: false,
            asks: false,
            ended: false,
            closed: false,
            changed: now,
        };
        Pace {
            states: script.conversations.iter().map(state).collect(),
            script,
            opened: 0,
            endings: 0,
            looks: 0,
            questions: 0,
            by_port: HashMap::new(),
            accepted: Vec::new(),
            changed: now,
            hearing,
            patience: LONG_PATIENCE,
        }
    }

    /// The program follows no schedule any more: no connection has to wait for others.
    pub(super) fn set_free(&mut self) {
        self.patience = FREE_PATIENCE;
    }

    pub(super) fn script(&self) -> &Script {
        &self.script
    }

    /// When somebody last did something.
    pub(super) fn changed(&self) -> Instant {
        self.changed
    }

    /// What is to be done next; it counts as done. The program has not done anything since `still`.
    pub(super) fn due(&mut self, now: Instant, still: Instant) -> Option<Due> {
        let idle = now.saturating_duration_since(still.max(self.changed));
        let due = self.connection_due(idle).or_else(|| self.act_due(now, idle))?;
        self.changed = now;
        match due {
            Due::Connect(conversation) | Due::Send(conversation, _) | Due::Close(conversation) => {
                self.states[conversation].changed = now;
            }
        }
        Some(due)
    }

    fn connection_due(&mut self, idle: Duration) -> Option<Due> {
        let conversation = self.script.conversations.get(self.opened)?;
        let is_due = self.endings >= conversation.after_endings
            && (self.looks >= conversation.after_looks || idle >= PATIENCE);
        is_due.then(|| {
            self.opened += 1;
            Due::Connect(self.opened - 1)
        })
    }

    fn act_due(&mut self, now: Instant, idle: Duration) -> Option<Due> {
        let open = self.script.conversations[..self.opened].iter().zip(&mut self.states).enumerate();
        for (number, (conversation, state)) in open {
            let Some(step) = conversation.steps.get(state.next) else { continue };
            let has_waited = state.has_waited(now, idle, self.patience);
            if !state.allows(step, self.hearing, has_waited) {
                continue;
            }
            state.next += 1;
            match &step.what {
                ClientAction::Send(range) => return Some(Due::Send(number, range.clone())),
                ClientAction::Close => {
                    state.closed = true;
                    self.count_endings();
                    return Some(Due::Close(number));
                }
            }
        }
        None
    }

    fn count_endings(&mut self) {
        while self.script.endings.get(self.endings).is_some_and(|&ending| self.states[ending].closed) {
            self.endings += 1;
        }
    }

    /// This connection of the script was opened, from a port if it has one.
    pub(super) fn connected(&mut self, conversation: usize, port: Option<u16>) {
        if let Some(port) = port {
            self.by_port.insert(port, conversation);
        }
    }

    /// The server has closed a connection: nothing more can be sent.
    pub(super) fn closed(&mut self, conversation: usize, now: Instant) {
        let steps = self.script.conversations[conversation].steps.len();
        let state = &mut self.states[conversation];
        if !state.closed || state.next < steps {
            (state.closed, state.next, state.changed, self.changed) = (true, steps, now, now);
            self.count_endings();
        }
    }

    /// The server did this.
    pub(super) fn take(&mut self, record: &ClientRecord<'_>, now: Instant) {
        self.changed = now;
        match *record {
            ClientRecord::Accepted { endpoint, .. } => {
                let conversation = match endpoint {
                    Endpoint::Port { client, .. } => self.by_port.get(&client).copied(),
                    // Those of one name are accepted in the order in which they were opened.
                    Endpoint::Named(_) => self.states[..self.opened].iter().position(|s| !s.is_accepted),
                };
                self.accepted.push(conversation);
                if let Some(conversation) = conversation {
                    self.states[conversation].is_accepted = true;
                    self.states[conversation].changed = now;
                }
            }
            ClientRecord::NoneToAccept => self.looks += 1,
            ClientRecord::AsksForAny => self.questions += 1,
            ClientRecord::Asks { connection } => {
                self.questions += 1;
                self.state(connection).into_iter().for_each(|state| state.asks = true);
            }
            ClientRecord::Received { connection, bytes, .. } => {
                self.advance(connection, now, |progress| progress.received += bytes.len() as u64);
            }
            ClientRecord::Sent { connection, bytes } => {
                self.advance(connection, now, |progress| progress.sent = progress.sent.saturating_add(bytes));
            }
            ClientRecord::Empty { connection } => {
                self.advance(connection, now, |progress| progress.looks += 1)
            }
            ClientRecord::Ended { connection } => {
                if let Some(state) = self.state(connection) {
                    (state.ended, state.changed) = (true, now);
                }
            }
            ClientRecord::Closed { connection } => {
                let known = self.accepted.get(connection as usize).copied().flatten();
                known.into_iter().for_each(|conversation| self.closed(conversation, now));
            }
            ClientRecord::Own { .. } => {}
        }
    }

    fn state(&mut self, connection: u32) -> Option<&mut State> {
        let conversation = self.accepted.get(connection as usize).copied().flatten()?;
        self.states.get_mut(conversation)
    }

    fn advance(&mut self, connection: u32, now: Instant, change: impl FnOnce(&mut ServerProgress)) {
        if let Some(state) = self.state(connection) {
            change(&mut state.progress);
            (state.asks, state.changed) = (false, now);
        }
    }

    /// How many questions were asked: nothing that is due now is what they are about.
    pub(super) fn questions(&self) -> u32 {
        self.questions
    }

    /// Whether all was done, and the server has come as far as it had.
    pub(super) fn is_done(&self, now: Instant, still: Instant) -> bool {
        let idle = now.saturating_duration_since(still.max(self.changed));
        let is_done = |(conversation, state): (&Conversation, &State)| {
            if state.next < conversation.steps.len() {
                return false;
            }
            let ends = conversation.steps.last().is_some_and(|step| step.what == ClientAction::Close);
            let is_at_end = state.has_come_to(&conversation.end) && (state.ended || !ends);
            state.closed && !ends || is_at_end || state.has_waited(now, idle, self.patience)
        };
        self.opened == self.states.len() && self.script.conversations.iter().zip(&self.states).all(is_done)
    }
}

impl State {
    /// Whether it is time for a step.
    fn allows(&self, step: &ClientStep, hearing: Hearing, has_waited: bool) -> bool {
        let has_received = hearing == Hearing::Deaf || self.progress.received >= step.after.received;
        let was_there = self.asks && self.progress.looks >= step.after.looks;
        step.with_last || has_received && (was_there || self.has_come_to(&step.after) || has_waited)
    }

    fn has_come_to(&self, before: &ServerProgress) -> bool {
        let ServerProgress { received, sent, looks } = *before;
        self.progress.received >= received && self.progress.sent >= sent && self.progress.looks >= looks
    }

    fn has_waited(&self, now: Instant, idle: Duration, patience: Duration) -> bool {
        idle >= PATIENCE || now.saturating_duration_since(self.changed) >= patience
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::tests::{empty, ended, filled, port, received, script, sent};
    use super::*;

    /// A pace at a time that stands still unless it is moved.
    struct Test {
        pace: Pace,
        now: Instant,
    }

    impl Test {
        fn of(records: &[ClientRecord<'_>]) -> Test {
            let now = Instant::now();
            Test { pace: Pace::new(script(records), Hearing::Hears, now), now }
        }

        /// All that is due, in words.
        fn due(&mut self) -> Vec<String> {
            let mut all = Vec::new();
            while let Some(due) = self.pace.due(self.now, self.now) {
                all.push(self.in_words(&due));
            }
            all
        }

        fn in_words(&mut self, due: &Due) -> String {
            match due {
                Due::Connect(number) => {
                    self.pace.connected(*number, Some(1000 + *number as u16));
                    format!("connect {number}")
                }
                Due::Send(number, range) => {
                    let bytes = self.pace.script().sent(range);
                    format!("{number}: {}", String::from_utf8_lossy(bytes))
                }
                Due::Close(number) => format!("close {number}"),
            }
        }

        /// The next that is due after a while without anything.
        fn due_after(&mut self, time: Duration) -> Option<String> {
            let before = self.now;
            self.now += time;
            let due = self.pace.due(self.now, before)?;
            Some(self.in_words(&due))
        }

        fn accepts(&mut self, connection: u32, conversation: u16) {
            let endpoint = Endpoint::Port { client: 1000 + conversation, server: 80 };
            self.pace.take(&ClientRecord::Accepted { connection, endpoint }, self.now);
        }

        fn does(&mut self, record: ClientRecord<'_>) {
            self.pace.take(&record, self.now);
        }
    }

    #[test]
    fn a_request_follows_the_answer_to_the_one_before() {
        let mut test = Test::of(&[port(0), received(0, b"get"), sent(0, 5), received(0, b"quit"), ended(0)]);
        assert_eq!(test.due(), ["connect 0", "0: get"]);
        test.accepts(0, 0);
        test.does(received(0, b"get"));
        test.does(sent(0, 4));
        assert_eq!(test.due(), [""; 0], "the answer is not whole");
        test.does(sent(0, 1));
        assert_eq!(test.due(), ["0: quit"]);
        assert!(!test.pace.is_done(test.now, test.now));
        test.does(received(0, b"quit"));
        assert_eq!(test.due(), ["close 0"]);
        assert!(!test.pace.is_done(test.now, test.now));
        test.does(ended(0));
        assert!(test.pace.is_done(test.now, test.now));
    }

    #[test]
    fn connections_do_not_wait_for_each_other() {
        let requests = [
            port(0),
            port(1),
            received(0, b"a"),
            sent(0, 1),
            received(1, b"b"),
            sent(1, 1),
            received(0, b"c"),
            received(1, b"d"),
        ];
        let mut test = Test::of(&requests);
        assert_eq!(test.due(), ["connect 0", "connect 1", "0: a", "1: b"]);
        // The server accepts them the other way around, and answers one.
        test.accepts(0, 1);
        test.accepts(1, 0);
        test.does(received(0, b"b"));
        test.does(sent(0, 1));
        assert_eq!(test.due(), ["1: d"]);
    }

    #[test]
    fn a_shorter_answer_is_enough_after_a_while() {
        let mut test = Test::of(&[port(0), received(0, b"time"), sent(0, 20), received(0, b"quit")]);
        test.due();
        test.accepts(0, 0);
        test.does(received(0, b"time"));
        test.does(sent(0, 19));
        assert_eq!(test.due_after(PATIENCE / 2), None);
        assert_eq!(test.due_after(PATIENCE).as_deref(), Some("0: quit"));
    }

    #[test]
    fn others_do_not_make_a_connection_wait_for_ever() {
        for (is_free, patience) in [(false, LONG_PATIENCE), (true, FREE_PATIENCE)] {
            let mut test = Test::of(&[port(0), received(0, b"time"), sent(0, 20), received(0, b"quit")]);
            test.due();
            test.accepts(0, 0);
            test.does(received(0, b"time"));
            if is_free {
                test.pace.set_free();
            }
            test.now += patience - Duration::from_millis(1);
            assert_eq!(test.due(), [""; 0], "the server is busy");
            test.now += Duration::from_millis(1);
            assert_eq!(test.due(), ["0: quit"]);
        }
    }

    #[test]
    fn nothing_is_sent_before_the_last_was_received() {
        let mut test = Test::of(&[port(0), received(0, b"one"), received(0, b"two")]);
        assert_eq!(test.due(), ["connect 0", "0: one"]);
        test.accepts(0, 0);
        assert_eq!(test.due_after(10 * LONG_PATIENCE), None);
        test.does(received(0, b"on"));
        assert_eq!(test.due_after(10 * LONG_PATIENCE), None);
        test.does(received(0, b"e"));
        assert_eq!(test.due(), ["0: two"]);
    }

    #[test]
    fn what_may_have_come_together_is_sent_together() {
        let mut test =
            Test::of(&[port(0), filled(0, b"lo"), filled(0, b"ng"), sent(0, 1), received(0, b"x")]);
        assert_eq!(test.due(), ["connect 0", "0: lo", "0: ng"]);
    }

    #[test]
    fn a_server_that_looked_in_vain_does_so_again() {
        let mut test = Test::of(&[port(0), received(0, b"a"), sent(0, 1), empty(0), received(0, b"b")]);
        test.due();
        test.accepts(0, 0);
        test.does(received(0, b"a"));
        test.does(sent(0, 1));
        assert_eq!(test.due(), [""; 0]);
        test.does(empty(0));
        assert_eq!(test.due(), ["0: b"]);
        let none = ClientRecord::NoneToAccept;
        let mut test = Test::of(&[port(0), received(0, b"a"), none, port(1)]);
        assert_eq!(test.due(), ["connect 0", "0: a"]);
        test.does(none);
        assert_eq!(test.due(), ["connect 1"]);
    }

    #[test]
    fn a_question_is_answered_with_what_was_there_then() {
        let asks = ClientRecord::Asks { connection: 0 };
        let mut test = Test::of(&[
            port(0),
            received(0, b"a"),
            sent(0, 9),
            received(0, b"b"),
            empty(0),
            received(0, b"c"),
        ]);
        test.due();
        test.accepts(0, 0);
        test.does(received(0, b"a"));
        test.does(sent(0, 8));
        assert_eq!((test.due(), test.pace.questions()), (vec![], 0));
        test.does(asks);
        assert_eq!((test.due(), test.pace.questions()), (vec!["0: b".to_owned()], 1));
        test.does(received(0, b"b"));
        test.does(asks);
        assert_eq!((test.due(), test.pace.questions()), (vec![], 2), "there was nothing then");
        test.does(empty(0));
        test.does(ClientRecord::AsksForAny);
        assert_eq!((test.due(), test.pace.questions()), (vec![], 3), "nothing was asked of the connection");
        test.does(asks);
        assert_eq!(test.due(), ["0: c"]);
    }

    #[test]
    fn a_connection_is_opened_after_those_that_were_ended_before_it() {
        let requests = [port(0), port(1), received(0, b"a"), received(1, b"b"), ended(1), port(2), ended(0)];
        let mut test = Test::of(&requests);
        assert_eq!(test.due(), ["connect 0", "connect 1", "0: a", "1: b"]);
        test.accepts(0, 0);
        test.does(received(0, b"a"));
        assert_eq!(test.due(), ["close 0"]);
        test.accepts(1, 1);
        test.does(received(1, b"b"));
        assert_eq!(test.due(), ["close 1", "connect 2"]);
    }

    #[test]
    fn a_connection_that_the_server_closes_is_over() {
        let mut test = Test::of(&[port(0), received(0, b"a"), received(0, b"b"), ended(0), port(1)]);
        assert_eq!(test.due(), ["connect 0", "0: a"]);
        test.accepts(0, 0);
        test.does(ClientRecord::Closed { connection: 0 });
        assert_eq!(test.due(), ["connect 1"]);
        test.does(ClientRecord::Closed { connection: 9 });
    }

    #[test]
    fn connections_of_others_do_not_count() {
        let mut test = Test::of(&[port(0), received(0, b"a"), received(0, b"b")]);
        test.due();
        test.accepts(0, 77);
        test.does(received(0, b"a"));
        assert_eq!(test.due(), [""; 0]);
        test.accepts(1, 0);
        test.does(received(1, b"a"));
        assert_eq!(test.due(), ["0: b"]);
    }
}
