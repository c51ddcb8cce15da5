/* program_macos.c: what commands need of program.h on macOS. Never run: docs/dev/macos.md. */
#include "app/program.h"

#include <libproc.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Nodes run Linux, so this program is never their payload. */
bool program_is_static(const char *path)
{
    (void)path;
    return false;
}

bool program_is_same(int64_t pid)
{
    struct proc_bsdshortinfo self;
    struct proc_bsdshortinfo other;
    int size = (int)sizeof(other);
    return pid > 0 && proc_pidinfo(getpid(), PROC_PIDT_SHORTBSDINFO, 0, &self, size) == size &&
           proc_pidinfo((int)pid, PROC_PIDT_SHORTBSDINFO, 0, &other, size) == size &&
           other.pbsi_uid == getuid() && strcmp(other.pbsi_comm, self.pbsi_comm) == 0;
}

/* Other processes of the user cannot read our memory: macOS asks for the password of an
 * administrator first. */
void program_keep_private(void)
{
    struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
}
