/*
 * node_store.c: creates the folder in which the head's GCS stores its tables
 * (metadata.shoal.gcs_store).
 *
 * The folder is named after the cluster's uid and the head's instance id. A new cluster on a kept
 * machine, or a head launched from another head's image, must not read old tables: Ray would
 * restore nodes and actors that no longer exist.
 */
#include "app/setup/node_jobs.h"

#include "app/handover/handover.h"
#include "app/setup/node_tools.h"
#include "app/setup/ray_find.h"
#include "io/file.h"
#include "ray/version.h"

#include <stdio.h>

#define STORES "~/.shoal/gcs"

static bool node_store_check_ray(struct arena *arena, struct err *err)
{
    struct str version = ray_find_noted(arena);
    return version.len == 0 || tools_at_least(version, STR(RAY_VERSION_DISK)) ||
           err_set(err, ERR_CONFIG,
                   "metadata.shoal.gcs_store: disk needs Ray " RAY_VERSION_DISK
                   " or newer, and this machine has Ray %.*s; install a newer Ray or remove "
                   "gcs_store from the cluster file",
                   STR_ARG(version));
}

/* ---- owner ---- */

/* The text becomes a folder name. */
static bool node_store_is_word(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_fine = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_';
        if (!is_fine) {
            return false;
        }
    }
    return text.len > 0 && text.len < 100;
}

static bool find_name(struct arena *arena, struct str *ret_name, struct err *err)
{
    struct handover handover;
    struct buf text;
    buf_init(&text, HANDOVER_BYTES_MAX);
    bool ok = file_read_secret(tools_home(arena, HANDOVER_FILE), &text, err) &&
              handover_read(buf_str(&text), arena, &handover, err);
    buf_wipe(&text);
    if (!ok) {
        return false;
    }
    if (!node_store_is_word(handover.uid) || !node_store_is_word(handover.head_id)) {
        return err_set(err, ERR_PROTOCOL,
                       "%s does not name a cluster and a head; run `shoal up` again",
                       HANDOVER_FILE);
    }
    *ret_name = arena_printf(arena, "%.*s-%.*s", STR_ARG(handover.uid), STR_ARG(handover.head_id));
    return true;
}

/* ---- stores of other clusters ---- */

struct others {
    struct arena *arena;
    struct str own;
    struct err *err;
    bool is_fine;
};

static void node_store_remove_other(void *context, const struct file_entry *entry)
{
    struct others *others = context;
    if (!str_eq(entry->name, others->own) && others->is_fine) {
        struct str path = arena_printf(others->arena, STORES "/%.*s", STR_ARG(entry->name));
        others->is_fine = file_remove_folder(tools_home(others->arena, path.ptr), others->err);
    }
}

static bool find_store(struct arena *arena, const char **ret_path, struct err *err)
{
    struct others others = {.arena = arena, .err = err, .is_fine = true};
    if (!node_store_check_ray(arena, err) || !find_name(arena, &others.own, err)) {
        return false;
    }
    *ret_path = tools_home(arena, arena_printf(arena, STORES "/%.*s", STR_ARG(others.own)).ptr);
    if (!file_make_private_folder(*ret_path, err)) {
        return false;
    }
    file_list(tools_home(arena, STORES), node_store_remove_other, &others);
    return others.is_fine;
}

int node_store(void)
{
    struct arena arena;
    const char *path = NULL;
    struct err err;
    arena_init_secret(&arena); /* the handover contains keys */
    bool is_fine = find_store(&arena, &path, &err);
    if (is_fine) {
        printf("%s\n", path);
    } else {
        fprintf(stderr, "error: %s\n", err.text);
    }
    arena_clear(&arena);
    return is_fine && fflush(stdout) == 0 ? 0 : 1;
}
