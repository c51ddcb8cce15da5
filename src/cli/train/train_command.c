/* train_command.c: finds the job, here or on the head. */
#include "cli/train/train_command.h"

#include "app/setup/setup_plan.h"
#include "cli/args.h"
#include "cli/cloud.h"
#include "cli/output.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>

enum { JOBS_MAX = 1000 };

const char *train_part_file(const char *word, bool is_short)
{
    struct str text = str_from(word);
    (void)is_short;
    return str_ends(text, ".yaml") || str_ends(text, ".yml") ? NULL : "";
}

bool train_part_is_remote(const struct train_part_fields *given)
{
    return given->target.file && given->target.file[0] != '\0';
}

struct str train_part_line(struct arena *arena, const char *words, struct str file, struct str name)
{
    return arena_printf(arena, "%s %.*s%s%.*s", words, STR_ARG(file), file.len > 0 ? " " : "",
                        STR_ARG(name));
}

/* ---- on the head ---- */

struct part_remote {
    const struct verb *part;
    const struct train_part_fields *given;
    struct str extra;
};

static struct str part_command(const struct part_remote *remote, struct arena *arena)
{
    static const char *const skipped[] = {"profile", "verbose", "screen", "tmux", "report", NULL};
    AUTO_BUF struct buf out;
    struct args_words words;
    buf_init(&out, REMOTE_LINE_BYTES_MAX);
    buf_addf(&out, SETUP_PROGRAM " %s", remote->part->name);
    args_list(remote->part, remote->given, skipped, arena, &words);
    for (size_t i = 0; i < words.count; i++) {
        buf_add_char(&out, ' ');
        remote_line_quote(&out, str_from(words.items[i]));
    }
    if (remote->given->name) {
        buf_add_char(&out, ' ');
        remote_line_quote(&out, str_from(remote->given->name));
    }
    buf_addf(&out, "%s%.*s", remote->extra.len > 0 ? " " : "", STR_ARG(remote->extra));
    return arena_str(arena, buf_str(&out));
}

static int part_run_there(struct target *target, const void *fields)
{
    const struct part_remote *remote = fields;
    struct launcher_head head;
    struct ssh_target place;
    struct remote_line line = {.command = part_command(remote, target->cli.arena)};
    int status = command_find(target, &remote->given->command, &head, &place);
    if (status != 0) {
        return status;
    }
    target_close(target);
    return command_run(target, &remote->given->command, &place, &line);
}

int train_part_on_head(const struct cli *cli, const struct verb *part,
                       const struct train_part_fields *given, struct str extra)
{
    struct train_part_fields copy = *given;
    copy.called = given->target.file;
    struct part_remote remote = {part, &copy, extra};
    return target_work(cli, &given->target, part_run_there, &remote);
}

/* ---- jobs here ---- */

static struct str train_part_root(struct arena *arena)
{
    return file_expand_home(arena, STR("~/.shoal/train"));
}

struct job_names {
    struct arena *arena;
    const char *items[JOBS_MAX];
    size_t count;
};

static void note_job(void *context, const struct file_entry *entry)
{
    struct job_names *names = context;
    struct str root = train_part_root(names->arena);
    struct str path = arena_printf(names->arena, "%.*s/%.*s/job.json", STR_ARG(root),
                                   STR_ARG(entry->name));
    if (entry->is_folder && !entry->is_link && names->count < JOBS_MAX &&
        file_stat(path.ptr).kind == FILE_REGULAR) {
        names->items[names->count++] = arena_str(names->arena, entry->name).ptr;
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void list_jobs(struct arena *arena, struct job_names *names)
{
    names->arena = arena;
    names->count = 0;
    file_list(train_part_root(arena).ptr, note_job, names);
    qsort(names->items, names->count, sizeof(names->items[0]), compare_names);
}

static bool no_job(const struct job_names *names, const char *name, struct err *err)
{
    AUTO_BUF struct buf list;
    buf_init(&list, 300);
    for (size_t i = 0; i < names->count && list.len < 200; i++) {
        buf_addf(&list, "%s%s", i > 0 ? ", " : "", names->items[i]);
    }
    if (names->count == 0) {
        return err_set(
            err, ERR_NOT_FOUND,
            "there is no training job on this machine. To use the head of a cluster, name its "
            "cluster file: shoal train ls FILE");
    }
    if (!name) {
        return err_set(err, ERR_USAGE, "there are several training jobs; name one of them: %.*s",
                       STR_ARG(buf_str(&list)));
    }
    return err_set(err, ERR_NOT_FOUND,
                   "there is no training job \"%.100s\" on this machine; its jobs: %.*s", name,
                   STR_ARG(buf_str(&list)));
}

bool train_part_choose(struct train_part_fields *given, struct arena *arena, struct str *ret_folder,
                       struct err *err)
{
    struct job_names names;
    list_jobs(arena, &names);
    if (!given->name && names.count == 1) {
        given->name = names.items[0];
    }
    for (size_t i = 0; given->name && i < names.count; i++) {
        if (strcmp(given->name, names.items[i]) == 0) {
            struct str root = train_part_root(arena);
            *ret_folder = arena_printf(arena, "%.*s/%s", STR_ARG(root), given->name);
            return true;
        }
    }
    return no_job(&names, given->name, err);
}

void train_part_views(struct arena *arena, struct train_views *ret_views)
{
    struct job_names names;
    struct err ignored; /* a job that cannot be read is not listed */
    list_jobs(arena, &names);
    *ret_views = (struct train_views){ARENA_ARRAY(arena, names.count + 1, struct train_view), 0};
    for (size_t i = 0; i < names.count; i++) {
        struct str root = train_part_root(arena);
        struct str folder = arena_printf(arena, "%.*s/%s", STR_ARG(root), names.items[i]);
        if (train_view_of(folder.ptr, str_from(names.items[i]), arena,
                          &ret_views->items[ret_views->count], &ignored)) {
            ret_views->count++;
        }
    }
}
