// Wrong: the viewer looks whether the image is there and upgrades afterwards, when it may be gone.
use std::sync::{Arc, Weak};
use std::thread;

struct Image {
    width: u32,
}

fn width_of(image: &Weak<Image>) -> u32 {
    if image.strong_count() == 0 {
        return 0;
    }
    image.upgrade().expect("the image is gone").width
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
