//! One value for each byte of memory the program touched, kept page by page.

use rustc_hash::FxHashMap;

const PAGE_BITS: u32 = 12;
/// How many pages are found without a look into the map: one for each remainder of their numbers.
const RECENT: usize = 64;
/// Bytes of memory that share a page of cells.
pub(super) const PAGE: usize = 1 << PAGE_BITS;

/// Cells by address. Those of pages never written are the default.
#[derive(Debug)]
pub(super) struct Pages<T> {
    pages: Vec<Box<[T; PAGE]>>,
    by_number: FxHashMap<u64, u32>,
    /// Pages whose cells are all default and that can be used again.
    free: Vec<u32>,
    /// Pages that were asked for lately: the next access is often to one of them. `u64::MAX` is no page's number.
    recent: [(u64, u32); RECENT],
    /// Pages whose cells are all the same and that have none of their own: a program may set gigabytes at once.
    uniform: FxHashMap<u64, T>,
}

/// The cells of some bytes that follow each other: these cells, repeated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells<'p, T> {
    pub(super) cells: &'p [T],
    pub(super) times: usize,
}

impl<'p, T: Copy> Cells<'p, T> {
    /// For how many bytes there are cells.
    pub(super) fn len(self) -> usize {
        self.cells.len() * self.times
    }

    /// The cells, one for each byte.
    pub(super) fn iter(self) -> impl Iterator<Item = T> + 'p {
        (0..self.times).flat_map(move |_| self.cells.iter().copied())
    }
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        let (pages, free) = (Vec::new(), Vec::new());
        let (by_number, uniform) = (FxHashMap::default(), FxHashMap::default());
        Pages { pages, by_number, free, recent: [(u64::MAX, 0); RECENT], uniform }
    }
}

impl<T: Copy + Default + PartialEq> Pages<T> {
    /// Changes each cell of a range. Pages are made as needed.
    #[inline]
    pub(super) fn update(&mut self, address: u64, length: u64, mut each: impl FnMut(T) -> T) {
        for_pieces(address, length, |address, piece| {
            let number = address >> PAGE_BITS;
            if piece == PAGE && !self.by_number.contains_key(&number) {
                let cell = self.uniform.entry(number).or_default();
                *cell = each(*cell);
                return;
            }
            let within = address as usize % PAGE;
            let page = self.page_or_new(number);
            self.pages[page][within..within + piece].iter_mut().for_each(|cell| *cell = each(*cell));
        });
    }

    /// Changes each cell of a range that lies in one page, given another of its own.
    pub(super) fn merge(&mut self, address: u64, with: Cells<'_, T>, each: impl Fn(T, T) -> T) {
        if let [other] = *with.cells {
            return self.update(address, with.len() as u64, |cell| each(cell, other));
        }
        let within = address as usize % PAGE;
        let page = self.page_or_new(address >> PAGE_BITS);
        let cells = &mut self.pages[page][within..within + with.len()];
        cells.iter_mut().zip(with.iter()).for_each(|(cell, other)| *cell = each(*cell, other));
    }

    /// The cells of a few bytes, if they lie in one page. The page is made if there is none.
    #[inline(always)]
    pub(super) fn few_mut<const N: usize>(&mut self, address: u64) -> Option<&mut [T; N]> {
        let within = (address & (PAGE as u64 - 1)) as usize;
        if within + N > PAGE {
            return None;
        }
        let page = self.page_or_new(address >> PAGE_BITS);
        self.pages[page][within..].first_chunk_mut()
    }

    /// The cells of a few bytes, if they lie in one page, whether or not that exists.
    #[inline(always)]
    pub(super) fn few<const N: usize>(&mut self, address: u64) -> Option<[T; N]> {
        let within = (address & (PAGE as u64 - 1)) as usize;
        if within + N > PAGE {
            return None;
        }
        match self.page(address >> PAGE_BITS) {
            Some(page) => self.pages[page][within..].first_chunk().copied(),
            None => Some([self.uniform.get(&(address >> PAGE_BITS)).copied().unwrap_or_default(); N]),
        }
    }

    /// Looks at the cells of a range, piece by piece with the address of each; each piece lies in one page. Pages that do not exist are
    /// passed over.
    #[inline]
    pub(super) fn look(&mut self, address: u64, length: u64, mut each: impl FnMut(u64, Cells<'_, T>)) {
        if let Some(pieces) = self.pieces_of_few(address, length) {
            for (address, piece) in pieces {
                self.look(address, piece, &mut each as &mut dyn FnMut(u64, Cells<'_, T>));
            }
            return;
        }
        for_pieces(address, length, |address, piece| {
            let (number, within) = (address >> PAGE_BITS, address as usize % PAGE);
            if let Some(page) = self.page(number) {
                each(address, Cells { cells: &self.pages[page][within..within + piece], times: 1 });
            } else if let Some(cell) = self.uniform.get(&number) {
                each(address, Cells { cells: std::slice::from_ref(cell), times: piece });
            }
        });
    }

    /// Makes all cells of a range default again.
    pub(super) fn clear(&mut self, address: u64, length: u64) {
        if let Some(pieces) = self.pieces_of_few(address, length) {
            return pieces.into_iter().for_each(|(address, piece)| self.clear(address, piece));
        }
        for_pieces(address, length, |address, piece| {
            let (number, within) = (address >> PAGE_BITS, address as usize % PAGE);
            if piece < PAGE && self.uniform.contains_key(&number) {
                self.page_or_new(number);
            }
            if let Some(page) = self.page(number) {
                self.pages[page][within..within + piece].fill(T::default());
                if piece == PAGE {
                    self.by_number.remove(&number);
                    self.free.push(page as u32);
                    self.recent[number as usize % RECENT] = (u64::MAX, 0);
                }
            } else if !self.uniform.is_empty() {
                self.uniform.remove(&number);
            }
        });
    }

    /// The parts of a range that lie in pages, ascending, if there are fewer pages than the range is long: somebody may
    /// reserve gigabytes and touch little of them.
    fn pieces_of_few(&self, address: u64, length: u64) -> Option<Vec<(u64, u64)>> {
        // What lies in one or two pages would be asked about again.
        if length >> PAGE_BITS <= ((self.by_number.len() + self.uniform.len()) as u64).max(2) {
            return None;
        }
        let last = address.saturating_add(length - 1);
        let pieces = self.starts().into_iter().filter_map(|start| {
            let from = start.max(address);
            let to = (start | (PAGE as u64 - 1)).min(last);
            (from <= to).then(|| (from, to - from + 1))
        });
        Some(pieces.collect())
    }

    /// The first addresses of all pages, ascending.
    pub(super) fn starts(&self) -> Vec<u64> {
        let numbers = self.by_number.keys().chain(self.uniform.keys());
        let mut starts: Vec<u64> = numbers.map(|number| number << PAGE_BITS).collect();
        starts.sort_unstable();
        starts
    }

    #[inline]
    fn page(&mut self, number: u64) -> Option<usize> {
        let recent = &mut self.recent[number as usize % RECENT];
        if recent.0 != number {
            *recent = (number, *self.by_number.get(&number)?);
        }
        Some(recent.1 as usize)
    }

    #[inline]
    fn page_or_new(&mut self, number: u64) -> usize {
        let recent = &mut self.recent[number as usize % RECENT];
        if recent.0 == number {
            return recent.1 as usize;
        }
        let (pages, free, uniform) = (&mut self.pages, &mut self.free, &mut self.uniform);
        let page = *self.by_number.entry(number).or_insert_with(|| {
            let page = free.pop().unwrap_or_else(|| {
                pages.push(Box::new([T::default(); PAGE]));
                pages.len() as u32 - 1
            });
            if let Some(cell) = uniform.remove(&number) {
                pages[page as usize].fill(cell);
            }
            page
        });
        *recent = (number, page);
        page as usize
    }
}

/// The parts of a range that lie in one page each.
#[inline]
fn for_pieces(mut address: u64, length: u64, mut each: impl FnMut(u64, usize)) {
    let mut left = length;
    while left > 0 {
        let within = (address & (PAGE as u64 - 1)) as usize;
        let piece = left.min((PAGE - within) as u64) as usize;
        each(address, piece);
        left -= piece as u64;
        address = address.wrapping_add(piece as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Random updates and clears, against a map of single bytes.
    #[test]
    fn pages_are_a_map_of_bytes() {
        let mut state = 7u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let mut pages = Pages::<u16>::default();
        let mut naive: BTreeMap<u64, u16> = BTreeMap::new();
        let mut was_uniform = 0;
        for round in 1..2000u16 {
            was_uniform += usize::from(!pages.uniform.is_empty());
            let address = u64::MAX - 60_000 + random(30_000);
            let length = match random(8) {
                0 => PAGE as u64 * random(4),
                1 | 2 => random(9_000),
                _ => 1 + random(16),
            };
            let address = if random(4) == 0 { address & !(PAGE as u64 - 1) } else { address };
            if random(100) == 0 {
                // Most of it has no pages.
                pages.clear(address - (1 << 40), 1 << 40);
                naive.retain(|&byte, _| byte >= address);
            } else if random(3) == 0 {
                pages.clear(address, length);
                naive.retain(|&byte, _| byte < address || byte - address >= length);
            } else if let Some(cells) = pages.few_mut::<5>(address).filter(|_| length == 5) {
                cells.fill(round);
                naive.extend((0..5).map(|offset| (address + offset, round)));
            } else {
                pages.update(address, length, |cell| cell ^ round);
                (address..address + length).for_each(|byte| *naive.entry(byte).or_default() ^= round);
                let other: Vec<u16> = (0..=random(16) as u16).collect();
                let address = address & !15;
                let with = if round % 2 == 0 {
                    Cells { cells: &other[..1], times: 16 }
                } else {
                    Cells { cells: &other, times: 1 }
                };
                pages.merge(address, with, |cell, other| cell.wrapping_add(other));
                for (byte, other) in (address..).zip(with.iter()) {
                    let cell = naive.entry(byte).or_default();
                    *cell = cell.wrapping_add(other);
                }
            }
            let few = u64::MAX - 60_000 + random(30_000);
            let expected: [u16; 8] =
                std::array::from_fn(|at| naive.get(&(few + at as u64)).copied().unwrap_or(0));
            let is_in_one = few as usize % PAGE <= PAGE - 8;
            assert_eq!(pages.few::<8>(few), is_in_one.then_some(expected));
            let start = u64::MAX - 60_000 + random(30_000);
            let mut seen = BTreeMap::new();
            pages.look(start, 300, |at, cells| {
                let cells = cells.iter().enumerate().filter(|&(_, cell)| cell != 0);
                seen.extend(cells.map(|(offset, cell)| (at + offset as u64, cell)));
            });
            assert!(seen.iter().eq(naive.range(start..start + 300).filter(|(_, cell)| **cell != 0)));
        }
        let starts = pages.starts();
        assert!(was_uniform > 100, "{was_uniform}");
        assert!(naive.keys().all(|byte| starts.binary_search(&(byte & !(PAGE as u64 - 1))).is_ok()));
    }
}
