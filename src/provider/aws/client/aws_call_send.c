/* aws_call_send.c: encodes a call: protocol of the service, headers, signature. */
#include "provider/aws/client/aws_client_internal.h"
#include "provider/aws/wire/aws_json.h"
#include "provider/aws/wire/query.h"
#include "provider/aws/wire/xml_reply.h"
#include "provider/sigv4.h"

#include <jansson.h>
#include <string.h>

enum {
    BODY_SENT_MAX = 2 * 1024 * 1024,
    HEADERS_MAX = SIGV4_HEADERS_MAX + 5,
    SLOW_SECONDS = 20,
};

/* ---- protocols of the services ---- */

enum form { FORM_QUERY, FORM_JSON, FORM_REST };

static const struct {
    enum form form;
    enum query_service query;
    const char *target; /* prefix of the action in X-Amz-Target */
} forms[AWS_SERVICE_COUNT] = {
    [AWS_EC2] = {FORM_QUERY, QUERY_EC2, NULL},
    [AWS_STS] = {FORM_QUERY, QUERY_STS, NULL},
    [AWS_IAM] = {FORM_QUERY, QUERY_IAM, NULL},
    [AWS_SSM] = {FORM_JSON, 0, "AmazonSSM"},
    [AWS_S3] = {FORM_REST, 0, NULL},
    [AWS_PRICING] = {FORM_JSON, 0, "AWSPriceListService"},
    [AWS_SSO] = {FORM_REST, 0, NULL},
    [AWS_SSO_OIDC] = {FORM_REST, 0, NULL},
    [AWS_QUOTAS] = {FORM_JSON, 0, "ServiceQuotasV20190624"},
};

/* Global services can be called before a region was chosen. */
static struct str aws_call_send_region_of(const struct aws_call *call)
{
    struct str region = call->request.region.len > 0 ? call->request.region : call->client->region;
    bool is_global = call->request.service == AWS_IAM || call->request.service == AWS_STS ||
                     call->request.service == AWS_PRICING;
    return region.len == 0 && is_global ? STR("us-east-1") : region;
}

/* Extracts "RunInstances" from "Action=RunInstances&...". */
static const char *action_of_body(struct str body, struct arena *arena)
{
    struct str first = str_cut(&body, '&');
    bool is_first = str_starts(first, "Action=");
    return is_first ? arena_str(arena, str_sub(first, strlen("Action="), first.len)).ptr : "call";
}

static bool write_body(struct aws_call *call, struct err *err)
{
    struct aws_request *request = &call->request;
    struct buf body;
    buf_init(&body, BODY_SENT_MAX);
    bool ok = true;
    if (forms[request->service].form == FORM_QUERY) {
        ok = query_write(forms[request->service].query, request->action, request->input, &body,
                         err);
    } else if (forms[request->service].form == FORM_JSON) {
        ok = aws_json_write(request->input, &body, err);
    }
    request->body = arena_str(&call->arena, buf_str(&body));
    request->input = NULL;
    buf_wipe(&body);
    return ok;
}

static enum aws_pace pace_of(const struct aws_call *call)
{
    if (call->request.care == AWS_READ) {
        return PACE_READ;
    }
    bool is_launch = strcmp(call->request.action, "RunInstances") == 0 ||
                     strcmp(call->request.action, "StartInstances") == 0;
    return is_launch ? PACE_LAUNCH : PACE_CHANGE;
}

bool aws_call_prepare(struct aws_call *call, struct err *err)
{
    struct aws_request *request = &call->request;
    request->region = arena_str(&call->arena, aws_call_send_region_of(call));
    if (request->body.len > 0) {
        request->body = arena_str(&call->arena, request->body);
        request->action = request->action ? arena_str(&call->arena, str_from(request->action)).ptr
                                          : action_of_body(request->body, &call->arena);
        request->input = NULL;
    } else {
        request->action = arena_str(&call->arena, str_from(request->action)).ptr;
        if (!write_body(call, err)) {
            return false;
        }
    }
    call->creates = request->care != AWS_READ && !request->needs_no_lease &&
                    aws_lease_covers(request->service, request->action, request->body);
    call->lane = aws_lane_of(call->client, request->service, request->region, pace_of(call));
    return aws_endpoint_find(&call->client->profiles, request->service, request->region,
                             &call->arena, &call->endpoint, err);
}

/* ---- sending ---- */

struct headers {
    struct sigv4_header items[HEADERS_MAX];
    size_t count;
};

static void aws_call_send_add(struct headers *headers, struct str name, struct str value)
{
    headers->items[headers->count++] = (struct sigv4_header){name, value};
}

static void add_form_headers(const struct aws_call *call, struct headers *headers,
                             struct arena *arena)
{
    const struct aws_request *request = &call->request;
    switch (forms[request->service].form) {
    case FORM_QUERY:
        aws_call_send_add(headers, STR("Content-Type"),
                          STR("application/x-www-form-urlencoded; charset=utf-8"));
        break;
    case FORM_JSON:
        aws_call_send_add(headers, STR("Content-Type"), STR("application/x-amz-json-1.1"));
        aws_call_send_add(
            headers, STR("X-Amz-Target"),
            arena_printf(arena, "%s.%s", forms[request->service].target, request->action));
        break;
    case FORM_REST:
        if (call->way.content_type) {
            aws_call_send_add(headers, STR("Content-Type"), str_from(call->way.content_type));
        }
        break;
    }
    if (call->way.header.name.len > 0) {
        aws_call_send_add(headers, call->way.header.name, call->way.header.value);
    }
}

static void aws_call_send_sign(const struct aws_call *call, const struct aws_credentials *keys,
                               struct str path, const char *method, struct headers *headers,
                               struct arena *arena)
{
    struct str query = path;
    struct str bare = str_cut(&query, '?');
    struct sigv4_request request = {.method = str_from(method),
                                    .host = call->endpoint.host,
                                    .path = bare,
                                    .query = query,
                                    .headers = headers->items,
                                    .header_count = headers->count,
                                    .body = call->request.body,
                                    .payload = SIGV4_BODY};
    struct sigv4_signer signer = {.access_key = keys->access_key,
                                  .secret_key = keys->secret_key,
                                  .session_token = keys->session_token,
                                  .region = call->endpoint.signing_region,
                                  .service = call->endpoint.signing_name,
                                  .time = aws_client_now(call->client)};
    struct sigv4_result result;
    sigv4_sign(&request, &signer, arena, &result);
    for (size_t i = 0; i < result.header_count; i++) {
        aws_call_send_add(headers, result.headers[i].name, result.headers[i].value);
    }
}

static bool may_create(void *context)
{
    const struct aws_call *call = context;
    return aws_client_has_lease(call->client);
}

void aws_call_send(struct aws_call *call, const struct aws_credentials *keys, http_bytes_fn *bytes,
                   http_done_fn *done)
{
    struct headers headers = {.count = 0};
    struct http_header sent[HEADERS_MAX];
    struct arena arena;
    const char *method = call->way.method ? call->way.method : "POST";
    arena_init_secret(&arena);
    struct str path = arena_printf(&arena, "%.*s%.*s", STR_ARG(call->endpoint.path),
                                   STR_ARG(call->way.path.len > 0 ? call->way.path : STR("/")));
    struct str url = arena_printf(&arena, "http%s://%.*s%.*s", call->endpoint.is_tls ? "s" : "",
                                  STR_ARG(call->endpoint.host), STR_ARG(path));
    add_form_headers(call, &headers, &arena);
    if (keys) {
        aws_call_send_sign(call, keys, path, method, &headers, &arena);
    }
    /* Explicit, because the Host header is signed and libcurl might change its port. */
    aws_call_send_add(&headers, STR("Host"), call->endpoint.host);
    aws_call_send_add(&headers, STR("User-Agent"), STR("shoal"));
    for (size_t i = 0; i < headers.count; i++) {
        sent[i] = (struct http_header){headers.items[i].name, headers.items[i].value};
    }
    bool is_once = call->request.care == AWS_ONCE;
    struct http_request request = {
        .method = method,
        .url = url.ptr,
        .headers = sent,
        .header_count = headers.count,
        .body = call->request.body,
        .version = HTTP_VERSION_1_1,
        .is_once = is_once,
        .ca_file = call->client->ca_file,
        .total_ms = call->ends_ms - loop_now_ms(call->client->setup.loop),
        /* A stalled connection is aborted early if a retry is safe. */
        .slow_bytes = 1,
        .slow_seconds = is_once ? 0 : SLOW_SECONDS,
        .body_max = call->request.body_max,
        .may_send = call->creates ? may_create : NULL,
        .bytes = bytes,
        .done = done,
        .context = call,
    };
    call->http = http_start(call->client->setup.http, &request);
    arena_clear(&arena);
}

/* ---- checking the reply ---- */

/* Checks that the body is XML with the root element of this action. */
struct root_check {
    const char *action;
    bool has_root, is_right;
};

static bool aws_call_send_on_start(void *context, struct str name, struct err *err)
{
    struct root_check *check = context;
    (void)err;
    if (!check->has_root) {
        size_t len = strlen(check->action);
        check->has_root = true;
        check->is_right = str_is(str_sub(name, len, name.len), "Response") &&
                          str_starts(name, check->action);
    }
    return true;
}

static bool aws_call_send_on_text(void *context, struct str text, struct err *err)
{
    (void)context;
    (void)text;
    (void)err;
    return true;
}

static bool aws_call_send_on_end(void *context, struct err *err)
{
    (void)context;
    (void)err;
    return true;
}

static bool check_xml(const char *action, struct str body, struct err *err)
{
    static const struct xml_listener listener = {aws_call_send_on_start, aws_call_send_on_text,
                                                 aws_call_send_on_end};
    struct root_check check = {.action = action};
    struct xml_reply *reply = xml_reply_new(&listener, &check);
    bool ok = xml_reply_feed(reply, body, err) && xml_reply_end(reply, err);
    xml_reply_free(reply);
    return ok && (check.is_right ||
                  err_set(err, ERR_PROTOCOL, "the XML is not a response to %s", action));
}

bool aws_call_check(const struct aws_call *call, struct str body, struct err *err)
{
    json_error_t where;
    if (forms[call->request.service].form == FORM_QUERY) {
        return check_xml(call->request.action, body, err);
    }
    json_t *json = json_loadb(body.ptr, body.len, JSON_REJECT_DUPLICATES, &where);
    bool is_object = json_is_object(json);
    json_decref(json);
    return is_object || err_set(err, ERR_PROTOCOL, "not a JSON object");
}
