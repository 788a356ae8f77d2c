// The line protocol of a rival written in C. A rival fills in one `peer_level` for each level and calls `peer_main`.
//
// A line `OP LEVEL RUNS` is answered with the nanoseconds of its own time that RUNS took, or `none` if the rival has
// no such form:
//
//   keygen           a key pair from a seed
//   sign             a hedged signature of a fresh message with a key from its bytes
//   sign-expanded    the same with a live private key
//   verify           one signature verified with a public key from its bytes
//   verify-expanded  the same with a live public key
//
// Messages have 64 bytes, the context is empty. `check LEVEL` is answered with a public key, a message and a
// signature in hexadecimal, for somebody else to verify. The first line written is the rival's name and version.

#ifndef PEER_H
#define PEER_H

#include <stddef.h>
#include <stdint.h>

#define PEER_MESSAGE 64
#define PEER_SEED 32

typedef struct {
  const char *name; // "44"
  size_t public_key, private_key, signature;
  // Each returns 1 if all is well. A function that the rival has no equal of is left out.
  int (*keygen)(uint8_t *pk, uint8_t *sk, const uint8_t *seed);
  int (*sign)(uint8_t *sig, const uint8_t *sk, const uint8_t *message);
  int (*verify)(const uint8_t *pk, const uint8_t *sig, const uint8_t *message);
  // Live keys. They are made once for each level and live until the end.
  void *(*private_of)(const uint8_t *sk, const uint8_t *pk);
  int (*sign_live)(void *key, uint8_t *sig, const uint8_t *message);
  void *(*public_of)(const uint8_t *pk);
  int (*verify_live)(void *key, const uint8_t *sig, const uint8_t *message);
} peer_level;

// Fills `out` from the operating system.
void peer_random(uint8_t *out, size_t len);

// Answers lines until there are no more.
int peer_main(const char *version, const peer_level *levels, size_t count);

#endif
