/*
 * agent_output.c: the durable copy of checkpoints, and the preparation of a node.
 *
 * Storing runs in a process of its own while the script trains. A failure is reported, and tried
 * again after a while; a newer checkpoint replaces one that waits.
 */
#include "app/train/agent_internal.h"
#include "app/train/store_run.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

enum {
    OUTPUT_BYTES = 64 * 1024,
    AGAIN_MS = 2000, /* doubled each time */
    AGAIN_DOUBLINGS = 5,
    ENDING_TRIES = 5, /* of a slot that is not needed any more */
    NUMBER_SIZE = 32,
    REASON_MAX = 1000,
};

extern char **environ;

static int64_t wait_ms(unsigned fails)
{
    return (int64_t)AGAIN_MS << (fails < AGAIN_DOUBLINGS ? fails : AGAIN_DOUBLINGS);
}

static struct str reason_of(const struct child_result *result)
{
    struct str reason = str_trim(result->output[CHILD_STDERR]);
    reason = reason.len > 0 ? reason : str_from(result->err.text);
    return str_sub(reason, 0, REASON_MAX);
}

static void report_failure(struct agent *agent, const char *type, const char *what,
                           struct str reason)
{
    json_t *message = agent_message(type);
    json_put_text(message, "what", str_from(what));
    json_put_text(message, "reason", reason);
    agent_send(agent, message);
    fprintf(stderr, "shoal: %s: %.*s\n", what, STR_ARG(reason));
}

static void report_durable(struct agent *agent, const struct child_result *result, int64_t bad)
{
    struct str highest = str_trim(result->output[CHILD_STDOUT]);
    struct str newest = str_cut(&highest, ' ');
    json_t *message = agent_message("durable");
    if (!str_to_i64(newest, &agent->durable)) {
        agent->durable = 0;
    }
    if (highest.len > 0 && !str_to_i64(highest, &agent->durable_highest)) {
        agent->durable_highest = 0;
    }
    json_put_number(message, "number", agent->durable);
    json_put_number(message, "highest", agent->durable_highest);
    json_put_number(message, "bad", bad);
    if (bad > 0) {
        json_put_text(message, "reason", reason_of(result));
    }
    agent_send(agent, message);
}

/* `word` is train-store or train-restore. It gets all variables: they may have credentials. */
static struct child *store_start(struct agent *agent, const char *word, int64_t number,
                                 child_done_fn *done)
{
    char texts[4][NUMBER_SIZE];
    snprintf(texts[0], NUMBER_SIZE, "%" PRId64, number);
    snprintf(texts[1], NUMBER_SIZE, "%" PRId64, agent->store_part);
    snprintf(texts[2], NUMBER_SIZE, "%" PRId64, agent->store_parts);
    snprintf(texts[3], NUMBER_SIZE, "%" PRId64, agent->job.keep);
    const char *argv[] = {agent->program,
                          "node",
                          word,
                          "--output",
                          agent->job.output.ptr,
                          "--job",
                          agent->setup->job,
                          "--folder",
                          agent->folder.root,
                          "--checkpoint",
                          texts[0],
                          "--part",
                          texts[1],
                          "--parts",
                          texts[2],
                          "--keep",
                          texts[3],
                          "--owner",
                          agent->setup->id,
                          "--save",
                          agent->store_save,
                          number == 0 && agent->job.is_adopting ? "--adopt" : NULL,
                          NULL};
    return child_start(agent->pool, &(struct child_spec){
                                        .argv = argv,
                                        .env_extra = (const char *const *)environ,
                                        .output = {{OUTPUT_BYTES}, {OUTPUT_BYTES}},
                                        .done = done,
                                        .context = agent,
                                    });
}

/* ---- storing ---- */

static void store_next(struct agent *agent);

static void on_stored(void *context, const struct child_result *result)
{
    struct agent *agent = context;
    agent->storing = NULL;
    if (child_was_fine(result)) {
        agent->store_fails = 0;
        if (agent->store_number == agent->storing_number) {
            agent->store_number = 0;
        }
        report_durable(agent, result, 0);
    } else if (agent->store_number == agent->storing_number) {
        report_failure(agent, "trouble", "cannot store a checkpoint in --output, trying again",
                       reason_of(result));
        if (agent->is_ending && agent->store_fails >= ENDING_TRIES) {
            agent_end(agent, 1);
            return;
        }
        loop_timer_start(agent->store_again, wait_ms(agent->store_fails++));
        return;
    }
    store_next(agent);
}

static void store_next(struct agent *agent)
{
    if (agent->storing) {
        return;
    }
    if (agent->store_number > 0) {
        agent->storing_number = agent->store_number;
        agent->storing = store_start(agent, "train-store", agent->store_number, on_stored);
    } else if (agent->is_ending) {
        agent_end(agent, 0);
    }
}

static void on_store_again(void *context)
{
    store_next(context);
}

void agent_store(struct agent *agent)
{
    const struct replica *replica = &agent->replica;
    if (agent->job.output.len == 0) {
        return;
    }
    agent->store_number = replica->checkpoint;
    agent->store_part = replica->parts > 0 ? replica->rank : 0;
    agent->store_parts = replica->parts;
    snprintf(agent->store_save, sizeof(agent->store_save), "%s", replica->save);
    store_next(agent);
}

void agent_leave(struct agent *agent)
{
    agent->is_ending = true;
    store_next(agent);
}

/* ---- fetching ---- */

void agent_report_damage(struct agent *agent, const struct child_result *result)
{
    if (result->end == CHILD_EXITED && result->exit_status == STORE_DAMAGED && agent->next) {
        report_durable(agent, result, agent->next->checkpoint);
    }
}

struct child *agent_restore(struct agent *agent, const struct trainer_order *order,
                            child_done_fn *done)
{
    return store_start(agent, "train-restore", order->checkpoint, done);
}

/* ---- before the slot is ready ---- */

static void on_looked(void *context, const struct child_result *result)
{
    struct agent *agent = context;
    agent->storing = NULL;
    if (!child_was_fine(result)) {
        bool is_foreign = result->end == CHILD_EXITED && result->exit_status == STORE_FOREIGN;
        report_failure(agent, is_foreign ? "foreign" : "trouble",
                       "cannot use --output, trying again", reason_of(result));
        loop_timer_start(agent->prepare_again, wait_ms(agent->prepare_fails++));
        return;
    }
    report_durable(agent, result, 0);
    agent->has_output = true;
    agent_prepare(agent);
}

static void on_node_line(void *context, enum child_stream stream, struct str line)
{
    (void)context;
    (void)stream;
    printf("%.*s\n", STR_ARG(line));
    fflush(stdout);
}

static void on_node_prepared(void *context, const struct child_result *result)
{
    struct agent *agent = context;
    agent->preparing = NULL;
    if (!child_was_fine(result)) {
        report_failure(agent, "trouble", "the command of --prepare failed, trying again",
                       str_from(result->err.text));
        loop_timer_start(agent->prepare_again, wait_ms(agent->prepare_fails++));
        return;
    }
    agent->has_node = true;
    agent_prepare(agent);
}

/* Once per node and job: the first slot runs it under a lock; the others wait for its mark. The
 * working directory is the user's. */
static void prepare_node(struct agent *agent)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    char code[SLOT_PATH_MAX];
    char mac[MAC_TEXT_SIZE];
    slot_folder_path(&agent->folder, "code", code);
    mac_sha256(str_from(agent->setup->token), STR("prepare"), mac);
    struct str mark = arena_printf(&arena, "%s/../prepared-%.16s", agent->folder.root, mac);
    const char *argv[] = {"flock",
                          mark.ptr,
                          "sh",
                          "-c",
                          "[ -s \"$1\" ] || { cd \"$2\" && sh -c \"$3\" && echo done > \"$1\"; }",
                          "sh",
                          mark.ptr,
                          code,
                          agent->job.prepare.ptr,
                          NULL};
    agent->preparing = child_start(
        agent->pool, &(struct child_spec){
                         .argv = argv,
                         .env_extra = (const char *const *)environ,
                         .output = {{.bytes_max = OUTPUT_BYTES, .line = on_node_line},
                                    {.bytes_max = OUTPUT_BYTES, .line = on_node_line}},
                         .done = on_node_prepared,
                         .context = agent,
                     });
}

void agent_begin_output(struct agent *agent)
{
    agent->has_output = agent->has_output || agent->job.output.len == 0;
    agent->has_node = agent->has_node || agent->job.prepare.len == 0;
    if (!agent->has_output && !agent->storing) {
        agent->storing = store_start(agent, "train-store", 0, on_looked);
    }
    if (!agent->has_node && !agent->preparing && agent->has_code) {
        prepare_node(agent);
    }
}

static void on_prepare_again(void *context)
{
    agent_begin_output(context);
}

void agent_open_output(struct agent *agent)
{
    agent->store_again = loop_timer_new(agent->loop, on_store_again, agent);
    agent->prepare_again = loop_timer_new(agent->loop, on_prepare_again, agent);
}

void agent_close_output(struct agent *agent)
{
    loop_timer_free(agent->store_again);
    loop_timer_free(agent->prepare_again);
}
