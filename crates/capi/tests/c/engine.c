/* Keys and signatures at each level: whole, in pieces, by mu, many at once; and each thing that must be refused. */
#include "check.h"

static const uint8_t SEED[SEALSTONE_SEED_LEN] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                                 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

static void about(void) {
    CHECK(strcmp(sealstone_version(), SEALSTONE_VERSION) == 0);
    CHECK(strcmp(sealstone_last_error(), "") == 0);
    GOOD(sealstone_self_test());
    CHECK(strcmp(sealstone_status_name(SEALSTONE_FAULT), "SEALSTONE_FAULT") == 0);
    CHECK(strcmp(sealstone_status_name(1), "unknown status") == 0);
    CHECK(sealstone_signature_len(SEALSTONE_ML_DSA_65) == SEALSTONE_ML_DSA_65_SIGNATURE_LEN);
    CHECK(sealstone_public_key_len(SEALSTONE_ML_DSA_44) == SEALSTONE_ML_DSA_44_PUBLIC_KEY_LEN);
    CHECK(sealstone_expanded_key_len(SEALSTONE_ML_DSA_87) == SEALSTONE_ML_DSA_87_EXPANDED_KEY_LEN);
    CHECK(sealstone_signature_len(66) == 0 && sealstone_public_key_len(0) == 0 && sealstone_expanded_key_len(-1) == 0);
}

static void signatures(int level) {
    size_t sig_len = sealstone_signature_len(level), pub_len = sealstone_public_key_len(level);
    size_t exp_len = sealstone_expanded_key_len(level);
    uint8_t sig[MAX_SIGNATURE], again[MAX_SIGNATURE], encoded[MAX_PUBLIC], expanded[MAX_EXPANDED], seed[SEALSTONE_SEED_LEN];
    uint8_t mu[SEALSTONE_MU_LEN], context[256];
    const uint8_t *ctx = (const uint8_t *)"letters";
    sealstone_private_key *key = NULL, *fresh = NULL, *from_expanded = NULL;
    sealstone_public_key *pub = NULL, *decoded = NULL, *other = NULL, *nothing = NULL;
    sealstone_mu *hasher = NULL;
    size_t i;

    GOOD(sealstone_private_key_from_seed(level, SEED, sizeof SEED, &key));
    CHECK(sealstone_private_key_level(key) == level);
    GOOD(sealstone_private_key_check(key));
    GOOD(sealstone_private_key_seed(key, seed, sizeof seed));
    CHECK(memcmp(seed, SEED, sizeof seed) == 0);
    GOOD(sealstone_private_key_public(key, &pub));
    CHECK(sealstone_public_key_level(pub) == level);
    GOOD(sealstone_public_key_bytes(pub, encoded, pub_len));
    GOOD(sealstone_public_key_from_bytes(level, encoded, pub_len, &decoded));

    /* Whole. */
    GOOD(sealstone_sign(key, ctx, 7, BYTES("I sealed this"), sig, sig_len));
    GOOD(sealstone_verify(decoded, ctx, 7, BYTES("I sealed this"), sig, sig_len));
    EXPECT(SEALSTONE_BAD_SIGNATURE, sealstone_verify(decoded, ctx, 7, BYTES("I sealed that"), sig, sig_len));
    EXPECT(SEALSTONE_BAD_SIGNATURE, sealstone_verify(decoded, ctx, 6, BYTES("I sealed this"), sig, sig_len));
    EXPECT(SEALSTONE_BAD_SIGNATURE, sealstone_verify(decoded, NULL, 0, BYTES("I sealed this"), sig, sig_len));
    EXPECT(SEALSTONE_BAD_SIGNATURE, sealstone_verify(decoded, ctx, 7, BYTES("I sealed this"), sig, sig_len - 1));
    EXPECT(SEALSTONE_BAD_SIGNATURE, sealstone_verify(decoded, ctx, 7, BYTES("I sealed this"), NULL, 0));
    sig[sig_len / 2] ^= 1;
    EXPECT(SEALSTONE_BAD_SIGNATURE, sealstone_verify(decoded, ctx, 7, BYTES("I sealed this"), sig, sig_len));

    /* Hedged signatures differ, deterministic ones do not. */
    GOOD(sealstone_sign(key, NULL, 0, NULL, 0, sig, sig_len));
    GOOD(sealstone_sign(key, NULL, 0, NULL, 0, again, sig_len));
    CHECK(memcmp(sig, again, sig_len) != 0);
    GOOD(sealstone_verify(pub, NULL, 0, NULL, 0, again, sig_len));
    GOOD(sealstone_sign_deterministic(key, ctx, 7, BYTES("in pieces"), sig, sig_len));

    /* In pieces and by mu: the same bytes. */
    GOOD(sealstone_mu_new(pub, ctx, 7, &hasher));
    GOOD(sealstone_mu_update(hasher, BYTES("in ")));
    GOOD(sealstone_mu_update(hasher, NULL, 0));
    EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_mu_final(hasher, mu, 63));
    GOOD(sealstone_mu_update(hasher, BYTES("pieces")));
    GOOD(sealstone_mu_final(hasher, mu, sizeof mu));
    GOOD(sealstone_sign_mu_deterministic(key, mu, sizeof mu, again, sig_len));
    CHECK(memcmp(sig, again, sig_len) == 0);
    GOOD(sealstone_sign_mu(key, mu, sizeof mu, again, sig_len));
    GOOD(sealstone_verify_mu(pub, mu, sizeof mu, again, sig_len));
    GOOD(sealstone_verify(pub, ctx, 7, BYTES("in pieces"), again, sig_len));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_mu_update(hasher, BYTES("more")));
    CHECK(strstr(sealstone_last_error(), "make another") != NULL);
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_mu_final(hasher, mu, sizeof mu));
    CHECK(all_zero(mu, sizeof mu));
    EXPECT(SEALSTONE_BAD_SIGNATURE, sealstone_verify_mu(pub, mu, sizeof mu, again, sig_len));
    sealstone_mu_free(hasher);

    /* Where the message lies does not matter, even where the signature goes. */
    memset(again, 0x2a, sizeof again);
    GOOD(sealstone_sign_deterministic(key, again, 100, again, sig_len, again, sig_len));
    memset(sig, 0x2a, sizeof sig);
    GOOD(sealstone_verify(pub, sig, 100, sig, sig_len, again, sig_len));

    /* The longest context, and one more. */
    memset(context, 'c', sizeof context);
    GOOD(sealstone_sign(key, context, 255, NULL, 0, sig, sig_len));
    GOOD(sealstone_verify(pub, context, 255, NULL, 0, sig, sig_len));
    EXPECT(SEALSTONE_CONTEXT_TOO_LONG, sealstone_sign(key, context, 256, NULL, 0, sig, sig_len));
    CHECK(all_zero(sig, sig_len));
    EXPECT(SEALSTONE_CONTEXT_TOO_LONG, sealstone_verify(pub, context, 256, NULL, 0, sig, sig_len));
    EXPECT(SEALSTONE_CONTEXT_TOO_LONG, sealstone_mu_new(pub, context, 256, &hasher));
    CHECK(hasher == NULL);

    /* Expanded: signs the same, has no seed. */
    GOOD(sealstone_private_key_expanded(key, expanded, exp_len));
    GOOD(sealstone_private_key_from_expanded(level, expanded, exp_len, &from_expanded));
    GOOD(sealstone_sign_deterministic(key, ctx, 7, BYTES("once"), sig, sig_len));
    GOOD(sealstone_sign_deterministic(from_expanded, ctx, 7, BYTES("once"), again, sig_len));
    CHECK(memcmp(sig, again, sig_len) == 0);
    EXPECT(SEALSTONE_NO_SEED, sealstone_private_key_seed(from_expanded, seed, sizeof seed));
    CHECK(all_zero(seed, sizeof seed));
    EXPECT(SEALSTONE_NO_SEED, sealstone_private_key_check(from_expanded));
    expanded[exp_len - 1] ^= 1;
    sealstone_private_key_free(from_expanded);
    EXPECT(SEALSTONE_BAD_KEY, sealstone_private_key_from_expanded(level, expanded, exp_len, &from_expanded));
    CHECK(from_expanded == NULL);

    /* Another key verifies nothing. */
    GOOD(sealstone_private_key_generate(level, &fresh));
    GOOD(sealstone_private_key_seed(fresh, seed, sizeof seed));
    CHECK(memcmp(seed, SEED, sizeof seed) != 0 && !all_zero(seed, sizeof seed));
    GOOD(sealstone_private_key_public(fresh, &other));
    EXPECT(SEALSTONE_BAD_SIGNATURE, sealstone_verify(other, ctx, 7, BYTES("once"), again, sig_len));

    /* Wrong lengths and levels: refused, and what should have come out is zero. */
    for (i = 0; i < 3; i++) {
        if (LEVELS[i] == level) continue;
        EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_public_key_from_bytes(LEVELS[i], encoded, pub_len, &nothing));
        CHECK(nothing == NULL);
        EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_private_key_from_expanded(LEVELS[i], expanded, exp_len, &from_expanded));
    }
    GOOD(sealstone_sign(key, NULL, 0, NULL, 0, sig, sig_len));
    EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_sign(key, NULL, 0, NULL, 0, sig, sig_len - 1));
    CHECK(all_zero(sig, sig_len - 1));
    CHECK(strstr(sealstone_last_error(), "signature: expected") != NULL);
    if (sig_len < sizeof sig) { /* too long is as wrong */
        EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_sign_deterministic(key, NULL, 0, NULL, 0, sig, sizeof sig));
        EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_sign_mu_deterministic(key, mu, sizeof mu, sig, sizeof sig));
        EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_public_key_bytes(pub, encoded, sizeof encoded));
        EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_private_key_expanded(key, expanded, sizeof expanded));
        CHECK(all_zero(expanded, sizeof expanded) && all_zero(sig, sizeof sig));
    }
    EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_private_key_seed(key, context, 33));
    EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_sign_mu(key, mu, 63, sig, sig_len));
    EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_verify_mu(pub, mu, 63, sig, sig_len));
    EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_private_key_from_seed(level, SEED, 31, &from_expanded));
    EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_private_key_seed(key, seed, 31));
    EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_private_key_expanded(key, expanded, exp_len - 1));
    CHECK(all_zero(expanded, exp_len - 1));
    EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_public_key_bytes(pub, encoded, pub_len - 1));

    sealstone_private_key_free(key);
    sealstone_private_key_free(fresh);
    sealstone_public_key_free(pub);
    sealstone_public_key_free(decoded);
    sealstone_public_key_free(other);
}

/* Pointers that must not be followed, and things that are no handles. */
static void misuse(void) {
    uint8_t sig[SEALSTONE_ML_DSA_65_SIGNATURE_LEN];
    uint64_t zeros[8] = {0};
    sealstone_private_key *key = NULL, *made = NULL;
    sealstone_public_key *pub = NULL;
    sealstone_mu *hasher = NULL, *none = NULL;
    const char *words;

    GOOD(sealstone_private_key_generate(SEALSTONE_ML_DSA_65, &key));
    GOOD(sealstone_private_key_public(key, &pub));
    GOOD(sealstone_mu_new(pub, NULL, 0, &hasher));

    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_private_key_generate(64, &made));
    words = sealstone_last_error();
    CHECK(strcmp(words, "level: expected 44, 65 or 87, found 64") == 0);
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_private_key_generate(SEALSTONE_ML_DSA_65, NULL));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_private_key_from_seed(SEALSTONE_ML_DSA_65, NULL, 32, &made));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_sign(NULL, NULL, 0, NULL, 0, sig, sizeof sig));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_sign(key, NULL, 1, NULL, 0, sig, sizeof sig));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_sign(key, NULL, 0, NULL, 1, sig, sizeof sig));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_sign(key, NULL, 0, NULL, 0, NULL, sizeof sig));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_sign(key, NULL, 0, sig, (size_t)-1, sig, sizeof sig));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_verify(pub, NULL, 0, NULL, 1, sig, sizeof sig));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_verify(NULL, NULL, 0, NULL, 0, sig, sizeof sig));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_mu_new(NULL, NULL, 0, &none));
    CHECK(none == NULL);
    EXPECT(SEALSTONE_BAD_HANDLE, sealstone_mu_update((sealstone_mu *)(void *)pub, NULL, 0));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_mu_update(NULL, NULL, 0));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_private_key_level(NULL));

    /* Handles of another kind, and of none. */
    EXPECT(SEALSTONE_BAD_HANDLE, sealstone_sign((sealstone_private_key *)(void *)pub, NULL, 0, NULL, 0, sig, sizeof sig));
    CHECK(all_zero(sig, sizeof sig));
    EXPECT(SEALSTONE_BAD_HANDLE, sealstone_verify((sealstone_public_key *)(void *)key, NULL, 0, NULL, 0, sig, sizeof sig));
    EXPECT(SEALSTONE_BAD_HANDLE, sealstone_public_key_level((sealstone_public_key *)(void *)zeros));
    EXPECT(SEALSTONE_BAD_HANDLE, sealstone_public_key_level((sealstone_public_key *)(void *)((char *)zeros + 1)));
    sealstone_public_key_free((sealstone_public_key *)(void *)key);
    sealstone_private_key_free((sealstone_private_key *)(void *)zeros);
    CHECK(strcmp(sealstone_last_error(), "the pointer leads to no private key") == 0);
    CHECK(sealstone_private_key_level(key) == SEALSTONE_ML_DSA_65);

    sealstone_private_key_free(NULL);
    sealstone_public_key_free(NULL);
    sealstone_mu_free(NULL);
    sealstone_mu_free(hasher); /* one that was not finished */
    sealstone_private_key_free(key);
    sealstone_public_key_free(pub);
}

/* Keys of all levels in one batch, some jobs that cannot be. */
static void batches(void) {
    enum { JOBS = 75 }; /* more than are taken at a time */
    sealstone_private_key *keys[3];
    sealstone_public_key *pubs[3];
    static sealstone_sign_job sign[JOBS];
    static sealstone_verify_job verify[JOBS];
    static uint8_t sigs[JOBS][MAX_SIGNATURE];
    char messages[JOBS][16];
    size_t i;

    for (i = 0; i < 3; i++) {
        GOOD(sealstone_private_key_generate(LEVELS[i], &keys[i]));
        GOOD(sealstone_private_key_public(keys[i], &pubs[i]));
    }
    for (i = 0; i < JOBS; i++) {
        size_t level = i % 3;
        sprintf(messages[i], "message %d", (int)i);
        sign[i].key = keys[level];
        sign[i].context = (const uint8_t *)"batch";
        sign[i].context_len = 5;
        sign[i].message = (const uint8_t *)messages[i];
        sign[i].message_len = strlen(messages[i]);
        sign[i].signature = sigs[i];
        sign[i].signature_len = sealstone_signature_len(LEVELS[level]);
        sign[i].status = 1;
    }
    GOOD(sealstone_sign_batch(sign, JOBS));
    for (i = 0; i < JOBS; i++) {
        GOOD(sign[i].status);
        verify[i].key = pubs[i % 3];
        verify[i].context = sign[i].context;
        verify[i].context_len = 5;
        verify[i].message = sign[i].message;
        verify[i].message_len = sign[i].message_len;
        verify[i].signature = sigs[i];
        verify[i].signature_len = sign[i].signature_len;
        verify[i].status = 1;
        GOOD(sealstone_verify(verify[i].key, verify[i].context, 5, verify[i].message, verify[i].message_len, sigs[i],
                              sign[i].signature_len));
    }
    GOOD(sealstone_verify_batch(verify, JOBS));
    for (i = 0; i < JOBS; i++) GOOD(verify[i].status);

    /* Each answer stands where its job is. */
    sigs[4][100] ^= 1;
    verify[70].message_len--;
    verify[71].context_len = 256;
    verify[72].key = NULL;
    verify[73].key = pubs[0];
    EXPECT(SEALSTONE_BAD_SIGNATURE, sealstone_verify_batch(verify, JOBS));
    CHECK(strcmp(sealstone_last_error(), "the signature does not verify") == 0);
    for (i = 0; i < JOBS; i++) {
        int wanted = i == 4 || i == 70 || i == 73 ? SEALSTONE_BAD_SIGNATURE
                     : i == 71                    ? SEALSTONE_CONTEXT_TOO_LONG
                     : i == 72                    ? SEALSTONE_BAD_ARGUMENT
                                                  : SEALSTONE_OK;
        EXPECT(wanted, verify[i].status);
    }
    sign[2].signature_len--;
    sign[66].key = (const sealstone_private_key *)(const void *)pubs[0];
    sign[67].signature = NULL;
    EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_sign_batch(sign, JOBS));
    for (i = 0; i < JOBS; i++) {
        int wanted = i == 2    ? SEALSTONE_WRONG_LENGTH
                     : i == 66 ? SEALSTONE_BAD_HANDLE
                     : i == 67 ? SEALSTONE_BAD_ARGUMENT
                               : SEALSTONE_OK;
        EXPECT(wanted, sign[i].status);
        if (i == 2 || i == 66) CHECK(all_zero(sigs[i], sign[i].signature_len));
    }
    GOOD(sealstone_verify(pubs[2], (const uint8_t *)"batch", 5, BYTES("message 74"), sigs[74], sign[74].signature_len));

    GOOD(sealstone_sign_batch(NULL, 0));
    GOOD(sealstone_verify_batch(NULL, 0));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_sign_batch(NULL, 1));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_verify_batch(verify, (size_t)-1));
    for (i = 0; i < 3; i++) {
        sealstone_private_key_free(keys[i]);
        sealstone_public_key_free(pubs[i]);
    }
}

int main(void) {
    size_t i;
    about();
    for (i = 0; i < 3; i++) signatures(LEVELS[i]);
    misuse();
    batches();
    return done("engine");
}
