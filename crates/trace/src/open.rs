//! Detects a file's form from its content, and reads the text inside compressed files.

use std::io::{self, BufReader, Chain, Cursor, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

/// What a file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// Compressed by gzip.
    Gzip,
    /// Compressed by zstd.
    Zstd,
    /// The native form.
    Native,
    /// None of these: text.
    Text,
}

/// What a file of the native form starts with.
const NATIVE_MAGIC: &[u8] = b"FORETELL";
/// How many bytes [`sniff`] looks at.
pub const SNIFF_LENGTH: usize = NATIVE_MAGIC.len();

/// The form of a file that starts so. It needs [`SNIFF_LENGTH`] bytes unless the file is shorter.
pub fn sniff(start: &[u8]) -> FileContent {
    match start {
        [0x1f, 0x8b, ..] => FileContent::Gzip,
        // A frame, or a frame to be skipped, which parallel compressors start with.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => FileContent::Zstd,
        _ if start.starts_with(NATIVE_MAGIC) => FileContent::Native,
        _ => FileContent::Text,
    }
}

/// An input whose start has been looked at and put back.
type PeekedReader<R> = Chain<Cursor<Vec<u8>>, R>;

/// An input without its compression, if it has one: [`decode`] makes it.
pub struct Decompressor<R: Read> {
    form: FileContent,
    stream: Stream<R>,
}

enum Stream<R: Read> {
    /// Who reads it asks for a block at a time, so it needs no buffer.
    Plain(PeekedReader<R>),
    Gzip(Box<MultiGzDecoder<BufReader<PeekedReader<R>>>>),
    Zstd(zstd::stream::read::Decoder<'static, BufReader<PeekedReader<R>>>),
}

/// Looks at the start of an input and takes its compression away, one level of it.
pub fn decode<R: Read>(mut input: R) -> io::Result<Decompressor<R>> {
    let mut start = Vec::with_capacity(SNIFF_LENGTH);
    input.by_ref().take(SNIFF_LENGTH as u64).read_to_end(&mut start)?;
    let form = sniff(&start);
    let whole = Cursor::new(start).chain(input);
    let buffered = |whole| BufReader::with_capacity(128 << 10, whole);
    let stream = match form {
        FileContent::Gzip => Stream::Gzip(Box::new(MultiGzDecoder::new(buffered(whole)))),
        FileContent::Zstd => Stream::Zstd(zstd::stream::read::Decoder::with_buffer(buffered(whole))?),
        FileContent::Native | FileContent::Text => Stream::Plain(whole),
    };
    Ok(Decompressor { form, stream })
}

impl<R: Read> Decompressor<R> {
    /// The form the input itself is in.
    pub fn form(&self) -> FileContent {
        self.form
    }
}

impl<R: Read> std::fmt::Debug for Decompressor<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decompressor").field("form", &self.form).finish_non_exhaustive()
    }
}

impl<R: Read> Read for Decompressor<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.stream {
            Stream::Plain(plain) => plain.read(buffer),
            Stream::Gzip(gzip) => gzip.read(buffer).map_err(|error| explained(error, "gzip")),
            Stream::Zstd(zstd) => zstd.read(buffer).map_err(|error| explained(error, "zstd")),
        }
    }
}

/// What a decompressor means. Its own words assume that one knows it is there.
fn explained(error: io::Error, compression: &str) -> io::Error {
    let kind = error.kind();
    match kind {
        ErrorKind::Interrupted => error,
        ErrorKind::UnexpectedEof => {
            io::Error::new(kind, format!("the {compression} data are truncated: they end in the middle"))
        }
        // The operating system's own errors have a code; those of the decompressor have none.
        _ if error.raw_os_error().is_some() => error,
        _ => io::Error::new(kind, format!("the {compression} data are damaged: {error}")),
    }
}
