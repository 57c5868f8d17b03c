//! How an answer about a predicate was come by. Where its form allows, in polynomial time (Garg; paper 2's references 13, 14
//! and 24); otherwise by looking at states one by one.

/// The way taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// What happens can only make it false: the initial state tells.
    Initial,
    /// What happens can only make it true (a stable predicate): the final state tells, which the recorded run reaches.
    Stable,
    /// Parts about one thread each: the least state that fits all of them tells.
    Conjunctive,
    /// Parts that each name a thread that must go on while they are false: the least state that fits tells.
    Linear,
    /// States were looked at one by one.
    Enumeration,
}

impl Path {
    /// As it is called in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Path::Initial => "initial",
            Path::Stable => "stable",
            Path::Conjunctive => "conjunctive",
            Path::Linear => "linear",
            Path::Enumeration => "enumeration",
        }
    }
}
