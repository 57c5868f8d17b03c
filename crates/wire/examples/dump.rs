//! Prints the events of a raw log, one a line, or with `--count` only how many they are.

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("usage: dump LOG [--count]");
    let bytes = std::fs::read(path).expect("the log can be read");
    let events = wire::Reader::new(&bytes).expect("a raw log");
    if arguments.next().as_deref() == Some("--count") {
        return println!("{}", events.count());
    }
    for event in events {
        match event {
            Ok(event) => println!("{} {:?} {:x} {:x?}", event.thread, event.place, event.pc, event.op),
            Err(damage) => println!("{damage}"),
        }
    }
}
