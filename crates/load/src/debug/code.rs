//! What the instructions around a call say about the call's first argument: the address of a local variable is computed right before it,
//! from the frame pointer or the stack pointer, or the access that the call announces comes right after it. So the place of an access in its
//! frame is known exactly.

use std::fs;
use std::os::unix::fs::FileExt;

use addr2line::gimli::{BaseAddresses, CfaRule, EhFrame, LittleEndian, UnwindContext, UnwindSection};
use object::{Object, ObjectSection, ObjectSegment, ReadCache};

use super::scope::FrameBase;

/// Numbers of registers in debug information.
const RBP: u16 = 6;
const RSP: u16 = 7;

/// The first argument of a call: an address so far from a register's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstArgument {
    register: u16,
    offset: i64,
}

/// The code of a module.
#[derive(Debug)]
pub(crate) struct Code {
    file: fs::File,
    /// Of each part: its address, where it is in the file, and how long it is.
    parts: Vec<(u64, u64, u64)>,
    frames: Vec<u8>,
    frames_address: u64,
}

impl Code {
    /// That of a program or library.
    pub(crate) fn open(path: &str) -> Option<Code> {
        let bytes = ReadCache::new(fs::File::open(path).ok()?);
        let file = object::File::parse(&bytes).ok()?;
        if file.architecture() != object::Architecture::X86_64 {
            return None;
        }
        let part = |segment: object::Segment<'_, '_, _>| {
            let (offset, length) = segment.file_range();
            (segment.address(), offset, length)
        };
        let parts = file.segments().map(part).collect();
        let section = file.section_by_name(".eh_frame");
        let frames_address = section.as_ref().map_or(0, |section| section.address());
        let frames = section.and_then(|section| Some(section.uncompressed_data().ok()?.into_owned()));
        Some(Code {
            file: fs::File::open(path).ok()?,
            parts,
            frames: frames.unwrap_or_default(),
            frames_address,
        })
    }

    /// The first argument of the call that returns to an address, if the instructions before the call say it.
    pub(crate) fn first_argument(&self, return_address: u64) -> Option<FirstArgument> {
        let mut around = [0; BEFORE + AFTER];
        let start = return_address.checked_sub(BEFORE as u64)?;
        let end = return_address + AFTER as u64;
        let (address, offset, _) =
            *self.parts.iter().find(|(address, _, length)| start >= *address && end - *address <= *length)?;
        self.file.read_exact_at(&mut around, offset + (start - address)).ok()?;
        let (before, after) = around.split_at(BEFORE);
        first_argument(before, after)
    }

    /// How far an argument is from the base of the frame that computes it, right before an address.
    pub(crate) fn distance_from_base(
        &self,
        argument: FirstArgument,
        base: FrameBase,
        address: u64,
    ) -> Option<i64> {
        match base {
            FrameBase::Register(register) => (register == argument.register).then_some(argument.offset),
            FrameBase::CallFrame(distance) => {
                let (register, offset) = self.call_frame(address)?;
                (register == argument.register).then(|| argument.offset - offset - distance)
            }
        }
    }

    /// The register and the offset that give the value of the stack pointer before the call of the function at an address.
    fn call_frame(&self, address: u64) -> Option<(u16, i64)> {
        let frames = EhFrame::new(&self.frames, LittleEndian);
        let bases = BaseAddresses::default().set_eh_frame(self.frames_address);
        let mut context = UnwindContext::new();
        let row =
            frames.unwind_info_for_address(&bases, &mut context, address, EhFrame::cie_from_offset).ok()?;
        match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => Some((register.0, *offset)),
            CfaRule::Expression(_) => None,
        }
    }
}

/// A register, as instructions number it: not as debug information does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Register(u8);

const RAX: Register = Register(0);
const RDI: Register = Register(7);
/// Those that keep their values over a call: rbx, rbp, and r12 to r15.
const KEPT: [Register; 6] =
    [Register(3), Register(5), Register(12), Register(13), Register(14), Register(15)];

impl Register {
    /// What is written into the byte of the operands.
    fn low(self) -> u8 {
        self.0 & 7
    }

    /// The prefix of an instruction of 64 bits that has it as its register operand.
    fn prefix_of_operand(self) -> u8 {
        if self.0 < 8 { 0x48 } else { 0x4c }
    }

    /// The same for the operand that can be memory.
    fn prefix_of_target(self) -> u8 {
        if self.0 < 8 { 0x48 } else { 0x49 }
    }

    /// The instruction that copies it into the register of the first argument.
    fn into_rdi(self) -> [u8; 3] {
        [self.prefix_of_operand(), 0x89, 0xc0 | self.low() << 3 | RDI.low()]
    }
}

/// The instructions that are looked at take no more bytes.
const BEFORE: usize = 32;
const AFTER: usize = 16;

/// Reads the instructions that end with a call, backwards, and the one that comes after it.
fn first_argument(before: &[u8], after: &[u8]) -> Option<FirstArgument> {
    // call rel32, or call [rip + rel32]; a linker pads the former.
    let calls: [&[u8]; 3] = [&[0x67, 0xe8], &[0xff, 0x15], &[0xe8]];
    calls.into_iter().find_map(|call| {
        let before = without(before, call, 4)?;
        before_call(before).or_else(|| operand(after).filter(|_| keeps_address(before)))
    })
}

/// Whether the argument is a copy of a register that keeps its value over the call: where it was computed is not in sight, but the
/// access itself needs nothing from memory to find its address.
fn keeps_address(bytes: &[u8]) -> bool {
    bytes.last_chunk().is_some_and(|last| KEPT.iter().any(|kept| kept.into_rdi() == *last))
}

/// The place in memory that an instruction accesses, if it is relative to the frame pointer or the stack pointer.
fn operand(bytes: &[u8]) -> Option<FirstArgument> {
    let prefixes = bytes.iter().take_while(|byte| matches!(byte, 0x66 | 0xf0 | 0xf2 | 0xf3)).count();
    let bytes = &bytes[prefixes..];
    let bytes = match bytes.first()? {
        // The last bits make it another register.
        rex @ 0x40..=0x4f if rex & 3 != 0 => return None,
        0x40..=0x4f => &bytes[1..],
        _ => bytes,
    };
    let (opcode, rest) = match bytes {
        [0x0f, opcode, rest @ ..] => (0x0f00 | u16::from(*opcode), rest),
        [opcode, rest @ ..] => (u16::from(*opcode), rest),
        [] => return None,
    };
    let has_operand = match opcode {
        0x00..=0x3f => opcode & 7 < 4,
        0x63 | 0x80 | 0x81 | 0x83..=0x8b | 0xc6 | 0xc7 | 0xf6 | 0xf7 | 0xfe | 0xff => true,
        0x0f10 | 0x0f11 | 0x0f28 | 0x0f29 | 0x0f6e | 0x0f6f | 0x0f7e | 0x0f7f | 0x0fd6 => true,
        0x0fb0 | 0x0fb1 | 0x0fb6 | 0x0fb7 | 0x0fbe | 0x0fbf | 0x0fc0 | 0x0fc1 => true,
        _ => false,
    };
    let (&form, rest) = rest.split_first().filter(|_| has_operand)?;
    let (register, rest) = match form & 7 {
        5 => (RBP, rest),
        4 if rest.first() == Some(&0x24) => (RSP, &rest[1..]),
        _ => return None,
    };
    let offset = match form >> 6 {
        0 if register == RSP => 0,
        1 => i64::from(*rest.first()? as i8),
        2 => i64::from(i32::from_le_bytes(*rest.first_chunk()?)),
        _ => return None,
    };
    Some(FirstArgument { register, offset })
}

/// The bytes before an instruction of this opcode with this number of bytes of operands.
fn without<'b>(bytes: &'b [u8], opcode: &[u8], operands: usize) -> Option<&'b [u8]> {
    let rest = bytes.get(..bytes.len().checked_sub(opcode.len() + operands)?)?;
    bytes[rest.len()..].starts_with(opcode).then_some(rest)
}

fn before_call(bytes: &[u8]) -> Option<FirstArgument> {
    let bytes = without_numbers(bytes);
    // lea rdi, ..; or mov rdi, rsp
    if let Some(found) = address_into(bytes, RDI) {
        return Some(found);
    }
    // lea rbx, ..; perhaps mov esi, immediate; mov rdi, rbx
    if let Some(kept) = KEPT.into_iter().find(|kept| without(bytes, &kept.into_rdi(), 0).is_some()) {
        return address_into(without_numbers(without(bytes, &kept.into_rdi(), 0)?), kept);
    }
    // lea rax, ..; perhaps add rax, immediate; perhaps mov esi, immediate; mov rdi, rax
    let bytes = without_numbers(without(bytes, &RAX.into_rdi(), 0)?);
    let (bytes, part) = without_addition(bytes);
    address_into(bytes, RAX).map(|found| FirstArgument { offset: found.offset + part, ..found })
}

/// The bytes before an instruction that adds a number to `rax`, and the number: the place of a part in a variable.
fn without_addition(bytes: &[u8]) -> (&[u8], i64) {
    if let Some(rest) = without(bytes, &[0x48, 0x83, 0xc0], 1) {
        return (rest, i64::from(bytes[bytes.len() - 1] as i8));
    }
    match (without(bytes, &[0x48, 0x05], 4), bytes.last_chunk()) {
        (Some(rest), Some(number)) => (rest, i64::from(i32::from_le_bytes(*number))),
        _ => (bytes, 0),
    }
}

/// The bytes before instructions that put numbers into the registers of further arguments.
fn without_numbers(mut bytes: &[u8]) -> &[u8] {
    // mov esi, edx, ecx, immediate; xor esi, esi; xor edx, edx; xor ecx, ecx
    let numbers: [(&[u8], usize); 6] = [
        (&[0xbe], 4),
        (&[0xba], 4),
        (&[0xb9], 4),
        (&[0x31, 0xf6], 0),
        (&[0x31, 0xd2], 0),
        (&[0x31, 0xc9], 0),
    ];
    while let Some(rest) = numbers.into_iter().find_map(|(opcode, operands)| without(bytes, opcode, operands))
    {
        bytes = rest;
    }
    bytes
}

/// What a `lea` at the end puts into a register, if it is relative to the frame pointer or the stack pointer; or a `mov` of the latter.
fn address_into(bytes: &[u8], into: Register) -> Option<FirstArgument> {
    let form = |mode: u8, base: u8| mode << 6 | into.low() << 3 | base;
    let lea = [into.prefix_of_operand(), 0x8d];
    let last = |count: usize| &bytes[bytes.len() - count..];
    let byte = || i64::from(last(1)[0] as i8);
    let word = || last(4).try_into().map(i32::from_le_bytes).map(i64::from).unwrap_or_default();
    let with = |more: &[u8]| [&lea[..], more].concat();
    if without(bytes, &[into.prefix_of_target(), 0x89, 0xe0 | into.low()], 0).is_some() {
        return Some(FirstArgument { register: RSP, offset: 0 });
    }
    if without(bytes, &with(&[form(1, 5)]), 1).is_some() {
        return Some(FirstArgument { register: RBP, offset: byte() });
    }
    if without(bytes, &with(&[form(2, 5)]), 4).is_some() {
        return Some(FirstArgument { register: RBP, offset: word() });
    }
    if without(bytes, &with(&[form(1, 4), 0x24]), 1).is_some() {
        return Some(FirstArgument { register: RSP, offset: byte() });
    }
    without(bytes, &with(&[form(2, 4), 0x24]), 4).map(|_| FirstArgument { register: RSP, offset: word() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(instructions: &[u8]) -> Option<(u16, i64)> {
        argument_before(instructions, &[0x90; AFTER])
    }

    fn argument_before(instructions: &[u8], after: &[u8]) -> Option<(u16, i64)> {
        let mut bytes = vec![0x90; BEFORE];
        bytes.extend_from_slice(instructions);
        first_argument(&bytes, after).map(|found| (found.register, found.offset))
    }

    #[test]
    fn addresses_of_locals_are_read_from_the_code() {
        let call = [0xe8, 1, 2, 3, 4];
        // lea -0x14(%rbp),%rax; mov %rax,%rdi; call
        assert_eq!(
            argument(&[&[0x48, 0x8d, 0x45, 0xec, 0x48, 0x89, 0xc7][..], &call].concat()),
            Some((RBP, -0x14))
        );
        // lea -0x90(%rbp),%rax; mov $0,%esi; mov %rax,%rdi; call
        let two = [0x48, 0x8d, 0x85, 0x70, 0xff, 0xff, 0xff, 0xbe, 0, 0, 0, 0, 0x48, 0x89, 0xc7];
        assert_eq!(argument(&[&two[..], &call].concat()), Some((RBP, -0x90)));
        // lea -0x40(%rbp),%rax; add $0x10,%rax; mov %rax,%rdi; call
        let part = [0x48, 0x8d, 0x45, 0xc0, 0x48, 0x83, 0xc0, 0x10, 0x48, 0x89, 0xc7];
        assert_eq!(argument(&[&part[..], &call].concat()), Some((RBP, -0x30)));
        // lea -0x400(%rbp),%rax; add $0x200,%rax; mov %rax,%rdi; call
        let far_part = [0x48, 0x8d, 0x85, 0, 0xfc, 0xff, 0xff, 0x48, 0x05, 0, 2, 0, 0, 0x48, 0x89, 0xc7];
        assert_eq!(argument(&[&far_part[..], &call].concat()), Some((RBP, -0x200)));
        // lea 0xc(%rsp),%rdi; call *rip
        assert_eq!(argument(&[0x48, 0x8d, 0x7c, 0x24, 0x0c, 0xff, 0x15, 1, 2, 3, 4]), Some((RSP, 12)));
        // lea 0x120(%rsp),%rdi; call
        let far = [0x48, 0x8d, 0xbc, 0x24, 0x20, 1, 0, 0];
        assert_eq!(argument(&[&far[..], &call].concat()), Some((RSP, 0x120)));
        assert_eq!(argument(&[&[0x48, 0x89, 0xe7][..], &call].concat()), Some((RSP, 0)));
        // lea 0x40(%rsp),%rdi; mov $1,%edx; xor %esi,%esi; call
        let three = [0x48, 0x8d, 0x7c, 0x24, 0x40, 0xba, 1, 0, 0, 0, 0x31, 0xf6];
        assert_eq!(argument(&[&three[..], &call].concat()), Some((RSP, 0x40)));
        // lea 0x10(%rsp),%rbx; mov $0x50,%edx; mov $0,%esi; mov %rbx,%rdi; call
        let cleared = [0x48, 0x8d, 0x5c, 0x24, 0x10, 0xba, 0x50, 0, 0, 0, 0xbe, 0, 0, 0, 0, 0x48, 0x89, 0xdf];
        assert_eq!(argument(&[&cleared[..], &call].concat()), Some((RSP, 0x10)));
        // lea -0x60(%rbp),%r13; mov %r13,%rdi; call
        let high = [0x4c, 0x8d, 0x6d, 0xa0, 0x4c, 0x89, 0xef];
        assert_eq!(argument(&[&high[..], &call].concat()), Some((RBP, -0x60)));
        // mov %rsp,%r12; mov %r12,%rdi; call
        let start = [0x49, 0x89, 0xe4, 0x4c, 0x89, 0xe7];
        assert_eq!(argument(&[&start[..], &call].concat()), Some((RSP, 0)));
        // mov %rbx,%rdi; call: from anywhere.
        assert_eq!(argument(&[&[0x48, 0x89, 0xdf][..], &call].concat()), None);
        // mov %r12,%rdi; call; movl $0,0x3c(%rsp): the access itself says where it is.
        let kept = [&[0x4c, 0x89, 0xe7][..], &call].concat();
        assert_eq!(argument_before(&kept, &[0xc7, 0x44, 0x24, 0x3c, 0, 0, 0, 0]), Some((RSP, 0x3c)));
        // .. addq $1,-0x88(%rbp); .. mov (%r12),%eax.
        assert_eq!(
            argument_before(&kept, &[0x48, 0x83, 0x85, 0x78, 0xff, 0xff, 0xff, 1]),
            Some((RBP, -0x88))
        );
        assert_eq!(argument_before(&kept, &[0x41, 0x8b, 0x04, 0x24, 0x90]), None);
        // mov -8(%rbp),%rdi; call; mov -8(%rbp),%rax: a pointer is fetched again.
        let fetched = [&[0x48, 0x8b, 0x7d, 0xf8][..], &call].concat();
        assert_eq!(argument_before(&fetched, &[0x48, 0x8b, 0x45, 0xf8]), None);
        // A lea, and no call after it.
        assert_eq!(argument(&[0x48, 0x8d, 0x7d, 0xec]), None);
    }
}
