//! Answers of the engine whose evidence the checker accepts: on the corpus, and on hard instances.

mod corpus;
mod expectation;
mod hard;
mod judged;
