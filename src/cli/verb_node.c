/*
 * verb_node.c: internal commands that Shoal runs on nodes; not documented for users. To add one,
 * add a row to `words`.
 */
#include "app/handover/handover.h"
#include "app/node/attend.h"
#include "app/node/spot_watcher.h"
#include "app/paths.h"
#include "app/setup/node_jobs.h"
#include "app/train/agent.h"
#include "app/train/state_load.h"
#include "app/train/store_run.h"
#include "cli/output.h"
#include "ray/version.h"
#include "remote/node_host_key.h"
#include "remote/node_serve.h"

#include <string.h>

struct node_fields {
    const char *word;
    struct operand_rest command;
    bool is_bare;
    const char *need, *container;
    int64_t count; /* GPUs */
    bool is_once, is_last, notes_ray;
    const char *version;
    bool has_token, makes_token;
    const char *gcs, *token_file;
    int64_t deadline; /* seconds */
    const char *provider, *instance_id;
    bool heeds_advice, is_foreground;
    const char *run;
    const char *folder, *from;
    int64_t checkpoint;
    int64_t part, parts, keep;
    const char *output, *job, *save, *owner;
    bool is_adopting;
    bool is_durable, is_installed, is_code;
};

static const struct operand operands[] = {
    {"WORD", offsetof(struct node_fields, word), false, COMPLETE_NOTHING, NULL,
     "The job to run on this node."},
    {"COMMAND", offsetof(struct node_fields, command), true, COMPLETE_NOTHING, NULL,
     "attend: the command to run, after --.", true},
};

static const struct option options[] = {
    {"bare", 0, OPTION_FLAG, offsetof(struct node_fields, is_bare), NULL, NULL,
     "probe: no setup command can install what is missing."},
    {"need", 0, OPTION_TEXT, offsetof(struct node_fields, need), "PROGRAM", NULL,
     "probe: the program that the first setup command runs."},
    {"container", 0, OPTION_TEXT, offsetof(struct node_fields, container), "PROGRAM", NULL,
     "probe: the program that runs the container; gpu: runs in it."},
    {"count", 0, OPTION_NUMBER, offsetof(struct node_fields, count), "COUNT", NULL,
     "gpu: how many GPUs the node must have."},
    {"once", 0, OPTION_FLAG, offsetof(struct node_fields, is_once), NULL, NULL,
     "inside: not if Ray was started in this container."},
    {"last", 0, OPTION_FLAG, offsetof(struct node_fields, is_last), NULL, NULL,
     "inside: this command starts Ray."},
    {"note-ray", 0, OPTION_FLAG, offsetof(struct node_fields, notes_ray), NULL, NULL,
     "inside: read the version of Ray, run nothing."},
    {"version", 0, OPTION_TEXT, offsetof(struct node_fields, version), "VERSION", NULL,
     "ray: the version to install if Ray is missing."},
    {"token", 0, OPTION_FLAG, offsetof(struct node_fields, has_token), NULL, NULL,
     "env: Ray uses token authentication."},
    {"make-token", 0, OPTION_FLAG, offsetof(struct node_fields, makes_token), NULL, NULL,
     "env: like --token, but this node creates the token."},
    {"gcs", 0, OPTION_TEXT, offsetof(struct node_fields, gcs), "ADDRESS", NULL,
     "gate, watch: the address of Ray on the head."},
    {"token-file", 0, OPTION_FILE, offsetof(struct node_fields, token_file), "FILE", NULL,
     "gate, watch: the file with the token."},
    {"deadline", 0, OPTION_NUMBER, offsetof(struct node_fields, deadline), "SECONDS", NULL,
     "gate: the longest time to wait."},
    {"provider", 0, OPTION_TEXT, offsetof(struct node_fields, provider), "TYPE", NULL,
     "watch: the cloud provider."},
    {"instance-id", 0, OPTION_TEXT, offsetof(struct node_fields, instance_id), "ID", NULL,
     "watch: the id of this instance."},
    {"rebalance", 0, OPTION_FLAG, offsetof(struct node_fields, heeds_advice), NULL, NULL,
     "watch: also act on rebalance recommendations and host maintenance."},
    {"run", 0, OPTION_TEXT, offsetof(struct node_fields, run), "NAME", NULL,
     "resume: the name of this request."},
    {"folder", 0, OPTION_TEXT, offsetof(struct node_fields, folder), "FOLDER", NULL,
     "train-load, train-snapshot: the files of the slot."},
    {"checkpoint", 0, OPTION_NUMBER, offsetof(struct node_fields, checkpoint), "NUMBER", NULL,
     "train-load, train-snapshot: the checkpoint."},
    {"from", 0, OPTION_TEXT, offsetof(struct node_fields, from), "SOURCES", NULL,
     "train-load: the addresses that serve it."},
    {"parts", 0, OPTION_NUMBER, offsetof(struct node_fields, parts), "COUNT", NULL,
     "train-load: merge so many parts of the sources."},
    {"install", 0, OPTION_FLAG, offsetof(struct node_fields, is_installed), NULL, NULL,
     "train-load: also copy it to the directory from which the script loads."},
    {"part", 0, OPTION_NUMBER, offsetof(struct node_fields, part), "NUMBER", NULL,
     "train-store: the part of this slot, from 0."},
    {"keep", 0, OPTION_NUMBER, offsetof(struct node_fields, keep), "COUNT", NULL,
     "train-store: how many complete checkpoints stay."},
    {"output", 0, OPTION_TEXT, offsetof(struct node_fields, output), "WHERE", NULL,
     "train-store, train-restore: the durable place."},
    {"job", 0, OPTION_TEXT, offsetof(struct node_fields, job), "NAME", NULL,
     "train-store, train-restore: the name of the job."},
    {"save", 0, OPTION_TEXT, offsetof(struct node_fields, save), "ID", NULL,
     "train-store: the same for all parts of one save."},
    {"owner", 0, OPTION_TEXT, offsetof(struct node_fields, owner), "ID", NULL,
     "train-store, train-restore: the id of the job."},
    {"adopt", 0, OPTION_FLAG, offsetof(struct node_fields, is_adopting), NULL, NULL,
     "train-store: take the place from another job."},
    {"durable", 0, OPTION_FLAG, offsetof(struct node_fields, is_durable), NULL, NULL,
     "train-load: flush it to the disk."},
    {"code", 0, OPTION_FLAG, offsetof(struct node_fields, is_code), NULL, NULL,
     "train-load: fetch the user's files instead."},
    {"foreground", 0, OPTION_FLAG, offsetof(struct node_fields, is_foreground), NULL, NULL,
     "watch: run in the foreground, with the log on standard error."},
};

static int run_serve(const struct cli *cli, const struct node_fields *fields)
{
    struct arena arena;
    (void)cli;
    (void)fields;
    arena_init(&arena);
    int64_t handover = handover_known(service_folder(NULL, &arena));
    arena_clear(&arena);
    return node_serve(handover);
}

/* Run by `node serve`, as root. */
static int run_host_key(const struct cli *cli, const struct node_fields *fields)
{
    (void)cli;
    (void)fields;
    return node_host_key_install();
}

static int run_probe(const struct cli *cli, const struct node_fields *fields)
{
    (void)cli;
    return node_probe(&(struct node_probe_setup){fields->is_bare, fields->need, fields->container});
}

static int run_gpu(const struct cli *cli, const struct node_fields *fields)
{
    (void)cli;
    return node_gpu(&(struct node_gpu_setup){fields->count, fields->container != NULL});
}

static int run_container(const struct cli *cli, const struct node_fields *fields)
{
    (void)cli;
    return node_container(&(struct node_container_setup){fields->makes_token});
}

static int run_inside(const struct cli *cli, const struct node_fields *fields)
{
    (void)cli;
    return node_inside(
        &(struct node_inside_setup){fields->is_once, fields->is_last, fields->notes_ray});
}

static int run_python(const struct cli *cli, const struct node_fields *fields)
{
    (void)cli;
    (void)fields;
    return node_python();
}

static int run_ray(const struct cli *cli, const struct node_fields *fields)
{
    (void)cli;
    return node_ray(fields->version ? fields->version : RAY_VERSION_TESTED);
}

static int run_env(const struct cli *cli, const struct node_fields *fields)
{
    (void)cli;
    return node_env(fields->makes_token ? NODE_ENV_MAKE_TOKEN
                    : fields->has_token ? NODE_ENV_TOKEN
                                        : NODE_ENV_NO_TOKEN);
}

static int run_gate(const struct cli *cli, const struct node_fields *fields)
{
    struct err err;
    if (!fields->gcs) {
        err_set(&err, ERR_USAGE, "gate needs --gcs ADDRESS");
        return output_error(cli, &err);
    }
    return node_gate(
        &(struct node_gate_setup){fields->gcs, fields->token_file, fields->deadline * 1000});
}

static int run_resume(const struct cli *cli, const struct node_fields *fields)
{
    (void)cli;
    return node_resume(fields->run ? fields->run : "");
}

static int run_idle(const struct cli *cli, const struct node_fields *fields)
{
    (void)cli;
    (void)fields;
    return node_idle();
}

static int run_start(const struct cli *cli, const struct node_fields *fields)
{
    (void)cli;
    (void)fields;
    return node_start();
}

static int run_store(const struct cli *cli, const struct node_fields *fields)
{
    (void)cli;
    (void)fields;
    return node_store();
}

static int run_watch(const struct cli *cli, const struct node_fields *fields)
{
    struct err err;
    if (!fields->gcs || !fields->provider || !fields->instance_id) {
        err_set(&err, ERR_USAGE, "watch needs --provider, --instance-id and --gcs");
        return output_error(cli, &err);
    }
    return node_watch(&(struct node_watch_setup){
        .provider = fields->provider,
        .instance_id = fields->instance_id,
        .gcs = fields->gcs,
        .token_file = fields->token_file,
        .heeds_advice = fields->heeds_advice,
        .is_foreground = fields->is_foreground,
    });
}

static int run_train_agent(const struct cli *cli, const struct node_fields *fields)
{
    (void)cli;
    (void)fields;
    return agent_main(&clock_of_machine);
}

static int run_train_load(const struct cli *cli, const struct node_fields *fields)
{
    struct err err;
    if (!fields->folder) {
        err_set(&err, ERR_USAGE, "train-load needs --folder");
        return output_error(cli, &err);
    }
    return state_load(&(struct state_load){
        .folder = fields->folder,
        .checkpoint = fields->checkpoint,
        .parts = fields->parts,
        .is_installed = fields->is_installed,
        .is_durable = fields->is_durable,
        .is_code = fields->is_code,
        .sources = fields->from,
    });
}

static int run_train_snapshot(const struct cli *cli, const struct node_fields *fields)
{
    struct err err;
    if (!fields->folder || fields->checkpoint <= 0) {
        err_set(&err, ERR_USAGE, "train-snapshot needs --folder and --checkpoint");
        return output_error(cli, &err);
    }
    return state_snapshot(fields->folder, fields->checkpoint);
}

static struct store_run store_run_of(const struct node_fields *fields)
{
    return (struct store_run){.output = fields->output,
                              .job = fields->job,
                              .folder = fields->folder,
                              .checkpoint = fields->checkpoint,
                              .part = fields->part,
                              .parts = fields->parts,
                              .keep = fields->keep,
                              .save = fields->save,
                              .owner = fields->owner,
                              .is_adopting = fields->is_adopting};
}

static bool store_is_given(const struct node_fields *fields, struct err *err)
{
    return (fields->output && fields->job && fields->folder && fields->owner) ||
           err_set(err, ERR_USAGE, "%s needs --output, --job, --owner and --folder", fields->word);
}

static int run_train_store(const struct cli *cli, const struct node_fields *fields)
{
    struct err err;
    struct store_run run = store_run_of(fields);
    return store_is_given(fields, &err) ? store_run_put(&run) : output_error(cli, &err);
}

static int run_train_restore(const struct cli *cli, const struct node_fields *fields)
{
    struct err err;
    struct store_run run = store_run_of(fields);
    return store_is_given(fields, &err) ? store_run_get(&run) : output_error(cli, &err);
}

static int run_attend(const struct cli *cli, const struct node_fields *fields)
{
    size_t count = fields->command.count;
    const char **argv = ARENA_ARRAY(cli->arena, count + 1, const char *);
    struct err err;
    if (count == 0) {
        err_set(&err, ERR_USAGE, "attend needs a command after --");
        return output_error(cli, &err);
    }
    for (size_t i = 0; i < count; i++) {
        argv[i] = fields->command.words[i];
    }
    return node_attend(argv);
}

static const struct {
    const char *name;
    int (*run)(const struct cli *cli, const struct node_fields *fields);
} words[] = {
    {"serve", run_serve},
    {"host-key", run_host_key},
    {"probe", run_probe},
    {"gpu", run_gpu},
    {"container", run_container},
    {"inside", run_inside},
    {"python", run_python},
    {"ray", run_ray},
    {"env", run_env},
    {"gate", run_gate},
    {"idle", run_idle},
    {"start", run_start},
    {"watch", run_watch},
    {"attend", run_attend},
    {"resume", run_resume},
    {"store", run_store},
    {"train-agent", run_train_agent},
    {"train-load", run_train_load},
    {"train-snapshot", run_train_snapshot},
    {"train-store", run_train_store},
    {"train-restore", run_train_restore},
};

static int run(const struct cli *cli, const void *given)
{
    const struct node_fields *fields = given;
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(fields->word, words[i].name) == 0) {
            return words[i].run(cli, fields);
        }
    }
    err_set(&err, ERR_USAGE, "unknown node job \"%.100s\"", fields->word);
    return output_error(cli, &err);
}

const struct verb verb_node = {
    .name = "node",
    .summary = "internal commands that Shoal runs on nodes",
    .description = "Shoal runs this command on the nodes of a cluster.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    .fields_size = sizeof(struct node_fields),
    .run = run,
};
