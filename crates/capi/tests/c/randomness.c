/*
 * An operating system that gives no randomness. Linked with the static library; this getentropy takes the place of libc's.
 */
#include "check.h"

int getentropy(void *buffer, size_t len);

static int calls, fails_at;

int getentropy(void *buffer, size_t len) {
    memset(buffer, 0x5a, len);
    return ++calls >= fails_at ? -1 : 0;
}

int main(void) {
    static const uint8_t SEED[SEALSTONE_SEED_LEN] = {1};
    static uint8_t signatures[4][SEALSTONE_ML_DSA_44_SIGNATURE_LEN];
    sealstone_private_key *key = NULL;
    sealstone_public_key *pub = NULL;
    sealstone_sign_job jobs[4];
    size_t i;

    fails_at = 1;
    EXPECT(SEALSTONE_RNG_FAILED, sealstone_private_key_generate(SEALSTONE_ML_DSA_44, &key));
    CHECK(key == NULL);
    CHECK(strcmp(sealstone_last_error(), "the random source failed") == 0);

    GOOD(sealstone_private_key_from_seed(SEALSTONE_ML_DSA_44, SEED, sizeof SEED, &key));
    memset(signatures, 7, sizeof signatures);
    EXPECT(SEALSTONE_RNG_FAILED, sealstone_sign(key, NULL, 0, NULL, 0, signatures[0], sizeof signatures[0]));
    CHECK(all_zero(signatures[0], sizeof signatures[0]));
    GOOD(sealstone_sign_deterministic(key, NULL, 0, NULL, 0, signatures[0], sizeof signatures[0]));

    /* It fails in the middle of a batch: nothing of it is signed. */
    memset(jobs, 0, sizeof jobs);
    for (i = 0; i < 4; i++) {
        jobs[i].key = key;
        jobs[i].signature = signatures[i];
        jobs[i].signature_len = sizeof signatures[i];
    }
    calls = 0;
    fails_at = 3;
    EXPECT(SEALSTONE_RNG_FAILED, sealstone_sign_batch(jobs, 4));
    for (i = 0; i < 4; i++) EXPECT(SEALSTONE_RNG_FAILED, jobs[i].status);
    CHECK(all_zero(signatures, sizeof signatures));

    /* And with randomness all is well. */
    calls = 0;
    fails_at = 100;
    GOOD(sealstone_sign_batch(jobs, 4));
    GOOD(sealstone_private_key_public(key, &pub));
    GOOD(sealstone_verify(pub, NULL, 0, NULL, 0, signatures[3], sizeof signatures[3]));
    sealstone_private_key_free(key);
    sealstone_public_key_free(pub);
    return done("randomness");
}
