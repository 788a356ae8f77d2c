// mldsa-native as a rival: its C code and its AVX2 assembly, keys and signatures as bytes. It has no live keys.

#include "../common/peer.h"

#include "mldsa_native_all.h"

#include <stddef.h>

// The source of randomness that mldsa-native asks for rnd.
int randombytes(uint8_t *out, size_t len) {
  peer_random(out, len);
  return 0;
}

#define LEVEL(N)                                                                                 \
  static int keygen_##N(uint8_t *pk, uint8_t *sk, const uint8_t *seed) {                         \
    return mldsa##N##_keypair_internal(pk, sk, seed) == 0;                                       \
  }                                                                                              \
  static int sign_##N(uint8_t *sig, const uint8_t *sk, const uint8_t *message) {                 \
    size_t len = 0;                                                                              \
    int done = mldsa##N##_signature(sig, &len, message, PEER_MESSAGE, NULL, 0, sk);              \
    return done == 0 && len == MLDSA##N##_BYTES;                                                 \
  }                                                                                              \
  static int verify_##N(const uint8_t *pk, const uint8_t *sig, const uint8_t *message) {         \
    return mldsa##N##_verify(sig, MLDSA##N##_BYTES, message, PEER_MESSAGE, NULL, 0, pk) == 0;    \
  }

LEVEL(44)
LEVEL(65)
LEVEL(87)

#define ROW(N)                                                                                   \
  {.name = #N,                                                                                   \
   .public_key = MLDSA##N##_PUBLICKEYBYTES,                                                      \
   .private_key = MLDSA##N##_SECRETKEYBYTES,                                                     \
   .signature = MLDSA##N##_BYTES,                                                                \
   .keygen = keygen_##N,                                                                         \
   .sign = sign_##N,                                                                             \
   .verify = verify_##N}

int main(void) {
  const peer_level levels[] = {ROW(44), ROW(65), ROW(87)};
  return peer_main("mldsa-native (mldsa-native-rs " VERSION "), AVX2", levels, 3);
}
