/* One key in many threads at once; words of one thread do not show in another. And a child after fork(). */
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 20 };

static sealstone_private_key *key;
static sealstone_public_key *pub;
static uint8_t first[THREADS + 1][SEALSTONE_ML_DSA_44_SIGNATURE_LEN];

static void *work(void *argument) {
    size_t number = (size_t)argument;
    uint8_t signature[SEALSTONE_ML_DSA_44_SIGNATURE_LEN];
    uint8_t message[2];
    char words[64];
    int round;
    for (round = 0; round < ROUNDS; round++) {
        message[0] = (uint8_t)number;
        message[1] = (uint8_t)round;
        GOOD(sealstone_sign(key, NULL, 0, message, 2, signature, sizeof signature));
        GOOD(sealstone_verify(pub, NULL, 0, message, 2, signature, sizeof signature));
        if (round == 0) memcpy(first[number], signature, sizeof signature);
        /* What this thread did wrong, and no other. */
        EXPECT(SEALSTONE_BAD_ARGUMENT, sealstone_private_key_generate((int)number + 1000, NULL));
        EXPECT(SEALSTONE_WRONG_LENGTH, sealstone_sign(key, NULL, 0, message, 2, signature, number));
        sprintf(words, "signature: expected 2420 bytes, found %d", (int)number);
        CHECK(strcmp(sealstone_last_error(), words) == 0);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    size_t i, j;
    int status, pipes[2];
    pid_t child;

    GOOD(sealstone_private_key_generate(SEALSTONE_ML_DSA_44, &key));
    GOOD(sealstone_private_key_public(key, &pub));
    for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(strcmp(sealstone_last_error(), "") == 0);

    /* A child signs with the key that it has got, with randomness of its own. */
    CHECK(pipe(pipes) == 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        uint8_t signature[SEALSTONE_ML_DSA_44_SIGNATURE_LEN];
        int wrote;
        GOOD(sealstone_sign_deterministic(key, NULL, 0, BYTES("child"), signature, sizeof signature));
        GOOD(sealstone_sign(key, NULL, 0, BYTES("both"), signature, sizeof signature));
        wrote = write(pipes[1], signature, sizeof signature) == (ssize_t)sizeof signature;
        sealstone_private_key_free(key);
        sealstone_public_key_free(pub);
        _exit(wrote ? 0 : 1);
    }
    GOOD(sealstone_sign(key, NULL, 0, BYTES("both"), first[0], sizeof first[0]));
    CHECK(read(pipes[0], first[THREADS], sizeof first[THREADS]) == (ssize_t)sizeof first[THREADS]);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(pipes[0]);
    close(pipes[1]);
    GOOD(sealstone_verify(pub, NULL, 0, BYTES("both"), first[THREADS], sizeof first[THREADS]));
    for (i = 0; i <= THREADS; i++)
        for (j = 0; j < i; j++) CHECK(memcmp(first[i], first[j], sizeof first[i]) != 0);

    sealstone_private_key_free(key);
    sealstone_public_key_free(pub);
    return done("threads");
}
