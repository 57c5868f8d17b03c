// Wrong: over channels without a buffer, both sides send first, so each waits for the other to receive.
use std::sync::mpsc;
use std::thread;

fn main() {
    let (question, questions) = mpsc::sync_channel(0);
    let (answer, answers) = mpsc::sync_channel(0);
    let oracle = thread::spawn(move || {
        answer.send(42).unwrap();
        let _asked: u32 = questions.recv().unwrap();
    });
    question.send(41).unwrap();
    let answered = answers.recv().unwrap();
    oracle.join().unwrap();
    println!("answer {answered}");
}
