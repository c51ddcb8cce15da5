/* verb_key.c: copies a cluster's key to another machine. */
#include "app/cluster_state.h"
#include "cli/output.h"
#include "cli/target.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_BYTES_MAX = 64 * 1024 };

struct key_fields {
    struct target_fields target;
    const char *key;
    const char *output;
};

static bool key_open_state(struct target *target, struct cluster_state *ret_state, struct err *err)
{
    return cluster_state_open(target->config, false, target->cli.arena, ret_state, err);
}

/* ---- export ---- */

static const struct operand export_operands[] = {TARGET_OPERAND(struct key_fields)};
static const struct option export_options[] = {
    {"output", 'o', OPTION_FILE, offsetof(struct key_fields, output), "FILE", NULL,
     "Write the key to this new file, which only you can read."},
    TARGET_NAME_OPTION(struct key_fields),
    TARGET_PROFILE_OPTION(struct key_fields),
};
static const struct example export_examples[] = {
    {"shoal key export cluster.yaml -o demo.key",
     "Write the key to a file that only you can read."},
    {"shoal key export cluster.yaml | ssh ci 'shoal key import cluster.yaml -'",
     "Copy it to another machine without a file."},
};

/* A shell makes files that others can read, and who opens one before the key is in it reads it. */
static bool key_check_output(struct target *target, struct err *err)
{
    struct stat output;
    if (isatty(STDOUT_FILENO) != 1 &&
        (fstat(STDOUT_FILENO, &output) != 0 || !S_ISREG(output.st_mode) ||
         (output.st_mode & (S_IRWXG | S_IRWXO)) == 0)) {
        return true;
    }
    return err_set(err, ERR_USAGE,
                   "the key is a secret, and others could read it there; nothing was written. "
                   "Write it to a private file: shoal key export %s -o cluster.key",
                   target_text(target).ptr);
}

static bool key_write_file(const char *path, struct str text, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0) {
        return err_set(err, errno == EEXIST ? ERR_EXISTS : ERR_IO,
                       "cannot create %s: %s; the key was not written. Name a new file", path,
                       strerror(errno));
    }
    ssize_t written = write(fd, text.ptr, text.len);
    bool ok = fsync(fd) == 0 && written == (ssize_t)text.len;
    ok = close(fd) == 0 && ok;
    if (!ok) {
        unlink(path);
    }
    return ok || err_set(err, ERR_IO, "cannot write %s; the file was removed", path);
}

static int key_export(struct target *target, const struct cluster_state *state, const char *path)
{
    struct buf out;
    struct err err;
    buf_init(&out, KEY_BYTES_MAX);
    bool ok = cluster_state_export(state, target->config, &out, &err) &&
              (!path || key_write_file(path, buf_str(&out), &err));
    int status = !ok    ? output_error(&target->cli, &err)
                 : path ? 0
                        : output_write(&target->cli, target->cli.out, &out);
    buf_wipe(&out);
    return status;
}

/* The cloud is asked only if two accounts have a cluster of this name. */
static int key_choose_owner(struct target *target)
{
    struct err err;
    struct arena *arena = target->cli.arena;
    if (cluster_folder_find(target->config, arena).count < 2 ||
        cluster_folder_owner(target->config, arena).len > 0) {
        return 0;
    }
    int status = target_connect(target);
    if (status == 0 && !launcher_know_owner(&target->setup, arena, &err)) {
        status = target_fail(target, &err);
    }
    target_close(target);
    return status;
}

static int key_run_export(const struct cli *cli, const void *fields)
{
    const struct key_fields *given = fields;
    struct target target;
    struct cluster_state state;
    struct err err;
    int status = target_open(&target, cli, &given->target, INPUT_AS_RAY);
    if (status != 0) {
        return status;
    }
    if (!given->output && !key_check_output(&target, &err)) {
        return output_error(cli, &err);
    }
    status = key_choose_owner(&target);
    if (status != 0) {
        return status;
    }
    if (!key_open_state(&target, &state, &err)) {
        return output_error(cli, &err);
    }
    if (!state.own_key) {
        err_set(&err, ERR_NOT_FOUND,
                "this machine does not have the key of cluster %.*s; export it on the machine that "
                "started the cluster, or on one that imported its key",
                STR_ARG(target.config->cluster_name));
        return output_error(cli, &err);
    }
    return key_export(&target, &state, given->output);
}

static const struct verb key_part_export = {
    .name = "key export",
    .summary = "print the key of a cluster, for another machine",
    .description = "Prints what another machine needs to use and update the cluster: the "
                   "cluster's own ssh key and the secret from which the first host keys of its "
                   "instances are derived. Everyone who has this text can log in to the cluster's "
                   "nodes. It is not printed to a terminal, or to a file that others can read. "
                   "It says whose cluster it is. If clusters of two AWS accounts have this name, "
                   "the credentials choose one.",
    .operands = export_operands,
    .operand_count = ARRAY_LEN(export_operands),
    .options = export_options,
    .option_count = ARRAY_LEN(export_options),
    .examples = export_examples,
    .example_count = ARRAY_LEN(export_examples),
    .fields_size = sizeof(struct key_fields),
    .run = key_run_export,
};

/* ---- import ---- */

static const struct operand import_operands[] = {
    TARGET_OPERAND(struct key_fields),
    {"KEY", offsetof(struct key_fields, key), false, COMPLETE_FILE, NULL,
     "The output of shoal key export; - reads it from standard input."},
};
static const struct option import_options[] = {TARGET_NAME_OPTION(struct key_fields)};
static const struct example import_examples[] = {
    {"shoal key import cluster.yaml demo.key", "Use the cluster of a teammate from this machine."},
};

/* Into the folder of the owner that the text names. */
static bool key_take(struct target *target, struct str text, struct err *err)
{
    struct cluster_state state;
    struct str owner;
    if (!cluster_state_import_owner(target->config, target->cli.arena, &text, &owner, err)) {
        return false;
    }
    cluster_folder_know(target->config, owner, target->cli.arena);
    return key_open_state(target, &state, err) && cluster_state_import(&state, owner, text, err);
}

static int key_run_import(const struct cli *cli, const void *fields)
{
    const struct key_fields *given = fields;
    struct target target;
    struct buf text;
    struct err err;
    int status = target_open(&target, cli, &given->target, INPUT_AS_RAY);
    if (status != 0) {
        return status;
    }
    buf_init(&text, KEY_BYTES_MAX);
    bool ok = file_read(given->key, &text, &err) && key_take(&target, buf_str(&text), &err);
    buf_wipe(&text);
    if (!ok) {
        return output_error(cli, &err);
    }
    fprintf(cli->err, "This machine has the key of cluster %.*s now. Next: shoal status %s\n",
            STR_ARG(target.config->cluster_name), target_text(&target).ptr);
    return 0;
}

static const struct verb key_part_import = {
    .name = "key import",
    .summary = "take over the key of a cluster from another machine",
    .description = "Reads the output of shoal key export. From then on every command, including "
                   "shoal up, works from this machine as from the one that started the cluster. A "
                   "key that this machine already has for the cluster is not replaced.",
    .operands = import_operands,
    .operand_count = ARRAY_LEN(import_operands),
    .options = import_options,
    .option_count = ARRAY_LEN(import_options),
    .examples = import_examples,
    .example_count = ARRAY_LEN(import_examples),
    .fields_size = sizeof(struct key_fields),
    .run = key_run_import,
};

/* ---- the verb ---- */

static const struct verb *const parts[] = {&key_part_export, &key_part_import};

struct verb_key_fields {
    const char *word;
};

static const struct operand operands[] = {
    {"COMMAND", offsetof(struct verb_key_fields, word), true, COMPLETE_NOTHING, NULL,
     "export or import, followed by its arguments."},
};

static const struct example examples[] = {
    {"shoal key export cluster.yaml -o demo.key", "On the machine that started the cluster."},
    {"shoal key import cluster.yaml demo.key", "On another machine."},
};

static int verb_key_run(const struct cli *cli, const void *fields)
{
    struct err err;
    (void)fields;
    err_set(&err, ERR_USAGE, "use shoal key export FILE, or shoal key import FILE KEY");
    return output_error(cli, &err);
}

const struct verb verb_key = {
    .name = "key",
    .summary = "copy the key of a cluster to another machine",
    .description =
        "Each cluster has its own ssh key, on the machine that started it. To use the cluster from "
        "another machine, export the key there and import it here. If the cluster file names a key "
        "(auth.ssh_private_key) that this machine has too, that is not needed for shoal exec, "
        "attach, submit, status and down; only shoal up and shoal rsync-up -A need the cluster's "
        "own key. The head's host key is in its tag shoal-host-key, so another machine can verify "
        "the head without an import.",
    VERB_ROWS(operand),
    VERB_ROWS(example),
    VERB_ROWS(part),
    .fields_size = sizeof(struct verb_key_fields),
    .run = verb_key_run,
};
