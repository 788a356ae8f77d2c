// A tree signed and verified with OpenSSL alone, in one process: what a program would be that calls the library and does
// nothing else. One thread, one key that lives, one read of each file, the bytes that Linux 7.2 takes.
//
//   tree sign KEY.pem KEYID DIR      writes security.ima to every regular file
//   tree verify PUBLIC.pem KEYID DIR checks it
//
// KEYID has eight hexadecimal digits. Prints the number of files; a file that cannot be signed or does not verify ends it.

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#define PIECE (256 * 1024)
#define HEADER 9
#define ID 34
#define LARGEST (HEADER + 4627)

static EVP_PKEY *key;
static EVP_SIGNATURE *algorithm;
static EVP_MD *sha256;
static EVP_MD_CTX *hash;
static uint8_t key_id[4];
static int signing;
static long files;
static uint8_t buffer[PIECE];

static int trouble(const char *path, const char *what) {
  fprintf(stderr, "%s: %s\n", path, what);
  return 1;
}

// What is signed: type 3, hash function 4, the digest.
static int identify(int fd, uint8_t id[ID]) {
  id[0] = 3;
  id[1] = 4;
  if (EVP_DigestInit_ex2(hash, sha256, NULL) != 1) return 0;
  for (;;) {
    ssize_t count = read(fd, buffer, PIECE);
    if (count == 0) return EVP_DigestFinal_ex(hash, id + 2, NULL) == 1;
    if (count < 0 || EVP_DigestUpdate(hash, buffer, (size_t)count) != 1) return 0;
  }
}

static int sign(int fd, const uint8_t id[ID]) {
  uint8_t value[LARGEST];
  size_t length = sizeof value - HEADER;
  EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
  int done = ctx != NULL && EVP_PKEY_sign_message_init(ctx, algorithm, NULL) == 1 &&
             EVP_PKEY_sign(ctx, value + HEADER, &length, id, ID) == 1;
  EVP_PKEY_CTX_free(ctx);
  if (!done) return 0;
  value[0] = value[1] = 3;
  value[2] = 4;
  memcpy(value + 3, key_id, 4);
  value[7] = (uint8_t)(length >> 8);
  value[8] = (uint8_t)length;
  return fsetxattr(fd, "security.ima", value, HEADER + length, 0) == 0;
}

static int verify(int fd, const uint8_t id[ID]) {
  uint8_t value[LARGEST];
  ssize_t length = fgetxattr(fd, "security.ima", value, sizeof value);
  if (length <= HEADER || value[0] != 3 || value[1] != 3 || value[2] != 4 || memcmp(value + 3, key_id, 4) != 0 ||
      (value[7] << 8 | value[8]) != length - HEADER)
    return 0;
  EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
  int fits = ctx != NULL && EVP_PKEY_verify_message_init(ctx, algorithm, NULL) == 1 &&
             EVP_PKEY_verify(ctx, value + HEADER, (size_t)length - HEADER, id, ID) == 1;
  EVP_PKEY_CTX_free(ctx);
  return fits;
}

static int visit(const char *path, const struct stat *stat, int kind, struct FTW *where) {
  (void)where;
  if (kind == FTW_DNR || kind == FTW_NS) return trouble(path, "cannot be looked at");
  if (kind != FTW_F || !S_ISREG(stat->st_mode)) return 0;
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return trouble(path, strerror(errno));
  uint8_t id[ID];
  int done = identify(fd, id) && (signing ? sign(fd, id) : verify(fd, id));
  close(fd);
  if (!done) return trouble(path, signing ? "is not signed" : "does not verify");
  files++;
  return 0;
}

int main(int count, char **words) {
  unsigned id = 0;
  if (count == 2 && strcmp(words[1], "version") == 0) {
    printf("OpenSSL %s\n", OpenSSL_version(OPENSSL_VERSION_STRING));
    return 0;
  }
  if (count != 5 || sscanf(words[3], "%8x", &id) != 1) {
    fprintf(stderr, "usage: tree sign|verify KEY.pem KEYID DIR\n");
    return 2;
  }
  signing = strcmp(words[1], "sign") == 0;
  for (int i = 0; i < 4; i++) key_id[i] = (uint8_t)(id >> (24 - 8 * i));
  FILE *pem = fopen(words[2], "r");
  if (pem == NULL) return trouble(words[2], strerror(errno));
  key = signing ? PEM_read_PrivateKey(pem, NULL, NULL, NULL) : PEM_read_PUBKEY(pem, NULL, NULL, NULL);
  fclose(pem);
  if (key == NULL) return trouble(words[2], "is no key that OpenSSL reads");
  // Looked up once, as a program that cares would.
  algorithm = EVP_SIGNATURE_fetch(NULL, EVP_PKEY_get0_type_name(key), NULL);
  sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
  hash = EVP_MD_CTX_new();
  if (algorithm == NULL || sha256 == NULL || hash == NULL) return trouble(words[2], "needs what this OpenSSL does not have");
  if (nftw(words[4], visit, 64, FTW_PHYS | FTW_MOUNT) != 0) return 1;
  printf("%ld\n", files);
  return 0;
}
