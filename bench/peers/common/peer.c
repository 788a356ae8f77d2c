#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define SIGNED 32

// What is made once for each level.
typedef struct {
  const peer_level *level;
  uint8_t *pk, *sk, *signed_[SIGNED];
  void *private_key, *public_key;
} prepared;

static void require(int fine, const char *what) {
  if (fine != 1) {
    fprintf(stderr, "error: %s failed\n", what);
    exit(1);
  }
}

void peer_random(uint8_t *out, size_t len) {
  require(getrandom(out, len, 0) == (ssize_t)len, "getrandom");
}

static void *allocate(size_t bytes) {
  void *memory = calloc(1, bytes);
  require(memory != NULL, "calloc");
  return memory;
}

static void message(uint8_t *out, uint64_t number) {
  memset(out, 0x5a, PEER_MESSAGE);
  memcpy(out, &number, sizeof number);
}

static void seed(uint8_t *out, uint64_t number) {
  memset(out, 0, PEER_SEED);
  memcpy(out, &number, sizeof number);
}

static uint64_t now(void) {
  struct timespec time;
  require(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0, "clock_gettime");
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void prepare(prepared *p, const peer_level *level) {
  uint8_t xi[PEER_SEED], m[PEER_MESSAGE];
  p->level = level;
  p->pk = allocate(level->public_key);
  p->sk = allocate(level->private_key);
  seed(xi, 0);
  require(level->keygen(p->pk, p->sk, xi), "key generation");
  if (level->private_of != NULL) {
    p->private_key = level->private_of(p->sk, p->pk);
    require(p->private_key != NULL, "live private key");
  }
  if (level->public_of != NULL) {
    p->public_key = level->public_of(p->pk);
    require(p->public_key != NULL, "live public key");
  }
  for (uint64_t i = 0; i < SIGNED; i++) {
    p->signed_[i] = allocate(level->signature);
    message(m, i);
    require(level->sign(p->signed_[i], p->sk, m), "signing");
    require(level->verify(p->pk, p->signed_[i], m), "verification");
    p->signed_[i][40] ^= 1;
    require(!level->verify(p->pk, p->signed_[i], m), "refusing an altered signature");
    p->signed_[i][40] ^= 1;
  }
}

// One run; 0 if the rival has no such form.
static int run(prepared *p, const char *operation, uint64_t number, uint8_t *pk, uint8_t *sk, uint8_t *sig) {
  const peer_level *level = p->level;
  uint8_t xi[PEER_SEED], m[PEER_MESSAGE];
  int verifies = strncmp(operation, "verify", 6) == 0;
  message(m, verifies ? number % SIGNED : number);
  if (strcmp(operation, "keygen") == 0) {
    seed(xi, number);
    require(level->keygen(pk, sk, xi), operation);
  } else if (strcmp(operation, "sign") == 0) {
    require(level->sign(sig, p->sk, m), operation);
  } else if (strcmp(operation, "sign-expanded") == 0 && level->sign_live != NULL) {
    require(level->sign_live(p->private_key, sig, m), operation);
  } else if (strcmp(operation, "verify") == 0) {
    require(level->verify(p->pk, p->signed_[number % SIGNED], m), operation);
  } else if (strcmp(operation, "verify-expanded") == 0 && level->verify_live != NULL) {
    require(level->verify_live(p->public_key, p->signed_[number % SIGNED], m), operation);
  } else {
    return 0;
  }
  return 1;
}

static void time_runs(prepared *p, const char *operation, uint64_t runs) {
  uint8_t *pk = allocate(p->level->public_key);
  uint8_t *sk = allocate(p->level->private_key);
  uint8_t *sig = allocate(p->level->signature);
  int known = 1;
  uint64_t start = now();
  for (uint64_t number = 0; number < runs && known; number++) {
    known = run(p, operation, number, pk, sk, sig);
  }
  uint64_t taken = now() - start;
  if (known) {
    printf("%llu\n", (unsigned long long)taken);
  } else {
    printf("none\n");
  }
  free(pk);
  free(sk);
  free(sig);
}

static void hex(const uint8_t *bytes, size_t len, char end) {
  for (size_t i = 0; i < len; i++) printf("%02x", bytes[i]);
  putchar(end);
}

static void check(prepared *p) {
  uint8_t m[PEER_MESSAGE];
  uint8_t *sig = allocate(p->level->signature);
  peer_random(m, sizeof m);
  if (p->level->sign_live != NULL) {
    require(p->level->sign_live(p->private_key, sig, m), "signing");
  } else {
    require(p->level->sign(sig, p->sk, m), "signing");
  }
  hex(p->pk, p->level->public_key, ' ');
  hex(m, sizeof m, ' ');
  hex(sig, p->level->signature, '\n');
  free(sig);
}

int peer_main(const char *version, const peer_level *levels, size_t count) {
  char line[128], operation[32], name[16];
  unsigned long long runs;
  prepared *all = allocate(count * sizeof *all);
  printf("%s\n", version);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    int words = sscanf(line, "%31s %15s %llu", operation, name, &runs);
    size_t at = 0;
    while (at < count && (words < 2 || strcmp(levels[at].name, name) != 0)) at++;
    if (at < count && all[at].level == NULL) prepare(&all[at], &levels[at]);
    if (at < count && strcmp(operation, "check") == 0) {
      check(&all[at]);
    } else if (at < count && words == 3) {
      time_runs(&all[at], operation, runs);
    } else {
      printf("none\n");
    }
    fflush(stdout);
  }
  return 0;
}
