# switch_x86_64.S: the context switch (context.hpp has the contract, X1-X4).
#
# Leaves by ret. The runtime switches in one function, Worker::leave, which
# ends with it: the address is that of leave()'s caller. Two fibers that both
# yield, or both park, left at the same one, which is what the return predictor
# has from the call on the other stack; and it stays in step with the returns
# above.
#
# endbr64 is the landing pad of indirect calls where those are checked (IBT), and
# does nothing elsewhere.

        .text

# void weft_switch_context(Context* from /*rdi*/, Context* to /*rsi*/)
        .globl  weft_switch_context
        .hidden weft_switch_context
        .type   weft_switch_context, @function
        .align  32
weft_switch_context:
        .cfi_startproc
        endbr64
        stmxcsr 56(%rdi)
        fnstcw  60(%rdi)
        movq    %rsp, 0(%rdi)
        movq    %rbx, 8(%rdi)
        movq    %rbp, 16(%rdi)
        movq    %r12, 24(%rdi)
        movq    %r13, 32(%rdi)
        movq    %r14, 40(%rdi)
        movq    %r15, 48(%rdi)
        # Load the control words only where they differ: an unconditional
        # ldmxcsr costs far more than the switch once a sticky flag is set.
        movl    56(%rsi), %eax
        xorl    56(%rdi), %eax
        movzwl  60(%rsi), %edx
        xorw    60(%rdi), %dx
        andl    $0xFFC0, %eax
        orl     %edx, %eax
        jnz     2f
1:      movq    8(%rsi), %rbx
        movq    16(%rsi), %rbp
        movq    24(%rsi), %r12
        movq    32(%rsi), %r13
        movq    40(%rsi), %r14
        movq    48(%rsi), %r15
        movq    0(%rsi), %rsp
        ret
2:      ldmxcsr 56(%rsi)
        fldcw   60(%rsi)
        jmp     1b
        .cfi_endproc
        .size   weft_switch_context, . - weft_switch_context

# First code on a prepared stack. [rsp] is the cleanup function; rip is
# undefined in the CFI, so unwinders and debuggers stop here.
        .globl  weft_entry_trampoline
        .hidden weft_entry_trampoline
        .type   weft_entry_trampoline, @function
        .align  16
weft_entry_trampoline:
        .cfi_startproc
        .cfi_undefined rip
        endbr64
        movq    %r13, %rdi
        xorl    %ebp, %ebp
        call    *%r12
        ret
        .cfi_endproc
        .size   weft_entry_trampoline, . - weft_entry_trampoline

# Says that indirect branches land on endbr64 only (IBT). Shadow stacks (SHSTK)
# are not claimed: a ret to another stack is what they are there to stop.
        .section .note.gnu.property, "a"
        .align  8
        .long   4               # size of the name
        .long   16              # size of the properties
        .long   5               # NT_GNU_PROPERTY_TYPE_0
        .asciz  "GNU"
        .long   0xc0000002      # GNU_PROPERTY_X86_FEATURE_1_AND
        .long   4               # its size
        .long   1               # IBT
        .long   0               # padding

        .section .note.GNU-stack, "", @progbits
