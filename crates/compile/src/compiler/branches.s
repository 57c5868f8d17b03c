# Read by the assembler before what gcc has compiled. From here on a conditional jump stores a 1 in the thread's own variable
# `foretell_branched`, and so does a jump or call to an address that was computed. The runtime takes the 1 along with the thread's next event.
#
# The macros have the names of the instructions. In them `{load}`, which means nothing to a jump, stands before the instruction: a line that
# does not start with the name of a macro is not expanded once more. The store is written as bytes, so that it is right in inline assembly
# of both syntaxes. It leaves flags and registers alone.

# One for the program, however many objects have it. The runtime finds it by its name.
.section .tbss.foretell_branched, "awTG", @nobits, foretell_branched, comdat
.weak foretell_branched
.type foretell_branched, @object
.size foretell_branched, 8
.balign 8
foretell_branched:
.zero 8
.text

# movl $1, %fs:foretell_branched@tpoff
.macro foretell_branch
.byte 0x64, 0xc7, 0x04, 0x25
.reloc ., R_X86_64_TPOFF32, foretell_branched
.long 0
.long 1
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

.irp name, jmp, call
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
