// BoringSSL's ML-DSA and Keccak, compiled from its own sources, behind six C functions for each level.
// The two files below are what BoringSSL's bcm.cc takes in; nothing of them is changed.

#include "crypto/fipsmodule/keccak/keccak.cc.inc"
#include "crypto/fipsmodule/mldsa/mldsa.cc.inc"

#include <stdlib.h>
#include <sys/random.h>

// What they need from the rest of the library.
bcm_infallible bssl::BCM_rand_bytes(uint8_t *out, size_t len) {
  while (len > 0) {
    ssize_t got = getrandom(out, len, 0);
    if (got < 0) abort();
    out += got;
    len -= static_cast<size_t>(got);
  }
  return bcm_infallible::not_approved;
}

// Only AVX2 is ever asked for (word 2, bit 5). PEER_VECTORS=0 denies it.
uint32_t bssl::OPENSSL_get_ia32cap(int idx) {
  static int avx2 = -1;
  if (avx2 < 0) {
    const char *wanted = getenv("PEER_VECTORS");
    avx2 = __builtin_cpu_supports("avx2") && !(wanted != nullptr && wanted[0] == '0');
  }
  return idx == 2 && avx2 > 0 ? 1u << 5 : 0;
}

// The self test that would call this is of the FIPS build.
int bssl::BORINGSSL_check_test(Span<const uint8_t>, Span<const uint8_t>, const char *) { abort(); }

void ERR_put_error(int, int, int, const char *, unsigned) {}

#define LEVEL(N)                                                                                            \
  extern "C" size_t peer_private_size_##N() { return sizeof(MLDSA##N##_private_key); }                      \
  extern "C" size_t peer_public_size_##N() { return sizeof(MLDSA##N##_public_key); }                        \
  extern "C" int peer_keygen_##N(uint8_t *pk, void *priv, const uint8_t *seed) {                            \
    return bcm_success(bssl::BCM_mldsa##N##_generate_key_external_entropy(                                  \
        pk, static_cast<MLDSA##N##_private_key *>(priv), seed));                                            \
  }                                                                                                         \
  extern "C" int peer_sign_##N(uint8_t *sig, const void *priv, const uint8_t *msg, size_t len) {            \
    return bcm_success(bssl::BCM_mldsa##N##_sign(sig, static_cast<const MLDSA##N##_private_key *>(priv),    \
                                                 msg, len, nullptr, 0));                                    \
  }                                                                                                         \
  extern "C" int peer_parse_##N(void *pub, const uint8_t *pk, size_t len) {                                 \
    CBS cbs;                                                                                                \
    CBS_init(&cbs, pk, len);                                                                                \
    return bcm_success(                                                                                     \
        bssl::BCM_mldsa##N##_parse_public_key(static_cast<MLDSA##N##_public_key *>(pub), &cbs));            \
  }                                                                                                         \
  extern "C" int peer_verify_##N(const void *pub, const uint8_t *sig, const uint8_t *msg, size_t len) {     \
    return bcm_success(bssl::BCM_mldsa##N##_verify(static_cast<const MLDSA##N##_public_key *>(pub), sig,    \
                                                   msg, len, nullptr, 0));                                  \
  }

LEVEL(44)
LEVEL(65)
LEVEL(87)
