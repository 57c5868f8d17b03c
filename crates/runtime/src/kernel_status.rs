//! What the kernel says of this process and its threads: the files `stat` below `/proc/self`.

use crate::sys;

const LENGTH: usize = 512;

/// A buffer for [`read_fields`].
pub(crate) fn buffer() -> [u8; LENGTH] {
    [0; LENGTH]
}

/// The fields of such a file from the third on, the state: the name before it is in brackets and may hold brackets. None if there is no such
/// file.
pub(crate) fn read_fields<'a>(path: &[u8], text: &'a mut [u8; LENGTH]) -> Option<&'a [u8]> {
    let file = sys::open(path, libc::O_RDONLY);
    if file < 0 {
        return None;
    }
    let length = sys::read_all(file, text);
    sys::close(file);
    let after = text[..length].iter().rposition(|&byte| byte == b')')? + 2;
    text.get(after..length)
}

/// Where the stack of the first thread starts: below what the kernel put there, whose length it chooses at random.
pub(crate) fn start_of_stack() -> Option<u64> {
    const START_OF_STACK: usize = 28;
    let mut text = buffer();
    let fields = read_fields(b"/proc/self/stat\0", &mut text)?;
    let field = fields.split(|&byte| byte == b' ').nth(START_OF_STACK - 3)?;
    core::str::from_utf8(field).ok()?.parse().ok().filter(|&start| start > 4096)
}
