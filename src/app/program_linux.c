/* program_linux.c: what is specific to Linux about this process: its file, its parent, its
 * descriptors. */
#include "app/program.h"

#include "io/failpoint.h"
#include "io/process.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    DESCRIPTORS_MAX = 1024, /* if the kernel cannot close all at once */
    NAME_BYTES = 16,        /* the kernel's limit for process names */
};

/* Only a file that needs a dynamic linker names one. */
static bool has_interpreter(int fd, const Elf64_Ehdr *header)
{
    enum { PARTS_MAX = 128 };
    Elf64_Phdr part;
    for (size_t i = 0; i < header->e_phnum && i < PARTS_MAX; i++) {
        off_t at = (off_t)(header->e_phoff + i * sizeof(part));
        if (pread(fd, &part, sizeof(part), at) != (ssize_t)sizeof(part) ||
            part.p_type == PT_INTERP) {
            return true;
        }
    }
    return header->e_phnum > PARTS_MAX;
}

bool program_is_static(const char *path)
{
    Elf64_Ehdr header;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_static = fd >= 0 && read(fd, &header, sizeof(header)) == (ssize_t)sizeof(header) &&
                     memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                     header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phnum > 0 &&
                     header.e_phentsize == sizeof(Elf64_Phdr) && !has_interpreter(fd, &header);
    if (fd >= 0) {
        close(fd);
    }
    return is_static;
}

void program_keep_private(void)
{
    prctl(PR_SET_DUMPABLE, 0);
}

/* The owner of /proc/PID is the user of the process. The process is not dumpable, so its exe link
 * cannot be read, but its name can. */
bool program_is_same(int64_t pid)
{
    char folder[64];
    char own[NAME_BYTES] = "";
    struct stat about;
    snprintf(folder, sizeof(folder), "/proc/%lld", (long long)pid);
    return stat(folder, &about) == 0 && about.st_uid == getuid() && prctl(PR_GET_NAME, own) == 0 &&
           process_is_named(pid, own);
}

void program_end_with_parent(void)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

/* Closes all descriptors except the standard three. */
static void program_close_others(void)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, 0) == 0) {
        return;
    }
#endif
    for (int fd = STDERR_FILENO + 1; fd < DESCRIPTORS_MAX; fd++) {
        close(fd);
    }
}

static void leave_streams(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; nothing >= 0 && fd <= STDERR_FILENO; fd++) {
        dup2(nothing, fd);
    }
    program_close_others();
}

bool program_leave(int *ret_errno)
{
    int status = 0;
    failpoint("fork", "background", "before");
    pid_t child = fork();
    if (child == 0) {
        setsid();
        /* Not a session leader, so it cannot acquire a controlling terminal. */
        pid_t again = fork();
        if (again != 0) {
            _exit(again < 0 ? errno : 0);
        }
        leave_streams();
        return true;
    }
    if (child < 0) {
        *ret_errno = errno;
        return false;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    failpoint("fork", "background", "after");
    *ret_errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
    return false;
}
