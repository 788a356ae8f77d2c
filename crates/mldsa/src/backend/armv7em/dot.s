@ Sums of products of polynomials, times 2^-32: r0, r1 the first polynomials of both sides, the others behind them; r2 how
@ many, at least one; r3 where the sum goes; on the stack one further pair, or zeros.
@ Four coefficients at a time: sums in r2 to r9, products from r10 to r12 and lr.

    .macro dot_load back
    ldrd r10, r11, [r0], #\back
    ldrd r12, lr, [r1], #\back
    .endm

    .macro dot_canonical low, high          @ high <- (high:low)·2^-32 mod q; r10 q^-1 mod 2^32, r11 -q
    mul r12, \low, r10
    smlal \low, \high, r12, r11
    and r12, r11, \high, asr #31
    sub \high, \high, r12
    .endm

    .set dot_out, 16
    .set dot_out_end, 20
    .set dot_end, 8
    .set dot_more, 24 + 36

    push {r4, r5, r6, r7, r8, r9, r10, r11, lr}
    add r2, r0, r2, lsl #10
    add r4, r3, #1024
    sub sp, sp, #24
    strd r0, r1, [sp]
    str r2, [sp, #dot_end]
    strd r3, r4, [sp, #dot_out]
1:  ldrd r0, r1, [sp]
    dot_load 8
    umull r2, r3, r10, r12
    umull r4, r5, r11, lr
    dot_load 1016
    umull r6, r7, r10, r12
    umull r8, r9, r11, lr
    ldr r10, [sp, #dot_end]
    cmp r0, r10
    beq 3f
2:  dot_load 8
    umlal r2, r3, r10, r12
    umlal r4, r5, r11, lr
    dot_load 1016
    umlal r6, r7, r10, r12
    umlal r8, r9, r11, lr
    ldr r10, [sp, #dot_end]
    cmp r0, r10
    bne 2b
3:  add r10, r10, #16
    str r10, [sp, #dot_end]
    ldrd r0, r1, [sp, #dot_more]
    cbz r0, 4f
    dot_load 8
    umlal r2, r3, r10, r12
    umlal r4, r5, r11, lr
    dot_load 8
    umlal r6, r7, r10, r12
    umlal r8, r9, r11, lr
    strd r0, r1, [sp, #dot_more]
4:  ldrd r0, r1, [sp]
    movw r10, #0x2001
    movt r10, #0x0380
    movw r11, #0x1fff
    movt r11, #0xff80
    add r0, r0, #16
    add r1, r1, #16
    strd r0, r1, [sp]
    dot_canonical r2, r3
    dot_canonical r4, r5
    dot_canonical r6, r7
    dot_canonical r8, r9
    ldrd r0, r1, [sp, #dot_out]
    strd r3, r5, [r0], #8
    strd r7, r9, [r0], #8
    str r0, [sp, #dot_out]
    cmp r0, r1
    bne 1b
    add sp, sp, #24
    pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}
