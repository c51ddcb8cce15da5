/* boot.c: installs the boot script and stores in files what the next boot does. */
#include "app/head/supervisor/boot.h"

#include "app/head/supervisor/systemd_unit.h"
#include "app/program.h"
#include "app/setup/node_tools.h"
#include "base/buf.h"
#include "io/file.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCRIPTS "/var/lib/cloud/scripts/per-boot"
#define SCRIPT_FILE "at-boot" /* name in the folder, before the script is installed */
#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

enum { INSTALL_MS = 5 * 1000, TEXT_BYTES_MAX = 16 * 1024 };

static const char *boot_path_of(const char *folder, const char *name, struct arena *arena)
{
    return arena_printf(arena, "%s/%s", folder, name).ptr;
}

/* ---- cloud-init script ---- */

static void boot_add_quoted(struct buf *out, struct str word)
{
    buf_add_char(out, '\'');
    for (size_t i = 0; i < word.len; i++) {
        buf_add(out, word.ptr[i] == '\'' ? STR("'\\''") : str_sub(word, i, i + 1));
    }
    buf_add_char(out, '\'');
}

struct str boot_script(struct str program, struct str folder, const char *user, struct arena *arena)
{
    AUTO_BUF struct buf command;
    AUTO_BUF struct buf out;
    buf_init(&command, TEXT_BYTES_MAX);
    buf_init(&out, TEXT_BYTES_MAX);
    boot_add_quoted(&command, program);
    buf_add_c(&command, " autoscaler --background --folder ");
    boot_add_quoted(&command, folder);
    buf_add_c(&out, "#!/bin/sh\n# By Shoal: starts the service of a cluster.\n[ ! -e ");
    boot_add_quoted(&out, folder);
    buf_add_c(&out, "/" BOOT_STOOD_DOWN " ] || exit 0\nexec su -s /bin/sh ");
    boot_add_quoted(&out, str_from(user));
    buf_add_c(&out, " -c ");
    boot_add_quoted(&out, buf_str(&command));
    buf_add_char(&out, '\n');
    return arena_str(arena, buf_str(&out));
}

static bool boot_install(const char *from, const char *to, struct arena *arena, struct err *err)
{
    struct str sudo = STR("");
    int status;
    AUTO_BUF struct buf said;
    buf_init(&said, TEXT_BYTES_MAX);
    if (geteuid() != 0 && !tools_find(arena, "sudo", NULL, &sudo)) {
        return err_set(err, ERR_AUTH, "sudo is not installed, so this user cannot write to %s",
                       SCRIPTS);
    }
    const char *const words[] = {sudo.ptr, "-n", "install", "-m", "755", from, to, NULL};
    return tools_run(sudo.len > 0 ? words : words + 2, INSTALL_MS, &said, &status, err);
}

bool boot_install_script(const char *folder, struct arena *arena, struct err *err)
{
    struct str program;
    const struct passwd *user = getpwuid(getuid());
    const char *path = boot_path_of(folder, SCRIPT_FILE, arena);
    if (getenv(UNIT_OFF) || file_stat(SCRIPTS).kind != FILE_FOLDER) {
        return err_set(err, ERR_NOT_FOUND, "this machine has no cloud-init");
    }
    if (!user) {
        return err_set(err, ERR_NOT_FOUND, "this user is not in /etc/passwd");
    }
    if (!program_path(arena, &program, err) ||
        !file_write(path, boot_script(program, str_from(folder), user->pw_name, arena), 0600,
                    err)) {
        return false;
    }
    const char *to = arena_printf(arena, SCRIPTS "/%s", unit_name(str_from(folder), arena).ptr).ptr;
    return boot_install(path, to, arena, err);
}

/* ---- files in the folder ---- */

static bool remove_file(const char *path, struct err *err)
{
    return unlink(path) == 0 || errno == ENOENT ||
           err_set(err, ERR_IO, "cannot remove %s: %s", path, strerror(errno));
}

bool boot_set(const char *folder, bool may_start, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    const char *path = boot_path_of(folder, BOOT_STOOD_DOWN, &arena);
    bool ok = may_start ? remove_file(path, err) : file_write(path, STR(""), 0600, err);
    arena_clear(&arena);
    return ok;
}

bool boot_note(const char *folder, const char *why_not, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    const char *path = boot_path_of(folder, BOOT_MISSING, &arena);
    bool ok = why_not ? file_write(path, str_from(why_not), 0600, err) : remove_file(path, err);
    arena_clear(&arena);
    return ok;
}

static struct str boot_read_line(const char *path, struct arena *arena)
{
    AUTO_BUF struct buf text;
    struct err err;
    buf_init(&text, TEXT_BYTES_MAX);
    return file_read(path, &text, &err) ? arena_str(arena, str_trim(buf_str(&text))) : STR("");
}

struct str boot_why_not(const char *folder, struct arena *arena)
{
    return boot_read_line(boot_path_of(folder, BOOT_MISSING, arena), arena);
}

/* Field 22 of /proc/1/stat; the name in parentheses may contain anything. */
static struct str first_start(struct arena *arena)
{
    enum { STATE_FIELD = 3, START_FIELD = 22 };
    struct str rest = boot_read_line("/proc/1/stat", arena);
    size_t end = rest.len;
    while (end > 0 && rest.ptr[end - 1] != ')') {
        end--;
    }
    rest = str_trim(str_sub(rest, end, rest.len));
    for (int field = STATE_FIELD; field < START_FIELD; field++) {
        (void)str_cut(&rest, ' ');
    }
    return str_cut(&rest, ' ');
}

struct str boot_id(struct arena *arena)
{
    struct str kernel = boot_read_line(BOOT_ID_FILE, arena);
    struct str first = first_start(arena);
    if (kernel.len == 0) {
        return STR("");
    }
    return arena_printf(arena, "%016llx%08llx", (unsigned long long)str_hash(kernel),
                        (unsigned long long)str_hash(first) & UINT32_MAX);
}
