/* state_load.c: fetches and copies the files of a slot. Blocking; runs in a process of its own. */
#include "app/train/state_load.h"

#include "app/train/slot_folder.h"
#include "app/train/state_transfer.h"
#include "base/attr.h"
#include "base/err.h"
#include "io/failpoint.h"
#include "io/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct load_run {
    const struct state_load *load;
    struct slot_folder folder;
    struct str token;
};

/* "HOST:PORT". IPv6 addresses have no brackets: the port is after the last colon. */
static bool source_read(struct str text, char host[256], uint16_t *ret_port)
{
    size_t colon = text.len;
    uint32_t port;
    while (colon > 0 && text.ptr[colon - 1] != ':') {
        colon--;
    }
    if (colon < 2 || colon > 255 || !str_to_u32(str_sub(text, colon, text.len), &port) ||
        port == 0 || port > UINT16_MAX) {
        return false;
    }
    snprintf(host, 256, "%.*s", (int)(colon - 1), text.ptr);
    *ret_port = (uint16_t)port;
    return true;
}

static bool fetch_one(struct load_run *run, struct str source, const char *folder, const char *name,
                      struct err *err)
{
    char host[256];
    struct state_source from = {
        .host = host, .token = run->token, .is_durable = run->load->is_durable};
    struct state_fetched got;
    if (!source_read(source, host, &from.port)) {
        return err_set(err, ERR_USAGE, "\"%.*s\" is not HOST:PORT", STR_ARG(source));
    }
    return state_fetch(&from, folder, name, &got, err);
}

/* From the first source that has it. */
static bool fetch_any(struct load_run *run, const char *folder, const char *name, struct err *err)
{
    struct str rest = str_from(run->load->sources);
    err_set(err, ERR_NOT_FOUND, "no machine has %s", name);
    while (rest.len > 0) {
        if (fetch_one(run, str_cut(&rest, ','), folder, name, err)) {
            return true;
        }
    }
    return false;
}

/* Collects the parts of all sources. A file that several parts have is that of the first
 * source. */
static bool fetch_parts(struct load_run *run, const char *target, struct err *err)
{
    struct str sources[STATE_SOURCES_MAX];
    size_t count = 0;
    char parts[SLOT_PATH_MAX];
    char merged[SLOT_PATH_MAX];
    char name[64];
    struct str rest = str_from(run->load->sources);
    while (rest.len > 0 && count < STATE_SOURCES_MAX) {
        sources[count++] = str_cut(&rest, ',');
    }
    slot_folder_path(&run->folder, "parts", parts);
    slot_folder_path(&run->folder, "merged", merged);
    snprintf(name, sizeof(name), "%" PRId64 ".part", run->load->checkpoint);
    if (!file_remove_folder(merged, err) || !file_make_private_folder(merged, err)) {
        return false;
    }
    int64_t found = 0;
    for (size_t i = count; i-- > 0;) {
        char part[SLOT_PATH_MAX + 80];
        snprintf(part, sizeof(part), "%s/%s", parts, name);
        if (!file_remove_folder(parts, err) || !file_make_private_folder(parts, err)) {
            return false;
        }
        if (!fetch_one(run, sources[i], parts, name, err)) {
            continue; /* counted below */
        }
        found++;
        if (!slot_folder_copy(part, merged, true, err)) {
            return false;
        }
    }
    if (found < run->load->parts) {
        struct err why = *err;
        return err_set(err, ERR_NOT_FOUND,
                       "checkpoint %" PRId64 " has %" PRId64 " parts, of which %" PRId64
                       " could be fetched: %.300s",
                       run->load->checkpoint, run->load->parts, found, why.text);
    }
    if (!file_remove_folder(target, err)) {
        return false;
    }
    failpoint("rename", "merged", "before");
    return rename(merged, target) == 0 ||
           err_set(err, ERR_IO, "cannot rename %s: %s", merged, strerror(errno));
}

static bool load_checkpoint(struct load_run *run, struct err *err)
{
    char kept[SLOT_PATH_MAX];
    char folder[SLOT_PATH_MAX];
    char name[64];
    slot_folder_kept(&run->folder, run->load->checkpoint, false, kept);
    slot_folder_path(&run->folder, "kept", folder);
    snprintf(name, sizeof(name), "%" PRId64, run->load->checkpoint);
    if (file_stat(kept).kind == FILE_FOLDER) {
        return true;
    }
    /* A slot of a later generation has all parts together. */
    bool is_here = fetch_any(run, folder, name, err) ||
                   (run->load->parts > 0 && fetch_parts(run, kept, err));
    if (is_here) {
        slot_folder_expire(&run->folder);
    }
    return is_here;
}

static bool load_do(struct load_run *run, struct err *err)
{
    char kept[SLOT_PATH_MAX];
    char state[SLOT_PATH_MAX];
    if (run->load->is_code) {
        return fetch_any(run, run->folder.root, "code", err);
    }
    slot_folder_path(&run->folder, "state", state);
    if (run->load->checkpoint > 0 && !load_checkpoint(run, err)) {
        return false;
    }
    if (!run->load->is_installed) {
        return true;
    }
    if (run->load->checkpoint == 0) {
        return file_remove_folder(state, err) && file_make_private_folder(state, err);
    }
    slot_folder_kept(&run->folder, run->load->checkpoint, false, kept);
    return slot_folder_copy(kept, state, false, err);
}

int state_load(const struct state_load *load)
{
    struct load_run run = {.load = load, .token = str_from(getenv("SHOAL_TRAIN_TOKEN"))};
    struct err err;
    snprintf(run.folder.root, sizeof(run.folder.root), "%s", load->folder);
    if (!load_do(&run, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    return 0;
}

int state_snapshot(const char *folder, int64_t number)
{
    struct slot_folder slot;
    char state[SLOT_PATH_MAX];
    char merged[SLOT_PATH_MAX];
    char kept[SLOT_PATH_MAX];
    struct err err;
    snprintf(slot.root, sizeof(slot.root), "%s", folder);
    slot_folder_path(&slot, "state", state);
    slot_folder_path(&slot, "snapshot", merged);
    slot_folder_kept(&slot, number, false, kept);
    uint64_t mark = slot_folder_mark(&slot);
    if (!slot_folder_copy(state, merged, false, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    if (slot_folder_mark(&slot) != mark) {
        fprintf(stderr, "the checkpoint changed while it was copied\n");
        return 1;
    }
    failpoint("rename", "snapshot", "before");
    if (rename(merged, kept) != 0) {
        fprintf(stderr, "cannot rename %s: %s\n", merged, strerror(errno));
        return 1;
    }
    slot_folder_expire(&slot);
    return 0;
}
