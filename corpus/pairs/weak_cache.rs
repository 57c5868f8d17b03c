// Correct: upgrading the Weak once gives a strong reference that keeps the image alive while it is used.
use std::sync::{Arc, Weak};
use std::thread;

struct Image {
    width: u32,
}

fn width_of(image: &Weak<Image>) -> u32 {
    image.upgrade().map_or(0, |image| image.width)
}

fn main() {
    let image = Arc::new(Image { width: 640 });
    let weak = Arc::downgrade(&image);
    let viewer = thread::spawn(move || width_of(&weak));
    drop(image);
    let width = viewer.join().unwrap();
    assert!(width == 640 || width == 0);
    println!("done");
}
