/* Keys in PEM, DER and JWK: there and back, known answers, refusals in words. */
#include "check.h"

/* RFC 9881, C.1.1: the private key of ML-DSA-44, as its seed. */
static const char RFC9881_SEED[] = "-----BEGIN PRIVATE KEY-----\n"
                                   "MDQCAQAwCwYJYIZIAWUDBAMRBCKAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZ\n"
                                   "GhscHR4f\n"
                                   "-----END PRIVATE KEY-----\n";

/* A key on P-256, RFC 5915. */
static const char EC[] = "{\"kty\":\"EC\",\"crv\":\"P-256\","
                         "\"x\":\"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4\","
                         "\"y\":\"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM\"}";

static void there_and_back(int level) {
    int formats[3] = {SEALSTONE_PEM, SEALSTONE_DER, SEALSTONE_JWK};
    sealstone_private_key *key = NULL, *read = NULL;
    sealstone_public_key *pub = NULL, *pub_read = NULL;
    uint8_t seed[SEALSTONE_SEED_LEN], seed_read[SEALSTONE_SEED_LEN], encoded[MAX_PUBLIC], encoded_read[MAX_PUBLIC];
    size_t pub_len = sealstone_public_key_len(level), i;

    GOOD(sealstone_private_key_generate(level, &key));
    GOOD(sealstone_private_key_public(key, &pub));
    GOOD(sealstone_private_key_seed(key, seed, sizeof seed));
    GOOD(sealstone_public_key_bytes(pub, encoded, pub_len));
    for (i = 0; i < 3; i++) {
        char *text = NULL;
        size_t len = 0;
        GOOD(sealstone_private_key_write(key, formats[i], &text, &len));
        CHECK(text[len] == 0);
        GOOD(sealstone_private_key_parse(formats[i], (const uint8_t *)text, len, &read));
        GOOD(sealstone_private_key_seed(read, seed_read, sizeof seed_read));
        CHECK(memcmp(seed, seed_read, sizeof seed) == 0);
        sealstone_private_key_free(read);
        GOOD(sealstone_private_key_parse(SEALSTONE_ANY, (const uint8_t *)text, len, &read));
        sealstone_private_key_free(read);
        EXPECT(SEALSTONE_BAD_KEY, sealstone_private_key_parse(formats[i], (const uint8_t *)text, len - 2, &read));
        CHECK(read == NULL);
        EXPECT(SEALSTONE_BAD_KEY, sealstone_public_key_parse(SEALSTONE_ANY, (const uint8_t *)text, len, &pub_read));
        sealstone_free(text);

        GOOD(sealstone_public_key_write(pub, formats[i], &text, NULL));
        len = formats[i] == SEALSTONE_DER ? pub_len + 22 : strlen(text);
        GOOD(sealstone_public_key_parse(SEALSTONE_ANY, (const uint8_t *)text, len, &pub_read));
        GOOD(sealstone_public_key_bytes(pub_read, encoded_read, pub_len));
        CHECK(memcmp(encoded, encoded_read, pub_len) == 0);
        sealstone_public_key_free(pub_read);
        EXPECT(SEALSTONE_BAD_KEY, sealstone_private_key_parse(SEALSTONE_ANY, (const uint8_t *)text, len, &read));
        sealstone_free(text);
    }
    sealstone_private_key_free(key);
    sealstone_public_key_free(pub);
}

static void known_answers(void) {
    sealstone_private_key *key = NULL;
    sealstone_public_key *pub = NULL;
    uint8_t seed[SEALSTONE_SEED_LEN];
    char *text = NULL;
    size_t i, len = 0;

    GOOD(sealstone_private_key_parse(SEALSTONE_PEM, BYTES(RFC9881_SEED), &key));
    CHECK(sealstone_private_key_level(key) == SEALSTONE_ML_DSA_44);
    GOOD(sealstone_private_key_seed(key, seed, sizeof seed));
    for (i = 0; i < sizeof seed; i++) CHECK(seed[i] == i);
    GOOD(sealstone_private_key_write(key, SEALSTONE_PEM, &text, &len));
    CHECK(strcmp(text, RFC9881_SEED) == 0);
    sealstone_free(text);
    sealstone_private_key_free(key);

    /* RFC 9964, Appendix A: the seed of zeros at ML-DSA-44, and its thumbprint. */
    memset(seed, 0, sizeof seed);
    GOOD(sealstone_private_key_from_seed(SEALSTONE_ML_DSA_44, seed, sizeof seed, &key));
    GOOD(sealstone_private_key_public(key, &pub));
    GOOD(sealstone_public_key_thumbprint(pub, &text, &len));
    CHECK(len == 43 && strcmp(text, "T4xl70S7MT6Zeq6r9V9fPJGVn76wfnXJ21-gyo0Gu6o") == 0);
    sealstone_free(text);
    GOOD(sealstone_public_key_kid(pub, &text, NULL));
    CHECK(strcmp(text, "T4xl70S7MT6Zeq6r9V9fPJGVn76wfnXJ21-gyo0Gu6o") == 0);
    sealstone_free(text);
    sealstone_public_key_free(pub);
    sealstone_private_key_free(key);
}

static void a_key_id_is_kept(void) {
    sealstone_private_key *key = NULL, *named = NULL;
    sealstone_public_key *pub = NULL;
    char *text = NULL, *kid = NULL, *at, jwk[4096];

    GOOD(sealstone_private_key_generate(SEALSTONE_ML_DSA_44, &key));
    GOOD(sealstone_private_key_write(key, SEALSTONE_JWK, &text, NULL));
    at = strstr(text, "\"kid\":\"");
    CHECK(at != NULL);
    sprintf(jwk, "%.*s\"kid\":\"billing-7%s", (int)(at - text), text, at + strlen("\"kid\":\"") + 43);
    sealstone_free(text);
    GOOD(sealstone_private_key_parse(SEALSTONE_JWK, (const uint8_t *)jwk, strlen(jwk), &named));
    GOOD(sealstone_private_key_public(named, &pub));
    GOOD(sealstone_public_key_kid(pub, &kid, NULL));
    CHECK(strcmp(kid, "billing-7") == 0);
    sealstone_free(kid);
    sealstone_private_key_free(key);
    sealstone_private_key_free(named);
    sealstone_public_key_free(pub);
}

static void refusals(void) {
    sealstone_private_key *key = NULL, *expanded_only = NULL;
    sealstone_public_key *pub = NULL;
    uint8_t expanded[SEALSTONE_ML_DSA_44_EXPANDED_KEY_LEN];
    char *text = (char *)1;
    size_t len = 1;

    EXPECT(SEALSTONE_BAD_KEY, sealstone_private_key_parse(SEALSTONE_ANY, BYTES("hello"), &key));
    CHECK(strstr(sealstone_last_error(), "neither JSON, PEM nor DER") != NULL);
    EXPECT(SEALSTONE_BAD_KEY, sealstone_private_key_parse(SEALSTONE_ANY, NULL, 0, &key));
    EXPECT(SEALSTONE_UNKNOWN_ALGORITHM, sealstone_public_key_parse(SEALSTONE_ANY, BYTES(EC), &pub));
    CHECK(strstr(sealstone_last_error(), "ES256") != NULL);
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_public_key_parse(4, BYTES(EC), &pub));
    EXPECT(SEALSTONE_BAD_KEY, sealstone_public_key_parse(SEALSTONE_PEM, BYTES(EC), &pub));
    CHECK(pub == NULL);

    GOOD(sealstone_private_key_generate(SEALSTONE_ML_DSA_44, &key));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_private_key_write(key, SEALSTONE_ANY, &text, &len));
    CHECK(text == NULL && len == 0);
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_private_key_write(key, SEALSTONE_PEM, NULL, &len));
    GOOD(sealstone_private_key_expanded(key, expanded, sizeof expanded));
    GOOD(sealstone_private_key_from_expanded(SEALSTONE_ML_DSA_44, expanded, sizeof expanded, &expanded_only));
    EXPECT(SEALSTONE_NO_SEED, sealstone_private_key_write(expanded_only, SEALSTONE_PEM, &text, &len));
    EXPECT(SEALSTONE_NO_SEED, sealstone_jwt_sign(expanded_only, NULL, "{}", 2, &text, &len));
    sealstone_private_key_free(expanded_only);
    sealstone_private_key_free(key);
    sealstone_free(NULL);
}

int main(void) {
    size_t i;
    for (i = 0; i < 3; i++) there_and_back(LEVELS[i]);
    known_answers();
    a_key_id_is_kept();
    refusals();
    return done("keys");
}
