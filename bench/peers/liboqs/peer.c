// liboqs as a rival: keys and signatures as bytes, AVX2 where the processor has it. It takes no seed, and has no live keys.

#include "../common/peer.h"

#include <oqs/oqs.h>

#include <stdio.h>

#define LEVEL(N)                                                                                           \
  static int keygen_##N(uint8_t *pk, uint8_t *sk, const uint8_t *seed) {                                   \
    (void)seed;                                                                                            \
    return OQS_SIG_ml_dsa_##N##_keypair(pk, sk) == OQS_SUCCESS;                                            \
  }                                                                                                        \
  static int sign_##N(uint8_t *sig, const uint8_t *sk, const uint8_t *message) {                           \
    size_t len = 0;                                                                                        \
    int done = OQS_SIG_ml_dsa_##N##_sign(sig, &len, message, PEER_MESSAGE, sk) == OQS_SUCCESS;             \
    return done && len == OQS_SIG_ml_dsa_##N##_length_signature;                                           \
  }                                                                                                        \
  static int verify_##N(const uint8_t *pk, const uint8_t *sig, const uint8_t *message) {                   \
    return OQS_SIG_ml_dsa_##N##_verify(message, PEER_MESSAGE, sig,                                         \
                                       OQS_SIG_ml_dsa_##N##_length_signature, pk) == OQS_SUCCESS;          \
  }

LEVEL(44)
LEVEL(65)
LEVEL(87)

#define ROW(N)                                                                                             \
  {.name = #N,                                                                                             \
   .public_key = OQS_SIG_ml_dsa_##N##_length_public_key,                                                   \
   .private_key = OQS_SIG_ml_dsa_##N##_length_secret_key,                                                  \
   .signature = OQS_SIG_ml_dsa_##N##_length_signature,                                                     \
   .keygen = keygen_##N,                                                                                   \
   .sign = sign_##N,                                                                                       \
   .verify = verify_##N}

int main(void) {
  const peer_level levels[] = {ROW(44), ROW(65), ROW(87)};
  char version[128];
  OQS_init();
  snprintf(version, sizeof version, "liboqs %s (oqs-sys)", OQS_version());
  return peer_main(version, levels, 3);
}
