/*
 * Sealstone: ML-DSA (FIPS 204), keys in PEM, DER and JWK, JSON Web Tokens.
 *
 * Link with `pkg-config --cflags --libs sealstone` (shared) or `sealstone-static`. C99 and C++11.
 *
 * Results. A function that returns int returns SEALSTONE_OK (0) or a negative number of enum sealstone_status. On failure
 * every output is zeroed: buffers are filled with zeros, pointers become NULL, lengths 0. On success and only then an output
 * holds what its function says. sealstone_last_error() has the failure in words.
 *
 * Pointers. Lengths count bytes. A pointer may be NULL where its length is 0, and where a comment says so. Inputs and outputs
 * of one call may overlap. A NULL where something must be, a wrong length, a handle of another kind and a handle that was
 * freed are refused, the last two as far as memory shows it: that a pointer leads anywhere at all is for the caller to know.
 *
 * Text. "text, text_len" needs no zero at its end; a `const char *` without a length ends with one. All text is UTF-8.
 *
 * Threads. Keys and key sets never change: any number of threads may use one at the same time. A sealstone_mu belongs to one
 * thread at a time. Nobody may use what another thread frees. sealstone_last_error() belongs to its thread.
 *
 * fork(). Handles are good in a child process, and so is its randomness, which is asked of the kernel for each signature. The
 * child has a copy of every private key: free what it does not need, or exec. In a process with several threads a child may
 * call this library before exec only where it may call malloc.
 *
 * Secrets. Private keys are wiped when they are freed, and so is every block that sealstone_free() takes back. What a
 * function writes into the caller's memory the caller wipes.
 *
 * Versions. Before 1.0 a new minor version is a new soname. Names of the library begin with sealstone_ or SEALSTONE_.
 */
#ifndef SEALSTONE_H
#define SEALSTONE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; sealstone_version() is that of the library. */
#define SEALSTONE_VERSION "0.1.0"

/* ---- results ---- */

enum sealstone_status {
    /* Done. */
    SEALSTONE_OK = 0,
    /* An argument cannot be: NULL, an unknown level, format or flag, text that is not UTF-8, claims that are not JSON. */
    SEALSTONE_BAD_ARGUMENT = -1,
    /* A pointer is no handle of the kind that the function takes, or one that was freed. */
    SEALSTONE_BAD_HANDLE = -2,
    /* A buffer or an encoding has another length than the one it must have. */
    SEALSTONE_WRONG_LENGTH = -3,
    /* A context is longer than 255 bytes (FIPS 204, 5.2). */
    SEALSTONE_CONTEXT_TOO_LONG = -4,
    /* A key is malformed, contradicts itself, or must not be used so. */
    SEALSTONE_BAD_KEY = -5,
    /* The key is there only in expanded form; what was asked needs its seed. */
    SEALSTONE_NO_SEED = -6,
    /* The algorithm, curve or key type is not known here, or not one of ML-DSA. */
    SEALSTONE_UNKNOWN_ALGORITHM = -7,
    /* The signature is not one of this key over this message and context. All forgeries look alike. */
    SEALSTONE_BAD_SIGNATURE = -8,
    /* The token is malformed, or its header asks for what is refused. */
    SEALSTONE_BAD_TOKEN = -9,
    /* The token names another algorithm than its key's. The key decides (RFC 8725, 3.1). */
    SEALSTONE_ALGORITHM_MISMATCH = -10,
    /* No key of the set has the token's kid; or it has none, and not exactly one key has its algorithm. */
    SEALSTONE_UNKNOWN_KEY = -11,
    /* The token's time is over (RFC 7519, 4.1.4), or it is older than the rules allow. */
    SEALSTONE_EXPIRED = -12,
    /* The token's time has not come (RFC 7519, 4.1.5), or it was issued in the future. */
    SEALSTONE_NOT_YET_VALID = -13,
    /* A claim, or the token's typ, is not what the rules want. */
    SEALSTONE_CLAIM_REFUSED = -14,
    /* The operating system gave no randomness, or the cryptographic library failed. Nothing was made or signed. */
    SEALSTONE_RNG_FAILED = -15,
    /* The machine computed wrongly. Nothing was released. */
    SEALSTONE_FAULT = -16,
    /* A defect of the library was met, and went no further. Nothing was released. Please report it. */
    SEALSTONE_PANICKED = -17
};

/* The name of a status, such as "SEALSTONE_BAD_KEY". Never NULL; never freed. */
const char *sealstone_status_name(int status);

/*
 * Why the last call of this thread that failed did so, in words for a person: what, where, expected, found; never a secret.
 * Empty if none has failed; calls that succeed leave it as it is. Never NULL; never freed; it changes with the next failure
 * of this thread. Programs decide by the status: the words may change with any version.
 */
const char *sealstone_last_error(void);

/* The version of the library, such as "0.1.0". Never freed. */
const char *sealstone_version(void);

/*
 * Signs and verifies known answers at each level, in every vector room that this CPU has: what FIPS 140-3 calls a
 * cryptographic algorithm self-test. Some milliseconds. Errors: FAULT.
 */
int sealstone_self_test(void);

/* ---- levels and sizes (FIPS 204, Tables 1 and 2) ---- */

/* The parameter sets: categories 2, 3 and 5. Where a function takes a level, it takes one of these. */
enum sealstone_level { SEALSTONE_ML_DSA_44 = 44, SEALSTONE_ML_DSA_65 = 65, SEALSTONE_ML_DSA_87 = 87 };

enum {
    SEALSTONE_SEED_LEN = 32,     /* a private key as it is stored: the seed xi of FIPS 204, Algorithm 6 */
    SEALSTONE_MU_LEN = 64,       /* a message representative, mu */
    SEALSTONE_CONTEXT_MAX = 255, /* the longest context */

    SEALSTONE_ML_DSA_44_PUBLIC_KEY_LEN = 1312,
    SEALSTONE_ML_DSA_65_PUBLIC_KEY_LEN = 1952,
    SEALSTONE_ML_DSA_87_PUBLIC_KEY_LEN = 2592,

    SEALSTONE_ML_DSA_44_EXPANDED_KEY_LEN = 2560,
    SEALSTONE_ML_DSA_65_EXPANDED_KEY_LEN = 4032,
    SEALSTONE_ML_DSA_87_EXPANDED_KEY_LEN = 4896,

    SEALSTONE_ML_DSA_44_SIGNATURE_LEN = 2420,
    SEALSTONE_ML_DSA_65_SIGNATURE_LEN = 3309,
    SEALSTONE_ML_DSA_87_SIGNATURE_LEN = 4627
};

/* The same for a level that is known at run time; 0 for an unknown one. */
size_t sealstone_public_key_len(int level);
size_t sealstone_expanded_key_len(int level);
size_t sealstone_signature_len(int level);

/* ---- keys ---- */

/* A private key, held expanded: about 30, 50 or 83 kB, so that each signature costs only the signature. */
typedef struct sealstone_private_key sealstone_private_key;

/* A public key, held expanded: about 21, 37 or 66 kB. */
typedef struct sealstone_public_key sealstone_public_key;

/* Draws a fresh key from the operating system's randomness (getentropy). Errors: BAD_ARGUMENT, RNG_FAILED. */
int sealstone_private_key_generate(int level, sealstone_private_key **key);

/* The key of a seed of SEALSTONE_SEED_LEN bytes. Errors: BAD_ARGUMENT, WRONG_LENGTH. */
int sealstone_private_key_from_seed(int level, const uint8_t *seed, size_t seed_len, sealstone_private_key **key);

/*
 * Reads an expanded key (FIPS 204, Algorithm 25) of sealstone_expanded_key_len(level) bytes and checks all of it: ranges of s1
 * and s2, t0 and tr. Such a key signs; it becomes neither PEM, DER nor JWK and signs no tokens, for these need the seed.
 * Errors: BAD_ARGUMENT, WRONG_LENGTH, BAD_KEY.
 */
int sealstone_private_key_from_expanded(int level, const uint8_t *expanded, size_t expanded_len, sealstone_private_key **key);

/* Writes the seed, SEALSTONE_SEED_LEN bytes. Errors: BAD_ARGUMENT, BAD_HANDLE, WRONG_LENGTH, NO_SEED. */
int sealstone_private_key_seed(const sealstone_private_key *key, uint8_t *seed, size_t seed_len);

/* Writes the expanded key (FIPS 204, Algorithm 24), sealstone_expanded_key_len(level) bytes. Errors: BAD_ARGUMENT, BAD_HANDLE,
 * WRONG_LENGTH. */
int sealstone_private_key_expanded(const sealstone_private_key *key, uint8_t *expanded, size_t expanded_len);

/* The public half, as a handle of its own. Errors: BAD_ARGUMENT, BAD_HANDLE. */
int sealstone_private_key_public(const sealstone_private_key *key, sealstone_public_key **public_key);

/* The level: 44, 65 or 87; or a negative status. */
int sealstone_private_key_level(const sealstone_private_key *key);

/*
 * The pairwise consistency test of FIPS 140-3: the seed gives the same public key twice, and what the one half signs the other
 * verifies. Errors: BAD_ARGUMENT, BAD_HANDLE, NO_SEED, FAULT.
 */
int sealstone_private_key_check(const sealstone_private_key *key);

/* Wipes and frees a key. NULL is fine; what is no private key is left alone. */
void sealstone_private_key_free(sealstone_private_key *key);

/* Reads an encoded public key (FIPS 204, Algorithm 23) of sealstone_public_key_len(level) bytes. Errors: BAD_ARGUMENT,
 * WRONG_LENGTH. */
int sealstone_public_key_from_bytes(int level, const uint8_t *encoded, size_t encoded_len, sealstone_public_key **key);

/* Writes the encoded public key (FIPS 204, Algorithm 22). Errors: BAD_ARGUMENT, BAD_HANDLE, WRONG_LENGTH. */
int sealstone_public_key_bytes(const sealstone_public_key *key, uint8_t *encoded, size_t encoded_len);

/* The level: 44, 65 or 87; or a negative status. */
int sealstone_public_key_level(const sealstone_public_key *key);

/* Frees a key. NULL is fine; what is no public key is left alone. */
void sealstone_public_key_free(sealstone_public_key *key);

/* ---- signatures ---- */

/*
 * Signs a message, hedged with fresh randomness (FIPS 204, Algorithm 2). The context, at most 255 bytes, separates one use of
 * the key from another; JOSE, X.509 and CMS want none. The signature has sealstone_signature_len(level) bytes.
 * Errors: BAD_ARGUMENT, BAD_HANDLE, WRONG_LENGTH, CONTEXT_TOO_LONG, RNG_FAILED, FAULT.
 */
int sealstone_sign(const sealstone_private_key *key, const uint8_t *context, size_t context_len, const uint8_t *message,
                   size_t message_len, uint8_t *signature, size_t signature_len);

/*
 * The same without randomness: one key, context and message give one signature. For test vectors, and where there is no
 * randomness; whoever can disturb the machine learns more from it than from a hedged one.
 */
int sealstone_sign_deterministic(const sealstone_private_key *key, const uint8_t *context, size_t context_len,
                                 const uint8_t *message, size_t message_len, uint8_t *signature, size_t signature_len);

/*
 * Checks a signature (FIPS 204, Algorithm 3). A signature of another length or level does not verify, as any other forgery.
 * Errors: BAD_ARGUMENT, BAD_HANDLE, CONTEXT_TOO_LONG, BAD_SIGNATURE.
 */
int sealstone_verify(const sealstone_public_key *key, const uint8_t *context, size_t context_len, const uint8_t *message,
                     size_t message_len, const uint8_t *signature, size_t signature_len);

/*
 * The same for a message that is here only as its representative mu ("external mu", FIPS 204, step 6 of Algorithm 7), 64 bytes.
 * A mu belongs to one public key and context: it verifies with no other key. Errors: as above, and WRONG_LENGTH for the mu.
 */
int sealstone_sign_mu(const sealstone_private_key *key, const uint8_t *mu, size_t mu_len, uint8_t *signature,
                      size_t signature_len);
int sealstone_sign_mu_deterministic(const sealstone_private_key *key, const uint8_t *mu, size_t mu_len, uint8_t *signature,
                                    size_t signature_len);
int sealstone_verify_mu(const sealstone_public_key *key, const uint8_t *mu, size_t mu_len, const uint8_t *signature,
                        size_t signature_len);

/* ---- messages in pieces ---- */

/* A message on its way to its mu: any length, in constant memory. */
typedef struct sealstone_mu sealstone_mu;

/* Begins a message for this key and context. The key may be freed before the message ends. Errors: BAD_ARGUMENT, BAD_HANDLE,
 * CONTEXT_TOO_LONG. */
int sealstone_mu_new(const sealstone_public_key *key, const uint8_t *context, size_t context_len, sealstone_mu **hasher);

/* The next piece. Errors: BAD_ARGUMENT (also after sealstone_mu_final), BAD_HANDLE. */
int sealstone_mu_update(sealstone_mu *hasher, const uint8_t *piece, size_t piece_len);

/* The mu of all pieces, SEALSTONE_MU_LEN bytes; the hasher is then good for nothing but sealstone_mu_free. Errors: BAD_ARGUMENT,
 * BAD_HANDLE, WRONG_LENGTH (and the hasher goes on). */
int sealstone_mu_final(sealstone_mu *hasher, uint8_t *mu, size_t mu_len);

/* Frees a hasher. NULL is fine; what is no hasher is left alone. */
void sealstone_mu_free(sealstone_mu *hasher);

/* ---- many at once ---- */

/* One message to be signed. */
typedef struct sealstone_sign_job {
    const sealstone_private_key *key;
    const uint8_t *context;
    size_t context_len;
    const uint8_t *message;
    size_t message_len;
    uint8_t *signature; /* where it goes */
    size_t signature_len;
    int status; /* out: the answer, as sealstone_sign would give it */
} sealstone_sign_job;

/* One signature to be verified. */
typedef struct sealstone_verify_job {
    const sealstone_public_key *key;
    const uint8_t *context;
    size_t context_len;
    const uint8_t *message;
    size_t message_len;
    const uint8_t *signature;
    size_t signature_len;
    int status; /* out: the answer, as sealstone_verify would give it */
} sealstone_verify_job;

/*
 * Signs or verifies `count` jobs; those of one level share vector lanes, so that each takes less time than alone from 8 jobs on.
 * Any mix of keys and levels. Every job is answered by itself, in its status. The result is SEALSTONE_OK if all are, else the
 * status of the first that is not; its words are in sealstone_last_error(). Signatures of jobs that failed are zeroed, the
 * others stand. Outputs of different jobs must not overlap, nor overlap the array.
 */
int sealstone_sign_batch(sealstone_sign_job *jobs, size_t count);
int sealstone_verify_batch(sealstone_verify_job *jobs, size_t count);

#ifndef SEALSTONE_ENGINE_ONLY /* a library built without keys in files and tokens */

/* ---- keys in PEM, DER and JWK ---- */

enum sealstone_format {
    /* Reading: whichever of the three it is. */
    SEALSTONE_ANY = 0,
    /* RFC 7468: PRIVATE KEY (PKCS#8; all three forms of RFC 9881, 6 are read, the seed is written) or PUBLIC KEY (SPKI). */
    SEALSTONE_PEM = 1,
    /* The same in DER. */
    SEALSTONE_DER = 2,
    /* RFC 7517 with RFC 9964: kty AKP, priv is the seed. */
    SEALSTONE_JWK = 3
};

/*
 * Reads a private key. What is redundant in it is checked: the public half, the expanded key beside a seed. A key id in a JWK is
 * kept. Errors: BAD_ARGUMENT, BAD_KEY (also for a public key), UNKNOWN_ALGORITHM (also for a key that is not of ML-DSA).
 */
int sealstone_private_key_parse(int format, const uint8_t *encoded, size_t encoded_len, sealstone_private_key **key);

/* Writes a private key: a block to be given to sealstone_free, which wipes it. Errors: BAD_ARGUMENT, BAD_HANDLE, NO_SEED. */
int sealstone_private_key_write(const sealstone_private_key *key, int format, char **encoded, size_t *encoded_len);

/* Reads a public key. Errors: as for a private one; a private key is refused. */
int sealstone_public_key_parse(int format, const uint8_t *encoded, size_t encoded_len, sealstone_public_key **key);

/* Writes a public key: a block to be given to sealstone_free. Errors: BAD_ARGUMENT, BAD_HANDLE. */
int sealstone_public_key_write(const sealstone_public_key *key, int format, char **encoded, size_t *encoded_len);

/* The SHA-256 thumbprint (RFC 7638; RFC 9964, 6), 43 characters of base64url: a block to be given to sealstone_free. Errors:
 * BAD_ARGUMENT, BAD_HANDLE. */
int sealstone_public_key_thumbprint(const sealstone_public_key *key, char **thumbprint, size_t *thumbprint_len);

/* The key id: that of the JWK it was read from, or else the thumbprint; a block to be given to sealstone_free. Errors:
 * BAD_ARGUMENT, BAD_HANDLE. */
int sealstone_public_key_kid(const sealstone_public_key *key, char **kid, size_t *kid_len);

/*
 * Wipes and frees what a `char **` of this library was set to. Every such block has a zero byte behind its last, so that text
 * can be printed; the length beside it, where it is not NULL, does not count that byte. NULL is fine.
 */
void sealstone_free(char *block);

/* ---- sets of public keys (RFC 7517, 5) ---- */

/* Public keys of every algorithm known here: ML-DSA, ES256, ES384, ES512, EdDSA, RS256, PS256. */
typedef struct sealstone_jwk_set sealstone_jwk_set;

/*
 * Reads a set: at most a mebibyte and 512 keys. Keys of unknown kinds are passed over; a private member in any of them is refused.
 * Errors: BAD_ARGUMENT, BAD_KEY.
 */
int sealstone_jwk_set_parse(const char *json, size_t json_len, sealstone_jwk_set **set);

/* A set of `count` keys, each with its key id. Errors: BAD_ARGUMENT, BAD_HANDLE, BAD_KEY if two have one key id. */
int sealstone_jwk_set_of(const sealstone_public_key *const *keys, size_t count, sealstone_jwk_set **set);

/* How many keys it has that are used; or a negative status. */
int sealstone_jwk_set_count(const sealstone_jwk_set *set);

/* Writes a set, with public members only: a block to be given to sealstone_free. Errors: BAD_ARGUMENT, BAD_HANDLE. */
int sealstone_jwk_set_write(const sealstone_jwk_set *set, char **json, size_t *json_len);

/* Frees a set. NULL is fine; what is no set is left alone. */
void sealstone_jwk_set_free(sealstone_jwk_set *set);

/* ---- JSON Web Signatures, compact (RFC 7515, 7.1) ---- */

/* What to write into the header beside alg. Zero it, then set what is wanted; NULL in its place means the same. */
typedef struct sealstone_jws_header {
    const char *typ; /* NULL: none; in a JWT "JWT" */
    const char *cty; /* NULL: none */
    const char *kid; /* NULL: that of the key, which is its thumbprint if it has no other */
} sealstone_jws_header;

/*
 * Signs a payload of at least one byte into a token, hedged and with an empty context (RFC 9964, 5): a block to be given to
 * sealstone_free. A token has at most 65536 bytes. Errors: BAD_ARGUMENT, BAD_HANDLE, NO_SEED, RNG_FAILED.
 */
int sealstone_jws_sign(const sealstone_private_key *key, const sealstone_jws_header *header, const uint8_t *payload,
                       size_t payload_len, char **token, size_t *token_len);

/*
 * Checks a token with one key, and gives its payload and, where `header` is not NULL, its protected header in JSON: blocks to be
 * given to sealstone_free. The algorithm is the key's. Errors: BAD_ARGUMENT, BAD_HANDLE, BAD_TOKEN, ALGORITHM_MISMATCH,
 * UNKNOWN_ALGORITHM, BAD_SIGNATURE.
 */
int sealstone_jws_verify(const sealstone_public_key *key, const char *token, size_t token_len, char **payload,
                         size_t *payload_len, char **header);

/* The same with the key of a set that the token's kid names, or, if it names none, the only one of its algorithm. Errors: as
 * above, and UNKNOWN_KEY: then fetch the set again, but not more often than you can afford to be asked for. */
int sealstone_jws_verify_with_set(const sealstone_jwk_set *set, const char *token, size_t token_len, char **payload,
                                  size_t *payload_len, char **header);

/* ---- JSON Web Tokens (RFC 7519) ---- */

enum sealstone_loosened {
    SEALSTONE_ANY_ISSUER = 1,    /* iss may be anything, or absent */
    SEALSTONE_ANY_AUDIENCE = 2,  /* aud may be anything, or absent */
    SEALSTONE_ANY_TYP = 4,       /* typ may be anything, or absent */
    SEALSTONE_WITHOUT_EXPIRY = 8 /* exp may be absent; if it is there it counts */
};

/*
 * What a token must say (RFC 8725, 3). What the rules do not name a token must not bring: with no audience named, a token for some
 * audience is refused, and likewise for the issuer and the type. exp is required. Zero it, then set what is wanted.
 */
typedef struct sealstone_jwt_rules {
    uint64_t now;      /* seconds since 1970, such as time(NULL); 0 is refused */
    uint64_t leeway;   /* seconds by which clocks may differ */
    uint64_t max_age;  /* seconds since iat, which is then required; 0: no limit */
    const char *issuer;   /* iss must be this; NULL: absent */
    const char *audience; /* aud must be or contain this; NULL: absent */
    const char *typ;      /* typ must be this; NULL: absent or "JWT" */
    const char *const *required; /* claims that must be there, beside exp */
    size_t required_count;
    uint32_t flags; /* of enum sealstone_loosened */
} sealstone_jwt_rules;

/*
 * Signs claims, a JSON object, each member at most once: a block to be given to sealstone_free. Errors: as sealstone_jws_sign,
 * BAD_ARGUMENT for what is not such an object.
 */
int sealstone_jwt_sign(const sealstone_private_key *key, const sealstone_jws_header *header, const char *claims,
                       size_t claims_len, char **token, size_t *token_len);

/*
 * Checks a token: its signature, then its claims by the rules. Gives the claims in JSON, a block to be given to sealstone_free.
 * Errors: as sealstone_jws_verify, EXPIRED, NOT_YET_VALID, CLAIM_REFUSED.
 */
int sealstone_jwt_verify(const sealstone_public_key *key, const char *token, size_t token_len,
                         const sealstone_jwt_rules *rules, char **claims, size_t *claims_len);

/* The same with a set of keys; see sealstone_jws_verify_with_set. */
int sealstone_jwt_verify_with_set(const sealstone_jwk_set *set, const char *token, size_t token_len,
                                  const sealstone_jwt_rules *rules, char **claims, size_t *claims_len);

#endif /* SEALSTONE_ENGINE_ONLY */

#ifdef __cplusplus
}
#endif

#endif /* SEALSTONE_H */
