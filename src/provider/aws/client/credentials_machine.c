/* credentials_machine.c: credentials from a container's or EC2's metadata service. */
#include "provider/aws/client/credentials_internal.h"

#include <string.h>

enum {
    TRIES_MAX = 2,
    IMDS_CONNECT_MS = 1000, /* outside AWS nothing answers at that address */
    IMDS_TOTAL_MS = 2000,
    CONTAINER_TOTAL_MS = 5000,
};

/* ---- requests ---- */

static void credentials_machine_request(struct credentials_fetch *fetch);

static void on_answer(void *context, const struct http_reply *reply)
{
    struct credentials_fetch *fetch = context;
    bool is_well = reply->outcome == HTTP_REPLIED && reply->status < 500;
    fetch->http = NULL;
    if (!is_well && fetch->tries < TRIES_MAX) {
        credentials_machine_request(fetch);
        return;
    }
    fetch->question.answered(fetch, reply);
}

static void credentials_machine_request(struct credentials_fetch *fetch)
{
    const struct fetch_question *question = &fetch->question;
    bool is_imds = fetch->source->kind == SOURCE_IMDS;
    /* Keys must not go through a proxy. The client's certificates are for AWS, but a user's own
     * https endpoint is most likely covered by them too. */
    struct http_request request = {
        .method = question->method,
        .url = question->url.ptr,
        .headers = question->headers,
        .header_count = question->header_count,
        .version = HTTP_VERSION_1_1,
        .is_direct = is_imds || str_starts(question->url, "http://"),
        .ca_file = fetch->client->ca_file,
        .connect_ms = IMDS_CONNECT_MS,
        .total_ms = is_imds ? IMDS_TOTAL_MS : CONTAINER_TOTAL_MS,
        .body_max = CREDENTIAL_BYTES_MAX,
        .done = on_answer,
        .context = fetch,
    };
    fetch->tries++;
    fetch->http = http_start(fetch->client->setup.http, &request);
}

static void ask_new(struct credentials_fetch *fetch, const char *method, struct str url,
                    struct http_header header,
                    void (*answered)(struct credentials_fetch *, const struct http_reply *))
{
    fetch->tries = 0;
    fetch->question = (struct fetch_question){.method = method,
                                              .url = url,
                                              .headers = {header},
                                              .header_count = header.name.len > 0 ? 1 : 0,
                                              .answered = answered};
    credentials_machine_request(fetch);
}

/* True for a complete reply with status 200; otherwise fails the fetch. */
static bool is_answer(struct credentials_fetch *fetch, const struct http_reply *reply)
{
    if (reply->outcome != HTTP_REPLIED) {
        fetch_fail(fetch, reply->err.kind, "%s", reply->err.text);
    } else if (reply->status != 200) {
        fetch_fail(fetch, reply->status >= 500 ? ERR_UNAVAILABLE : ERR_AUTH,
                   "the credential service answered with HTTP status %d", reply->status);
    }
    return reply->outcome == HTTP_REPLIED && reply->status == 200;
}

/* ---- containers ---- */

static void on_container(struct credentials_fetch *fetch, const struct http_reply *reply)
{
    struct aws_credentials keys;
    struct err err = {0};
    if (!is_answer(fetch, reply)) {
        return;
    }
    if (!credential_from_container(reply->body, &fetch->arena, &keys, &err)) {
        fetch_fail(fetch, err.kind, "invalid response from the credential service: %s", err.text);
        return;
    }
    fetch_take_keys(fetch, &keys);
}

void fetch_from_container(struct credentials_fetch *fetch)
{
    const struct aws_source *source = fetch->source;
    struct str token = source->container.token;
    struct http_header header = {0};
    if (source->container.token_path.len > 0 &&
        !fetch_read_file(fetch, source->container.token_path, &token)) {
        return;
    }
    if (token.len > 0) {
        fetch_learn(fetch, token);
        header = (struct http_header){STR("Authorization"), token};
    }
    ask_new(fetch, "GET", arena_str(&fetch->arena, source->container.url), header, on_container);
}

/* ---- EC2 instances ---- */

static struct http_header token_header(const struct credentials_fetch *fetch)
{
    return (struct http_header){STR("X-aws-ec2-metadata-token"), fetch->token};
}

static struct str imds_url(struct credentials_fetch *fetch, const char *path, struct str name)
{
    return arena_printf(&fetch->arena, "%.*slatest/%s%.*s", STR_ARG(fetch->source->imds.endpoint),
                        path, STR_ARG(name));
}

static void on_imds_keys(struct credentials_fetch *fetch, const struct http_reply *reply)
{
    struct aws_credentials keys;
    struct err err = {0};
    if (!is_answer(fetch, reply)) {
        return;
    }
    if (!credential_from_imds(reply->body, &fetch->arena, &keys, &err)) {
        fetch_fail(fetch, err.kind, "invalid response from the metadata service: %s", err.text);
        return;
    }
    fetch_take_keys(fetch, &keys);
}

/* A role's name becomes part of a URL. */
static bool is_role_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_plain && !strchr("+=,.@_-", c)) {
            return false;
        }
    }
    return name.len > 0 && name.len <= 128;
}

static void on_role_name(struct credentials_fetch *fetch, const struct http_reply *reply)
{
    struct str rest = reply->body;
    if (reply->outcome == HTTP_REPLIED && reply->status == 404) {
        fetch_fail(fetch, ERR_AUTH, "this machine has no IAM role (instance profile)");
        return;
    }
    if (!is_answer(fetch, reply)) {
        return;
    }
    struct str name = str_trim(str_cut(&rest, '\n'));
    if (!is_role_name(name)) {
        fetch_fail(fetch, ERR_PROTOCOL, "the metadata service did not return a role name");
        return;
    }
    ask_new(fetch, "GET", imds_url(fetch, "meta-data/iam/security-credentials/", name),
            token_header(fetch), on_imds_keys);
}

static void credentials_machine_on_token(struct credentials_fetch *fetch,
                                         const struct http_reply *reply)
{
    bool is_nobody = reply->outcome != HTTP_REPLIED;
    if (is_nobody && fetch->plan.sources[fetch->decider].kind == SOURCE_IMDS) {
        fetch->name = STR("");
        fetch_fail(fetch, ERR_AUTH,
                   "no AWS credentials found: no source is configured, and no metadata service "
                   "answers at %.*s",
                   STR_ARG(fetch->source->imds.endpoint));
        return;
    }
    if (!is_answer(fetch, reply)) {
        return;
    }
    fetch->token = arena_str(&fetch->arena, str_trim(reply->body));
    ask_new(fetch, "GET", imds_url(fetch, "meta-data/iam/security-credentials/", STR("")),
            token_header(fetch), on_role_name);
}

void fetch_from_imds(struct credentials_fetch *fetch)
{
    struct http_header life = {STR("X-aws-ec2-metadata-token-ttl-seconds"), STR("21600")};
    ask_new(fetch, "PUT", imds_url(fetch, "api/token", STR("")), life,
            credentials_machine_on_token);
}
