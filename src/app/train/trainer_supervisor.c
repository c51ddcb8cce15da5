/*
 * trainer_supervisor.c: AdaptDL's supervisor API, for AdaptDL scripts only.
 *
 *     GET  URL/discover/shoal/JOB/GENERATION-1  the addresses of the replicas, by rank
 *     PUT  URL/hints/shoal/JOB                  how fast the job is, see sched_hints.h
 *
 * AdaptDL sends no credentials. So the URL contains a secret, which only the replicas get, and
 * anything else is a 404.
 */
#include "app/train/trainer_internal.h"
#include "io/mac.h"

#include <inttypes.h>
#include <string.h>

static struct str supervisor_secret(const struct trainer *trainer, char mac[MAC_TEXT_SIZE])
{
    mac_sha256(str_from(trainer->token), STR("supervisor"), mac);
    return str_from(mac);
}

void trainer_put_supervisor(struct trainer *trainer, json_t *message)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    char mac[MAC_TEXT_SIZE];
    if (trainer->supervisor) {
        json_put_text(message, "supervisor",
                      arena_printf(&arena, "http://%s:%u/%s", trainer->host,
                                   trainer->supervisor_port, supervisor_secret(trainer, mac).ptr));
    }
}

/* The addresses of the current generation, in the order of ranks. */
static bool add_addresses(struct trainer *trainer, struct buf *out)
{
    const struct train_job *job = &trainer->job;
    json_t *list = json_array();
    for (int64_t rank = 0; rank < job->world; rank++) {
        const char *host = "";
        for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
            const struct slot_link *link = trainer_slot(trainer, job->slots[i].id);
            if (job->slots[i].state != TRAIN_SLOT_NONE && job->slots[i].rank == rank && link) {
                host = link->host;
            }
        }
        json_array_append_new(list, json_string_nocheck(host));
    }
    bool is_added = json_add(list, out);
    json_decref(list);
    return is_added;
}

static void answer_discover(struct trainer *trainer, struct str group, struct http_served *answer)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str current = arena_printf(&arena, "%" PRId64, trainer->job.generation - 1);
    /* An older generation has ended: its replicas must not meet those of this one. */
    if (str_eq(group, current) && trainer->job.world > 0 && add_addresses(trainer, &answer->body)) {
        answer->status = 200;
        answer->type = "application/json";
    }
}

static void answer_hints(struct trainer *trainer, struct str body, struct http_served *answer)
{
    struct sched_hints hints;
    struct err err;
    if (!sched_hints_read(body, &hints, &err)) {
        answer->status = 400;
        if (!trainer->has_hints_error) {
            trainer->has_hints_error = true;
            trainer_say(trainer, "%s; they are ignored", err.text);
        }
        return;
    }
    answer->status = 200;
    answer->type = "application/json";
    buf_add_c(&answer->body, "{}");
    trainer_take_hints(trainer, &hints);
}

static void supervisor_answer(void *context, const struct http_server_request *request,
                              struct http_served *answer)
{
    struct trainer *trainer = context;
    char mac[MAC_TEXT_SIZE];
    struct str rest = str_sub(request->path, 1, request->path.len);
    struct str secret = str_cut(&rest, '/');
    struct str verb = str_cut(&rest, '/');
    struct str space = str_cut(&rest, '/');
    struct str job = str_cut(&rest, '/');
    if (!mac_is_equal(secret, supervisor_secret(trainer, mac)) || !str_is(space, "shoal") ||
        !str_is(job, trainer->setup->job)) {
        return;
    }
    if (str_is(verb, "discover") && !request->is_put) {
        answer_discover(trainer, rest, answer);
    } else if (str_is(verb, "hints") && request->is_put && rest.len == 0) {
        answer_hints(trainer, request->body, answer);
    }
}

bool trainer_open_supervisor(struct trainer *trainer, struct err *err)
{
    if (trainer->setup->kind != SCRIPT_ADAPTDL) {
        return true;
    }
    /* The same port as before, if it is free: replicas that kept running know it. They also train
     * without it, and the next generation gets the new one. */
    bool is_open = http_serve_open(trainer->loop, "0.0.0.0", trainer->supervisor_port,
                                   supervisor_answer, trainer, &trainer->supervisor, err);
    if (!is_open &&
        (err->kind != ERR_EXISTS || !http_serve_open(trainer->loop, "0.0.0.0", 0, supervisor_answer,
                                                     trainer, &trainer->supervisor, err))) {
        return false;
    }
    http_serve_accept_put(trainer->supervisor, SCHED_HINTS_BYTES_MAX);
    trainer->supervisor_port = http_serve_port(trainer->supervisor);
    return true;
}
