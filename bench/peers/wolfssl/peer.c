// wolfSSL as a rival: its key objects, made from bytes or kept alive. Built twice: as it is configured, where a live key
// holds bytes alone, and with its three caches, where it keeps the matrix and the transformed vectors.

#include "../common/peer.h"

#include <wolfssl/options.h>
#include <wolfssl/version.h>

#include <wolfssl/wolfcrypt/cpuid.h>
#include <wolfssl/wolfcrypt/wc_mldsa.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int make(wc_MlDsaKey *key, byte level) {
  return wc_MlDsaKey_Init(key, NULL, INVALID_DEVID) == 0 && wc_MlDsaKey_SetParams(key, level) == 0;
}

// Makes keys in an object that lives on, as a server that rotates keys could.
static int keygen(byte level, word32 pk_len, word32 sk_len, uint8_t *pk, uint8_t *sk, const uint8_t *seed) {
  static wc_MlDsaKey key;
  static byte made = 0;
  if (made != level) {
    if (made != 0) wc_MlDsaKey_Free(&key);
    if (!make(&key, level)) return 0;
    made = level;
  }
  return wc_MlDsaKey_MakeKeyFromSeed(&key, seed) == 0 && wc_MlDsaKey_ExportPubRaw(&key, pk, &pk_len) == 0 &&
         wc_MlDsaKey_ExportPrivRaw(&key, sk, &sk_len) == 0;
}

static void *private_of(byte level, const uint8_t *sk, word32 sk_len, const uint8_t *pk, word32 pk_len) {
  wc_MlDsaKey *key = malloc(sizeof *key);
  if (key == NULL || !make(key, level)) return NULL;
  return wc_MlDsaKey_ImportKey(key, sk, sk_len, pk, pk_len) == 0 ? key : NULL;
}

static int sign_live(void *key, uint8_t *sig, word32 sig_len, const uint8_t *message) {
  byte rnd[32];
  peer_random(rnd, sizeof rnd);
  return wc_MlDsaKey_SignCtxWithSeed(key, NULL, 0, sig, &sig_len, message, PEER_MESSAGE, rnd) == 0;
}

static int sign(byte level, uint8_t *sig, word32 sig_len, const uint8_t *sk, word32 sk_len, const uint8_t *message) {
  static wc_MlDsaKey key;
  if (!make(&key, level)) return 0;
  int done = wc_MlDsaKey_ImportPrivRaw(&key, sk, sk_len) == 0 && sign_live(&key, sig, sig_len, message);
  wc_MlDsaKey_Free(&key);
  return done;
}

static void *public_of(byte level, const uint8_t *pk, word32 pk_len) {
  wc_MlDsaKey *key = malloc(sizeof *key);
  if (key == NULL || !make(key, level)) return NULL;
  return wc_MlDsaKey_ImportPubRaw(key, pk, pk_len) == 0 ? key : NULL;
}

static int verify_live(void *key, const uint8_t *sig, word32 sig_len, const uint8_t *message) {
  int fits = 0;
  int done = wc_MlDsaKey_VerifyCtx(key, sig, sig_len, NULL, 0, message, PEER_MESSAGE, &fits);
  return done == 0 && fits == 1;
}

static int verify(byte level, const uint8_t *pk, word32 pk_len, const uint8_t *sig, word32 sig_len,
                  const uint8_t *message) {
  static wc_MlDsaKey key;
  if (!make(&key, level)) return 0;
  int fits = wc_MlDsaKey_ImportPubRaw(&key, pk, pk_len) == 0 && verify_live(&key, sig, sig_len, message);
  wc_MlDsaKey_Free(&key);
  return fits;
}

#define LEVEL(N, PK, SK, SIG)                                                                              \
  static int keygen_##N(uint8_t *pk, uint8_t *sk, const uint8_t *seed) {                                   \
    return keygen(WC_ML_DSA_##N, PK, SK, pk, sk, seed);                                                    \
  }                                                                                                        \
  static int sign_##N(uint8_t *sig, const uint8_t *sk, const uint8_t *message) {                           \
    return sign(WC_ML_DSA_##N, sig, SIG, sk, SK, message);                                                 \
  }                                                                                                        \
  static int verify_##N(const uint8_t *pk, const uint8_t *sig, const uint8_t *message) {                   \
    return verify(WC_ML_DSA_##N, pk, PK, sig, SIG, message);                                               \
  }                                                                                                        \
  static void *private_of_##N(const uint8_t *sk, const uint8_t *pk) {                                      \
    return private_of(WC_ML_DSA_##N, sk, SK, pk, PK);                                                      \
  }                                                                                                        \
  static int sign_live_##N(void *key, uint8_t *sig, const uint8_t *message) {                              \
    return sign_live(key, sig, SIG, message);                                                              \
  }                                                                                                        \
  static void *public_of_##N(const uint8_t *pk) { return public_of(WC_ML_DSA_##N, pk, PK); }               \
  static int verify_live_##N(void *key, const uint8_t *sig, const uint8_t *message) {                      \
    return verify_live(key, sig, SIG, message);                                                            \
  }

#define ROW(N, PK, SK, SIG)                                                                                \
  {#N, PK, SK, SIG, keygen_##N, sign_##N, verify_##N, private_of_##N, sign_live_##N, public_of_##N,        \
   verify_live_##N}

LEVEL(44, 1312, 2560, 2420)
LEVEL(65, 1952, 4032, 3309)
LEVEL(87, 2592, 4896, 4627)

// The path that wolfSSL's own questions to the processor lead to.
static const char *path(void) {
  cpuid_flags_t flags = cpuid_get_flags();
  if (USE_INTEL_AVX512(flags)) return IS_INTEL_AVX512_VBMI(flags) ? "AVX-512 with VBMI" : "AVX-512 without VBMI";
  return IS_INTEL_AVX2(flags) ? "AVX2" : "C";
}

// PEER_VECTORS=avx2 in the environment denies it AVX-512. It asks the processor once, before the first key.
static void deny(void) {
  const char *wanted = getenv("PEER_VECTORS");
  if (wanted == NULL || strcmp(wanted, "avx2") != 0) return;
  (void)cpuid_get_flags();
  cpuid_clear_flag(CPUID_AVX512);
  cpuid_clear_flag(CPUID_AVX512_BW);
}

int main(void) {
  deny();
  const peer_level levels[] = {ROW(44, 1312, 2560, 2420), ROW(65, 1952, 4032, 3309), ROW(87, 2592, 4896, 4627)};
  char version[128];
#ifdef WC_MLDSA_CACHE_MATRIX_A
  const char *kind = "three caches";
#else
  const char *kind = "no cache";
#endif
  snprintf(version, sizeof version, "wolfssl %s, %s, %s", LIBWOLFSSL_VERSION_STRING, path(), kind);
  return peer_main(version, levels, 3);
}
