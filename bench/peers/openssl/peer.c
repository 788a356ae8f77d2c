// OpenSSL as a rival, through EVP: a new context for each call, as its manual has it. Its live keys hold no matrix.

#include "../common/peer.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <stdio.h>

// Looked up once, as a program that cares would.
static EVP_SIGNATURE *algorithm(const char *name) {
  static struct {
    const char *name;
    EVP_SIGNATURE *found;
  } seen[3];
  for (int i = 0; i < 3; i++) {
    if (seen[i].name == name) return seen[i].found;
    if (seen[i].name == NULL) {
      seen[i].name = name;
      return seen[i].found = EVP_SIGNATURE_fetch(NULL, name, NULL);
    }
  }
  return NULL;
}

static int keygen(const char *name, uint8_t *pk, size_t pk_len, uint8_t *sk, size_t sk_len, const uint8_t *seed) {
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, name, NULL);
  OSSL_PARAM params[] = {
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_ML_DSA_SEED, (void *)seed, PEER_SEED),
      OSSL_PARAM_construct_end(),
  };
  int done = ctx != NULL && EVP_PKEY_keygen_init(ctx) == 1 && EVP_PKEY_CTX_set_params(ctx, params) == 1 &&
             EVP_PKEY_generate(ctx, &key) == 1 && EVP_PKEY_get_raw_public_key(key, pk, &pk_len) == 1 &&
             EVP_PKEY_get_raw_private_key(key, sk, &sk_len) == 1;
  EVP_PKEY_free(key);
  EVP_PKEY_CTX_free(ctx);
  return done;
}

static int sign_live(const char *name, EVP_PKEY *key, uint8_t *sig, size_t sig_len, const uint8_t *message) {
  EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
  int done = ctx != NULL && EVP_PKEY_sign_message_init(ctx, algorithm(name), NULL) == 1 &&
             EVP_PKEY_sign(ctx, sig, &sig_len, message, PEER_MESSAGE) == 1;
  EVP_PKEY_CTX_free(ctx);
  return done;
}

static int verify_live(const char *name, EVP_PKEY *key, const uint8_t *sig, size_t sig_len, const uint8_t *message) {
  EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
  int fits = ctx != NULL && EVP_PKEY_verify_message_init(ctx, algorithm(name), NULL) == 1 &&
             EVP_PKEY_verify(ctx, sig, sig_len, message, PEER_MESSAGE) == 1;
  EVP_PKEY_CTX_free(ctx);
  return fits;
}

static int sign(const char *name, const uint8_t *sk, size_t sk_len, uint8_t *sig, size_t sig_len,
                const uint8_t *message) {
  EVP_PKEY *key = EVP_PKEY_new_raw_private_key_ex(NULL, name, NULL, sk, sk_len);
  int done = key != NULL && sign_live(name, key, sig, sig_len, message);
  EVP_PKEY_free(key);
  return done;
}

static int verify(const char *name, const uint8_t *pk, size_t pk_len, const uint8_t *sig, size_t sig_len,
                  const uint8_t *message) {
  EVP_PKEY *key = EVP_PKEY_new_raw_public_key_ex(NULL, name, NULL, pk, pk_len);
  int fits = key != NULL && verify_live(name, key, sig, sig_len, message);
  EVP_PKEY_free(key);
  return fits;
}

#define LEVEL(N, PK, SK, SIG)                                                                              \
  static const char name_##N[] = "ML-DSA-" #N;                                                             \
  static int keygen_##N(uint8_t *pk, uint8_t *sk, const uint8_t *seed) {                                   \
    return keygen(name_##N, pk, PK, sk, SK, seed);                                                         \
  }                                                                                                        \
  static int sign_##N(uint8_t *sig, const uint8_t *sk, const uint8_t *message) {                           \
    return sign(name_##N, sk, SK, sig, SIG, message);                                                      \
  }                                                                                                        \
  static int verify_##N(const uint8_t *pk, const uint8_t *sig, const uint8_t *message) {                   \
    return verify(name_##N, pk, PK, sig, SIG, message);                                                    \
  }                                                                                                        \
  static void *private_of_##N(const uint8_t *sk, const uint8_t *pk) {                                      \
    (void)pk;                                                                                              \
    return EVP_PKEY_new_raw_private_key_ex(NULL, name_##N, NULL, sk, SK);                                  \
  }                                                                                                        \
  static int sign_live_##N(void *key, uint8_t *sig, const uint8_t *message) {                              \
    return sign_live(name_##N, key, sig, SIG, message);                                                    \
  }                                                                                                        \
  static void *public_of_##N(const uint8_t *pk) {                                                          \
    return EVP_PKEY_new_raw_public_key_ex(NULL, name_##N, NULL, pk, PK);                                   \
  }                                                                                                        \
  static int verify_live_##N(void *key, const uint8_t *sig, const uint8_t *message) {                      \
    return verify_live(name_##N, key, sig, SIG, message);                                                  \
  }

LEVEL(44, 1312, 2560, 2420)
LEVEL(65, 1952, 4032, 3309)
LEVEL(87, 2592, 4896, 4627)

#define ROW(N, PK, SK, SIG)                                                                                \
  {#N, PK, SK, SIG, keygen_##N, sign_##N, verify_##N, private_of_##N, sign_live_##N, public_of_##N,        \
   verify_live_##N}

int main(void) {
  const peer_level levels[] = {ROW(44, 1312, 2560, 2420), ROW(65, 1952, 4032, 3309), ROW(87, 2592, 4896, 4627)};
  char version[128];
  snprintf(version, sizeof version, "openssl %s, EVP", OpenSSL_version(OPENSSL_VERSION_STRING));
  return peer_main(version, levels, 3);
}
