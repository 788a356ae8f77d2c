@ Copying, filling and comparing, in few bytes. The compiler's library has them too, quicker at kilobytes and twenty times as long.
@ Words need not be aligned: ARMv7E-M loads and stores them anyway.

    .macro entry name
    .global \name
    .type \name, %function
    .thumb_func
\name:
    .endm

    .section .text.memory, "ax", %progbits
    .syntax unified
    .thumb
    .balign 4

    @ r0 where to, r1 where from, r2 bytes; returns r0
entry memmove
entry __aeabi_memmove
entry __aeabi_memmove4
entry __aeabi_memmove8
    subs r3, r0, r1
    cmp r3, r2
    bcc 4f                          @ it begins within what is copied: from the end
entry memcpy
entry __aeabi_memcpy
entry __aeabi_memcpy4
entry __aeabi_memcpy8
    mov r12, r0
1:  subs r2, r2, #4
    bcc 2f
    ldr r3, [r1], #4
    str r3, [r12], #4
    b 1b
2:  adds r2, r2, #4
3:  subs r2, r2, #1
    bcc 5f
    ldrb r3, [r1], #1
    strb r3, [r12], #1
    b 3b
4:  subs r2, r2, #1
    bcc 5f
    ldrb r3, [r1, r2]
    strb r3, [r0, r2]
    b 4b
5:  bx lr

    @ r0 where, r1 the byte, r2 bytes; returns r0
entry memset
    mov r3, r1
    mov r1, r2
    mov r2, r3
    b __aeabi_memset

    @ r0 where, r1 bytes
entry __aeabi_memclr
entry __aeabi_memclr4
entry __aeabi_memclr8
    movs r2, #0
    @ r0 where, r1 bytes, r2 the byte; leaves r0
entry __aeabi_memset
entry __aeabi_memset4
entry __aeabi_memset8
    uxtb r2, r2
    orr r2, r2, r2, lsl #8
    orr r2, r2, r2, lsl #16
    mov r12, r0
1:  subs r1, r1, #4
    bcc 2f
    str r2, [r12], #4
    b 1b
2:  adds r1, r1, #4
3:  subs r1, r1, #1
    bcc 5b
    strb r2, [r12], #1
    b 3b

    @ r0 and r1 what is compared, r2 bytes; returns the difference of the first two bytes that differ, or zero
entry memcmp
entry bcmp
1:  subs r2, r2, #1
    bcc 2f
    ldrb r3, [r0], #1
    ldrb r12, [r1], #1
    subs r3, r3, r12
    beq 1b
    mov r0, r3
    bx lr
2:  movs r0, #0
    bx lr
