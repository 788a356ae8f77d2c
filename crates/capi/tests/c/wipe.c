/*
 * What goes back to the heap holds no seed. Linked with the static library and --wrap=free, --wrap=realloc, so that every
 * block is looked at on its way back.
 */
#include "check.h"

#include <malloc.h>

void __real_free(void *block);
void *__real_realloc(void *block, size_t size);
void __wrap_free(void *block);
void *__wrap_realloc(void *block, size_t size);

static const uint8_t SEED[SEALSTONE_SEED_LEN] = {0xb3, 0x1e, 0x77, 0x02, 0xc9, 0x5d, 0xe0, 0x41, 0x9a, 0x68, 0x0f,
                                                 0xd4, 0x23, 0xbb, 0x86, 0x10, 0xfe, 0x39, 0x5c, 0xa7, 0x64, 0x8d,
                                                 0x12, 0xef, 0x40, 0x91, 0xd8, 0x2b, 0x76, 0xc5, 0x03, 0xaa};
static int watching, blocks, found;

static void look(const void *block) {
    const uint8_t *at = (const uint8_t *)block;
    size_t len, i;
    if (!watching || block == NULL) return;
    blocks++;
    len = malloc_usable_size((void *)(uintptr_t)block);
    for (i = 0; i + 16 <= len; i++)
        if (memcmp(at + i, SEED + 8, 16) == 0) found++;
}

void __wrap_free(void *block) {
    look(block);
    __real_free(block);
}

void *__wrap_realloc(void *block, size_t size) {
    look(block); /* it may move, and leave what it held */
    return __real_realloc(block, size);
}

int main(void) {
    sealstone_private_key *key = NULL, *read = NULL;
    uint8_t signature[SEALSTONE_ML_DSA_65_SIGNATURE_LEN];
    uint8_t *planted;

    /* The watch sees what is there. */
    watching = 1;
    planted = (uint8_t *)malloc(64);
    CHECK(planted != NULL);
    memcpy(planted + 3, SEED, sizeof SEED);
    __wrap_free(planted);
    CHECK(found == 1);
    found = blocks = 0;

    GOOD(sealstone_private_key_from_seed(SEALSTONE_ML_DSA_65, SEED, sizeof SEED, &key));
    GOOD(sealstone_sign(key, NULL, 0, BYTES("message"), signature, sizeof signature));
#ifndef SEALSTONE_ENGINE_ONLY
    {
        int formats[2] = {SEALSTONE_PEM, SEALSTONE_DER};
        size_t i, len;
        char *text = NULL;
        for (i = 0; i < 2; i++) {
            GOOD(sealstone_private_key_write(key, formats[i], &text, &len));
            GOOD(sealstone_private_key_parse(formats[i], (const uint8_t *)text, len, &read));
            sealstone_free(text);
            sealstone_private_key_free(read);
        }
    }
#endif
    sealstone_private_key_free(key);
    CHECK(blocks > 1);
    CHECK(found == 0);
    (void)read;
    return done("wipe");
}
