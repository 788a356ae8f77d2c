@ Written by scripts/keccak-armv7em, which says how it works.
    push {r0, r4, r5, r6, r7, r8, r9, r10, r11, lr}
    push {r1, r2}
    sub sp, sp, #208
    ldm r0!, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}
    strd r1, r2, [sp, #0]
    strd r3, r4, [sp, #40]
    strd r5, r6, [sp, #80]
    strd r7, r8, [sp, #120]
    strd r9, r10, [sp, #160]
    ldm r0!, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}
    strd r1, r2, [sp, #8]
    strd r3, r4, [sp, #48]
    strd r5, r6, [sp, #88]
    strd r7, r8, [sp, #128]
    strd r9, r10, [sp, #168]
    ldm r0!, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}
    strd r1, r2, [sp, #16]
    strd r3, r4, [sp, #56]
    strd r5, r6, [sp, #96]
    strd r7, r8, [sp, #136]
    strd r9, r10, [sp, #176]
    ldm r0!, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}
    strd r1, r2, [sp, #24]
    strd r3, r4, [sp, #64]
    strd r5, r6, [sp, #104]
    strd r7, r8, [sp, #144]
    strd r9, r10, [sp, #184]
    ldm r0!, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}
    strd r1, r2, [sp, #32]
    strd r3, r4, [sp, #72]
    strd r5, r6, [sp, #112]
    strd r7, r8, [sp, #152]
    strd r9, r10, [sp, #192]
1:
@ round 0 of four
    mov lr, sp
    ldm lr!, {r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12}
    eor r0, r0, r2
    eor r1, r1, r3
    eor r0, r0, r4
    eor r1, r1, r5
    eor r0, r0, r6
    eor r1, r1, r7
    eor r0, r0, r8
    eor r1, r1, r9
    eor r10, r10, r12
    ldm lr!, {r2, r3, r4, r5, r6, r7, r8, r9, r12}
    eor r11, r11, r2
    eor r10, r10, r3
    eor r11, r11, r4
    eor r10, r10, r5
    eor r11, r11, r6
    eor r10, r10, r7
    eor r11, r11, r8
    ldm lr!, {r2, r3, r4, r5, r6, r7, r8}
    eor r9, r9, r2
    eor r12, r12, r3
    eor r9, r9, r4
    eor r12, r12, r5
    eor r9, r9, r6
    eor r12, r12, r7
    eor r9, r9, r8
    ldm lr!, {r2, r3, r4, r5, r6, r7, r8}
    eor r12, r12, r2
    eor r3, r3, r5
    eor r4, r4, r6
    eor r3, r3, r7
    eor r4, r4, r8
    ldm lr!, {r2, r5, r6, r7, r8}
    eor r3, r3, r2
    eor r4, r4, r5
    eor r3, r3, r6
    eor r4, r4, r7
    ldm lr!, {r2, r5, r6, r7}
    eor r8, r8, r5
    eor r2, r2, r6
    eor r8, r8, r7
    ldm lr!, {r5, r6, r7}
    eor r2, r2, r5
    eor r8, r8, r6
    eor r2, r2, r7
    ldm lr, {r5, r6}
    eor r8, r8, r5
    eor r2, r2, r6
    eor r5, r8, r11, ror #31
    eor r6, r11, r3
    eor r11, r3, r1, ror #31
    eor r3, r1, r9
    eor r1, r9, r2, ror #31
    eor r9, r2, r10
    eor r2, r10, r4, ror #31
    eor r10, r4, r0
    eor r4, r0, r12, ror #31
    eor r0, r12, r8
    str r9, [sp, #200]
    str r2, [sp, #204]
    ldr r2, [sp, #0]
    ldr r7, [sp, #48]
    ldr r8, [sp, #100]
    ldr r9, [sp, #148]
    ldr r12, [sp, #192]
    eor r2, r2, r5
    eor r7, r7, r4
    eor r8, r8, r6
    eor r9, r9, r0
    eor r12, r12, r11
    bic lr, r9, r8, ror #21
    eor lr, r7, lr, ror #11
    str lr, [sp, #48]
    bic lr, r12, r9, ror #28
    eor lr, r8, lr, ror #15
    str lr, [sp, #100]
    bic lr, r2, r12, ror #25
    eor lr, r9, lr, ror #11
    str lr, [sp, #148]
    bic r9, r7, r2, ror #22
    eor r9, r12, r9, ror #17
    str r9, [sp, #192]
    bic lr, r8, r7
    eor lr, r2, lr, ror #10
    ldr r12, [sp, #208]
    ldr r12, [r12, #0]
    eor lr, lr, r12
    str lr, [sp, #0]
    ldr r2, [sp, #84]
    ldr r7, [sp, #128]
    ldr r8, [sp, #176]
    ldr r9, [sp, #24]
    ldr r12, [sp, #76]
    eor r2, r2, r6
    eor r7, r7, r1
    eor r8, r8, r11
    eor r9, r9, r5
    eor r12, r12, r3
    bic lr, r9, r8, ror #1
    eor lr, r7, lr, ror #7
    str lr, [sp, #76]
    bic lr, r12, r9, ror #13
    eor lr, r8, lr, ror #18
    str lr, [sp, #84]
    bic lr, r2, r12, ror #30
    eor lr, r9, lr, ror #21
    str lr, [sp, #128]
    bic r9, r7, r2, ror #28
    eor r9, r12, r9, ror #6
    str r9, [sp, #176]
    bic lr, r8, r7, ror #24
    eor lr, r2, lr, ror #12
    str lr, [sp, #24]
    ldr r2, [sp, #164]
    ldr r7, [sp, #8]
    ldr r8, [sp, #56]
    ldr r9, [sp, #108]
    ldr r12, [sp, #152]
    eor r2, r2, r10
    eor r7, r7, r5
    eor r8, r8, r4
    eor r9, r9, r6
    eor r12, r12, r1
    bic lr, r9, r8, ror #3
    eor lr, r7, lr, ror #10
    str lr, [sp, #56]
    bic lr, r12, r9, ror #20
    eor lr, r8, lr, ror #9
    str lr, [sp, #108]
    bic lr, r2, r12, ror #18
    eor lr, r9, lr, ror #26
    str lr, [sp, #152]
    bic r9, r7, r2, ror #4
    eor r9, r12, r9, ror #10
    str r9, [sp, #164]
    bic lr, r8, r7, ror #19
    eor lr, r2, lr, ror #9
    str lr, [sp, #8]
    ldr r2, [sp, #20]
    ldr lr, [sp, #200]
    eor r2, r2, lr
    ldr r7, [sp, #120]
    ldr r8, [sp, #168]
    ldr r9, [sp, #68]
    ldr r12, [sp, #116]
    eor r7, r7, r1
    eor r8, r8, r11
    eor r9, r9, r3
    eor r12, r12, r6
    bic lr, r9, r2, ror #21
    eor lr, r8, lr, ror #19
    str lr, [sp, #68]
    bic lr, r12, r9, ror #8
    eor lr, r2, lr, ror #3
    str lr, [sp, #116]
    bic lr, r7, r12, ror #15
    eor lr, r9, lr, ror #9
    str lr, [sp, #120]
    bic r9, r8, r7, ror #28
    eor r9, r12, r9, ror #21
    str r9, [sp, #168]
    bic lr, r2, r8, ror #24
    eor lr, r7, lr, ror #12
    str lr, [sp, #20]
    ldr r2, [sp, #36]
    ldr lr, [sp, #200]
    eor r2, r2, lr
    ldr r7, [sp, #40]
    ldr r8, [sp, #92]
    ldr r9, [sp, #136]
    ldr r12, [sp, #188]
    eor r7, r7, r4
    eor r8, r8, r6
    eor r9, r9, r1
    eor r12, r12, r10
    bic lr, r12, r9, ror #24
    eor lr, r8, lr, ror #31
    str lr, [sp, #40]
    bic lr, r2, r12, ror #5
    eor lr, r9, lr, ror #3
    str lr, [sp, #92]
    bic lr, r7, r2, ror #23
    eor lr, r12, lr, ror #4
    str lr, [sp, #136]
    bic r12, r8, r7, ror #3
    eor r12, r2, r12, ror #6
    str r12, [sp, #188]
    bic lr, r9, r8, ror #9
    eor lr, r7, lr, ror #20
    str lr, [sp, #36]
    ldr r2, [sp, #112]
    ldr lr, [sp, #204]
    eor r2, r2, lr
    ldr r6, [sp, #124]
    ldr r7, [sp, #172]
    ldr r8, [sp, #16]
    ldr r9, [sp, #64]
    eor r6, r6, r0
    eor r7, r7, r10
    eor r8, r8, r5
    eor r9, r9, r4
    bic r12, r9, r8, ror #21
    eor r12, r7, r12, ror #20
    str r12, [sp, #64]
    bic r12, r2, r9, ror #8
    eor r12, r8, r12, ror #3
    str r12, [sp, #112]
    bic r12, r6, r2, ror #16
    eor r12, r9, r12, ror #8
    str r12, [sp, #124]
    bic r9, r7, r6, ror #28
    eor r9, r2, r9, ror #20
    str r9, [sp, #172]
    bic r12, r8, r7, ror #23
    eor r12, r6, r12, ror #13
    str r12, [sp, #16]
    ldr r2, [sp, #44]
    ldr r6, [sp, #88]
    ldr r7, [sp, #140]
    ldr r8, [sp, #184]
    ldr r9, [sp, #32]
    eor r2, r2, r3
    eor r6, r6, lr
    eor r7, r7, r0
    eor r8, r8, r11
    eor r9, r9, r5
    bic r12, r8, r7, ror #23
    eor r12, r6, r12, ror #31
    str r12, [sp, #44]
    bic r12, r9, r8, ror #5
    eor r12, r7, r12, ror #4
    str r12, [sp, #88]
    bic r12, r2, r9, ror #24
    eor r12, r8, r12, ror #3
    str r12, [sp, #140]
    bic r8, r6, r2, ror #2
    eor r8, r9, r8, ror #6
    str r8, [sp, #184]
    bic r12, r7, r6, ror #10
    eor r12, r2, r12, ror #20
    str r12, [sp, #32]
    ldr r2, [sp, #12]
    ldr r12, [sp, #200]
    eor r2, r2, r12
    ldr r5, [sp, #160]
    ldr r6, [sp, #60]
    ldr r7, [sp, #104]
    ldr r8, [sp, #156]
    eor r5, r5, r11
    eor r6, r6, r3
    eor r7, r7, lr
    eor r8, r8, r0
    bic r9, r7, r6, ror #2
    eor r9, r2, r9, ror #11
    str r9, [sp, #60]
    bic r9, r8, r7, ror #21
    eor r9, r6, r9, ror #9
    str r9, [sp, #104]
    bic r9, r5, r8, ror #17
    eor r9, r7, r9, ror #26
    str r9, [sp, #156]
    bic r7, r2, r5, ror #5
    eor r7, r8, r7, ror #10
    str r7, [sp, #160]
    bic r9, r6, r2, ror #19
    eor r9, r5, r9, ror #8
    str r9, [sp, #12]
    ldr r2, [sp, #80]
    ldr r5, [sp, #132]
    ldr r6, [sp, #180]
    ldr r7, [sp, #28]
    ldr r8, [sp, #72]
    eor r2, r2, lr
    eor r5, r5, r0
    eor r6, r6, r10
    eor r7, r7, r12
    eor r8, r8, r4
    bic r9, r7, r6, ror #1
    eor r9, r5, r9, ror #7
    str r9, [sp, #72]
    bic r9, r8, r7, ror #12
    eor r9, r6, r9, ror #19
    str r9, [sp, #80]
    bic r9, r2, r8, ror #30
    eor r9, r7, r9, ror #22
    str r9, [sp, #132]
    bic r7, r5, r2, ror #29
    eor r7, r8, r7, ror #5
    str r7, [sp, #180]
    bic r9, r6, r5, ror #24
    eor r9, r2, r9, ror #11
    str r9, [sp, #28]
    ldr r0, [sp, #4]
    ldr r2, [sp, #52]
    ldr r4, [sp, #96]
    ldr r5, [sp, #144]
    ldr r6, [sp, #196]
    eor r0, r0, r12
    eor r2, r2, r3
    eor r4, r4, lr
    eor r5, r5, r1
    eor r6, r6, r10
    bic r7, r5, r4, ror #21
    eor r7, r2, r7, ror #12
    str r7, [sp, #52]
    bic r7, r6, r5, ror #29
    eor r7, r4, r7, ror #14
    str r7, [sp, #96]
    bic r7, r0, r6, ror #25
    eor r7, r5, r7, ror #10
    str r7, [sp, #144]
    bic r5, r2, r0, ror #22
    eor r5, r6, r5, ror #17
    str r5, [sp, #196]
    bic r7, r4, r2, ror #31
    eor r7, r0, r7, ror #11
    ldr r6, [sp, #208]
    ldr r6, [r6, #4]
    eor r7, r7, r6
    str r7, [sp, #4]
@ round 1 of four
    mov lr, sp
    ldm lr!, {r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12}
    eor r0, r0, r2, ror #18
    eor r1, r1, r3, ror #19
    eor r1, r1, r4, ror #18
    eor r0, r0, r5, ror #18
    eor r1, r1, r6, ror #1
    eor r0, r0, r7, ror #1
    eor r0, r0, r8, ror #31
    eor r1, r1, r9
    eor r11, r11, r12, ror #13
    ldm lr!, {r2, r3, r4, r5, r6, r7, r8, r9, r12}
    eor r10, r10, r2, ror #13
    eor r11, r11, r3, ror #17
    eor r10, r10, r4, ror #17
    eor r10, r10, r5, ror #25
    eor r11, r11, r6, ror #25
    eor r11, r11, r7, ror #7
    eor r10, r10, r8, ror #8
    ldm lr!, {r2, r3, r4, r5, r6, r7, r8}
    eor r9, r9, r2, ror #7
    eor r12, r12, r3, ror #7
    eor r12, r12, r4, ror #30
    eor r9, r9, r5, ror #30
    eor r12, r12, r6, ror #14
    eor r9, r9, r7, ror #15
    eor r12, r12, r8, ror #18
    ldm lr!, {r2, r3, r4, r5, r6, r7, r8}
    eor r9, r9, r2, ror #18
    eor r4, r4, r5, ror #2
    eor r3, r3, r6, ror #2
    eor r4, r4, r7, ror #18
    eor r3, r3, r8, ror #19
    ldm lr!, {r2, r5, r6, r7, r8}
    eor r4, r4, r2, ror #12
    eor r3, r3, r5, ror #12
    eor r3, r3, r6, ror #15
    eor r4, r4, r7, ror #15
    ldm lr!, {r2, r5, r6, r7}
    eor r2, r2, r5, ror #29
    eor r8, r8, r6, ror #30
    eor r8, r8, r7, ror #27
    ldm lr!, {r5, r6, r7}
    eor r2, r2, r5, ror #27
    eor r2, r2, r6, ror #19
    eor r8, r8, r7, ror #19
    ldm lr, {r5, r6}
    eor r2, r2, r5, ror #21
    eor r8, r8, r6, ror #21
    eor r5, r2, r10, ror #24
    eor r6, r10, r3, ror #12
    eor r10, r3, r1, ror #22
    eor r3, r1, r9, ror #12
    eor r1, r9, r8, ror #23
    eor r9, r8, r11, ror #25
    eor r8, r11, r4, ror #12
    eor r11, r4, r0, ror #22
    eor r4, r0, r12, ror #12
    eor r0, r12, r2, ror #23
    str r10, [sp, #200]
    str r8, [sp, #204]
    ldr r2, [sp, #180]
    ldr lr, [sp, #200]
    eor r2, r2, lr, ror #10
    ldr r7, [sp, #0]
    ldr r8, [sp, #68]
    ldr r10, [sp, #92]
    ldr r12, [sp, #156]
    eor r7, r7, r5, ror #4
    eor r8, r8, r4, ror #10
    eor r10, r10, r6, ror #9
    eor r12, r12, r0, ror #20
    bic lr, r12, r10, ror #16
    eor lr, r8, lr, ror #14
    str lr, [sp, #68]
    bic lr, r2, r12, ror #22
    eor lr, r10, lr, ror #26
    str lr, [sp, #92]
    bic lr, r7, r2, ror #24
    eor lr, r12, lr, ror #18
    str lr, [sp, #156]
    bic r12, r8, r7
    eor r12, r2, r12, ror #8
    str r12, [sp, #180]
    bic lr, r10, r8, ror #2
    eor lr, r7, lr, ror #30
    ldr r2, [sp, #208]
    ldr r2, [r2, #8]
    eor lr, lr, r2
    str lr, [sp, #0]
    ldr r2, [sp, #184]
    ldr lr, [sp, #200]
    eor r2, r2, lr, ror #18
    ldr r7, [sp, #96]
    ldr r8, [sp, #120]
    ldr r10, [sp, #8]
    ldr r12, [sp, #76]
    eor r7, r7, r6, ror #18
    eor r8, r8, r1, ror #3
    eor r10, r10, r5, ror #18
    eor r12, r12, r3, ror #27
    bic lr, r10, r2, ror #6
    eor lr, r8, lr, ror #16
    str lr, [sp, #76]
    bic lr, r12, r10, ror #26
    eor lr, r2, lr
    str lr, [sp, #96]
    bic lr, r7, r12, ror #24
    eor lr, r10, lr, ror #14
    str lr, [sp, #120]
    bic r10, r8, r7, ror #30
    eor r10, r12, r10, ror #10
    str r10, [sp, #184]
    bic lr, r2, r8, ror #10
    eor lr, r7, lr, ror #24
    str lr, [sp, #8]
    ldr r2, [sp, #196]
    ldr r7, [sp, #20]
    ldr r8, [sp, #44]
    ldr r10, [sp, #104]
    ldr r12, [sp, #132]
    eor r2, r2, r11, ror #17
    eor r7, r7, r5, ror #18
    eor r8, r8, r4, ror #3
    eor r10, r10, r6, ror #2
    eor r12, r12, r1, ror #1
    bic lr, r10, r8, ror #5
    eor lr, r7, lr, ror #19
    str lr, [sp, #44]
    bic lr, r12, r10, ror #4
    eor lr, r8, lr, ror #23
    str lr, [sp, #104]
    bic lr, r2, r12, ror #4
    eor lr, r10, lr, ror #24
    str lr, [sp, #132]
    bic r10, r7, r2, ror #11
    eor r10, r12, r10, ror #17
    str r10, [sp, #196]
    bic lr, r8, r7, ror #8
    eor lr, r2, lr, ror #13
    str lr, [sp, #20]
    ldr r2, [sp, #168]
    ldr lr, [sp, #200]
    eor r2, r2, lr, ror #8
    ldr r7, [sp, #148]
    ldr r8, [sp, #36]
    ldr r10, [sp, #60]
    ldr r12, [sp, #84]
    eor r7, r7, r1, ror #23
    eor r8, r8, r9, ror #4
    eor r10, r10, r3, ror #18
    eor r12, r12, r6, ror #16
    bic lr, r10, r8, ror #7
    eor lr, r2, lr
    str lr, [sp, #60]
    bic lr, r12, r10, ror #9
    eor lr, r8, lr, ror #16
    str lr, [sp, #84]
    bic lr, r7, r12, ror #7
    eor lr, r10, lr, ror #16
    str lr, [sp, #148]
    bic r10, r2, r7, ror #16
    eor r10, r12, r10, ror #9
    str r10, [sp, #168]
    bic lr, r8, r2, ror #25
    eor lr, r7, lr, ror #23
    str lr, [sp, #36]
    ldr r2, [sp, #48]
    ldr r7, [sp, #112]
    ldr r8, [sp, #140]
    ldr r10, [sp, #160]
    ldr r12, [sp, #24]
    eor r2, r2, r4, ror #22
    eor r7, r7, r6, ror #30
    eor r8, r8, r1, ror #16
    eor r10, r10, r11, ror #6
    eor r12, r12, r9, ror #3
    bic lr, r10, r8, ror #16
    eor lr, r7, lr, ror #4
    str lr, [sp, #48]
    bic lr, r12, r10, ror #8
    eor lr, r8, lr, ror #8
    str lr, [sp, #112]
    bic lr, r2, r12, ror #14
    eor lr, r10, lr, ror #10
    str lr, [sp, #140]
    bic r10, r7, r2, ror #14
    eor r10, r12, r10, ror #4
    str r10, [sp, #160]
    bic lr, r8, r7, ror #12
    eor lr, r2, lr, ror #6
    str lr, [sp, #24]
    ldr r2, [sp, #100]
    ldr lr, [sp, #204]
    eor r2, r2, lr, ror #19
    ldr r6, [sp, #124]
    ldr r7, [sp, #188]
    ldr r8, [sp, #12]
    ldr r10, [sp, #72]
    eor r6, r6, r0, ror #3
    eor r7, r7, r11, ror #19
    eor r8, r8, r9, ror #17
    eor r10, r10, r4, ror #28
    bic r12, r8, r7, ror #5
    eor r12, r6, r12, ror #16
    str r12, [sp, #72]
    bic r12, r10, r8, ror #27
    eor r12, r7, r12
    str r12, [sp, #100]
    bic r12, r2, r10, ror #24
    eor r12, r8, r12, ror #13
    str r12, [sp, #124]
    bic r8, r6, r2, ror #29
    eor r8, r10, r8, ror #11
    str r8, [sp, #188]
    bic r12, r7, r6, ror #11
    eor r12, r2, r12, ror #24
    str r12, [sp, #12]
    ldr r2, [sp, #144]
    ldr r6, [sp, #172]
    ldr r7, [sp, #32]
    ldr r8, [sp, #56]
    ldr r10, [sp, #80]
    eor r2, r2, r0, ror #23
    eor r6, r6, r11, ror #8
    eor r7, r7, r5, ror #5
    eor r8, r8, r4, ror #18
    eor r10, r10, lr, ror #17
    bic r12, r8, r7, ror #6
    eor r12, r6, r12
    str r12, [sp, #56]
    bic r12, r10, r8, ror #10
    eor r12, r7, r12, ror #16
    str r12, [sp, #80]
    bic r12, r2, r10, ror #6
    eor r12, r8, r12, ror #16
    str r12, [sp, #144]
    bic r8, r6, r2, ror #16
    eor r8, r10, r8, ror #10
    str r8, [sp, #172]
    bic r12, r7, r6, ror #26
    eor r12, r2, r12, ror #22
    str r12, [sp, #32]
    ldr r2, [sp, #4]
    ldr r4, [sp, #64]
    ldr r6, [sp, #88]
    ldr r7, [sp, #152]
    ldr r8, [sp, #176]
    eor r2, r2, r9, ror #4
    eor r4, r4, r3, ror #10
    eor r6, r6, lr, ror #10
    eor r7, r7, r1, ror #20
    eor r8, r8, r11, ror #11
    bic r10, r7, r6, ror #16
    eor r10, r4, r10, ror #14
    str r10, [sp, #64]
    bic r10, r8, r7, ror #22
    eor r10, r6, r10, ror #26
    str r10, [sp, #88]
    bic r10, r2, r8, ror #24
    eor r10, r7, r10, ror #18
    str r10, [sp, #152]
    bic r7, r4, r2
    eor r7, r8, r7, ror #8
    str r7, [sp, #176]
    bic r10, r6, r4, ror #2
    eor r10, r2, r10, ror #30
    ldr r8, [sp, #208]
    ldr r8, [r8, #12]
    eor r10, r10, r8
    str r10, [sp, #4]
    ldr r1, [sp, #192]
    ldr r12, [sp, #200]
    eor r1, r1, r12, ror #16
    ldr r2, [sp, #16]
    ldr r4, [sp, #40]
    ldr r6, [sp, #108]
    ldr r7, [sp, #128]
    eor r2, r2, r9, ror #18
    eor r4, r4, r3, ror #3
    eor r6, r6, lr, ror #2
    eor r7, r7, r0, ror #1
    bic r8, r6, r4, ror #4
    eor r8, r2, r8, ror #20
    str r8, [sp, #40]
    bic r8, r7, r6, ror #4
    eor r8, r4, r8, ror #24
    str r8, [sp, #108]
    bic r8, r1, r7, ror #4
    eor r8, r6, r8, ror #24
    str r8, [sp, #128]
    bic r6, r2, r1, ror #12
    eor r6, r7, r6, ror #16
    str r6, [sp, #192]
    bic r8, r4, r2, ror #8
    eor r8, r1, r8, ror #12
    str r8, [sp, #16]
    ldr r1, [sp, #52]
    ldr r2, [sp, #116]
    ldr r4, [sp, #136]
    ldr r6, [sp, #164]
    ldr r7, [sp, #28]
    eor r1, r1, r3, ror #22
    eor r2, r2, lr, ror #31
    eor r4, r4, r0, ror #17
    eor r6, r6, r12, ror #5
    eor r7, r7, r5, ror #3
    bic r8, r6, r4, ror #15
    eor r8, r2, r8, ror #5
    str r8, [sp, #52]
    bic r8, r7, r6, ror #8
    eor r8, r4, r8, ror #9
    str r8, [sp, #116]
    bic r8, r1, r7, ror #15
    eor r8, r6, r8, ror #9
    str r8, [sp, #136]
    bic r6, r2, r1, ror #14
    eor r6, r7, r6, ror #3
    str r6, [sp, #164]
    bic r8, r4, r2, ror #12
    eor r8, r1, r8, ror #6
    str r8, [sp, #28]
@ round 2 of four
    mov lr, sp
    ldm lr!, {r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12}
    eor r1, r1, r2, ror #12
    eor r0, r0, r3, ror #11
    eor r1, r1, r4, ror #12
    eor r0, r0, r5, ror #11
    eor r1, r1, r6, ror #10
    eor r0, r0, r7, ror #9
    eor r1, r1, r8, ror #8
    eor r0, r0, r9, ror #7
    eor r10, r10, r12, ror #28
    ldm lr!, {r2, r3, r4, r5, r6, r7, r8, r9, r12}
    eor r11, r11, r2, ror #27
    eor r10, r10, r3, ror #24
    eor r11, r11, r4, ror #23
    eor r10, r10, r5
    eor r11, r11, r6
    eor r11, r11, r7, ror #14
    eor r10, r10, r8, ror #14
    ldm lr!, {r2, r3, r4, r5, r6, r7, r8}
    eor r9, r9, r2
    eor r12, r12, r3
    eor r9, r9, r4, ror #6
    eor r12, r12, r5, ror #5
    eor r12, r12, r6, ror #26
    eor r9, r9, r7, ror #26
    eor r9, r9, r8, ror #18
    ldm lr!, {r2, r3, r4, r5, r6, r7, r8}
    eor r12, r12, r2, ror #17
    eor r3, r3, r5, ror #22
    eor r4, r4, r6, ror #21
    eor r4, r4, r7, ror #2
    eor r3, r3, r8, ror #2
    ldm lr!, {r2, r5, r6, r7, r8}
    eor r3, r3, r2, ror #26
    eor r4, r4, r5, ror #25
    eor r3, r3, r6, ror #16
    eor r4, r4, r7, ror #16
    ldm lr!, {r2, r5, r6, r7}
    eor r2, r2, r5, ror #22
    eor r8, r8, r6, ror #22
    eor r8, r8, r7
    ldm lr!, {r5, r6, r7}
    eor r2, r2, r5
    eor r8, r8, r6, ror #12
    eor r2, r2, r7, ror #11
    ldm lr, {r5, r6}
    eor r8, r8, r5, ror #24
    eor r2, r2, r6, ror #23
    eor r5, r2, r10, ror #7
    eor r6, r10, r4, ror #30
    eor r10, r4, r1, ror #1
    eor r4, r1, r12, ror #30
    eor r1, r12, r8, ror #25
    eor r12, r8, r11, ror #8
    eor r8, r11, r3, ror #29
    eor r11, r3, r0, ror #2
    eor r3, r0, r9, ror #29
    eor r0, r9, r2, ror #26
    str r8, [sp, #200]
    str r0, [sp, #204]
    ldr r0, [sp, #68]
    ldr r2, [sp, #80]
    ldr r7, [sp, #136]
    ldr r8, [sp, #192]
    ldr r9, [sp, #8]
    eor r0, r0, r3
    eor r2, r2, r6, ror #2
    eor r7, r7, r1, ror #30
    eor r8, r8, r11, ror #14
    eor r9, r9, r12, ror #12
    bic lr, r8, r7, ror #8
    eor lr, r2, lr, ror #17
    str lr, [sp, #68]
    bic lr, r9, r8, ror #9
    eor lr, r7, lr, ror #15
    str lr, [sp, #80]
    bic lr, r0, r9, ror #3
    eor lr, r8, lr, ror #20
    str lr, [sp, #136]
    bic r8, r2, r0, ror #5
    eor r8, r9, r8, ror #24
    str r8, [sp, #192]
    bic lr, r7, r2, ror #7
    eor lr, r0, lr, ror #20
    str lr, [sp, #8]
    ldr r0, [sp, #176]
    ldr r2, [sp, #36]
    ldr r7, [sp, #52]
    ldr r8, [sp, #108]
    ldr r9, [sp, #124]
    eor r0, r0, r11, ror #6
    eor r2, r2, r5, ror #17
    eor r7, r7, r3, ror #5
    eor r8, r8, r6, ror #8
    eor r9, r9, r1
    bic lr, r8, r7, ror #6
    eor lr, r2, lr, ror #27
    str lr, [sp, #52]
    bic lr, r9, r8, ror #14
    eor lr, r7, lr, ror #12
    str lr, [sp, #108]
    bic lr, r0, r9, ror #24
    eor lr, r8, lr, ror #26
    str lr, [sp, #124]
    bic r8, r2, r0, ror #21
    eor r8, r9, r8, ror #19
    str r8, [sp, #176]
    bic lr, r7, r2, ror #31
    eor lr, r0, lr, ror #12
    str lr, [sp, #36]
    ldr r0, [sp, #88]
    ldr r2, [sp, #148]
    ldr r7, [sp, #164]
    ldr r8, [sp, #20]
    ldr r9, [sp, #76]
    eor r0, r0, r6, ror #2
    eor r2, r2, r1, ror #7
    eor r7, r7, r10, ror #6
    eor r8, r8, r5, ror #13
    eor r9, r9, r4, ror #18
    bic lr, r8, r7, ror #14
    eor lr, r2, lr, ror #27
    str lr, [sp, #76]
    bic lr, r9, r8, ror #10
    eor lr, r7, lr, ror #8
    str lr, [sp, #88]
    bic lr, r0, r9, ror #14
    eor lr, r8, lr, ror #8
    str lr, [sp, #148]
    bic r8, r2, r0, ror #3
    eor r8, r9, r8, ror #15
    str r8, [sp, #164]
    bic lr, r7, r2, ror #23
    eor lr, r0, lr, ror #6
    str lr, [sp, #20]
    ldr r0, [sp, #156]
    ldr r2, [sp, #168]
    ldr r7, [sp, #24]
    ldr r8, [sp, #40]
    ldr r9, [sp, #96]
    eor r0, r0, r1, ror #16
    eor r2, r2, r10, ror #16
    eor r7, r7, r12, ror #14
    eor r8, r8, r4
    eor r9, r9, r6, ror #28
    bic lr, r8, r7, ror #31
    eor lr, r2, lr, ror #5
    str lr, [sp, #40]
    bic lr, r9, r8, ror #4
    eor lr, r7, lr, ror #29
    str lr, [sp, #96]
    bic lr, r0, r9, ror #5
    eor lr, r8, lr, ror #23
    str lr, [sp, #156]
    bic r8, r2, r0, ror #28
    eor r8, r9, r8, ror #31
    str r8, [sp, #168]
    bic lr, r7, r2, ror #28
    eor lr, r0, lr, ror #8
    str lr, [sp, #24]
    ldr r0, [sp, #128]
    ldr lr, [sp, #204]
    eor r0, r0, lr, ror #10
    ldr r2, [sp, #0]
    ldr r7, [sp, #60]
    ldr r8, [sp, #112]
    ldr r9, [sp, #188]
    eor r2, r2, r5, ror #24
    eor r7, r7, r3, ror #9
    eor r8, r8, r6, ror #16
    eor r9, r9, r10, ror #27
    bic lr, r0, r8, ror #17
    eor lr, r7, lr, ror #8
    str lr, [sp, #60]
    bic lr, r9, r0, ror #13
    eor lr, r8, lr, ror #2
    str lr, [sp, #112]
    bic lr, r2, r9, ror #28
    eor lr, r0, lr, ror #23
    str lr, [sp, #128]
    bic r0, r7, r2, ror #31
    eor r0, r9, r0, ror #5
    str r0, [sp, #188]
    bic lr, r8, r7, ror #7
    eor lr, r2, lr, ror #26
    ldr r9, [sp, #208]
    ldr r9, [r9, #16]
    eor lr, lr, r9
    str lr, [sp, #0]
    ldr r0, [sp, #116]
    ldr lr, [sp, #200]
    eor r0, r0, lr, ror #17
    ldr r2, [sp, #4]
    ldr r6, [sp, #56]
    ldr r7, [sp, #132]
    ldr r8, [sp, #184]
    eor r2, r2, r12, ror #24
    eor r6, r6, r4, ror #8
    eor r7, r7, r1, ror #11
    eor r8, r8, r11, ror #26
    bic r9, r7, r0, ror #17
    eor r9, r6, r9, ror #7
    str r9, [sp, #56]
    bic r9, r8, r7, ror #12
    eor r9, r0, r9, ror #3
    str r9, [sp, #116]
    bic r9, r2, r8, ror #29
    eor r9, r7, r9, ror #23
    str r9, [sp, #132]
    bic r7, r6, r2, ror #30
    eor r7, r8, r7, ror #5
    str r7, [sp, #184]
    bic r9, r0, r6, ror #8
    eor r9, r2, r9, ror #26
    ldr r8, [sp, #208]
    ldr r8, [r8, #20]
    eor r9, r9, r8
    str r9, [sp, #4]
    ldr r0, [sp, #152]
    ldr r9, [sp, #204]
    eor r0, r0, r9, ror #16
    ldr r1, [sp, #172]
    ldr r2, [sp, #28]
    ldr r6, [sp, #44]
    ldr r7, [sp, #100]
    eor r1, r1, r11, ror #16
    eor r2, r2, r5, ror #15
    eor r6, r6, r3
    eor r7, r7, lr, ror #29
    bic r8, r6, r2, ror #30
    eor r8, r1, r8, ror #6
    str r8, [sp, #44]
    bic r8, r7, r6, ror #5
    eor r8, r2, r8, ror #29
    str r8, [sp, #100]
    bic r8, r0, r7, ror #5
    eor r8, r6, r8, ror #22
    str r8, [sp, #152]
    bic r6, r1, r0, ror #28
    eor r6, r7, r6, ror #31
    str r6, [sp, #172]
    bic r8, r2, r1, ror #28
    eor r8, r0, r8, ror #8
    str r8, [sp, #28]
    ldr r0, [sp, #64]
    ldr r1, [sp, #84]
    ldr r2, [sp, #140]
    ldr r6, [sp, #196]
    ldr r7, [sp, #12]
    eor r0, r0, r4
    eor r1, r1, lr, ror #2
    eor r2, r2, r9, ror #30
    eor r6, r6, r10, ror #15
    eor r7, r7, r5, ror #13
    bic r8, r6, r2, ror #8
    eor r8, r1, r8, ror #16
    str r8, [sp, #64]
    bic r8, r7, r6, ror #9
    eor r8, r2, r8, ror #15
    str r8, [sp, #84]
    bic r8, r0, r7, ror #3
    eor r8, r6, r8, ror #20
    str r8, [sp, #140]
    bic r6, r1, r0, ror #4
    eor r6, r7, r6, ror #25
    str r6, [sp, #196]
    bic r8, r2, r1, ror #8
    eor r8, r0, r8, ror #20
    str r8, [sp, #12]
    ldr r0, [sp, #180]
    ldr r1, [sp, #32]
    ldr r2, [sp, #48]
    ldr r5, [sp, #104]
    ldr r6, [sp, #120]
    eor r0, r0, r10, ror #6
    eor r1, r1, r12, ror #16
    eor r2, r2, r4, ror #4
    eor r5, r5, lr, ror #8
    eor r6, r6, r9
    bic r7, r5, r2, ror #6
    eor r7, r1, r7, ror #27
    str r7, [sp, #48]
    bic r7, r6, r5, ror #15
    eor r7, r2, r7, ror #11
    str r7, [sp, #104]
    bic r7, r0, r6, ror #23
    eor r7, r5, r7, ror #26
    str r7, [sp, #120]
    bic r5, r1, r0, ror #21
    eor r5, r6, r5, ror #20
    str r5, [sp, #180]
    bic r7, r2, r1, ror #31
    eor r7, r0, r7, ror #12
    str r7, [sp, #32]
    ldr r0, [sp, #92]
    ldr r1, [sp, #144]
    ldr r2, [sp, #160]
    ldr r4, [sp, #16]
    ldr r5, [sp, #72]
    eor r0, r0, lr, ror #2
    eor r1, r1, r9, ror #6
    eor r2, r2, r11, ror #6
    eor r4, r4, r12, ror #12
    eor r5, r5, r3, ror #18
    bic r6, r4, r2, ror #13
    eor r6, r1, r6, ror #27
    str r6, [sp, #72]
    bic r6, r5, r4, ror #10
    eor r6, r2, r6, ror #9
    str r6, [sp, #92]
    bic r6, r0, r5, ror #14
    eor r6, r4, r6, ror #8
    str r6, [sp, #144]
    bic r4, r1, r0, ror #3
    eor r4, r5, r4, ror #15
    str r4, [sp, #160]
    bic r6, r2, r1, ror #24
    eor r6, r0, r6, ror #5
    str r6, [sp, #16]
@ round 3 of four
    mov lr, sp
    ldm lr!, {r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12}
    eor r1, r1, r2
    eor r0, r0, r3, ror #31
    eor r0, r0, r4, ror #31
    eor r1, r1, r5, ror #31
    eor r0, r0, r6
    eor r1, r1, r7
    eor r1, r1, r8, ror #11
    eor r0, r0, r9, ror #10
    eor r11, r11, r12, ror #18
    ldm lr!, {r2, r3, r4, r5, r6, r7, r8, r9, r12}
    eor r10, r10, r2, ror #17
    eor r11, r11, r3, ror #30
    eor r10, r10, r4, ror #29
    eor r10, r10, r5, ror #23
    eor r11, r11, r6, ror #23
    eor r10, r10, r7, ror #24
    eor r11, r11, r8, ror #24
    ldm lr!, {r2, r3, r4, r5, r6, r7, r8}
    eor r9, r9, r2, ror #17
    eor r12, r12, r3, ror #17
    eor r12, r12, r4, ror #21
    eor r9, r9, r5, ror #20
    eor r9, r9, r6, ror #3
    eor r12, r12, r7, ror #3
    eor r12, r12, r8, ror #7
    ldm lr!, {r2, r3, r4, r5, r6, r7, r8}
    eor r9, r9, r2, ror #6
    eor r4, r4, r5, ror #25
    eor r3, r3, r6, ror #24
    eor r3, r3, r7, ror #27
    eor r4, r4, r8, ror #27
    ldm lr!, {r2, r5, r6, r7, r8}
    eor r4, r4, r2, ror #7
    eor r3, r3, r5, ror #6
    eor r3, r3, r6, ror #25
    eor r4, r4, r7, ror #25
    ldm lr!, {r2, r5, r6, r7}
    eor r8, r8, r5, ror #24
    eor r2, r2, r6, ror #24
    eor r8, r8, r7, ror #21
    ldm lr!, {r5, r6, r7}
    eor r2, r2, r5, ror #21
    eor r2, r2, r6, ror #16
    eor r8, r8, r7, ror #15
    ldm lr, {r5, r6}
    eor r2, r2, r5, ror #22
    eor r8, r8, r6, ror #21
    eor r5, r8, r11, ror #22
    eor r6, r11, r4, ror #12
    eor r11, r4, r1, ror #15
    eor r4, r1, r12, ror #19
    eor r1, r12, r2, ror #25
    eor r12, r2, r10, ror #23
    eor r2, r10, r3, ror #12
    eor r10, r3, r0, ror #15
    eor r3, r0, r9, ror #19
    eor r0, r9, r8, ror #25
    str r1, [sp, #200]
    str r10, [sp, #204]
    ldr r1, [sp, #192]
    ldr lr, [sp, #204]
    eor r1, r1, lr, ror #14
    ldr r7, [sp, #112]
    ldr r8, [sp, #152]
    ldr r9, [sp, #32]
    ldr r10, [sp, #72]
    eor r7, r7, r2, ror #10
    eor r8, r8, r0, ror #10
    eor r9, r9, r12, ror #2
    eor r10, r10, r3, ror #4
    ror r7, r7, #27
    ror r8, r8, #14
    ror r1, r1, #15
    bic lr, r9, r1, ror #10
    eor lr, r8, lr, ror #22
    str lr, [sp, #72]
    bic lr, r10, r9, ror #27
    eor lr, r1, lr, ror #27
    str lr, [sp, #112]
    bic lr, r7, r10, ror #27
    eor lr, lr, r9, ror #22
    str lr, [sp, #152]
    bic r9, r8, r7
    eor r9, r9, r10, ror #27
    str r9, [sp, #192]
    bic lr, r1, r8
    eor lr, r7, lr
    str lr, [sp, #32]
    ldr r1, [sp, #188]
    ldr r7, [sp, #28]
    ldr r8, [sp, #68]
    ldr r9, [sp, #108]
    ldr r10, [sp, #148]
    eor r1, r1, r11, ror #20
    eor r7, r7, r12, ror #13
    eor r8, r8, r4, ror #5
    eor r9, r9, r2, ror #14
    eor r10, r10, r0, ror #29
    ror r1, r1, #15
    ror r7, r7, #14
    ror r8, r8, #22
    bic lr, r9, r8, ror #17
    eor lr, r7, lr, ror #15
    str lr, [sp, #68]
    bic lr, r10, r9, ror #20
    eor lr, r8, lr, ror #27
    str lr, [sp, #108]
    bic lr, r1, r10, ror #27
    eor lr, lr, r9, ror #15
    str lr, [sp, #148]
    bic r9, r7, r1
    eor r9, r9, r10, ror #27
    str r9, [sp, #188]
    bic lr, r8, r7
    eor lr, r1, lr
    str lr, [sp, #28]
    ldr r1, [sp, #0]
    ldr r7, [sp, #40]
    ldr r8, [sp, #80]
    ldr r9, [sp, #120]
    ldr r10, [sp, #160]
    eor r1, r1, r5, ror #13
    eor r7, r7, r3, ror #28
    eor r8, r8, r6, ror #16
    eor r9, r9, r0, ror #3
    eor r10, r10, r11, ror #3
    ror r7, r7, #14
    ror r8, r8, #30
    bic lr, r9, r8, ror #26
    eor lr, r7, lr, ror #6
    str lr, [sp, #40]
    bic lr, r10, r9
    eor lr, r8, lr, ror #6
    str lr, [sp, #80]
    bic lr, r1, r10, ror #6
    eor lr, lr, r9, ror #6
    str lr, [sp, #120]
    bic r9, r7, r1
    eor r9, r9, r10, ror #6
    str r9, [sp, #160]
    bic lr, r8, r7
    eor lr, r1, lr
    ldr r10, [sp, #208]
    ldr r10, [r10, #24]
    eor lr, lr, r10
    str lr, [sp, #0]
    ldr r1, [sp, #172]
    ldr lr, [sp, #204]
    eor r1, r1, lr, ror #12
    ldr r7, [sp, #132]
    ldr r8, [sp, #12]
    ldr r9, [sp, #52]
    ldr r10, [sp, #92]
    eor r7, r7, r0, ror #11
    eor r8, r8, r5, ror #14
    eor r9, r9, r3, ror #11
    eor r10, r10, r2
    ror r7, r7, #27
    ror r1, r1, #27
    ror r8, r8, #30
    bic lr, r9, r8, ror #1
    eor lr, r1, lr, ror #31
    str lr, [sp, #52]
    bic lr, r10, r9, ror #25
    eor lr, r8, lr, ror #6
    str lr, [sp, #92]
    bic lr, r7, r10, ror #6
    eor lr, lr, r9, ror #31
    str lr, [sp, #132]
    bic r9, r1, r7
    eor r9, r9, r10, ror #6
    str r9, [sp, #172]
    bic lr, r8, r1
    eor lr, r7, lr
    str lr, [sp, #12]
    ldr r1, [sp, #56]
    ldr r7, [sp, #96]
    ldr r8, [sp, #136]
    ldr r9, [sp, #176]
    ldr r10, [sp, #16]
    eor r1, r1, r4, ror #30
    eor r7, r7, r2, ror #28
    eor r8, r8, r0, ror #8
    eor r9, r9, r11, ror #14
    eor r10, r10, r5, ror #14
    ror r1, r1, #1
    ror r7, r7, #5
    ror r8, r8, #31
    bic lr, r9, r8, ror #2
    eor lr, r7, lr, ror #30
    str lr, [sp, #56]
    bic lr, r10, r9, ror #8
    eor lr, r8, lr, ror #22
    str lr, [sp, #96]
    bic lr, r1, r10, ror #22
    eor lr, lr, r9, ror #30
    str lr, [sp, #136]
    bic r9, r7, r1
    eor r9, r9, r10, ror #22
    str r9, [sp, #176]
    bic lr, r8, r7
    eor lr, r1, lr
    str lr, [sp, #16]
    ldr r0, [sp, #128]
    ldr lr, [sp, #200]
    eor r0, r0, lr, ror #10
    ldr r1, [sp, #168]
    ldr r7, [sp, #8]
    ldr r8, [sp, #48]
    ldr r9, [sp, #88]
    eor r1, r1, r11, ror #11
    eor r7, r7, r12, ror #13
    eor r8, r8, r4, ror #10
    eor r9, r9, r6, ror #31
    ror r0, r0, #27
    ror r1, r1, #27
    ror r7, r7, #30
    bic r10, r8, r7, ror #1
    eor r10, r1, r10, ror #31
    str r10, [sp, #48]
    bic r10, r9, r8, ror #25
    eor r10, r7, r10, ror #6
    str r10, [sp, #88]
    bic r10, r0, r9, ror #6
    eor r10, r10, r8, ror #31
    str r10, [sp, #128]
    bic r8, r1, r0
    eor r8, r8, r9, ror #6
    str r8, [sp, #168]
    bic r10, r7, r1
    eor r10, r0, r10
    str r10, [sp, #8]
    ldr r0, [sp, #116]
    ldr r1, [sp, #156]
    ldr r7, [sp, #196]
    ldr r8, [sp, #36]
    ldr r9, [sp, #76]
    eor r0, r0, r6, ror #10
    eor r1, r1, lr, ror #10
    eor r7, r7, r11, ror #14
    eor r8, r8, r5, ror #3
    eor r9, r9, r4, ror #4
    ror r0, r0, #27
    ror r1, r1, #14
    ror r7, r7, #15
    bic r10, r8, r7, ror #10
    eor r10, r1, r10, ror #22
    str r10, [sp, #76]
    bic r10, r9, r8, ror #27
    eor r10, r7, r10, ror #27
    str r10, [sp, #116]
    bic r10, r0, r9, ror #27
    eor r10, r10, r8, ror #22
    str r10, [sp, #156]
    bic r8, r1, r0
    eor r8, r8, r9, ror #27
    str r8, [sp, #196]
    bic r10, r7, r1
    eor r10, r0, r10
    str r10, [sp, #36]
    ldr r0, [sp, #164]
    ldr r11, [sp, #204]
    eor r0, r0, r11, ror #4
    ldr r1, [sp, #4]
    ldr r7, [sp, #44]
    ldr r8, [sp, #84]
    ldr r9, [sp, #124]
    eor r1, r1, r12, ror #13
    eor r7, r7, r4, ror #28
    eor r8, r8, r2, ror #17
    eor r9, r9, lr, ror #3
    ror r7, r7, #14
    ror r8, r8, #30
    bic r10, r9, r8, ror #26
    eor r10, r7, r10, ror #6
    str r10, [sp, #44]
    bic r10, r0, r9
    eor r10, r8, r10, ror #6
    str r10, [sp, #84]
    bic r10, r1, r0, ror #6
    eor r10, r10, r9, ror #6
    str r10, [sp, #124]
    bic r9, r7, r1
    eor r9, r9, r0, ror #6
    str r9, [sp, #164]
    bic r10, r8, r7
    eor r10, r1, r10
    ldr r0, [sp, #208]
    ldr r0, [r0, #28]
    eor r10, r10, r0
    str r10, [sp, #4]
    ldr r0, [sp, #60]
    ldr r1, [sp, #100]
    ldr r2, [sp, #140]
    ldr r4, [sp, #180]
    ldr r7, [sp, #20]
    eor r0, r0, r3, ror #31
    eor r1, r1, r6, ror #28
    eor r2, r2, lr, ror #8
    eor r4, r4, r11, ror #15
    eor r7, r7, r12, ror #14
    ror r0, r0, #1
    ror r1, r1, #5
    ror r2, r2, #31
    bic r8, r4, r2, ror #2
    eor r8, r1, r8, ror #30
    str r8, [sp, #60]
    bic r8, r7, r4, ror #8
    eor r8, r2, r8, ror #22
    str r8, [sp, #100]
    bic r8, r0, r7, ror #22
    eor r8, r8, r4, ror #30
    str r8, [sp, #140]
    bic r4, r1, r0
    eor r4, r4, r7, ror #22
    str r4, [sp, #180]
    bic r8, r2, r1
    eor r8, r0, r8
    str r8, [sp, #20]
    ldr r0, [sp, #184]
    ldr r1, [sp, #24]
    ldr r2, [sp, #64]
    ldr r4, [sp, #104]
    ldr r7, [sp, #144]
    eor r0, r0, r11, ror #20
    eor r1, r1, r5, ror #13
    eor r2, r2, r3, ror #5
    eor r4, r4, r6, ror #13
    eor r7, r7, lr, ror #28
    ror r0, r0, #15
    ror r1, r1, #14
    ror r2, r2, #22
    bic r8, r4, r2, ror #17
    eor r8, r1, r8, ror #15
    str r8, [sp, #64]
    bic r8, r7, r4, ror #20
    eor r8, r2, r8, ror #27
    str r8, [sp, #104]
    bic r8, r0, r7, ror #27
    eor r8, r8, r4, ror #15
    str r8, [sp, #144]
    bic r4, r1, r0
    eor r4, r4, r7, ror #27
    str r4, [sp, #184]
    bic r8, r2, r1
    eor r8, r0, r8
    str r8, [sp, #24]
    ldr r0, [sp, #208]
    ldr r1, [sp, #212]
    adds r0, r0, #32
    str r0, [sp, #208]
    cmp r0, r1
    bne.w 1b
    ldr r0, [sp, #216]
    ldrd r1, r2, [sp, #0]
    ldrd r3, r4, [sp, #40]
    ldrd r5, r6, [sp, #80]
    ldrd r7, r8, [sp, #120]
    ldrd r9, r10, [sp, #160]
    stm r0!, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}
    ldrd r1, r2, [sp, #8]
    ldrd r3, r4, [sp, #48]
    ldrd r5, r6, [sp, #88]
    ldrd r7, r8, [sp, #128]
    ldrd r9, r10, [sp, #168]
    stm r0!, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}
    ldrd r1, r2, [sp, #16]
    ldrd r3, r4, [sp, #56]
    ldrd r5, r6, [sp, #96]
    ldrd r7, r8, [sp, #136]
    ldrd r9, r10, [sp, #176]
    stm r0!, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}
    ldrd r1, r2, [sp, #24]
    ldrd r3, r4, [sp, #64]
    ldrd r5, r6, [sp, #104]
    ldrd r7, r8, [sp, #144]
    ldrd r9, r10, [sp, #184]
    stm r0!, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}
    ldrd r1, r2, [sp, #32]
    ldrd r3, r4, [sp, #72]
    ldrd r5, r6, [sp, #112]
    ldrd r7, r8, [sp, #152]
    ldrd r9, r10, [sp, #192]
    stm r0!, {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}
    movs r1, #0
    movs r2, #0
    movs r3, #0
    movs r4, #0
    movs r5, #0
    movs r6, #0
    movs r7, #0
    mov r8, r1
    mov r9, r1
    mov r10, r1
    add sp, sp, #208
    push {r1, r2}
    push {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}
    push {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}
    push {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}
    push {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}
    push {r1, r2, r3, r4, r5, r6, r7, r8, r9, r10}
    add sp, sp, #216
    pop {r0, r4, r5, r6, r7, r8, r9, r10, r11, pc}
