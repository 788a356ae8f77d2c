/*
 * What goes back to the heap holds no seed, neither as it is nor in base64, and no K of an expanded key. Linked with the static library and --wrap=free, --wrap=realloc, so that every
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

/* What is looked for: 16 bytes each of the seed, of K, and of the three ways that the seed can lie in base64. */
static char wanted[10][16];
static int patterns;

static void want(const void *bytes) {
    CHECK(patterns < 10);
    memcpy(wanted[patterns++], bytes, 16);
}

/* The seed in base64 (RFC 4648, 4) or base64url (5), with `shift` bytes before it. */
static void want_in_base64(size_t shift, const char *last_two) {
    static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    uint8_t bytes[3 + sizeof SEED] = {0};
    char text[48];
    size_t i, len = 0;
    memcpy(bytes + shift, SEED, sizeof SEED);
    for (i = 0; i + 3 <= 33; i += 3) {
        uint32_t group = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
        int at;
        for (at = 18; at >= 0; at -= 6) {
            uint32_t letter = group >> at & 63;
            text[len++] = letter < 62 ? LETTERS[letter] : last_two[letter - 62];
        }
    }
    want(text + 20);
}

static void look(const void *block) {
    const char *at = (const char *)block;
    size_t len, i;
    int k;
    if (!watching || block == NULL) return;
    blocks++;
    len = malloc_usable_size((void *)(uintptr_t)block);
    for (i = 0; i + 16 <= len; i++)
        for (k = 0; k < patterns; k++)
            if (at[i] == wanted[k][0] && memcmp(at + i, wanted[k], 16) == 0) {
                found++;
                fprintf(stderr, "pattern %d at %zu of a block of %zu bytes\n", k, i, len);
            }
}

void __wrap_free(void *block) {
    look(block);
    __real_free(block);
}

void *__wrap_realloc(void *block, size_t size) {
    look(block); /* it may move, and leave what it held */
    return __real_realloc(block, size);
}

/* A life of a key: everything that C can do with one. */
static void live(sealstone_private_key *key, int level) {
    static uint8_t signature[SEALSTONE_ML_DSA_87_SIGNATURE_LEN];
    static uint8_t expanded[SEALSTONE_ML_DSA_87_EXPANDED_KEY_LEN];
    sealstone_sign_job job;
    sealstone_private_key *again = NULL;
    sealstone_public_key *public_key = NULL;
    size_t signature_len = sealstone_signature_len(level);
    size_t expanded_len = sealstone_expanded_key_len(level);

    GOOD(sealstone_private_key_check(key));
    GOOD(sealstone_private_key_public(key, &public_key));
    GOOD(sealstone_sign(key, NULL, 0, BYTES("message"), signature, signature_len));
    memset(&job, 0, sizeof job);
    job.key = key;
    job.message = (const uint8_t *)"message";
    job.message_len = 7;
    job.signature = signature;
    job.signature_len = signature_len;
    GOOD(sealstone_sign_batch(&job, 1));
    GOOD(sealstone_private_key_expanded(key, expanded, expanded_len));
    GOOD(sealstone_private_key_from_expanded(level, expanded, expanded_len, &again));
    GOOD(sealstone_sign(again, NULL, 0, BYTES("message"), signature, signature_len));
    expanded[expanded_len - 1] ^= 1; /* t0 contradicts: it is refused when most of it is read */
    EXPECT(SEALSTONE_BAD_KEY, sealstone_private_key_from_expanded(level, expanded, expanded_len, &again));
#ifndef SEALSTONE_ENGINE_ONLY
    {
        int formats[3] = {SEALSTONE_PEM, SEALSTONE_DER, SEALSTONE_JWK};
        sealstone_private_key *read = NULL;
        char *text = NULL, *claims = NULL;
        size_t i, len;
        for (i = 0; i < COUNT(formats); i++) {
            GOOD(sealstone_private_key_write(key, formats[i], &text, &len));
            GOOD(sealstone_private_key_parse(formats[i], (const uint8_t *)text, len, &read));
            GOOD(sealstone_jws_sign(read, NULL, BYTES("payload"), &claims, NULL));
            sealstone_free(claims);
            sealstone_private_key_free(read);
            /* Cut short: what was read of it goes too. */
            EXPECT(SEALSTONE_BAD_KEY, sealstone_private_key_parse(formats[i], (const uint8_t *)text, len - 2, &read));
            sealstone_free(text);
        }
        GOOD(sealstone_jwt_sign(key, NULL, "{}", 2, &claims, NULL));
        sealstone_free(claims);
    }
#endif
    sealstone_public_key_free(public_key);
}

int main(void) {
    static uint8_t expanded[SEALSTONE_ML_DSA_87_EXPANDED_KEY_LEN];
    sealstone_private_key *key = NULL;
    uint8_t *planted;
    size_t i;

    want(SEED + 8);
    for (i = 0; i < 3; i++) {
        want_in_base64(i, "+/");
        want_in_base64(i, "-_");
    }

    /* The watch sees what is there. */
    watching = 1;
    planted = (uint8_t *)malloc(64);
    CHECK(planted != NULL);
    memcpy(planted + 3, SEED, sizeof SEED);
    __wrap_free(planted);
    CHECK(found == 1);
    found = blocks = 0;

    for (i = 0; i < COUNT(LEVELS); i++) {
        GOOD(sealstone_private_key_from_seed(LEVELS[i], SEED, sizeof SEED, &key));
        GOOD(sealstone_private_key_expanded(key, expanded, sealstone_expanded_key_len(LEVELS[i])));
        want(expanded + 32); /* K stands behind rho */
        live(key, LEVELS[i]);
        sealstone_private_key_free(key);
    }
    CHECK(blocks > 3);
    CHECK(found == 0);
    return done("wipe");
}
