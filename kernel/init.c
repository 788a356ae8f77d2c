/* The guest's only program, its /init: does what the lines of /job say, in their order, and prints one line for each.
 *
 *   module PATH                       loads a module of the kernel
 *   key PATH                          loads a certificate into the keyring `_ima`
 *   mount NAME DEVICE TYPE OPTIONS    mounts it on /NAME
 *   file PATH FROM RECORD OWNER       copies a program, sets security.ima (RECORD is - for none), gives it to a user
 *   folder PATH                       makes a folder
 *   alter PATH                        changes one byte, the last
 *   verity PATH                       enables fs-verity
 *   policy PATH                       sets the appraisal policy
 *   run PATH                          runs it; 126 if the kernel refuses, as in a shell
 *   do PATH ARGUMENTS...              runs it with arguments and lets it print
 *   limit DIRECTORY ATTRIBUTE         the longest value that a file there takes
 *   cost DIRECTORY FILES BYTES VALUE  bytes that values of VALUE bytes take on so many files; 0: the files without one
 *
 * Each line's answer is `@ NUMBER RESULT`, and the last line is `@ end NUMBER`, so that whoever reads can tell a whole run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fsverity.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define IMA "security.ima"
#define WORDS 24
#define KEYCTL_SETPERM 5
#define USER_KEYRING -4 /* KEY_SPEC_USER_KEYRING: where the kernel looks for `_ima` */

static char answer[512];
static char log_text[1 << 18];

/* The name of an error, or ok. */
static const char *said(int error)
{
    return error == 0 ? "ok" : strerrorname_np(error) ? strerrorname_np(error) : "E?";
}

static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(answer, sizeof answer, format, arguments);
    va_end(arguments);
}

/* A whole file; its length is -1 if it cannot be read. The caller keeps it until the machine ends. */
static char *contents(const char *path, ssize_t *length)
{
    *length = -1;
    int file = open(path, O_RDONLY);
    struct stat about;
    if (file < 0 || fstat(file, &about) != 0)
        return NULL;
    char *bytes = malloc(about.st_size + 1);
    if (bytes != NULL)
        *length = read(file, bytes, about.st_size);
    close(file);
    return bytes;
}

static int write_new(const char *path, const char *bytes, size_t length)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);
    if (file < 0)
        return errno;
    int error = write(file, bytes, length) == (ssize_t)length ? 0 : errno ? errno : EIO;
    if (close(file) != 0 && error == 0)
        error = errno;
    return error;
}

/* What the kernel said about appraisal since the last look: the causes, as it names them. */
static void causes(char *into, size_t room)
{
    int length = klogctl(4 /* SYSLOG_ACTION_READ_CLEAR */, log_text, sizeof log_text - 1);
    into[0] = 0;
    if (length <= 0)
        return;
    log_text[length] = 0;
    for (char *at = log_text; (at = strstr(at, " cause=")) != NULL;) {
        at += strlen(" cause=");
        size_t size = strcspn(at, " ");
        if (strlen(into) + size + 2 < room) {
            strcat(into, into[0] ? "," : "");
            strncat(into, at, size);
        }
    }
}

static int load_module(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int error = file < 0 || syscall(SYS_finit_module, file, "", 0) != 0 ? errno : 0;
    close(file);
    return error;
}

static int load_key(const char *path)
{
    static long ring;
    if (ring == 0) {
        ring = syscall(SYS_add_key, "keyring", "_ima", NULL, 0, USER_KEYRING);
        if (ring < 0 || syscall(SYS_keyctl, KEYCTL_SETPERM, ring, 0x3f3f0000) != 0)
            return errno;
    }
    ssize_t length;
    char *certificate = contents(path, &length);
    if (length < 0)
        return errno;
    return syscall(SYS_add_key, "asymmetric", NULL, certificate, length, ring) < 0 ? errno : 0;
}

static int make_file(const char *path, const char *from, const char *record, const char *owner)
{
    ssize_t length;
    char *bytes = contents(from, &length);
    if (length < 0)
        return errno;
    int error = write_new(path, bytes, length);
    if (error == 0 && chown(path, atoi(owner), 0) != 0)
        error = errno;
    if (error == 0 && strcmp(record, "-") != 0) {
        bytes = contents(record, &length);
        if (length < 0 || setxattr(path, IMA, bytes, length, 0) != 0)
            error = errno;
    }
    return error;
}

static int alter(const char *path)
{
    int file = open(path, O_RDWR);
    char byte;
    off_t last = lseek(file, -1, SEEK_END);
    if (file < 0 || last < 0 || pread(file, &byte, 1, last) != 1)
        return errno;
    byte ^= 1;
    int error = pwrite(file, &byte, 1, last) == 1 ? 0 : errno;
    close(file);
    return error;
}

static int enable_verity(const char *path)
{
    struct fsverity_enable_arg how = {.version = 1, .hash_algorithm = FS_VERITY_HASH_ALG_SHA256, .block_size = 4096};
    int file = open(path, O_RDONLY);
    int error = file < 0 || ioctl(file, FS_IOC_ENABLE_VERITY, &how) != 0 ? errno : 0;
    close(file);
    return error;
}

static int set_policy(const char *path)
{
    ssize_t length;
    char *rules = contents(path, &length);
    int file = open("/sys/kernel/security/ima/policy", O_WRONLY);
    if (length < 0 || file < 0)
        return errno;
    /* The kernel takes one rule at a time, and says how far it read. It has the policy when the file is closed. */
    for (ssize_t taken; length > 0; rules += taken, length -= taken)
        if ((taken = write(file, rules, length)) <= 0)
            return taken < 0 ? errno : EIO;
    return close(file) == 0 ? 0 : errno;
}

/* Runs a program and gives its exit code: 126 if it may not be run, as a shell says it. */
static int run(char *const words[], char *why, size_t room)
{
    causes(why, room);
    pid_t child = fork();
    if (child == 0) {
        char *environment[] = {"PATH=/bin", "HOME=/", "NO_COLOR=1", NULL};
        execve(words[0], words, environment);
        _exit(errno == EACCES ? 126 : 127);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 127;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    /* A thread of the kernel writes the log. */
    for (int tries = 0; (causes(why, room), why[0] == 0) && code == 126 && tries < 100; tries++)
        usleep(10000);
    return code;
}

/* Bytes like a record's of this length, whose header the kernel takes: it looks at it when the attribute is set. */
static char *value_of(size_t length)
{
    char *value = calloc(1, length + 16);
    size_t signature = length > 9 ? length - 9 : 0;
    char header[] = {3, 3, 4, 0x5e, 0xa1, 0x57, 0x0e, (char)(signature >> 8), (char)signature};
    memset(value, 0x5a, length);
    memcpy(value, header, sizeof header);
    return value;
}

/* By halving. Each try is on a file of its own, so that none finds another's space. */
static void limit(const char *directory, const char *name)
{
    size_t fits = 16, fails = 65537;
    int error = 0;
    char path[256];
    for (int number = 0; fails - fits > 1; number++) {
        size_t length = fails == 65537 && number == 0 ? 65536 : (fits + fails) / 2;
        char *value = value_of(length);
        snprintf(path, sizeof path, "%s/limit-%s-%d", directory, name, number);
        int made = write_new(path, "x", 1);
        if (made != 0)
            return say("failed %s", said(made));
        if (setxattr(path, name, value, length, 0) == 0) {
            fits = length;
        } else {
            error = errno;
            fails = length;
        }
        free(value);
        unlink(path);
    }
    say("%zu %s", fits, fails == 65537 ? "none" : said(error));
}

static long long used(const char *directory)
{
    struct statfs about;
    int folder = open(directory, O_RDONLY | O_DIRECTORY);
    sync();
    if (folder < 0 || syncfs(folder) != 0 || fstatfs(folder, &about) != 0)
        return -1;
    close(folder);
    return (long long)(about.f_blocks - about.f_bfree) * about.f_bsize;
}

static void cost(const char *directory, int files, size_t bytes, size_t length)
{
    char path[256], folder[128];
    char *content = value_of(bytes), *value = value_of(length);
    snprintf(folder, sizeof folder, "%s/cost-%zu", directory, length);
    if (mkdir(folder, 0755) != 0)
        return say("failed %s", said(errno));
    for (int number = 0; number < files; number++) {
        snprintf(path, sizeof path, "%s/%d", folder, number);
        int error = write_new(path, content, bytes);
        if (error != 0)
            return say("failed %s", said(error));
    }
    long long before = used(directory);
    for (int number = 0; number < files; number++) {
        snprintf(path, sizeof path, "%s/%d", folder, number);
        /* No two alike: ext4 keeps equal ones once. */
        memcpy(value + length - sizeof number, &number, sizeof number);
        if (setxattr(path, IMA, value, length, 0) != 0)
            return say("failed %s", said(errno));
    }
    long long after = used(directory);
    free(content);
    free(value);
    if (before < 0 || after < 0)
        return say("failed statfs");
    say("%lld", after - before);
}

static int mount_on(const char *name, const char *device, const char *type, const char *options)
{
    char point[64];
    snprintf(point, sizeof point, "/%s", name);
    mkdir(point, 0755);
    return mount(device, point, type, 0, strcmp(options, "-") ? options : NULL) != 0 ? errno : 0;
}

static void follow(int count, char *words[])
{
    const char *what = words[0];
    char why[256];
    if (!strcmp(what, "module") && count == 2)
        say("%s", said(load_module(words[1])));
    else if (!strcmp(what, "key") && count == 2)
        say("%s", said(load_key(words[1])));
    else if (!strcmp(what, "mount") && count == 5)
        say("%s", said(mount_on(words[1], words[2], words[3], words[4])));
    else if (!strcmp(what, "file") && count == 5)
        say("%s", said(make_file(words[1], words[2], words[3], words[4])));
    else if (!strcmp(what, "folder") && count == 2)
        say("%s", said(mkdir(words[1], 0755) != 0 ? errno : 0));
    else if (!strcmp(what, "alter") && count == 2)
        say("%s", said(alter(words[1])));
    else if (!strcmp(what, "verity") && count == 2)
        say("%s", said(enable_verity(words[1])));
    else if (!strcmp(what, "policy") && count == 2)
        say("%s", said(set_policy(words[1])));
    else if ((!strcmp(what, "run") || !strcmp(what, "do")) && count > 1) {
        int code = run(words + 1, why, sizeof why);
        say("%d %s", code, why[0] ? why : "-");
    } else if (!strcmp(what, "limit") && count == 3)
        limit(words[1], words[2]);
    else if (!strcmp(what, "cost") && count == 5)
        cost(words[1], atoi(words[2]), atol(words[3]), atol(words[4]));
    else
        say("failed what");
}

int main(void)
{
    struct utsname about;
    char line[512];
    int number = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    mkdir("/proc", 0755);
    mkdir("/sys", 0755);
    mount("proc", "/proc", "proc", 0, NULL);
    mount("sysfs", "/sys", "sysfs", 0, NULL);
    mount("securityfs", "/sys/kernel/security", "securityfs", 0, NULL);
    mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
    int limits = open("/proc/sys/kernel/printk_ratelimit", O_WRONLY);
    if (limits >= 0 && write(limits, "0", 1) == 1) /* or ten causes in five seconds */
        close(limits);
    uname(&about);
    printf("\n@ start %s\n", about.release);
    FILE *job = fopen("/job", "r");
    while (job != NULL && fgets(line, sizeof line, job) != NULL) {
        char *words[WORDS + 1] = {0};
        int count = 0;
        for (char *word = strtok(line, " \n"); word != NULL && count < WORDS; word = strtok(NULL, " \n"))
            words[count++] = word;
        if (count == 0)
            continue;
        follow(count, words);
        printf("@ %d %s\n", ++number, answer);
    }
    printf("@ end %d\n", number);
    fflush(stdout);
    sync();
    reboot(RB_POWER_OFF);
    for (;;)
        pause();
}
