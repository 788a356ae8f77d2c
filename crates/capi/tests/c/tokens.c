/* JWS, JWT and key sets: there and back at each level, and each rule broken. */
#include "check.h"

static const char CLAIMS[] = "{\"iss\":\"https://id.example\",\"aud\":\"orders\",\"iat\":1800000000,\"exp\":1800000300}";
static const uint64_t NOW = 1800000010;

static sealstone_jwt_rules strict(void) {
    sealstone_jwt_rules rules;
    memset(&rules, 0, sizeof rules);
    rules.now = NOW;
    rules.issuer = "https://id.example";
    rules.audience = "orders";
    return rules;
}

static void tokens(int level) {
    sealstone_private_key *key = NULL, *other = NULL;
    sealstone_public_key *pub = NULL, *other_pub = NULL;
    sealstone_jwk_set *set = NULL, *read = NULL;
    sealstone_jws_header header;
    sealstone_jwt_rules rules;
    const sealstone_public_key *both[2];
    char *token = NULL, *claims = NULL, *json = NULL, *payload = NULL, *protected_header = NULL;
    size_t token_len, claims_len, json_len, payload_len;

    GOOD(sealstone_private_key_generate(level, &key));
    GOOD(sealstone_private_key_generate(level, &other));
    GOOD(sealstone_private_key_public(key, &pub));
    GOOD(sealstone_private_key_public(other, &other_pub));

    /* JWT with one key. */
    GOOD(sealstone_jwt_sign(key, NULL, CLAIMS, strlen(CLAIMS), &token, &token_len));
    CHECK(strlen(token) == token_len);
    rules = strict();
    GOOD(sealstone_jwt_verify(pub, token, token_len, &rules, &claims, &claims_len));
    CHECK(strlen(claims) == claims_len && strstr(claims, "\"aud\":\"orders\"") != NULL);
    sealstone_free(claims);
    EXPECT(SEALSTONE_BAD_SIGNATURE, sealstone_jwt_verify(other_pub, token, token_len, &rules, &claims, &claims_len));
    CHECK(claims == NULL && claims_len == 0);

    /* Each rule. */
    rules.now = 1800000300;
    EXPECT(SEALSTONE_EXPIRED, sealstone_jwt_verify(pub, token, token_len, &rules, &claims, &claims_len));
    rules.leeway = 1;
    GOOD(sealstone_jwt_verify(pub, token, token_len, &rules, &claims, NULL));
    sealstone_free(claims);
    rules = strict();
    rules.now = 1799999999;
    EXPECT(SEALSTONE_NOT_YET_VALID, sealstone_jwt_verify(pub, token, token_len, &rules, &claims, &claims_len));
    rules = strict();
    rules.max_age = 9;
    EXPECT(SEALSTONE_EXPIRED, sealstone_jwt_verify(pub, token, token_len, &rules, &claims, &claims_len));
    rules = strict();
    rules.issuer = "https://other.example";
    EXPECT(SEALSTONE_CLAIM_REFUSED, sealstone_jwt_verify(pub, token, token_len, &rules, &claims, &claims_len));
    CHECK(strstr(sealstone_last_error(), "https://other.example") != NULL);
    rules.issuer = NULL;
    EXPECT(SEALSTONE_CLAIM_REFUSED, sealstone_jwt_verify(pub, token, token_len, &rules, &claims, &claims_len));
    rules.flags = SEALSTONE_ANY_ISSUER;
    GOOD(sealstone_jwt_verify(pub, token, token_len, &rules, &claims, &claims_len));
    sealstone_free(claims);
    rules.issuer = "https://id.example";
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_jwt_verify(pub, token, token_len, &rules, &claims, &claims_len));
    rules = strict();
    rules.audience = NULL;
    EXPECT(SEALSTONE_CLAIM_REFUSED, sealstone_jwt_verify(pub, token, token_len, &rules, &claims, &claims_len));
    rules = strict();
    rules.typ = "at+jwt";
    EXPECT(SEALSTONE_CLAIM_REFUSED, sealstone_jwt_verify(pub, token, token_len, &rules, &claims, &claims_len));
    rules = strict();
    {
        const char *required[1] = {"sub"};
        rules.required = required;
        rules.required_count = 1;
        EXPECT(SEALSTONE_CLAIM_REFUSED, sealstone_jwt_verify(pub, token, token_len, &rules, &claims, &claims_len));
        CHECK(strcmp(sealstone_last_error(), "claim `sub` is missing") == 0);
    }
    rules = strict();
    rules.now = 0;
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_jwt_verify(pub, token, token_len, &rules, &claims, &claims_len));
    rules = strict();
    rules.flags = 16;
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_jwt_verify(pub, token, token_len, &rules, &claims, &claims_len));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_jwt_verify(pub, token, token_len, NULL, &claims, &claims_len));

    /* A set of two: the token's kid chooses. */
    both[0] = other_pub;
    both[1] = pub;
    GOOD(sealstone_jwk_set_of(both, 2, &set));
    GOOD(sealstone_jwk_set_write(set, &json, &json_len));
    CHECK(strstr(json, "\"priv\"") == NULL);
    GOOD(sealstone_jwk_set_parse(json, json_len, &read));
    CHECK(sealstone_jwk_set_count(read) == 2);
    rules = strict();
    GOOD(sealstone_jwt_verify_with_set(read, token, token_len, &rules, &claims, &claims_len));
    sealstone_free(claims);
    sealstone_jwk_set_free(set);
    GOOD(sealstone_jwk_set_of(both, 1, &set));
    EXPECT(SEALSTONE_UNKNOWN_KEY, sealstone_jwt_verify_with_set(set, token, token_len, &rules, &claims, &claims_len));
    sealstone_jwk_set_free(set);
    both[0] = pub;
    EXPECT(SEALSTONE_BAD_KEY, sealstone_jwk_set_of(both, 2, &set));
    CHECK(set == NULL);
    sealstone_free(token);
    sealstone_free(json);

    /* A token without expiry, of a type, with a name for the key. */
    memset(&header, 0, sizeof header);
    header.typ = "at+jwt";
    header.kid = "mine";
    GOOD(sealstone_jwt_sign(key, &header, "{}", 2, &token, &token_len));
    memset(&rules, 0, sizeof rules);
    rules.now = NOW;
    rules.typ = "at+jwt";
    EXPECT(SEALSTONE_CLAIM_REFUSED, sealstone_jwt_verify(pub, token, token_len, &rules, &claims, &claims_len));
    rules.flags = SEALSTONE_WITHOUT_EXPIRY;
    GOOD(sealstone_jwt_verify(pub, token, token_len, &rules, &claims, &claims_len));
    sealstone_free(claims);
    EXPECT(SEALSTONE_UNKNOWN_KEY, sealstone_jwt_verify_with_set(read, token, token_len, &rules, &claims, &claims_len));
    sealstone_free(token);

    /* JWS: any payload. */
    header.cty = "text/plain";
    GOOD(sealstone_jws_sign(key, &header, BYTES("any\0thing"), &token, &token_len));
    GOOD(sealstone_jws_verify(pub, token, token_len, &payload, &payload_len, &protected_header));
    CHECK(payload_len == 9 && memcmp(payload, "any\0thing", 9) == 0);
    CHECK(strstr(protected_header, "\"cty\":\"text/plain\"") != NULL && strstr(protected_header, "\"kid\":\"mine\"") != NULL);
    sealstone_free(payload);
    sealstone_free(protected_header);
    GOOD(sealstone_jws_verify(pub, token, token_len, &payload, &payload_len, NULL));
    sealstone_free(payload);
    token[token_len - 10] = token[token_len - 10] == 'A' ? 'B' : 'A';
    EXPECT(SEALSTONE_BAD_SIGNATURE, sealstone_jws_verify(pub, token, token_len, &payload, &payload_len, &protected_header));
    CHECK(payload == NULL && payload_len == 0 && protected_header == NULL);
    EXPECT(SEALSTONE_UNKNOWN_KEY, sealstone_jws_verify_with_set(read, token, token_len, &payload, NULL, NULL));
    sealstone_free(token);

    sealstone_jwk_set_free(read);
    sealstone_private_key_free(key);
    sealstone_private_key_free(other);
    sealstone_public_key_free(pub);
    sealstone_public_key_free(other_pub);
}

static void refusals(void) {
    sealstone_private_key *key = NULL;
    sealstone_public_key *pub44 = NULL, *pub65 = NULL;
    sealstone_jwk_set *set = NULL;
    sealstone_jwt_rules rules = strict();
    char *token = NULL, *out = NULL;
    size_t len;

    GOOD(sealstone_private_key_generate(SEALSTONE_ML_DSA_44, &key));
    GOOD(sealstone_private_key_public(key, &pub44));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_jwt_sign(key, NULL, "[]", 2, &token, &len));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_jwt_sign(key, NULL, "{\"a\":1,\"a\":2}", 13, &token, &len));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_jwt_sign(key, NULL, "{\"\xff\":1}", 7, &token, &len));
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_jws_sign(key, NULL, NULL, 0, &token, &len));
    CHECK(token == NULL && len == 0);
    EXPECT(SEALSTONE_BAD_TOKEN, sealstone_jwt_verify(pub44, "a.b.c", 5, &rules, &out, &len));
    EXPECT(SEALSTONE_BAD_TOKEN, sealstone_jwt_verify(pub44, "", 0, &rules, &out, &len));
    /* alg none, RFC 7519 6.1 */
    EXPECT(SEALSTONE_UNKNOWN_ALGORITHM, sealstone_jwt_verify(pub44, "eyJhbGciOiJub25lIn0.e30.AA", 26, &rules, &out, &len));

    GOOD(sealstone_jwt_sign(key, NULL, CLAIMS, strlen(CLAIMS), &token, &len));
    sealstone_private_key_free(key);
    GOOD(sealstone_private_key_generate(SEALSTONE_ML_DSA_65, &key));
    GOOD(sealstone_private_key_public(key, &pub65));
    EXPECT(SEALSTONE_ALGORITHM_MISMATCH, sealstone_jwt_verify(pub65, token, len, &rules, &out, &len));
    sealstone_free(token);

    EXPECT(SEALSTONE_BAD_KEY, sealstone_jwk_set_parse("{}", 2, &set));
    EXPECT(SEALSTONE_BAD_KEY, sealstone_jwk_set_parse("{\"keys\":[{\"kty\":\"AKP\",\"priv\":\"AA\"}]}", 36, &set));
    CHECK(strstr(sealstone_last_error(), "private member") != NULL);
    EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_jwk_set_of(NULL, 1, &set));
    GOOD(sealstone_jwk_set_of(NULL, 0, &set));
    CHECK(sealstone_jwk_set_count(set) == 0);
    EXPECT(SEALSTONE_BAD_HANDLE, sealstone_jwk_set_count((sealstone_jwk_set *)(void *)key));
    sealstone_jwk_set_free(set);
    sealstone_private_key_free(key);
    sealstone_public_key_free(pub44);
    sealstone_public_key_free(pub65);
}

int main(void) {
    size_t i;
    for (i = 0; i < 3; i++) tokens(LEVELS[i]);
    refusals();
    return done("tokens");
}
