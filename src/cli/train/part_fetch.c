/* part_fetch.c: `shoal train fetch`. */
#include "app/train/slot_folder.h"
#include "cli/copy.h"
#include "cli/output.h"
#include "cli/train/train_command.h"
#include "io/failpoint.h"
#include "io/file.h"
#include "io/json_line.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { STORE_MS = 15 * 60 * 1000 };

/* ---- on the head ---- */

/* A running trainer stores its newest checkpoint on the head first. A job that has ended has done
 * so already. */
static bool fetch_number(const char *folder, const struct train_view *view, int64_t *ret_number,
                         struct err *err)
{
    json_t *answer = NULL;
    *ret_number = view->stored;
    if (view->is_running) {
        if (!trainer_ask(folder, "store", STORE_MS, &answer, err)) {
            return false;
        }
        if (!answer) {
            return err_set(err, ERR_UNAVAILABLE,
                           "the trainer of job %s ended; run the command again to copy the "
                           "checkpoint that it stored",
                           view->name.ptr);
        }
        const char *error = json_string_value(json_object_get(answer, "error"));
        int64_t stored = json_take_number(answer, "stored", 0, INT64_MAX);
        *ret_number = stored > 0 ? stored : *ret_number;
        bool is_refused = error && error[0] != '\0';
        if (is_refused) {
            err_set(err, ERR_UNAVAILABLE, "cannot copy the checkpoint to the head: %.300s", error);
        }
        json_decref(answer);
        if (is_refused) {
            return false;
        }
    }
    return *ret_number > 0 ||
           err_set(
               err, ERR_NOT_FOUND, "job %s has no checkpoint%s", view->name.ptr,
               view->phase == TRAIN_SUCCEEDED
                   ? " on the head. The job is complete: look where the script stored the final "
                     "model"
                   : " yet");
}

static bool fetch_link(const char *from, const char *link, struct err *err)
{
    unlink(link);
    failpoint("symlink", "fetched", "before");
    return symlink(from, link) == 0 ||
           err_set(err, ERR_IO, "cannot create %s: %s", link, strerror(errno));
}

/* The same on the head and on other machines, which do not know the name of the only job. */
static const char *fetched_folder(const struct train_part_fields *given, struct arena *arena)
{
    return given->folder ? given->folder
           : given->name ? arena_printf(arena, "%s-checkpoint", given->name).ptr
                         : "checkpoint";
}

static int fetch_here(const struct cli *cli, struct train_part_fields *given)
{
    const char *to = fetched_folder(given, cli->arena);
    struct slot_folder folder;
    struct str root;
    char from[SLOT_PATH_MAX];
    struct train_view view;
    int64_t number;
    struct err err;
    if (!train_part_choose(given, cli->arena, &root, &err) ||
        !train_view_of(root.ptr, str_from(given->name), cli->arena, &view, &err) ||
        !fetch_number(root.ptr, &view, &number, &err)) {
        return output_error(cli, &err);
    }
    snprintf(folder.root, sizeof(folder.root), "%s", root.ptr);
    slot_folder_kept(&folder, number, false, from);
    if (given->link) {
        struct str link = file_expand_home(cli->arena, str_from(given->link));
        return fetch_link(from, link.ptr, &err) ? 0 : output_error(cli, &err);
    }
    if (!slot_folder_copy(from, to, true, &err)) {
        return output_error(cli, &err);
    }
    fprintf(cli->out, "copied checkpoint %" PRId64 " of job %s to %s\n", number, given->name, to);
    return 0;
}

/* ---- from another machine ---- */

static bool fetched_name_is_plain(const char *name)
{
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "0123456789-")] == '\0';
}

/* On the head, a symbolic link to the checkpoint that is being copied. One per job, so that two
 * commands for different jobs do not disturb each other. */
static struct str fetched_link(const struct train_part_fields *given, struct arena *arena)
{
    return arena_printf(arena, "~/.shoal/train-fetched%s%s", given->name ? "-" : "",
                        given->name ? given->name : "");
}

static int fetch_down(struct target *target, const void *fields)
{
    const struct train_part_fields *given = fields;
    struct arena *arena = target->cli.arena;
    struct launcher_head head;
    struct ssh_target place;
    int status = command_find(target, &given->command, &head, &place);
    if (status != 0) {
        return status;
    }
    target_close(target);
    const char *to = fetched_folder(given, arena);
    struct str from = arena_printf(arena, "%.*s/", STR_ARG(fetched_link(given, arena)));
    status = copy_run(target, &place, arena_printf(arena, "%s/", to), from, true);
    if (status == 0) {
        fprintf(target->cli.out, "copied the checkpoint to %s\n", to);
    }
    return status;
}

/* The word may be DIR: the name of a job has no dot and no slash. */
static void sort_words(struct train_part_fields *given)
{
    if (given->name && !given->folder && strpbrk(given->name, "./")) {
        given->folder = given->name;
        given->name = NULL;
    }
}

static int train_fetch_run(const struct cli *cli, const void *fields)
{
    struct train_part_fields given = *(const struct train_part_fields *)fields;
    sort_words(&given);
    if (!train_part_is_remote(&given)) {
        return fetch_here(cli, &given);
    }
    if (given.name && !fetched_name_is_plain(given.name)) { /* it becomes a part of a path */
        struct err err;
        err_set(&err, ERR_USAGE,
                "\"%.100s\" is not the name of a job: names have only letters, "
                "digits and dashes",
                given.name);
        return output_error(cli, &err);
    }
    struct str link = arena_printf(cli->arena, "--link %.*s",
                                   STR_ARG(fetched_link(&given, cli->arena)));
    int status = train_part_on_head(cli, &train_fetch, &given, link);
    return status != 0 ? status : target_work(cli, &given.target, fetch_down, &given);
}

static const struct operand operands[] = {
    TRAIN_PART_FILE,
    TRAIN_PART_NAME,
    {"DIR", offsetof(struct train_part_fields, folder), true, COMPLETE_FILE, NULL,
     "Where to copy it. The default is NAME-checkpoint in this directory, or checkpoint if NAME "
     "was left out. Without NAME, DIR must contain a dot or a slash, such as ./model."},
};
static const struct option options[] = {
    {"link", 0, OPTION_FILE, offsetof(struct train_part_fields, link), "PATH", NULL,
     "Create a symbolic link to the checkpoint instead of a copy.", true},
    TARGET_PROFILE_OPTION(struct train_part_fields),
    TARGET_VERBOSE_OPTION(struct train_part_fields),
};
static const struct example examples[] = {
    {"shoal train fetch cluster.yaml", "Copy the newest checkpoint to ./checkpoint."},
    {"shoal train fetch cluster.yaml demo ./model",
     "Copy the newest checkpoint of the job demo to ./model."},
};

const struct verb train_fetch = {
    .name = "train fetch",
    .summary = "copy the newest checkpoint of a training job",
    .description = "Copies the newest checkpoint, as the script wrote it, to this machine. If the "
                   "job is running, the checkpoint is first copied from its node to the head; "
                   "training continues in the meantime.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .fields_size = sizeof(struct train_part_fields),
    .run = train_fetch_run,
};
