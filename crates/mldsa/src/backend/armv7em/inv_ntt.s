@ 2^32·NTT^-1 of 256 words at r0, with the zetas at r1 in the order in which they are met (`inverse_ordered` in ../armv7em.rs).
@ Layers 7 and 6, 5 to 3, 2 to 0 in one pass each; registers as in ntt.s.

    .macro inv_butterfly a, b, zeta         @ (a, b) <- (a + b, zeta·(a - b)): steps 10 to 13 of Algorithm 42
    ldr r11, [r12, #4*\zeta]
    sub r10, \a, \b
    add \a, \a, \b
    smull r10, \b, r10, r11
    mul r11, r10, r1
    smlal r10, \b, r11, lr
    .endm

    .macro inv_times a, zeta                @ a <- zeta·a, in [0, q)
    ldr r11, [r12, #4*\zeta]
    smull r10, \a, \a, r11
    mul r11, r10, r1
    smlal r10, \a, r11, lr
    and r10, lr, \a, asr #31
    sub \a, \a, r10
    .endm

    .macro inv_last a, b                    @ layer 0 with the last factor: (a, b) <- (F·(a + b), F·zeta·(a - b))
    add \a, \a, \b
    sub \b, \a, \b, lsl #1
    inv_times \a, 7
    inv_times \b, 0
    .endm

    .macro inv_load stride
    ldr r2, [r0]
    ldr r3, [r0, #\stride]
    ldr r4, [r0, #2*\stride]
    ldr r5, [r0, #3*\stride]
    ldr r6, [r0, #4*\stride]
    ldr r7, [r0, #5*\stride]
    ldr r8, [r0, #6*\stride]
    ldr r9, [r0, #7*\stride]
    .endm

    .macro inv_store stride
    str r3, [r0, #\stride]
    str r4, [r0, #2*\stride]
    str r5, [r0, #3*\stride]
    str r6, [r0, #4*\stride]
    str r7, [r0, #5*\stride]
    str r8, [r0, #6*\stride]
    str r9, [r0, #7*\stride]
    str r2, [r0], #4
    .endm

    .macro inv_two                          @ the two layers with the most groups of three
    inv_butterfly r2, r3, 3
    inv_butterfly r4, r5, 4
    inv_butterfly r6, r7, 5
    inv_butterfly r8, r9, 6
    inv_butterfly r2, r4, 1
    inv_butterfly r3, r5, 1
    inv_butterfly r6, r8, 2
    inv_butterfly r7, r9, 2
    .endm

    push {r4, r5, r6, r7, r8, r9, r10, r11, lr}
    mov r12, r1
    movw r1, #0x2001
    movt r1, #0x0380
    movw lr, #0x1fff
    movt lr, #0xff80
    add r2, r0, #1024
    push {r2, r3}
1:  ldm r0, {r2, r3, r4, r5, r6, r7, r8, r9}
    inv_butterfly r2, r3, 1
    inv_butterfly r4, r5, 2
    inv_butterfly r2, r4, 0
    inv_butterfly r3, r5, 0
    inv_butterfly r6, r7, 4
    inv_butterfly r8, r9, 5
    inv_butterfly r6, r8, 3
    inv_butterfly r7, r9, 3
    stm r0!, {r2, r3, r4, r5, r6, r7, r8, r9}
    add r12, r12, #24
    ldr r10, [sp]
    cmp r0, r10
    bne 1b
    sub r0, r0, #1024
    str r10, [sp, #4]
2:  add r10, r0, #16
    str r10, [sp]
3:  inv_load 16
    inv_two
    inv_butterfly r2, r6, 0
    inv_butterfly r3, r7, 0
    inv_butterfly r4, r8, 0
    inv_butterfly r5, r9, 0
    inv_store 16
    ldr r10, [sp]
    cmp r0, r10
    bne 3b
    ldr r10, [sp, #4]
    add r0, r0, #112
    add r12, r12, #28
    cmp r0, r10
    bne 2b
    sub r0, r0, #1024
    add r10, r0, #128
    str r10, [sp]
4:  inv_load 128
    inv_two
    inv_last r2, r6
    inv_last r3, r7
    inv_last r4, r8
    inv_last r5, r9
    inv_store 128
    ldr r10, [sp]
    cmp r0, r10
    bne.w 4b
    add sp, sp, #8
    pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}
