/* aws_client.c: the client object and the queues of its calls. */
#include "provider/aws/client/aws_client.h"

#include "io/file.h"
#include "provider/aws/client/aws_client_internal.h"

#include <string.h>

enum {
    FILE_BYTES_MAX = 4 * 1024 * 1024,
    PATH_BYTES_MAX = 4096,
    AGAIN_TOKENS = 20,
    AGAIN_RATE_MILLI = 1000,
};

/* ---- files ---- */

static bool aws_client_is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Expands "$NAME" or "${NAME}" at the start of `rest`; an unset variable is left unchanged. */
static size_t aws_client_add_variable(struct buf *out, aws_environ env, struct str rest)
{
    char name[256];
    bool has_brace = rest.len > 1 && rest.ptr[1] == '{';
    size_t from = has_brace ? 2 : 1;
    size_t to = from;
    while (to < rest.len &&
           (has_brace ? rest.ptr[to] != '}' : aws_client_is_name_char(rest.ptr[to]))) {
        to++;
    }
    size_t end = has_brace ? to + 1 : to;
    if (to == from || end > rest.len || to - from >= sizeof(name)) {
        buf_add_char(out, '$');
        return 1;
    }
    memcpy(name, rest.ptr + from, to - from);
    name[to - from] = '\0';
    const char *value = variable_get(env, name);
    buf_add(out, value ? str_from(value) : str_sub(rest, 0, end));
    return end;
}

struct str aws_client_expand(aws_environ env, struct str path, struct arena *arena)
{
    AUTO_BUF struct buf out;
    buf_init(&out, PATH_BYTES_MAX);
    for (size_t i = 0; i < path.len;) {
        struct str rest = str_sub(path, i, path.len);
        if (rest.ptr[0] == '$') {
            i += aws_client_add_variable(&out, env, rest);
        } else {
            buf_add_char(&out, path.ptr[i++]);
        }
    }
    struct str expanded = buf_str(&out);
    const char *home = variable_get(env, "HOME");
    if (home && *home && (str_is(expanded, "~") || str_starts(expanded, "~/"))) {
        return arena_printf(arena, "%s%.*s", home, STR_ARG(str_sub(expanded, 1, expanded.len)));
    }
    return arena_str(arena, expanded);
}

/* A missing file is not an error. */
static bool read_shared_file(aws_environ env, struct str path, struct arena *arena,
                             struct str *ret_text, bool *ret_is_there, struct err *err)
{
    struct buf bytes;
    struct str full = aws_client_expand(env, path, arena);
    *ret_is_there = full.len > 0 && file_stat(full.ptr).kind != FILE_MISSING;
    *ret_text = STR("");
    if (!*ret_is_there) {
        return true;
    }
    buf_init(&bytes, FILE_BYTES_MAX);
    bool ok = file_read(full.ptr, &bytes, err);
    if (ok) {
        *ret_text = arena_str(arena, buf_str(&bytes));
    }
    buf_wipe(&bytes);
    return ok;
}

bool aws_client_load_profiles(const struct aws_client_setup *setup, struct arena *arena,
                              struct aws_profiles *ret_profiles, struct err *err)
{
    struct aws_profile_input input = {.environ = setup->environ, .named = setup->profile};
    return read_shared_file(setup->environ, aws_config_path(setup->environ), arena, &input.config,
                            &input.has_config, err) &&
           read_shared_file(setup->environ, aws_credentials_path(setup->environ), arena,
                            &input.credentials, &input.has_credentials, err) &&
           aws_profiles_load(&input, arena, ret_profiles, err);
}

/* AWS_CA_BUNDLE, then the profile's ca_bundle. They override the general variables of http.h. */
static const char *find_certificates(struct aws_client *client)
{
    const struct aws_profiles *profiles = &client->profiles;
    const char *set = variable_get(profiles->environ, "AWS_CA_BUNDLE");
    const struct ini_option *option = aws_profile_option(
        profiles, aws_profile_find(profiles, profiles->active), "ca_bundle");
    struct str path = set && *set                 ? str_from(set)
                      : option && !option->nested ? option->value
                                                  : STR("");
    return path.len > 0 ? aws_client_expand(profiles->environ, path, &client->arena).ptr : NULL;
}

/* ---- queues ---- */

/*
 * Tokens, and thousandths of a token per second. EC2 documents 100 and 20 for each reading action
 * (50 and 10 without filter and page size), 50 and 5 for changes, 5 and 2 for launches; ours apply
 * to all actions of a kind together. Other services document less; their values are conservative.
 */
static const struct {
    int64_t tokens, rate_milli;
} ec2_paces[PACE_COUNT] = {{40, 9000}, {40, 4500}, {4, 1800}},
  s3_paces[PACE_COUNT] = {{100, 100000}, {100, 100000}, {100, 100000}}, /* far below its limit */
    other_paces[PACE_COUNT] = {{20, 8000}, {10, 3000}, {10, 3000}};

static void aws_client_give_turns(void *context)
{
    struct aws_lane *lane = context;
    struct loop *loop = lane->client->setup.loop;
    while (lane->first && aws_bucket_take(&lane->bucket, loop_now_ms(loop))) {
        struct aws_call *call = lane->first;
        aws_lane_leave(lane, call);
        aws_call_take_turn(call);
    }
    if (lane->first) {
        loop_timer_start(lane->timer, aws_bucket_wait_ms(&lane->bucket, loop_now_ms(loop)));
    }
}

void aws_lane_join(struct aws_lane *lane, struct aws_call *call)
{
    call->lane_before = lane->last;
    call->lane_next = NULL;
    *(lane->last ? &lane->last->lane_next : &lane->first) = call;
    lane->last = call;
    if (lane->first == call) {
        aws_client_give_turns(lane); /* safe here: http.h never calls back from inside its start */
    }
}

void aws_lane_leave(struct aws_lane *lane, struct aws_call *call)
{
    *(call->lane_before ? &call->lane_before->lane_next : &lane->first) = call->lane_next;
    *(call->lane_next ? &call->lane_next->lane_before : &lane->last) = call->lane_before;
    call->lane_next = call->lane_before = NULL;
    if (!lane->first) {
        loop_timer_stop(lane->timer);
    }
}

struct aws_lane *aws_lane_of(struct aws_client *client, enum aws_service service, struct str region,
                             enum aws_pace pace)
{
    for (struct aws_lane *lane = client->lanes; lane; lane = lane->next) {
        if (lane->service == service && lane->pace == pace && str_eq(lane->region, region)) {
            return lane;
        }
    }
    struct aws_lane *lane = ARENA_NEW(&client->arena, struct aws_lane);
    *lane = (struct aws_lane){.client = client,
                              .service = service,
                              .pace = pace,
                              .region = arena_str(&client->arena, region),
                              .next = client->lanes};
    lane->timer = loop_timer_new(client->setup.loop, aws_client_give_turns, lane);
    int64_t now = loop_now_ms(client->setup.loop);
    if (service == AWS_EC2) {
        aws_bucket_init(&lane->bucket, ec2_paces[pace].tokens, ec2_paces[pace].rate_milli, now);
    } else if (service == AWS_S3) {
        aws_bucket_init(&lane->bucket, s3_paces[pace].tokens, s3_paces[pace].rate_milli, now);
    } else {
        aws_bucket_init(&lane->bucket, other_paces[pace].tokens, other_paces[pace].rate_milli, now);
    }
    client->lanes = lane;
    return lane;
}

static void close_lanes(struct aws_client *client)
{
    for (struct aws_lane *lane = client->lanes; lane; lane = lane->next) {
        loop_timer_free(lane->timer);
    }
    client->lanes = NULL;
}

static void open_repeats(struct aws_client *client)
{
    for (size_t service = 0; service < AWS_SERVICE_COUNT; service++) {
        aws_bucket_init(&client->again[service], AGAIN_TOKENS, AGAIN_RATE_MILLI,
                        loop_now_ms(client->setup.loop));
    }
}

/* ---- life cycle ---- */

static void learn_secrets(const struct aws_client *client)
{
    static const char *const names[] = {"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
                                        "AWS_SECURITY_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN"};
    for (size_t i = 0; i < ARRAY_LEN(names) && client->setup.redact; i++) {
        redact_add(client->setup.redact, str_from(variable_get(client->setup.environ, names[i])));
    }
}

bool aws_client_open(const struct aws_client_setup *setup, struct aws_client **ret_client,
                     struct err *err)
{
    struct aws_client *client = HEAP_NEW(struct aws_client);
    client->setup = *setup;
    arena_init_secret(&client->arena);
    client->setup.profile = arena_str(&client->arena, setup->profile);
    if (!aws_client_load_profiles(&client->setup, &client->arena, &client->profiles, err)) {
        arena_clear(&client->arena);
        free(client);
        return false;
    }
    client->region = setup->region.len > 0 ? arena_str(&client->arena, setup->region)
                                           : aws_region(&client->profiles);
    client->setup.region = client->region;
    client->ca_file = find_certificates(client);
    client->rng = (struct rng){setup->seed};
    client->credentials = credentials_new(client);
    learn_secrets(client);
    open_repeats(client);
    *ret_client = client;
    return true;
}

void aws_client_close(struct aws_client *client)
{
    if (!client) {
        return;
    }
    credentials_stop(client->credentials); /* first, because it has calls of its own */
    while (client->calls) {
        aws_call_cancel(client->calls);
    }
    credentials_free(client->credentials);
    close_lanes(client);
    arena_clear(&client->arena);
    free(client);
}

/* ---- accessors ---- */

struct str aws_client_region(const struct aws_client *client)
{
    return client->region;
}

int64_t aws_client_now_ms(const struct aws_client *client)
{
    struct loop *loop = client->setup.loop;
    return client->time.is_known ? server_clock_ms(&client->time, loop_now_ms(loop))
                                 : clock_wall_ms(loop_clock(loop));
}

int64_t aws_client_now(const struct aws_client *client)
{
    return aws_client_now_ms(client) / 1000;
}

struct str aws_client_source(const struct aws_client *client)
{
    return credentials_source(client->credentials);
}

struct str aws_client_sources_report(const struct aws_client *client, struct arena *arena)
{
    return credentials_report(client->credentials, arena);
}

struct aws_client_counts aws_client_counts(const struct aws_client *client)
{
    return client->counts;
}

/* ---- the lease ---- */

void aws_client_set_lease(struct aws_client *client, const struct aws_lease *lease)
{
    client->lease = lease ? *lease : (struct aws_lease){0};
}

bool aws_client_has_lease(const struct aws_client *client)
{
    const struct aws_lease *lease = &client->lease;
    return loop_now_ms(client->setup.loop) + AWS_LEASE_MARGIN_MS < lease->ends_ms &&
           aws_client_now_ms(client) + AWS_LEASE_MARGIN_MS < lease->until_ms;
}
