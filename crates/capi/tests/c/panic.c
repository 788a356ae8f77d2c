/* What becomes of a panic inside. Linked with a library that was built to panic on demand; the packaged one cannot. */
#include "check.h"

#ifdef __cplusplus
extern "C"
#endif
int sealstone_panic_for_test(uint8_t *buffer, size_t buffer_len, sealstone_private_key **key);

int main(void) {
    uint8_t buffer[64];
    sealstone_private_key *key = NULL;
    int i;

    GOOD(sealstone_private_key_generate(SEALSTONE_ML_DSA_44, &key));
    for (i = 0; i < 3; i++) {
        sealstone_private_key *made = key;
        memset(buffer, 7, sizeof buffer);
        EXPECT(SEALSTONE_PANICKED, sealstone_panic_for_test(buffer, sizeof buffer, &made));
        CHECK(all_zero(buffer, sizeof buffer));
        CHECK(made == NULL);
        CHECK(strcmp(sealstone_last_error(), "the library met a defect of its own; nothing was released") == 0);
    }
    /* And life goes on. */
    GOOD(sealstone_private_key_check(key));
    sealstone_private_key_free(key);
    return done("panic");
}
