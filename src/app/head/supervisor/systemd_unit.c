/* systemd_unit.c: writes the unit file and runs systemctl. */
#include "app/head/supervisor/systemd_unit.h"

#include "app/head/supervisor/boot.h"
#include "app/head/supervisor/supervise.h"
#include "app/program.h"
#include "app/setup/node_tools.h"
#include "io/clock.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define UNIT_FILE "unit" /* name in the folder, before the unit is installed */

extern char **environ;

enum {
    WORDS_MAX = 32,
    ASK_MS = 20 * 1000, /* systemctl takes seconds on a busy machine that is still booting */
    LOCK_MS = 5 * 1000, /* until the new process has its lock */
    LOCK_LOOK_MS = 10,
    ENVIRONMENT_BYTES_MAX = 1 << 20,
    SAID_BYTES_MAX = 4096,
    UNIT_BYTES_MAX = 64 * 1024,
};

/* ---- the unit ---- */

struct str unit_name(struct str folder, struct arena *arena)
{
    return arena_printf(arena, "shoal-%08x", (unsigned)(str_hash(folder) & UINT32_MAX));
}

/* Quotes an argument of ExecStart, where % and $ are special. */
static void add_word(struct buf *out, struct str word)
{
    buf_add_char(out, '"');
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        if (c == '"' || c == '\\') {
            buf_add_char(out, '\\');
        } else if (c == '%' || c == '$') {
            buf_add_char(out, c);
        }
        buf_add_char(out, c);
    }
    buf_add_char(out, '"');
}

/* A path as the value of a setting that takes the rest of the line. */
static void systemd_unit_add_path(struct buf *out, struct str path)
{
    for (size_t i = 0; i < path.len; i++) {
        buf_add_c(out, path.ptr[i] == '%' ? "%" : "");
        buf_add_char(out, path.ptr[i]);
    }
}

/*
 * The supervisor exits with status 0 only when the service was asked to stop. It detects crash
 * loops itself, so systemd never gives up. It does not wait for network-online.target: the service
 * retries by itself, and some machines never reach that target.
 *
 * The sandbox must leave `sudo` working, for the shutdown of the machine, so nothing that implies
 * NoNewPrivileges can be used; PrivateTmp would hide Ray's session.
 */
static const char unit_head[] = "[Unit]\n"
                                "Description=Shoal cluster service\n"
                                "After=network.target\n"
                                "StartLimitIntervalSec=0\n"
                                "ConditionPathExists=!";
static const char unit_service[] = "\n[Service]\n"
                                   "Restart=on-failure\n"
                                   "RestartSec=1\n"
                                   "TimeoutStopSec=15\n"
                                   "OOMScoreAdjust=-500\n"
                                   "LimitCORE=0\n"
                                   "UMask=0077\n"
                                   "ProtectSystem=full\n"
                                   "ProtectControlGroups=yes\n"
                                   "KeyringMode=private\n";
static const char unit_tail[] = "\n[Install]\n"
                                "WantedBy=multi-user.target\n";

bool unit_text(const struct unit_setup *setup, struct arena *arena, struct str *ret_text,
               struct err *err)
{
    AUTO_BUF struct buf out;
    buf_init(&out, UNIT_BYTES_MAX);
    if (str_find_char(setup->program, '\n') != SIZE_MAX ||
        str_find_char(setup->folder, '\n') != SIZE_MAX) {
        return err_set(err, ERR_CONFIG,
                       "a path with a line break cannot be used in a systemd unit");
    }
    buf_add_c(&out, unit_head);
    systemd_unit_add_path(&out, setup->folder);
    buf_add_c(&out, "/" BOOT_STOOD_DOWN "\n");
    buf_add_c(&out, unit_service);
    buf_addf(&out, "User=%u\nGroup=%u\nExecStart=", setup->user, setup->group);
    add_word(&out, setup->program);
    buf_add_c(&out, " autoscaler --supervise --folder ");
    add_word(&out, setup->folder);
    buf_add_char(&out, '\n');
    buf_add_c(&out, unit_tail);
    *ret_text = arena_str(arena, buf_str(&out));
    return true;
}

static size_t begin_words(const struct unit_setup *setup, const char **words, struct arena *arena)
{
    if (setup->sudo.len == 0) {
        return 0;
    }
    words[0] = arena_str(arena, setup->sudo).ptr;
    words[1] = "-n";
    return 2;
}

const char *const *unit_argv(const struct unit_setup *setup, const char *path, struct arena *arena)
{
    static const char script[] = "install -m 644 \"$1\" \"/etc/systemd/system/$2\" && systemctl "
                                 "--quiet enable \"$2\" && systemctl --no-block restart \"$2\"";
    const char **words = ARENA_ARRAY(arena, WORDS_MAX, const char *);
    size_t count = begin_words(setup, words, arena);
    words[count++] = "sh";
    words[count++] = "-c";
    words[count++] = script;
    words[count++] = "sh";
    words[count++] = path;
    words[count++] = arena_printf(arena, "%s.service", unit_name(setup->folder, arena).ptr).ptr;
    words[count] = NULL;
    return words;
}

const char *const *unit_words_beside(const struct unit_setup *setup, const char *const *argv,
                                     struct arena *arena)
{
    const char **words = ARENA_ARRAY(arena, WORDS_MAX, const char *);
    size_t count = begin_words(setup, words, arena);
    words[count++] = "systemd-run";
    words[count++] = "--quiet";
    words[count++] = arena_printf(arena, "--unit=%s-ray", unit_name(setup->folder, arena).ptr).ptr;
    words[count++] = "--description=Ray on the head of a Shoal cluster";
    words[count++] = arena_printf(arena, "--uid=%u", setup->user).ptr;
    words[count++] = arena_printf(arena, "--gid=%u", setup->group).ptr;
    words[count++] = "--property=KillMode=process";
    words[count++] = "--property=RemainAfterExit=yes";
    words[count++] = "--";
    for (size_t i = 0; argv[i] && count < WORDS_MAX - 1; i++) {
        words[count++] = argv[i];
    }
    words[count] = NULL;
    return words;
}

/* ---- environment ---- */

/* In a private file, because a unit's environment is readable by all users. */
static bool leave_environment(const char *folder, struct arena *arena, struct err *err)
{
    struct buf text;
    buf_init(&text, ENVIRONMENT_BYTES_MAX);
    for (size_t i = 0; environ[i]; i++) {
        buf_add_c(&text, environ[i]);
        buf_add_char(&text, '\0');
    }
    const char *path = arena_printf(arena, "%s/" UNIT_ENVIRONMENT, folder).ptr;
    bool ok = text.is_full ? err_set(err, ERR_IO, "the environment variables are too large")
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

/* ---- systemctl ---- */

static bool wait_for_lock(const char *folder)
{
    int64_t until = clock_monotonic_ms(&clock_of_machine) + LOCK_MS;
    while (supervise_pid(folder) == 0 && clock_monotonic_ms(&clock_of_machine) < until) {
        const struct timespec nap = {0, LOCK_LOOK_MS * 1000000L};
        nanosleep(&nap, NULL);
    }
    return supervise_pid(folder) > 0;
}

bool unit_find(const char *folder, struct arena *arena, struct unit_setup *setup, struct err *err)
{
    struct str path;
    *setup = (struct unit_setup){
        .folder = str_from(folder), .user = (uint32_t)getuid(), .group = (uint32_t)getgid()};
    if (getenv(UNIT_OFF) || file_stat("/run/systemd/system").kind != FILE_FOLDER ||
        !tools_find(arena, "systemctl", NULL, &path)) {
        return err_set(err, ERR_NOT_FOUND, "systemd is not running here");
    }
    if (geteuid() != 0 && !tools_find(arena, "sudo", NULL, &setup->sudo)) {
        return err_set(err, ERR_AUTH,
                       "sudo is not installed, so this user cannot install a systemd unit");
    }
    return program_path(arena, &setup->program, err);
}

/* A unit that cannot run must not be retried forever while another supervisor runs. */
static bool take_away(const struct unit_setup *setup, struct arena *arena)
{
    const char *words[WORDS_MAX];
    struct err err;
    int status;
    AUTO_BUF struct buf said;
    buf_init(&said, SAID_BYTES_MAX);
    size_t count = begin_words(setup, words, arena);
    words[count++] = "systemctl";
    words[count++] = "--no-block";
    words[count++] = "disable";
    words[count++] = "--now";
    words[count++] = unit_name(setup->folder, arena).ptr;
    words[count] = NULL;
    return tools_run(words, ASK_MS, &said, &status, &err);
}

bool unit_start(const char *folder, struct arena *arena, struct err *err)
{
    struct unit_setup setup;
    struct str text;
    int status;
    AUTO_BUF struct buf said;
    buf_init(&said, SAID_BYTES_MAX);
    const char *path = arena_printf(arena, "%s/" UNIT_FILE, folder).ptr;
    if (!unit_find(folder, arena, &setup, err) || !leave_environment(folder, arena, err) ||
        !unit_text(&setup, arena, &text, err) || !file_write(path, text, 0600, err)) {
        return false;
    }
    if (!tools_run(unit_argv(&setup, path, arena), ASK_MS, &said, &status, err)) {
        struct str last = str_trim(buf_str(&said));
        return err_set(err, ERR_UNAVAILABLE, "systemd refused the unit: %.*s",
                       STR_ARG(str_sub(last, 0, 200)));
    }
    if (!wait_for_lock(folder)) {
        bool is_off = take_away(&setup, arena);
        return err_set(err, ERR_UNAVAILABLE, "the systemd unit %s did not start within %d s%s",
                       unit_name(setup.folder, arena).ptr, LOCK_MS / 1000,
                       is_off ? "" : " and could not be disabled");
    }
    return true;
}
