/* store_run.c: stores and fetches durable checkpoints of a slot. */
#include "app/train/store_run.h"

#include "app/train/slot_folder.h"
#include "app/train/store_checkpoint.h"
#include "app/train/store_owner.h"
#include "io/failpoint.h"
#include "io/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int store_run_fail(const struct err *err, int status)
{
    fprintf(stderr, "%s\n", err->text);
    return status;
}

static bool put_one(const struct store_run *run, struct store_place *place, struct err *err)
{
    struct slot_folder slot;
    char kept[SLOT_PATH_MAX];
    struct store_part part = {run->checkpoint, run->part, run->parts > 0 ? run->parts : 1,
                              run->save ? run->save : ""};
    snprintf(slot.root, sizeof(slot.root), "%s", run->folder);
    slot_folder_kept(&slot, run->checkpoint, run->parts > 0, kept);
    return store_put(place, &part, kept, err);
}

/* It becomes a part of a file's name. */
static bool id_is_plain(const char *id)
{
    size_t len = strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-");
    return id[len] == '\0' && len <= STORE_SAVE_MAX;
}

/* Opens the place, if it belongs to the job. Otherwise returns the exit status. */
static int open_place(const struct store_run *run, bool is_known, struct store_place **ret_place)
{
    struct err err;
    struct store_claim claim = {
        .job = run->job, .id = run->owner, .is_adopting = run->is_adopting, .is_known = is_known};
    if ((run->save && !id_is_plain(run->save)) || !id_is_plain(run->owner)) {
        err_set(&err, ERR_USAGE, "an id has letters and digits only");
        return store_run_fail(&err, 1);
    }
    if (!store_place_open(run->output, run->job, ret_place, &err)) {
        return store_run_fail(&err, 1);
    }
    if (store_claim(*ret_place, &claim, &err)) {
        return 0;
    }
    store_place_close(*ret_place);
    err_prepend(&err, "%.150s/%.50s: ", run->output, run->job);
    return store_run_fail(&err, err.kind == ERR_EXISTS ? STORE_FOREIGN : 1);
}

int store_run_put(const struct store_run *run)
{
    struct store_place *place;
    struct err err;
    int64_t newest = 0;
    int64_t highest = 0;
    int status = open_place(run, run->checkpoint > 0, &place);
    if (status != 0) {
        return status;
    }
    bool is_done = (run->checkpoint == 0 || put_one(run, place, &err)) &&
                   store_newest(place, INT64_MAX, &newest, &err) &&
                   store_highest(place, &highest, &err);
    /* The checkpoint is stored. The next store removes what could not be removed now. */
    if (is_done && run->checkpoint > 0 && !store_expire(place, run->keep, &err)) {
        fprintf(stderr, "cannot remove old checkpoints: %s\n", err.text);
    }
    store_place_close(place);
    if (!is_done) {
        return store_run_fail(&err, 1);
    }
    printf("%" PRId64 " %" PRId64 "\n", newest, highest);
    return 0;
}

int store_run_get(const struct store_run *run)
{
    struct store_place *place;
    struct slot_folder slot;
    struct err err;
    char temp[SLOT_PATH_MAX];
    char kept[SLOT_PATH_MAX];
    snprintf(slot.root, sizeof(slot.root), "%s", run->folder);
    slot_folder_path(&slot, "stored", temp);
    slot_folder_kept(&slot, run->checkpoint, false, kept);
    if (file_stat(kept).kind == FILE_FOLDER) {
        return 0;
    }
    int status = open_place(run, true, &place);
    if (status != 0) {
        return status;
    }
    if (!store_get(place, run->checkpoint, temp, &err)) {
        struct err why = err;
        int64_t older = 0;
        bool is_damaged = err.kind == ERR_PROTOCOL &&
                          store_newest(place, run->checkpoint, &older, &err);
        if (is_damaged) {
            printf("%" PRId64 "\n", older);
        }
        status = store_run_fail(&why, is_damaged ? STORE_DAMAGED : 1);
    }
    store_place_close(place);
    failpoint("rename", "stored", "before");
    if (status == 0 && rename(temp, kept) != 0) {
        fprintf(stderr, "cannot rename %s: %s\n", temp, strerror(errno));
        return 1;
    }
    return status;
}
