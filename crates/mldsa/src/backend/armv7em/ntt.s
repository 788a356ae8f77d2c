@ NTT of 256 words at r0, with the zetas at r1 in the order in which they are met (`ordered` in ../armv7em.rs).
@ Layers 0 to 2, 3 to 5, 6 and 7 in one pass each; r2 to r9 hold eight coefficients.
@ r12 zetas, r1 q^-1 mod 2^32, lr -q, r10 and r11 for products. Every instruction takes a time that depends on no operand.

    .macro ntt_butterfly a, b, zeta         @ (a, b) <- (a + zeta·b, a - zeta·b): steps 10 to 12 of Algorithm 41
    ldr r11, [r12, #4*\zeta]
    smull r10, r11, \b, r11
    mul \b, r10, r1
    smlal r10, r11, \b, lr
    sub \b, \a, r11
    add \a, \a, r11
    .endm

    .macro ntt_three stride                 @ three layers on eight coefficients that lie `stride` bytes apart
    ldr r2, [r0]
    ldr r3, [r0, #\stride]
    ldr r4, [r0, #2*\stride]
    ldr r5, [r0, #3*\stride]
    ldr r6, [r0, #4*\stride]
    ldr r7, [r0, #5*\stride]
    ldr r8, [r0, #6*\stride]
    ldr r9, [r0, #7*\stride]
    ntt_butterfly r2, r6, 0
    ntt_butterfly r3, r7, 0
    ntt_butterfly r4, r8, 0
    ntt_butterfly r5, r9, 0
    ntt_butterfly r2, r4, 1
    ntt_butterfly r3, r5, 1
    ntt_butterfly r6, r8, 2
    ntt_butterfly r7, r9, 2
    ntt_butterfly r2, r3, 3
    ntt_butterfly r4, r5, 4
    ntt_butterfly r6, r7, 5
    ntt_butterfly r8, r9, 6
    str r3, [r0, #\stride]
    str r4, [r0, #2*\stride]
    str r5, [r0, #3*\stride]
    str r6, [r0, #4*\stride]
    str r7, [r0, #5*\stride]
    str r8, [r0, #6*\stride]
    str r9, [r0, #7*\stride]
    str r2, [r0], #4
    .endm

    .macro ntt_canonical a                  @ a - ⌊a / 2^23⌉·q, and q more where that is negative
    add r10, \a, #0x400000
    asr r10, r10, #23
    mla \a, r10, lr, \a
    and r10, lr, \a, asr #31
    sub \a, \a, r10
    .endm

    push {r4, r5, r6, r7, r8, r9, r10, r11, lr}
    mov r12, r1
    movw r1, #0x2001
    movt r1, #0x0380
    movw lr, #0x1fff
    movt lr, #0xff80
    add r2, r0, #128
    push {r2, r3}
1:  ntt_three 128
    ldr r10, [sp]
    cmp r0, r10
    bne 1b
    sub r0, r0, #128
    add r12, r12, #28
    add r2, r0, #1024
    str r2, [sp, #4]
2:  add r10, r0, #16
    str r10, [sp]
3:  ntt_three 16
    ldr r10, [sp]
    cmp r0, r10
    bne 3b
    ldr r10, [sp, #4]
    add r0, r0, #112
    add r12, r12, #28
    cmp r0, r10
    bne 2b
    sub r0, r0, #1024
4:  ldm r0, {r2, r3, r4, r5, r6, r7, r8, r9}
    ntt_butterfly r2, r4, 0
    ntt_butterfly r3, r5, 0
    ntt_butterfly r2, r3, 1
    ntt_butterfly r4, r5, 2
    ntt_butterfly r6, r8, 3
    ntt_butterfly r7, r9, 3
    ntt_butterfly r6, r7, 4
    ntt_butterfly r8, r9, 5
    ntt_canonical r2
    ntt_canonical r3
    ntt_canonical r4
    ntt_canonical r5
    ntt_canonical r6
    ntt_canonical r7
    ntt_canonical r8
    ntt_canonical r9
    stm r0!, {r2, r3, r4, r5, r6, r7, r8, r9}
    add r12, r12, #24
    ldr r10, [sp, #4]
    cmp r0, r10
    bne 4b
    add sp, sp, #8
    pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}
