@ Written by scripts/keccak-armv7em, which says how it works.
    push {r4, r5, r6, r7, r8, r9, r10, r11, lr}
    sub sp, sp, #228
    mov lr, r0
    mov r3, sp
    str r3, [sp, #224]
    strd r1, r2, [sp, #216]
1:
    ldm lr!, {r0, r1, r2, r3, r4, r5, r6, r7, r8, r9}
    ldm lr!, {r10, r11, r12}
    eor r0, r0, r10
    eor r1, r1, r11
    eor r2, r2, r12
    ldm lr!, {r10, r11, r12}
    eor r3, r3, r10
    eor r4, r4, r11
    eor r5, r5, r12
    ldm lr!, {r10, r11, r12}
    eor r6, r6, r10
    eor r7, r7, r11
    eor r8, r8, r12
    ldm lr!, {r10, r11, r12}
    eor r9, r9, r10
    eor r0, r0, r11
    eor r1, r1, r12
    ldm lr!, {r10, r11, r12}
    eor r2, r2, r10
    eor r3, r3, r11
    eor r4, r4, r12
    ldm lr!, {r10, r11, r12}
    eor r5, r5, r10
    eor r6, r6, r11
    eor r7, r7, r12
    ldm lr!, {r10, r11, r12}
    eor r8, r8, r10
    eor r9, r9, r11
    eor r0, r0, r12
    ldm lr!, {r10, r11, r12}
    eor r1, r1, r10
    eor r2, r2, r11
    eor r3, r3, r12
    ldm lr!, {r10, r11, r12}
    eor r4, r4, r10
    eor r5, r5, r11
    eor r6, r6, r12
    ldm lr!, {r10, r11, r12}
    eor r7, r7, r10
    eor r8, r8, r11
    eor r9, r9, r12
    ldm lr!, {r10, r11, r12}
    eor r0, r0, r10
    eor r1, r1, r11
    eor r2, r2, r12
    ldm lr!, {r10, r11, r12}
    eor r3, r3, r10
    eor r4, r4, r11
    eor r5, r5, r12
    ldm lr!, {r10, r11, r12}
    eor r6, r6, r10
    eor r7, r7, r11
    eor r8, r8, r12
    ldr r10, [lr], #4
    eor r9, r9, r10
    subs lr, lr, #200
    eor r10, r8, r3, ror #31
    eor r11, r3, r6
    eor r3, r6, r1, ror #31
    eor r6, r1, r4
    eor r1, r4, r9, ror #31
    eor r4, r9, r2
    eor r9, r2, r7, ror #31
    eor r2, r7, r0
    eor r7, r0, r5, ror #31
    eor r0, r5, r8
    ldr r12, [sp, #224]
    str r6, [sp, #200]
    str r1, [sp, #204]
    str r4, [sp, #208]
    str r2, [sp, #212]
    ldr r1, [lr, #0]
    ldr r2, [lr, #48]
    ldr r4, [lr, #100]
    ldr r5, [lr, #148]
    ldr r6, [lr, #192]
    eor r1, r1, r10
    eor r2, r2, r7
    eor r4, r4, r11
    eor r5, r5, r0
    eor r6, r6, r3
    ror r2, r2, #10
    ror r4, r4, #10
    bic r8, r5, r4, ror #11
    eor r8, r2, r8, ror #21
    str r8, [r12, #8]
    bic r8, r6, r5, ror #28
    eor r8, r4, r8, ror #25
    str r8, [r12, #16]
    bic r8, r1, r6, ror #25
    eor r8, r8, r5, ror #21
    str r8, [r12, #24]
    bic r5, r2, r1
    eor r5, r5, r6, ror #25
    str r5, [r12, #32]
    bic r8, r4, r2
    eor r8, r1, r8
    ldr r6, [sp, #216]
    ldr r6, [r6, #0]
    eor r8, r8, r6
    str r8, [r12, #0]
    ldr r1, [lr, #36]
    ldr r8, [sp, #212]
    eor r1, r1, r8
    ldr r2, [lr, #184]
    ldr r8, [sp, #204]
    eor r2, r2, r8
    ldr r4, [lr, #40]
    ldr r5, [lr, #88]
    ldr r6, [lr, #140]
    eor r4, r4, r10
    eor r5, r5, r7
    eor r6, r6, r11
    ror r1, r1, #18
    ror r4, r4, #14
    ror r5, r5, #27
    bic r8, r6, r5, ror #8
    eor r8, r4, r8, ror #24
    str r8, [r12, #128]
    bic r8, r2, r6, ror #20
    eor r8, r5, r8, ror #4
    str r8, [r12, #136]
    bic r8, r1, r2, ror #4
    eor r8, r8, r6, ror #24
    str r8, [r12, #144]
    bic r6, r4, r1
    eor r6, r6, r2, ror #4
    str r6, [r12, #152]
    bic r8, r5, r4
    eor r8, r1, r8
    str r8, [r12, #120]
    ldr r1, [lr, #12]
    ldr r8, [sp, #200]
    eor r1, r1, r8
    ldr r2, [lr, #56]
    ldr r4, [lr, #108]
    ldr r5, [lr, #152]
    ldr r6, [lr, #160]
    eor r2, r2, r9
    eor r4, r4, r0
    eor r5, r5, r3
    eor r6, r6, r10
    ror r1, r1, #31
    ror r2, r2, #29
    ror r4, r4, #19
    bic r8, r5, r4, ror #4
    eor r8, r2, r8, ror #28
    str r8, [r12, #88]
    bic r8, r6, r5, ror #5
    eor r8, r4, r8, ror #23
    str r8, [r12, #96]
    bic r8, r1, r6, ror #23
    eor r8, r8, r5, ror #28
    str r8, [r12, #104]
    bic r5, r2, r1
    eor r5, r5, r6, ror #23
    str r5, [r12, #112]
    bic r8, r4, r2
    eor r8, r1, r8
    str r8, [r12, #80]
    ldr r1, [lr, #64]
    ldr r8, [sp, #204]
    eor r1, r1, r8
    ldr r2, [lr, #172]
    ldr r8, [sp, #200]
    eor r2, r2, r8
    ldr r4, [lr, #20]
    ldr r5, [lr, #112]
    ldr r6, [lr, #120]
    eor r4, r4, r11
    eor r5, r5, r3
    eor r6, r6, r10
    ror r4, r4, #1
    ror r1, r1, #5
    ror r5, r5, #13
    bic r8, r6, r5, ror #20
    eor r8, r1, r8, ror #12
    str r8, [r12, #172]
    bic r8, r2, r6, ror #13
    eor r8, r5, r8, ror #31
    str r8, [r12, #180]
    bic r8, r4, r2, ror #31
    eor r8, r8, r6, ror #12
    str r8, [r12, #188]
    bic r6, r1, r4
    eor r6, r6, r2, ror #31
    str r6, [r12, #196]
    bic r8, r5, r1
    eor r8, r4, r8
    str r8, [r12, #164]
    ldr r1, [lr, #76]
    ldr r8, [sp, #212]
    eor r1, r1, r8
    ldr r2, [lr, #28]
    ldr r4, [lr, #80]
    ldr r5, [lr, #128]
    ldr r6, [lr, #176]
    eor r2, r2, r0
    eor r4, r4, r10
    eor r5, r5, r7
    eor r6, r6, r9
    ror r2, r2, #18
    ror r1, r1, #22
    ror r4, r4, #31
    bic r8, r5, r4, ror #22
    eor r8, r1, r8, ror #10
    str r8, [r12, #52]
    bic r8, r6, r5, ror #8
    eor r8, r4, r8, ror #2
    str r8, [r12, #60]
    bic r8, r2, r6, ror #2
    eor r8, r8, r5, ror #10
    str r8, [r12, #68]
    bic r5, r1, r2
    eor r5, r5, r6, ror #2
    str r5, [r12, #76]
    bic r8, r4, r1
    eor r8, r2, r8
    str r8, [r12, #44]
    ldr r1, [lr, #44]
    ldr r10, [sp, #208]
    eor r1, r1, r10
    ldr r2, [lr, #92]
    ldr r8, [sp, #200]
    eor r2, r2, r8
    ldr r4, [lr, #32]
    ldr r5, [lr, #136]
    ldr r6, [lr, #188]
    eor r4, r4, r3
    eor r5, r5, r9
    eor r6, r6, r0
    ror r4, r4, #19
    ror r1, r1, #14
    ror r2, r2, #27
    bic r8, r5, r2, ror #7
    eor r8, r1, r8, ror #25
    str r8, [r12, #132]
    bic r8, r6, r5, ror #21
    eor r8, r2, r8, ror #4
    str r8, [r12, #140]
    bic r8, r4, r6, ror #4
    eor r8, r8, r5, ror #25
    str r8, [r12, #148]
    bic r5, r1, r4
    eor r5, r5, r6, ror #4
    str r5, [r12, #156]
    bic r8, r2, r1
    eor r8, r4, r8
    str r8, [r12, #124]
    ldr r1, [lr, #116]
    ldr r8, [sp, #212]
    eor r1, r1, r8
    ldr r2, [lr, #16]
    ldr r4, [lr, #68]
    ldr r5, [lr, #124]
    ldr r6, [lr, #168]
    eor r2, r2, r9
    eor r4, r4, r0
    eor r5, r5, r10
    eor r6, r6, r7
    ror r2, r2, #1
    ror r4, r4, #4
    ror r1, r1, #12
    bic r8, r5, r1, ror #21
    eor r8, r4, r8, ror #11
    str r8, [r12, #168]
    bic r8, r6, r5, ror #12
    eor r8, r1, r8, ror #31
    str r8, [r12, #176]
    bic r8, r2, r6, ror #31
    eor r8, r8, r5, ror #11
    str r8, [r12, #184]
    bic r5, r4, r2
    eor r5, r5, r6, ror #31
    str r5, [r12, #192]
    bic r8, r1, r4
    eor r8, r2, r8
    str r8, [r12, #160]
    ldr r0, [lr, #104]
    ldr r8, [sp, #204]
    eor r0, r0, r8
    ldr r1, [lr, #156]
    ldr r6, [sp, #212]
    eor r1, r1, r6
    ldr r2, [lr, #8]
    ldr r4, [lr, #60]
    ldr r5, [lr, #164]
    eor r2, r2, r7
    eor r4, r4, r11
    eor r5, r5, r10
    ror r4, r4, #29
    ror r0, r0, #20
    bic r6, r1, r0, ror #4
    eor r6, r4, r6, ror #28
    str r6, [r12, #92]
    bic r6, r5, r1, ror #5
    eor r6, r0, r6, ror #23
    str r6, [r12, #100]
    bic r6, r2, r5, ror #23
    eor r6, r6, r1, ror #28
    str r6, [r12, #108]
    bic r1, r4, r2
    eor r1, r1, r5, ror #23
    str r1, [r12, #116]
    bic r6, r0, r4
    eor r6, r2, r6
    str r6, [r12, #84]
    ldr r0, [lr, #132]
    ldr r7, [sp, #200]
    eor r0, r0, r7
    ldr r1, [lr, #24]
    ldr r2, [lr, #72]
    ldr r4, [lr, #84]
    ldr r5, [lr, #180]
    eor r1, r1, r8
    eor r2, r2, r3
    eor r4, r4, r10
    eor r5, r5, r11
    ror r1, r1, #18
    ror r2, r2, #22
    ror r4, r4, #30
    bic r6, r0, r4, ror #23
    eor r6, r2, r6, ror #9
    str r6, [r12, #48]
    bic r6, r5, r0, ror #8
    eor r6, r4, r6, ror #1
    str r6, [r12, #56]
    bic r6, r1, r5, ror #1
    eor r6, r6, r0, ror #9
    str r6, [r12, #64]
    bic r0, r2, r1
    eor r0, r0, r5, ror #1
    str r0, [r12, #72]
    bic r6, r4, r2
    eor r6, r1, r6
    str r6, [r12, #40]
    ldr r0, [lr, #196]
    ldr r11, [sp, #212]
    eor r0, r0, r11
    ldr r1, [lr, #4]
    ldr r2, [lr, #52]
    ldr r3, [lr, #96]
    ldr r4, [lr, #144]
    eor r1, r1, r10
    eor r2, r2, r7
    eor r3, r3, r9
    eor r4, r4, r8
    ror r2, r2, #10
    ror r3, r3, #11
    bic r5, r4, r3, ror #10
    eor r5, r2, r5, ror #22
    str r5, [r12, #12]
    bic r5, r0, r4, ror #29
    eor r5, r3, r5, ror #25
    str r5, [r12, #20]
    bic r5, r1, r0, ror #25
    eor r5, r5, r4, ror #22
    str r5, [r12, #28]
    bic r4, r2, r1
    eor r4, r4, r0, ror #25
    str r4, [r12, #36]
    bic r5, r3, r2
    eor r5, r1, r5
    ldr r0, [sp, #216]
    ldr r0, [r0, #4]
    eor r5, r5, r0
    str r5, [r12, #4]
    str lr, [sp, #224]
    mov lr, r12
    ldrd r0, r1, [sp, #216]
    adds r0, r0, #8
    str r0, [sp, #216]
    cmp r0, r1
    bne.w 1b
    movs r1, #0
    add r0, sp, #216
2:
    str r1, [r0, #-4]!
    cmp r0, sp
    bne 2b
    add sp, sp, #228
    pop {r4, r5, r6, r7, r8, r9, r10, r11, pc}
