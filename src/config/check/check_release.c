/* check_release.c: features that this release of Shoal does not support or that are alpha in Ray,
 * and Ray releases that are too old for the file or have known vulnerabilities. What Ray accepts is
 * a warning. */
#include "config/check/check.h"

/* ---- releases of Ray ---- */

enum { MINOR_SCALE = 1000 };

/* 2052 for "2.52.1"; 0: not a version. */
static int64_t release_of(struct str text)
{
    int64_t major;
    int64_t minor;
    struct str rest = text;
    struct str first = str_cut(&rest, '.');
    struct str second = rest;
    size_t digits = 0;
    while (digits < second.len && second.ptr[digits] >= '0' && second.ptr[digits] <= '9') {
        digits++;
    }
    bool is_version = str_to_i64(first, &major) && str_to_i64(str_sub(second, 0, digits), &minor) &&
                      major >= 0 && minor < MINOR_SCALE;
    return is_version ? major * MINOR_SCALE + minor : 0;
}

/* What a release older than `fixed` lacks; the first match is reported. */
static const struct {
    int64_t fixed;
    const char *says, *release;
} flaws[] = {
    {2052,
     "has no token authentication: anyone who reaches its ports can run code on the cluster "
     "(CVE-2023-48022, CVE-2025-62593)",
     "2.56.0"},
    {2054,
     "does not check DELETE requests from web pages (CVE-2026-27482) and runs code from Parquet "
     "files (CVE-2026-41486)",
     "2.56.0"},
    {2055, "runs code from Parquet files (CVE-2026-41486)", "2.56.0"},
    {2056, "runs code from WebDataset files (CVE-2026-57516)", "2.56.0"},
};

/* ---- the GCS on disk ---- */

enum { DISK_RELEASE = 2060 }; /* RAY_VERSION_DISK */

static const struct value *store_of(const struct check *check)
{
    const struct value *store = value_path(check->tree, "metadata.shoal.gcs_store");
    return str_is(value_text(store), "disk") ? store : NULL;
}

static void check_store(const struct check *check)
{
    const struct value *store = store_of(check);
    if (store && value_is_true(value_path(check->tree, "docker.container_name"))) {
        struct diag *diag = diag_error(check->diags, "gcs-store", store->place,
                                       "gcs_store: disk does not work with docker: the tables of "
                                       "the GCS would be lost with the container");
        diag_hint(check->diags, diag, "remove gcs_store or the docker section");
    } else if (store) {
        struct diag *diag = diag_warn(check->diags, "gcs-store", store->place,
                                      "gcs_store: disk is alpha in Ray: it may lose its data or "
                                      "change with the next Ray release");
        diag_hint(
            check->diags, diag,
            "drivers on the head are lost when Ray restarts, with or without gcs_store; "
            "remove gcs_store to keep the tables of the GCS in memory, as Ray does by default");
    }
}

static void check_store_release(const struct check *check, int64_t release, struct str version,
                                struct place place)
{
    if (store_of(check) && release < DISK_RELEASE && !diag_has(check->diags, "gcs-store", place)) {
        struct diag *diag = diag_warn(check->diags, "gcs-store", place,
                                      "Ray %.*s is too old for gcs_store: disk, so the start of "
                                      "Ray on the head will fail",
                                      STR_ARG(str_sub(version, 0, 20)));
        diag_hint(check->diags, diag, "use Ray 2.60.0 or newer, or remove gcs_store");
    }
}

/* ---- finding the release ---- */

static void check_release_text(const struct check *check, struct str version, struct place place)
{
    int64_t release = release_of(version);
    if (release > 0) {
        check_store_release(check, release, version, place);
    }
    for (size_t i = 0; release > 0 && i < ARRAY_LEN(flaws); i++) {
        if (release < flaws[i].fixed) {
            struct diag *diag = diag_warn(check->diags, "ray-release", place, "Ray %.*s %s",
                                          STR_ARG(str_sub(version, 0, 20)), flaws[i].says);
            diag_hint(check->diags, diag, "use %s or newer", flaws[i].release);
            return;
        }
    }
}

/* The version in "pip install 'ray[default]==2.9.0'"; may be empty. */
static struct str pip_version(struct str command)
{
    for (size_t at; (at = str_find(command, "ray")) != SIZE_MAX;) {
        bool is_word = at == 0 || str_find_char(STR(" \t'\"="), command.ptr[at - 1]) != SIZE_MAX;
        command = str_sub(command, at + 3, command.len);
        struct str rest = command;
        if (str_starts(rest, "[")) {
            str_cut(&rest, ']');
        }
        if (!is_word || !str_starts(rest, "==")) {
            continue;
        }
        size_t end = 2;
        while (end < rest.len &&
               (rest.ptr[end] == '.' || (rest.ptr[end] >= '0' && rest.ptr[end] <= '9'))) {
            end++;
        }
        return str_sub(rest, 2, end);
    }
    return STR("");
}

static void check_list_of(const struct check *check, const struct value *list)
{
    for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
        const struct value *command = list->list.items[i];
        if (command->kind == VALUE_STRING && check_is_written(command) &&
            str_find(command->text, "pip") != SIZE_MAX &&
            !diag_has(check->diags, "ray-release", command->place)) {
            check_release_text(check, pip_version(command->text), command->place);
        }
    }
}

static void check_release_check_ray(const struct check *check)
{
    static const char *const lists[] = {"setup_commands", "head_setup_commands",
                                        "worker_setup_commands", "initialization_commands"};
    const struct value *version = value_path(check->tree, "metadata.shoal.ray_version");
    if (value_is(version, VALUE_STRING)) {
        check_release_text(check, version->text, version->place);
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        check_list_of(check, value_get_c(check->tree, lists[i]));
    }
}

void check_release(const struct check *check)
{
    check_store(check);
    check_release_check_ray(check);
}
