//! Questions answered on all cores, and handed on in the order in which they were asked: what comes out is what one core would
//! have said.

use check::Question;
use decide::{Index, Verdict, Witness, decide};
use rayon::prelude::*;

use crate::SearchSettings;

/// Questions of a batch: enough to keep all cores busy, and few enough to report progress often.
const QUESTIONS: usize = 32;
/// The most items that wait in a batch.
const ITEMS: usize = 1 << 12;
/// The most counts of threads in the schedules of waiting items.
const COUNTS: usize = 1 << 22;

/// Items in the order in which they came, some with a question that is not answered yet.
pub(super) struct Batch<'a, T> {
    index: &'a Index<'a>,
    settings: SearchSettings,
    items: Vec<(T, BatchItem)>,
    questions: usize,
    /// Made for the first questions. Without threads of its own it works on the one it is called on.
    pool: Option<rayon::ThreadPool>,
}

/// What is known of an item.
enum BatchItem {
    /// It is feasible.
    Settled(Witness),
    /// This is to be decided.
    Open(Question),
}

impl<'a, T: Send> Batch<'a, T> {
    pub(super) fn new(index: &'a Index<'a>, settings: SearchSettings) -> Self {
        Batch { index, settings, items: Vec::new(), questions: 0, pool: None }
    }

    /// Adds an item that is known to be feasible.
    pub(super) fn settled(&mut self, item: T, witness: Witness) {
        self.items.push((item, BatchItem::Settled(witness)));
    }

    /// Adds an item with its question.
    pub(super) fn ask(&mut self, item: T, question: Question) {
        self.items.push((item, BatchItem::Open(question)));
        self.questions += 1;
    }

    /// Whether there is something to hand on, and no use in waiting for more.
    pub(super) fn is_full(&self) -> bool {
        let counts = self.items.len() * self.index.threads().threads();
        self.questions == 0 || self.questions >= QUESTIONS || self.items.len() >= ITEMS || counts >= COUNTS
    }

    /// Answers the questions and hands the items on, in order.
    pub(super) fn settle(&mut self) -> Vec<(T, Verdict)> {
        let items = std::mem::take(&mut self.items);
        let questions = std::mem::take(&mut self.questions);
        let (index, settings) = (self.index, self.settings);
        let answered = |(item, answer)| match answer {
            BatchItem::Settled(witness) => (item, Verdict::Feasible(witness)),
            BatchItem::Open(question) => {
                let verdict = decide(index, &question, settings.model, settings.options);
                (item, verdict.unwrap_or_else(|error| unreachable!("searches ask what makes sense: {error}")))
            }
        };
        if questions > 1 && self.pool.is_none() {
            self.pool = rayon::ThreadPoolBuilder::new().build().ok();
        }
        match &self.pool {
            Some(pool) if questions > 1 => {
                pool.install(|| items.into_par_iter().with_max_len(1).map(answered).collect())
            }
            _ => items.into_iter().map(answered).collect(),
        }
    }
}
