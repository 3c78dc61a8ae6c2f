// switch_aarch64.S: the context switch (context.hpp has the contract, X1-X4).
//
// Half of what the ABI preserves goes into the context, one cache line, half
// onto the stack that is left (docs/design/context.md says why).
//
//   context   sp fp lr x19-x22 fpcr
//   stack     x23-x28, d8-d15: 112 bytes below what sp was at the call
//
// Leaves by ret. The runtime switches in one function, Worker::leave, which
// ends with it: the address is that of leave()'s caller. Two fibers that both
// yield, or both park, left at the same one, which is what the return predictor
// has from the call on the other stack; and it stays in step with the returns
// above.
//
// The return address is signed while it is not in a register: paciasp is a
// landing pad for indirect calls, too. All of these are hints, thus do nothing
// on cores without pointer authentication.

#define BTI_C hint #34
#define PACIASP hint #25
#define AUTIASP hint #29

        .text

// void weft_switch_context(Context* from /*x0*/, Context* to /*x1*/)
        .globl  weft_switch_context
        .hidden weft_switch_context
        .type   weft_switch_context, %function
        .p2align 5
weft_switch_context:
        .cfi_startproc
        PACIASP
        .cfi_negate_ra_state
        sub     sp, sp, #112
        .cfi_def_cfa_offset 112
        stp     x23, x24, [sp, #0]
        stp     x25, x26, [sp, #16]
        stp     x27, x28, [sp, #32]
        stp     d8, d9, [sp, #48]
        stp     d10, d11, [sp, #64]
        stp     d12, d13, [sp, #80]
        stp     d14, d15, [sp, #96]
        mov     x9, sp
        mrs     x10, fpcr
        stp     x9, x29, [x0, #0]
        stp     x30, x19, [x0, #16]
        stp     x20, x21, [x0, #32]
        stp     x22, x10, [x0, #48]
        // Written only where it differs: that may drain the pipeline.
        ldp     x22, x11, [x1, #48]
        cmp     x10, x11
        b.ne    2f
1:      ldp     x9, x29, [x1, #0]
        ldp     x30, x19, [x1, #16]
        ldp     x20, x21, [x1, #32]
        mov     sp, x9
        ldp     x23, x24, [sp, #0]
        ldp     x25, x26, [sp, #16]
        ldp     x27, x28, [sp, #32]
        ldp     d8, d9, [sp, #48]
        ldp     d10, d11, [sp, #64]
        ldp     d12, d13, [sp, #80]
        ldp     d14, d15, [sp, #96]
        .cfi_remember_state
        add     sp, sp, #112
        .cfi_def_cfa_offset 0
        AUTIASP
        .cfi_negate_ra_state
        ret
        .cfi_restore_state
2:      msr     fpcr, x11
        b       1b
        .cfi_endproc
        .size   weft_switch_context, . - weft_switch_context

// First code on a prepared stack: entry in x19, argument in x20, cleanup in
// x21. The return address is undefined in the CFI and the frame pointer null,
// so unwinders and debuggers stop here.
        .globl  weft_entry_trampoline
        .hidden weft_entry_trampoline
        .type   weft_entry_trampoline, %function
        .p2align 4
weft_entry_trampoline:
        .cfi_startproc
        .cfi_undefined x30
        BTI_C
        mov     x29, #0
        mov     x30, #0
        mov     x0, x20
        blr     x19
        blr     x21
        brk     #1              // cleanup returned
        .cfi_endproc
        .size   weft_entry_trampoline, . - weft_entry_trampoline

// Says that indirect branches land on landing pads only (BTI) and that return
// addresses are signed (PAC). Guarded control stacks (GCS) are not claimed.
        .section .note.gnu.property, "a"
        .p2align 3
        .word   4               // size of the name
        .word   16              // size of the properties
        .word   5               // NT_GNU_PROPERTY_TYPE_0
        .asciz  "GNU"
        .word   0xc0000000      // GNU_PROPERTY_AARCH64_FEATURE_1_AND
        .word   4               // its size
        .word   3               // BTI, PAC
        .word   0               // padding

        .section .note.GNU-stack, "", %progbits
