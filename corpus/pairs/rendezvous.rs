// Correct: over channels without a buffer, one side sends first and the other receives first.
use std::sync::mpsc;
use std::thread;

fn main() {
    let (question, questions) = mpsc::sync_channel(0);
    let (answer, answers) = mpsc::sync_channel(0);
    let oracle = thread::spawn(move || {
        let asked: u32 = questions.recv().unwrap();
        answer.send(asked + 1).unwrap();
    });
    question.send(41).unwrap();
    let answered = answers.recv().unwrap();
    oracle.join().unwrap();
    println!("answer {answered}");
}
