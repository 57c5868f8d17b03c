//! Numbers of several threads are counted once each.

use tally::Tally;

#[test]
fn every_thread_counts() {
    let tally = Tally::default();
    std::thread::scope(|scope| {
        for number in [4, 6] {
            let tally = &tally;
            scope.spawn(move || tally.add(number));
        }
    });
    assert_eq!(tally.mean(), Some(5));
}

#[test]
#[cfg(feature = "highest")]
fn the_highest_number_is_kept() {
    let tally = Tally::default();
    std::thread::scope(|scope| {
        let one = scope.spawn(|| tally.add(7));
        one.join().unwrap();
        tally.add(3);
    });
    assert_eq!(tally.highest(), 7);
}
