/* What the test programs share: checks that say where they failed. */
#ifndef CHECK_H
#define CHECK_H

#include <sealstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks;

#define CHECK(condition)                                                                           \
    do { \
        __sync_fetch_and_add(&checks, 1); \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__, #condition,        \
                    sealstone_last_error());                                                       \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* The status of a call, by name in the message. */
#define EXPECT(wanted, call)                                                                       \
    do { \
        int got_ = (call);                                                                         \
        __sync_fetch_and_add(&checks, 1); \
        if (got_ != (wanted)) {                                                                    \
            fprintf(stderr, "%s:%d: %s\n  expected %s, found %s: %s\n", __FILE__, __LINE__, #call,  \
                    sealstone_status_name(wanted), sealstone_status_name(got_),                    \
                    sealstone_last_error());                                                       \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define GOOD(call) EXPECT(SEALSTONE_OK, call)

/* Text as bytes, without its zero. */
#define BYTES(text) (const uint8_t *)(text), (sizeof(text) - 1)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline int all_zero(const void *bytes, size_t len) {
    const uint8_t *at = (const uint8_t *)bytes;
    size_t i;
    for (i = 0; i < len; i++)
        if (at[i] != 0) return 0;
    return 1;
}

static inline int done(const char *name) {
    printf("%s: %d checks\n", name, checks);
    return 0;
}

static const int LEVELS[3] = {SEALSTONE_ML_DSA_44, SEALSTONE_ML_DSA_65, SEALSTONE_ML_DSA_87};

/* The largest of all levels. */
enum { MAX_SIGNATURE = SEALSTONE_ML_DSA_87_SIGNATURE_LEN, MAX_PUBLIC = SEALSTONE_ML_DSA_87_PUBLIC_KEY_LEN,
       MAX_EXPANDED = SEALSTONE_ML_DSA_87_EXPANDED_KEY_LEN };

#endif
