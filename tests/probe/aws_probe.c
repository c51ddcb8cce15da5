/*
 * aws_probe.c: the AWS client as a program, for tests against a cloud. Prints a JSON line for each
 * call; the log goes to standard error.
 *
 *     aws_probe [OPTION VALUE]... identity | sources | list | call SERVICE ACTION JSON
 *               | pages SERVICE ACTION JSON
 *
 * --profile NAME, --region NAME, --deadline MS; --times N calls, --at-once 1 together, else one
 * after the other with --every MS between; --care read|repeatable|once, --settles 1; --page N
 * machines a page.
 */
#include "io/redact.h"
#include "json_record.h"
#include "provider/aws/client/aws_client.h"
#include "provider/aws/client/aws_lease_check.h"
#include "provider/aws/client/aws_pages.h"
#include "provider/aws/machines/instance_reply.h"
#include "provider/aws/wire/sts_reply.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

struct options {
    const char *profile, *region, *care, *verb, *words[3];
    int64_t times, at_once, every_ms, deadline_ms, page, settles;
};

struct probe {
    struct options options;
    struct loop *loop;
    struct http *http;
    struct child_pool *children;
    struct redact *redact;
    struct log log;
    int log_to;
    struct aws_client *client;
    struct loop_timer *timer;
    int64_t left, under_way;
    int failures;
    struct arena arena; /* of a listing */
    struct instance_reply *reader;
    struct instance_list page;
    struct str token;
    size_t machines, pages;
};

static void start(struct probe *probe);

static void ended(struct probe *probe)
{
    probe->under_way--;
    if (probe->left > 0 && !probe->options.at_once) {
        loop_timer_start(probe->timer, probe->options.every_ms);
    }
}

static double processor_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static json_t *show(struct probe *probe, const struct aws_reply *reply)
{
    struct aws_client_counts counts = aws_client_counts(probe->client);
    json_t *out = json_object();
    json_object_set_new(out, "ok", json_boolean(reply->is_ok));
    json_object_set_new(out, "tries", json_integer(reply->tries));
    json_object_set_new(out, "source", text_json(aws_client_source(probe->client)));
    json_object_set_new(out, "refreshed", json_integer((json_int_t)counts.refreshed));
    json_object_set_new(out, "resigned", json_integer((json_int_t)counts.resigned));
    json_object_set_new(out, "throttled", json_integer((json_int_t)counts.throttled));
    json_object_set_new(out, "bytes", json_integer((json_int_t)reply->body.len));
    if (!reply->is_ok) {
        probe->failures++;
        json_object_set_new(out, "code", text_json(reply->error.code));
        json_object_set_new(out, "class", json_string(aws_error_class_name(reply->error.class)));
        json_object_set_new(out, "outcome", json_integer(reply->error.outcome));
        json_object_set_new(out, "may_have_acted", json_boolean(reply->may_have_acted));
        json_object_set_new(out, "kind", json_string(err_kind_name(reply->err.kind)));
        json_object_set_new(out, "error", json_string(reply->err.text));
    }
    return out;
}

/* ---- what can be asked ---- */

static void on_identity(void *context, const struct aws_reply *reply)
{
    struct probe *probe = context;
    struct sts_identity identity;
    struct arena arena;
    struct err err;
    json_t *out = show(probe, reply);
    arena_init(&arena);
    if (reply->is_ok && sts_identity_read(reply->body, &arena, &identity, &err)) {
        json_object_set_new(out, "arn", text_json(identity.arn));
        json_object_set_new(out, "account", text_json(identity.account));
    }
    if (strcmp(probe->options.verb, "sources") == 0) {
        json_object_set_new(out, "report",
                            text_json(aws_client_sources_report(probe->client, &arena)));
    }
    arena_clear(&arena);
    answer_print(out);
    ended(probe);
}

static void on_call(void *context, const struct aws_reply *reply)
{
    struct probe *probe = context;
    json_t *out = show(probe, reply);
    if (reply->is_ok) {
        json_object_set_new(out, "body", text_json(str_sub(reply->body, 0, 4096)));
    }
    answer_print(out);
    ended(probe);
}

static void on_pages(void *context, const struct aws_reply *reply,
                     const struct xml_element *const *roots, size_t count)
{
    struct probe *probe = context;
    json_t *out = show(probe, reply);
    (void)roots;
    json_object_set_new(out, "pages", json_integer((json_int_t)count));
    answer_print(out);
    ended(probe);
}

/* ---- machines ---- */

static void begin_page(void *context)
{
    static const char *const ours[] = {"ray-", "shoal-", "Name", NULL};
    struct probe *probe = context;
    instance_reply_free(probe->reader);
    probe->reader = instance_reply_new(INSTANCES_LISTED, ours, &probe->arena);
}

static void feed_page(void *context, struct str bytes)
{
    struct probe *probe = context;
    struct err err;
    (void)!instance_reply_feed(probe->reader, bytes, &err); /* the end says it again */
}

static bool end_page(void *context, struct str body, struct err *err)
{
    struct probe *probe = context;
    (void)body;
    return instance_reply_end(probe->reader, &probe->page, err);
}

static void ask_page(struct probe *probe);

static void on_page(void *context, const struct aws_reply *reply)
{
    struct probe *probe = context;
    probe->pages += reply->is_ok;
    probe->machines += reply->is_ok ? probe->page.count : 0;
    probe->token = reply->is_ok ? probe->page.next_token : STR("");
    if (probe->token.len > 0) {
        ask_page(probe);
        return;
    }
    json_t *out = show(probe, reply);
    json_object_set_new(out, "machines", json_integer((json_int_t)probe->machines));
    json_object_set_new(out, "pages", json_integer((json_int_t)probe->pages));
    json_object_set_new(out, "live_bytes", json_integer((json_int_t)probe->arena.used_bytes));
    json_object_set_new(out, "seconds", json_real(processor_s()));
    answer_print(out);
    instance_reply_free(probe->reader);
    probe->reader = NULL;
    arena_clear(&probe->arena);
    probe->machines = probe->pages = 0;
    ended(probe);
}

static void ask_page(struct probe *probe)
{
    struct arena arena;
    arena_init(&arena);
    struct param *input = param_new_map(&arena);
    if (probe->options.page > 0) {
        param_add_number(input, "MaxResults", probe->options.page, &arena);
    }
    if (probe->token.len > 0) {
        param_add_text(input, "NextToken", probe->token, &arena);
    }
    struct aws_request request = {.service = AWS_EC2,
                                  .action = "DescribeInstances",
                                  .input = input,
                                  .deadline_ms = probe->options.deadline_ms,
                                  .begin = begin_page,
                                  .bytes = feed_page,
                                  .check = end_page,
                                  .done = on_page,
                                  .context = probe};
    aws_call_start(probe->client, &request);
    arena_clear(&arena);
}

/* ---- any call ---- */

static void add_params(struct param *parent, const char *name, json_t *value, struct arena *arena)
{
    const char *key;
    json_t *inner;
    size_t i;
    if (json_is_string(value)) {
        param_add_text(parent, name, str_from(json_string_value(value)), arena);
    } else if (json_is_integer(value)) {
        param_add_number(parent, name, json_integer_value(value), arena);
    } else if (json_is_boolean(value)) {
        param_add_bool(parent, name, json_is_true(value), arena);
    } else if (json_is_array(value)) {
        struct param *list = param_add_list(parent, name, arena);
        json_array_foreach(value, i, inner)
        {
            add_params(list, "", inner, arena);
        }
    } else {
        struct param *map = param_add_map(parent, name, arena);
        json_object_foreach(value, key, inner)
        {
            add_params(map, key, inner, arena);
        }
    }
}

static void start_call(struct probe *probe, struct aws_request *request)
{
    struct arena arena;
    arena_init(&arena);
    const struct options *options = &probe->options;
    json_t *json = json_loads(options->words[2] ? options->words[2] : "{}", 0, NULL);
    struct param *input = param_new_map(&arena);
    const char *key;
    json_t *value;
    json_object_foreach(json, key, value)
    {
        add_params(input, key, value, &arena);
    }
    request->action = options->words[1];
    request->input = input;
    for (enum aws_service i = 0; i < AWS_SERVICE_COUNT; i++) {
        if (strcmp(aws_service_name(i), options->words[0]) == 0) {
            request->service = i;
        }
    }
    if (strcmp(options->verb, "pages") == 0) {
        aws_pages_start(probe->client, request, on_pages, probe);
    } else {
        aws_call_start(probe->client, request);
    }
    json_decref(json);
    arena_clear(&arena);
}

static void start(struct probe *probe)
{
    const struct options *options = &probe->options;
    struct aws_request request = {.service = AWS_STS,
                                  .action = "GetCallerIdentity",
                                  .deadline_ms = options->deadline_ms,
                                  .care = strcmp(options->care, "once") == 0 ? AWS_ONCE
                                          : strcmp(options->care, "repeatable") == 0
                                              ? AWS_REPEATABLE
                                              : AWS_READ,
                                  .settles = options->settles != 0,
                                  .done = options->words[0] ? on_call : on_identity,
                                  .context = probe};
    probe->left--;
    probe->under_way++;
    if (strcmp(options->verb, "list") == 0) {
        probe->token = STR("");
        ask_page(probe);
    } else if (options->words[0]) {
        start_call(probe, &request);
    } else {
        aws_call_start(probe->client, &request);
    }
}

static void start_next(void *context)
{
    start(context);
}

/* ---- the program ---- */

static bool read_options(char **argv, struct options *options)
{
    struct {
        const char *name;
        const char **text;
        int64_t *number;
    } table[] = {
        {"--profile", &options->profile, NULL},
        {"--region", &options->region, NULL},
        {"--care", &options->care, NULL},
        {"--times", NULL, &options->times},
        {"--at-once", NULL, &options->at_once},
        {"--every", NULL, &options->every_ms},
        {"--deadline", NULL, &options->deadline_ms},
        {"--page", NULL, &options->page},
        {"--settles", NULL, &options->settles},
    };
    *options = (struct options){.care = "read", .times = 1};
    for (; *argv && strncmp(*argv, "--", 2) == 0; argv += 2) {
        size_t i = 0;
        while (i < ARRAY_LEN(table) && strcmp(table[i].name, *argv) != 0) {
            i++;
        }
        if (i == ARRAY_LEN(table) || !argv[1] ||
            (table[i].number && !str_to_i64(str_from(argv[1]), table[i].number))) {
            return false;
        }
        if (table[i].text) {
            *table[i].text = argv[1];
        }
    }
    options->verb = *argv;
    for (size_t i = 0; i < 3 && *argv && argv[1]; i++) {
        options->words[i] = *++argv;
    }
    return options->verb != NULL;
}

static bool open_all(struct probe *probe, struct err *err)
{
    static const struct http_limits limits = {0};
    probe->redact = redact_new();
    probe->log_to = STDERR_FILENO;
    probe->log = (struct log){&clock_of_machine, probe->redact, LOG_LEVEL_INFO, log_to_descriptor,
                              &probe->log_to};
    if (!loop_open(&clock_of_machine, &probe->loop, err) ||
        !http_open(probe->loop, &limits, &probe->http, err)) {
        return false;
    }
    probe->children = child_pool_new(probe->loop, 4);
    probe->timer = loop_timer_new(probe->loop, start_next, probe);
    struct aws_client_setup setup = {.loop = probe->loop,
                                     .http = probe->http,
                                     .children = probe->children,
                                     .log = &probe->log,
                                     .redact = probe->redact,
                                     .environ = (aws_environ)environ,
                                     .profile = str_from(probe->options.profile),
                                     .region = str_from(probe->options.region),
                                     .seed = (uint64_t)getpid()};
    if (!aws_client_open(&setup, &probe->client, err)) {
        return false;
    }
    /* A lease without an end: what is tried here is the client, not who may use it. */
    aws_client_set_lease(probe->client, &(struct aws_lease){INT64_MAX, INT64_MAX});
    return true;
}

int main(int argc, char **argv)
{
    struct probe probe = {0};
    struct err err;
    (void)argc;
    if (!read_options(argv + 1, &probe.options)) {
        fputs("see the head of aws_probe.c\n", stderr);
        return 2;
    }
    arena_init(&probe.arena);
    if (!open_all(&probe, &err)) {
        json_t *out = json_pack("{s:b, s:s, s:s}", "ok", 0, "error", err.text, "kind",
                                err_kind_name(err.kind));
        answer_print(out);
    } else {
        probe.left = probe.options.times;
        do {
            start(&probe);
        } while (probe.options.at_once && probe.left > 0);
        loop_run(probe.loop);
        aws_client_close(probe.client);
    }
    child_pool_free(probe.children);
    loop_timer_free(probe.timer);
    http_close(probe.http);
    loop_close(probe.loop);
    redact_free(probe.redact);
    arena_clear(&probe.arena);
    return probe.failures > 0 || !probe.client ? 1 : 0;
}
