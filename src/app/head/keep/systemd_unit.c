/* systemd_unit.c: systemd is asked for a unit, with the variables of this process. */
#include "app/head/keep/systemd_unit.h"

#include "app/head/keep/supervise.h"
#include "app/program.h"
#include "app/setup/node_tools.h"
#include "io/clock.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum {
    WORDS_MAX = 32,
    ASK_MS = 3 * 1000,
    LOCK_MS = 2 * 1000, /* until the new process has its lock */
    LOCK_LOOK_MS = 10,
    ENVIRONMENT_BYTES_MAX = 1 << 20,
    SAID_BYTES_MAX = 4096,
};

/* ---- the words ---- */

struct str unit_name(struct str folder, struct arena *arena)
{
    return arena_printf(arena, "shoal-%08x", (unsigned)(str_hash(folder) & UINT32_MAX));
}

const char *const *unit_words(const struct unit_setup *setup, struct arena *arena)
{
    /* Its own end with status 0 is meant. A unit that fails again and again is tried on: the
     * supervisor is what knows about loops. It does not wait for the end of the boot: whoever asks
     * is there already. */
    static const char *const properties[] = {
        "--property=Restart=on-failure",      "--property=RestartSec=1",
        "--property=StartLimitIntervalSec=0", "--property=OOMScoreAdjust=-500",
        "--property=TimeoutStopSec=15",       "--property=DefaultDependencies=no",
        "--property=Before=shutdown.target",  "--property=Conflicts=shutdown.target",
    };
    const char **words = ARENA_ARRAY(arena, WORDS_MAX, const char *);
    size_t count = 0;
    if (setup->sudo.len > 0) {
        words[count++] = arena_str(arena, setup->sudo).ptr;
        words[count++] = "-n";
    }
    words[count++] = arena_str(arena, setup->runner).ptr;
    words[count++] = "--quiet";
    words[count++] = "--collect";
    words[count++] = "--no-block";
    words[count++] = arena_printf(arena, "--unit=%s", unit_name(setup->folder, arena).ptr).ptr;
    words[count++] = "--description=Shoal's service of a cluster";
    words[count++] = arena_printf(arena, "--uid=%u", setup->user).ptr;
    words[count++] = arena_printf(arena, "--gid=%u", setup->group).ptr;
    for (size_t i = 0; i < ARRAY_LEN(properties); i++) {
        words[count++] = properties[i];
    }
    words[count++] = "--";
    words[count++] = arena_str(arena, setup->program).ptr;
    words[count++] = "autoscaler";
    words[count++] = "--supervise";
    words[count++] = "--folder";
    words[count++] = arena_str(arena, setup->folder).ptr;
    words[count] = NULL;
    return words;
}

/* ---- the variables ---- */

/* A file, because anybody on the machine may see the variables of a unit. */
static bool leave_environment(const char *folder, struct arena *arena, struct err *err)
{
    struct buf text;
    buf_init(&text, ENVIRONMENT_BYTES_MAX);
    for (size_t i = 0; environ[i]; i++) {
        buf_add_c(&text, environ[i]);
        buf_add_char(&text, '\0');
    }
    const char *path = arena_printf(arena, "%s/" UNIT_ENVIRONMENT, folder).ptr;
    bool ok = text.is_full ? err_set(err, ERR_IO, "too many variables")
                           : file_write(path, buf_str(&text), 0600, err);
    buf_wipe(&text);
    return ok;
}

void unit_take_environment(const char *folder)
{
    struct arena arena;
    struct buf text;
    struct err err;
    arena_init_secret(&arena);
    buf_init(&text, ENVIRONMENT_BYTES_MAX);
    const char *path = arena_printf(&arena, "%s/" UNIT_ENVIRONMENT, folder).ptr;
    if (file_read_secret(path, &text, &err)) {
        struct str rest = buf_str(&text);
        while (rest.len > 0) {
            struct str value = str_cut(&rest, '\0');
            struct str name = str_cut(&value, '=');
            if (name.len > 0) {
                setenv(arena_str(&arena, name).ptr, arena_str(&arena, value).ptr, 1);
            }
        }
    }
    buf_wipe(&text);
    arena_clear(&arena);
}

/* ---- asking ---- */

static bool wait_for_lock(const char *folder)
{
    int64_t until = clock_monotonic_ms(&clock_of_machine) + LOCK_MS;
    while (supervise_pid(folder) == 0 && clock_monotonic_ms(&clock_of_machine) < until) {
        const struct timespec nap = {0, LOCK_LOOK_MS * 1000000L};
        nanosleep(&nap, NULL);
    }
    return supervise_pid(folder) > 0;
}

/* One that cannot run is not to be tried for ever beside another. */
static void stop(const struct unit_setup *setup, struct arena *arena)
{
    struct str control;
    struct err err;
    int status;
    AUTO_BUF struct buf said;
    buf_init(&said, SAID_BYTES_MAX);
    if (tools_find(arena, "systemctl", NULL, &control)) {
        const char *unit = unit_name(setup->folder, arena).ptr;
        const char *const words[] = {setup->sudo.ptr, "-n", control.ptr, "--no-block",
                                     "stop",          unit, NULL};
        (void)!tools_run(setup->sudo.len > 0 ? words : words + 2, ASK_MS, &said, &status, &err);
    }
}

static bool find_all(const char *folder, struct arena *arena, struct unit_setup *setup,
                     struct err *err)
{
    *setup = (struct unit_setup){
        .folder = str_from(folder), .user = (uint32_t)getuid(), .group = (uint32_t)getgid()};
    if (getenv(UNIT_OFF) || file_look("/run/systemd/system").kind != FILE_FOLDER ||
        !tools_find(arena, "systemd-run", NULL, &setup->runner)) {
        return err_set(err, ERR_NOT_FOUND, "systemd does not run here");
    }
    if (geteuid() != 0 && !tools_find(arena, "sudo", NULL, &setup->sudo)) {
        return err_set(err, ERR_AUTH, "systemd may not be asked by this user");
    }
    return program_path(arena, &setup->program, err);
}

bool unit_start(const char *folder, struct arena *arena, struct err *err)
{
    struct unit_setup setup;
    int status;
    AUTO_BUF struct buf said;
    buf_init(&said, SAID_BYTES_MAX);
    if (!find_all(folder, arena, &setup, err) || !leave_environment(folder, arena, err)) {
        return false;
    }
    if (!tools_run(unit_words(&setup, arena), ASK_MS, &said, &status, err) ||
        !wait_for_lock(folder)) {
        stop(&setup, arena);
        return err_set(err, ERR_UNAVAILABLE, "the unit does not run");
    }
    return true;
}
