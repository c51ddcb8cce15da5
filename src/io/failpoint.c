/* failpoint.c: names failpoints and decides which one is active. */
#include "io/failpoint.h"

#ifdef SHOAL_FAILPOINTS

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 256, SUBJECT_END = 200, WORDS_BYTES = 512 };

bool failpoint_is_on;

static struct {
    char role[64];    /* "up", "node-serve", "autoscaler-folder" */
    char wanted[256]; /* the failpoint that `seen` counts */
    unsigned long seen;
    ino_t file; /* inode that `wanted` was read from; another file restarts the count */
} self;

/* ---- the process's role ---- */

/* The command; for commands that comprise several programs, also the next argument. */
static void find_role(void)
{
    char words[WORDS_BYTES] = "";
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, words, sizeof(words) - 1) : 0;
    if (fd >= 0) {
        close(fd);
    }
    const char *end = words + (size > 0 ? size : 0);
    const char *verb = words + strlen(words) + 1;
    const char *next = verb < end ? verb + strlen(verb) + 1 : end;
    bool is_several = verb < end && (strcmp(verb, "node") == 0 || strcmp(verb, "autoscaler") == 0);
    next = next < end && is_several ? next + strspn(next, "-") : "";
    snprintf(self.role, sizeof(self.role), "%s%s%s", verb < end ? verb : "shoal", *next ? "-" : "",
             next);
}

__attribute__((constructor)) static void begin(void)
{
    failpoint_is_on = getenv("SHOAL_FAILPOINT") || getenv("SHOAL_FAILPOINT_FILE") ||
                      getenv("SHOAL_FAILPOINT_LOG");
    if (failpoint_is_on) {
        find_role();
    }
}

/* ---- the selected failpoint ---- */

static void failpoint_note(const char *name)
{
    const char *path = getenv("SHOAL_FAILPOINT_LOG");
    char line[NAME_BYTES + 32];
    int size = snprintf(line, sizeof(line), "%ld %s\n", (long)getpid(), name);
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (fd >= 0) {
        (void)!write(fd, line, (size_t)size);
        close(fd);
    }
}

/* Returns the selected name, "" for none. A different name restarts the count. */
static void failpoint_inspect(const char *path, char *ret_name, size_t size)
{
    struct stat status;
    ret_name[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    ssize_t got = fstat(fd, &status) == 0 ? read(fd, ret_name, size - 1) : 0;
    ret_name[got > 0 ? got : 0] = '\0';
    ret_name[strcspn(ret_name, "\n")] = '\0';
    if (status.st_ino != self.file) {
        self.file = status.st_ino;
        self.wanted[0] = '\0';
    }
    close(fd);
}

static bool failpoint_is_wanted(const char *name, const char *wanted)
{
    const char *hash = strrchr(wanted, '#');
    size_t len = hash ? (size_t)(hash - wanted) : strlen(wanted);
    unsigned long nth = hash ? strtoul(hash + 1, NULL, 10) : 1;
    if (strncmp(name, wanted, len) != 0 || name[len] != '\0') {
        return false;
    }
    if (strcmp(self.wanted, wanted) != 0) {
        snprintf(self.wanted, sizeof(self.wanted), "%s", wanted);
        self.seen = 0;
    }
    return ++self.seen == nth;
}

/* Ids, hashes and process ids differ from run to run: replaces them with asterisks. */
static void add_subject(char *name, const char *subject)
{
    size_t at = strlen(name);
    name[at++] = ':';
    while (*subject && at < SUBJECT_END) {
        size_t hex = strspn(subject, "0123456789abcdef");
        size_t digits = strspn(subject, "0123456789");
        size_t skipped = hex >= 8 ? hex : digits;
        name[at++] = skipped > 0 ? '*' : *subject;
        subject += skipped > 0 ? skipped : 1;
    }
    name[at] = '\0';
}

void failpoint_reach(const char *operation, const char *subject, const char *moment)
{
    char name[NAME_BYTES];
    char in_file[NAME_BYTES];
    const char *slash = subject ? strrchr(subject, '/') : NULL;
    const char *file = getenv("SHOAL_FAILPOINT_FILE");
    const char *wanted = getenv("SHOAL_FAILPOINT");
    snprintf(name, sizeof(name), "%.60s:%.40s", self.role, operation);
    if (subject) {
        add_subject(name, slash ? slash + 1 : subject);
    }
    if (moment) {
        snprintf(name + strlen(name), sizeof(name) - strlen(name), ":%s", moment);
    }
    failpoint_note(name);
    if (file) {
        failpoint_inspect(file, in_file, sizeof(in_file));
        if (in_file[0] && failpoint_is_wanted(name, in_file) && unlink(file) == 0) {
            raise(SIGKILL);
        }
    }
    if (wanted && failpoint_is_wanted(name, wanted)) {
        raise(SIGKILL);
    }
}

#else

typedef int failpoint_is_off; /* ISO C forbids an empty translation unit */

#endif
