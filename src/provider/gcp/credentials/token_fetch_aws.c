/*
 * token_fetch_aws.c: the token of an AWS identity: a signed GetCallerIdentity request, which Google
 * sends to AWS. The keys come from the environment or from the instance's metadata service.
 */
#include "base/encode.h"
#include "provider/gcp/credentials/token_fetch_internal.h"
#include "provider/sigv4.h"
#include "provider/variable.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { SUBJECT_BYTES_MAX = 64 * 1024, NAME_BYTES_MAX = 128 };

struct aws_subject_keys {
    struct str access_key, secret_key;
    struct str session_token; /* may be empty */
};

/* ---- the signed request ---- */

/* Splits "https://host/path?query". */
static void aws_subject_split(struct str url, struct sigv4_request *request)
{
    struct str rest = str_sub(url, strlen("https://"), url.len);
    size_t end = 0;
    while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '?') {
        end++;
    }
    request->host = str_sub(rest, 0, end);
    rest = str_sub(rest, end, rest.len);
    request->path = str_cut(&rest, '?');
    if (request->path.len == 0) {
        request->path = STR("/");
    }
    request->query = rest;
}

/* The region's place holder, at most once. */
static struct str aws_subject_url(struct token_fetch *fetch)
{
    static const char holder[] = "{region}";
    struct str url = fetch->file.subject.verify_url;
    size_t at = str_find(url, holder);
    return at == SIZE_MAX ? url
                          : arena_printf(&fetch->arena, "%.*s%.*s%.*s",
                                         STR_ARG(str_sub(url, 0, at)), STR_ARG(fetch->region),
                                         STR_ARG(str_sub(url, at + sizeof(holder) - 1, url.len)));
}

static void aws_subject_add(json_t *list, const char *key, struct str value)
{
    json_array_append_new(list,
                          json_pack("{s:s, s:s%}", "key", key, "value", value.ptr, value.len));
}

static struct str aws_subject_result(const struct sigv4_result *result, const char *name)
{
    for (size_t i = 0; i < result->header_count; i++) {
        struct str found = result->headers[i].name;
        if (found.len == strlen(name) && strncasecmp(found.ptr, name, found.len) == 0) {
            return result->headers[i].value;
        }
    }
    return STR("");
}

static void aws_subject_sign(struct token_fetch *fetch, const struct aws_subject_keys *keys)
{
    struct sigv4_request request = {.method = STR("POST")};
    struct sigv4_result result;
    struct str url = aws_subject_url(fetch);
    aws_subject_split(url, &request);
    struct str service = str_sub(request.host, 0, str_find_char(request.host, '.'));
    if (str_ends(service, "-fips")) {
        service = str_sub(service, 0, service.len - strlen("-fips"));
    }
    struct sigv4_signer signer = {.access_key = keys->access_key,
                                  .secret_key = keys->secret_key,
                                  .session_token = keys->session_token,
                                  .region = fetch->region,
                                  .service = service,
                                  .time = token_fetch_now(fetch)};
    sigv4_sign(&request, &signer, &fetch->arena, &result);
    json_t *headers = json_array();
    aws_subject_add(headers, "Authorization", aws_subject_result(&result, "Authorization"));
    aws_subject_add(headers, "host", request.host);
    aws_subject_add(headers, "x-amz-date", aws_subject_result(&result, "X-Amz-Date"));
    if (keys->session_token.len > 0) {
        aws_subject_add(headers, "x-amz-security-token", keys->session_token);
    }
    aws_subject_add(headers, "x-goog-cloud-target-resource", fetch->file.audience);
    bool is_text = json_array_size(headers) == (keys->session_token.len > 0 ? 5 : 4);
    json_t *json = json_pack("{s:o, s:s, s:s%}", "headers", headers, "method", "POST", "url",
                             url.ptr, url.len);
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII) : NULL;
    json_decref(json);
    if (!text || !is_text) {
        free(text);
        token_fetch_fail(fetch, ERR_AUTH, "the AWS keys are not text");
        return;
    }
    AUTO_BUF struct buf subject;
    buf_init(&subject, SUBJECT_BYTES_MAX);
    encode_uri(&subject, str_from(text), "/");
    free(text);
    token_fetch_exchange(fetch, arena_str(&fetch->arena, buf_str(&subject)));
}

/* ---- the metadata service ---- */

static void aws_subject_ask(struct token_fetch *fetch, struct str url,
                            void (*answered)(void *, const struct http_reply *))
{
    struct question question = {.url = url, .is_direct = true, .answered = answered};
    if (fetch->session.len > 0) {
        question.headers[question.header_count++] = (struct http_header){
            STR("X-aws-ec2-metadata-token"), fetch->session};
    }
    asker_ask(&fetch->asker, &question);
}

static void aws_subject_on_session(void *context, const struct http_reply *reply)
{
    struct token_fetch *fetch = context;
    if (!token_fetch_is_answer(fetch, reply, "the AWS metadata service")) {
        return;
    }
    if (!token_is_sendable(reply->body)) {
        token_fetch_fail(fetch, ERR_PROTOCOL, "the AWS metadata service returned no session");
        return;
    }
    fetch->session = arena_str(&fetch->arena, reply->body);
    token_fetch_learn(fetch, fetch->session);
    fetch->session_next(fetch);
}

/* Asks for a session first if the file says so, each time, as in google-auth. */
static void aws_subject_begin(struct token_fetch *fetch, void (*next)(struct token_fetch *))
{
    struct question question = {
        .method = "PUT",
        .url = fetch->file.subject.session_url,
        .headers = {{STR("X-aws-ec2-metadata-token-ttl-seconds"), STR("300")}},
        .header_count = 1,
        .is_direct = true,
        .answered = aws_subject_on_session,
    };
    fetch->session_next = next;
    if (question.url.len == 0) {
        next(fetch);
        return;
    }
    asker_ask(&fetch->asker, &question);
}

/* ---- keys ---- */

static void aws_subject_on_keys(void *context, const struct http_reply *reply)
{
    struct token_fetch *fetch = context;
    struct aws_subject_keys keys = {0};
    struct err err = {0};
    struct arena *arena = &fetch->arena;
    if (!token_fetch_is_answer(fetch, reply, "the AWS metadata service")) {
        return;
    }
    if (!token_field_read(reply->body, STR("AccessKeyId"), arena, &keys.access_key, &err) ||
        !token_field_read(reply->body, STR("SecretAccessKey"), arena, &keys.secret_key, &err) ||
        !token_field_read(reply->body, STR("Token"), arena, &keys.session_token, &err)) {
        token_fetch_fail(fetch, err.kind, "invalid reply of the AWS metadata service: %s",
                         err.text);
        return;
    }
    token_fetch_learn(fetch, keys.secret_key);
    token_fetch_learn(fetch, keys.session_token);
    aws_subject_sign(fetch, &keys);
}

static void aws_subject_on_role(void *context, const struct http_reply *reply)
{
    struct token_fetch *fetch = context;
    if (!token_fetch_is_answer(fetch, reply, "the AWS metadata service")) {
        return;
    }
    if (reply->body.len > NAME_BYTES_MAX || !token_is_sendable(reply->body)) {
        token_fetch_fail(fetch, ERR_PROTOCOL, "the AWS metadata service returned no role name");
        return;
    }
    aws_subject_ask(fetch,
                    arena_printf(&fetch->arena, "%.*s/%.*s", STR_ARG(fetch->file.subject.place),
                                 STR_ARG(reply->body)),
                    aws_subject_on_keys);
}

static void aws_subject_ask_role(struct token_fetch *fetch)
{
    if (fetch->file.subject.place.len == 0) {
        token_fetch_fail(fetch, ERR_AUTH,
                         "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and "
                         "credential_source.url is missing");
        return;
    }
    aws_subject_ask(fetch, fetch->file.subject.place, aws_subject_on_role);
}

static void aws_subject_find_keys(struct token_fetch *fetch)
{
    const char *const *env = fetch->setup->environ;
    struct aws_subject_keys keys = {
        .access_key = str_from(variable_get(env, "AWS_ACCESS_KEY_ID")),
        .secret_key = str_from(variable_get(env, "AWS_SECRET_ACCESS_KEY")),
        .session_token = str_from(variable_get(env, "AWS_SESSION_TOKEN"))};
    if (keys.access_key.len == 0 || keys.secret_key.len == 0) {
        aws_subject_begin(fetch, aws_subject_ask_role);
        return;
    }
    token_fetch_learn(fetch, keys.secret_key);
    token_fetch_learn(fetch, keys.session_token);
    aws_subject_sign(fetch, &keys);
}

/* ---- the region ---- */

static void aws_subject_on_region(void *context, const struct http_reply *reply)
{
    struct token_fetch *fetch = context;
    if (!token_fetch_is_answer(fetch, reply, "the AWS metadata service")) {
        return;
    }
    /* A zone: "us-east-1b". */
    struct str region = str_sub(reply->body, 0, reply->body.len > 0 ? reply->body.len - 1 : 0);
    if (!adc_is_domain(region)) {
        token_fetch_fail(fetch, ERR_PROTOCOL, "the AWS metadata service returned no zone");
        return;
    }
    fetch->region = arena_str(&fetch->arena, region);
    aws_subject_find_keys(fetch);
}

static void aws_subject_ask_region(struct token_fetch *fetch)
{
    aws_subject_ask(fetch, fetch->file.subject.region_url, aws_subject_on_region);
}

void token_fetch_from_aws(struct token_fetch *fetch)
{
    const char *const *env = fetch->setup->environ;
    const char *region = variable_get(env, "AWS_REGION");
    region = region ? region : variable_get(env, "AWS_DEFAULT_REGION");
    if (!region && fetch->file.subject.region_url.len > 0) {
        aws_subject_begin(fetch, aws_subject_ask_region);
        return;
    }
    if (!region || !adc_is_domain(str_from(region))) {
        token_fetch_fail(fetch, ERR_AUTH, "AWS_REGION is not set, or not a region");
        return;
    }
    fetch->region = str_from(region);
    aws_subject_find_keys(fetch);
}
