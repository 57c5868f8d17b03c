//! Prints the events of a raw log, one a line.

fn main() {
    let path = std::env::args().nth(1).expect("usage: dump LOG");
    let bytes = std::fs::read(path).expect("the log can be read");
    for event in rawlog::Reader::new(&bytes).expect("a raw log") {
        match event {
            Ok(event) => println!("{} {:?} {:x} {:x?}", event.thread, event.place, event.pc, event.op),
            Err(damage) => println!("{damage}"),
        }
    }
}
