# Read by the assembler before what a compiler has made. From here on a conditional jump stores a 1 in a byte of the thread's own
# (`BRANCHED_AT` in crates/wire), and so does a jump or call to an address that was computed. The runtime takes the 1 along with the thread's
# next event. The byte has a fixed place, so this works in programs and in libraries alike, and needs no register and nothing of the linker.
#
# The macros have the names of the instructions. In them `{load}`, which means nothing to a jump, stands before the instruction: a line that
# does not start with the name of a macro is not expanded once more. The store is written as bytes, so that it is right in inline assembly
# of both syntaxes. It leaves flags and registers alone.

# movb $1, %fs:0x260
.macro foretell_branch
.byte 0x64, 0xc6, 0x04, 0x25
.long 0x260
.byte 1
.endm

# The same if the target starts with a star.
.macro foretell_computed target:vararg
.irpc first, "\target"
.ifc "\first", "*"
foretell_branch
.endif
.exitm
.endr
.endm

.irp name, jo, jno, jb, jc, jnae, jnb, jnc, jae, je, jz, jne, jnz, jbe, jna, ja, jnbe, js, jns, jp, jpe, jnp, jpo, jl, jnge, jge, jnl, jle, jng, jg, jnle
.macro \name target:vararg
foretell_branch
{load} \name \target
.endm
.endr

.irp name, jmp, jmpq, call, callq
.macro \name target:vararg
foretell_computed \target
{load} \name \target
.endm
.endr

# `notrack jmp` and `notrack call` have computed addresses.
.macro notrack instruction:vararg
foretell_branch
{load} notrack \instruction
.endm
