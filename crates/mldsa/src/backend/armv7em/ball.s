@ Sums of windows of 256 bytes: r0 the bytes, r1 to r2 the places where windows begin, at least one; r3 where the sums go.
@ 32 bytes at a time, four in a register: no byte passes 255, so none carries into the next.

    .macro ball_window
    ldrh r12, [r1], #2
    add r12, r12, r0
    .endm

    .macro ball_add sum, at
    ldr lr, [r12, #\at]
    add \sum, \sum, lr
    .endm

    push {r1, r4, r5, r6, r7, r8, r9, r10, r11, lr}
    add r4, r3, #256
    push {r4}
1:  ball_window
    ldr r4, [r12]
    ldr r5, [r12, #4]
    ldr r6, [r12, #8]
    ldr r7, [r12, #12]
    ldr r8, [r12, #16]
    ldr r9, [r12, #20]
    ldr r10, [r12, #24]
    ldr r11, [r12, #28]
    cmp r1, r2
    beq 3f
2:  ball_window
    ball_add r4, 0
    ball_add r5, 4
    ball_add r6, 8
    ball_add r7, 12
    ball_add r8, 16
    ball_add r9, 20
    ball_add r10, 24
    ball_add r11, 28
    cmp r1, r2
    bne 2b
3:  stm r3!, {r4, r5, r6, r7, r8, r9, r10, r11}
    ldr r12, [sp]
    ldr r1, [sp, #4]
    add r0, r0, #32
    cmp r3, r12
    bne 1b
    add sp, sp, #8
    pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}
