/* token_fetch_metadata.c: the token of a VM's service account, from the metadata server. */
#include "base/encode.h"
#include "io/file.h"
#include "provider/gcp/credentials/token_fetch_internal.h"

enum {
    METADATA_TRIES_MAX = 5,
    PROJECT_BYTES_MAX = 256,
    PATH_BYTES_MAX = 4096,
    PRODUCT_BYTES_MAX = 4096
};

static void metadata_ask(struct token_fetch *fetch, const char *path,
                         void (*answered)(void *, const struct http_reply *))
{
    struct question question = {
        .url = arena_printf(&fetch->arena, "http://%.*s/computeMetadata/v1/%s",
                            STR_ARG(fetch->search.metadata_host), path),
        .headers = {{STR("Metadata-Flavor"), STR("Google")}},
        .header_count = 1,
        .tries_max = METADATA_TRIES_MAX,
        .retries_lost = true,
        .is_direct = true,
        .total_ms = fetch->search.metadata_ms,
        .answered = answered,
    };
    asker_ask(&fetch->asker, &question);
}

/* True for status 200 and JSON; otherwise fails the fetch. */
static bool metadata_is_json(struct token_fetch *fetch, const struct http_reply *reply)
{
    if (!token_fetch_is_answer(fetch, reply, "the metadata server")) {
        return false;
    }
    struct str type = http_find_header(reply, "content-type");
    bool is_json = str_is(str_trim(str_cut(&type, ';')), "application/json");
    if (!is_json) {
        token_fetch_fail(fetch, ERR_PROTOCOL, "the metadata server did not answer in JSON");
    }
    return is_json;
}

/* ---- the token ---- */

static void metadata_on_universe(void *context, const struct http_reply *reply)
{
    struct token_fetch *fetch = context;
    bool is_old = reply->outcome == HTTP_REPLIED && reply->status == 404;
    if (!is_old && !token_fetch_is_answer(fetch, reply, "the metadata server")) {
        return;
    }
    struct str universe = is_old ? STR("") : reply->body;
    if (universe.len == 0) {
        universe = STR(ADC_UNIVERSE);
    }
    if (!adc_is_domain(universe)) {
        token_fetch_fail(fetch, ERR_PROTOCOL, "the metadata server returned an invalid universe");
        return;
    }
    fetch->known.universe = arena_str(&fetch->arena, universe);
    fetch->access.universe = fetch->known.universe;
    token_fetch_finish(fetch);
}

static void metadata_on_token(void *context, const struct http_reply *reply)
{
    struct token_fetch *fetch = context;
    struct token_reply token = {0};
    struct err err = {0};
    if (!metadata_is_json(fetch, reply)) {
        return;
    }
    if (!token_reply_read(reply->body, TOKEN_METADATA, token_fetch_now(fetch), &fetch->arena,
                          &token, &err)) {
        token_fetch_fail(fetch, err.kind, "invalid reply of the metadata server: %s", err.text);
        return;
    }
    token_fetch_take(fetch, &token);
    if (fetch->known.universe.len > 0) {
        fetch->access.universe = fetch->known.universe;
        token_fetch_finish(fetch);
        return;
    }
    metadata_ask(fetch, "universe/universe-domain", metadata_on_universe);
}

static void metadata_on_account(void *context, const struct http_reply *reply)
{
    struct token_fetch *fetch = context;
    struct str scope = fetch->setup->scope;
    struct str email;
    struct err err = {0};
    if (reply->outcome == HTTP_REPLIED && reply->status == 404) {
        token_fetch_fail(fetch, ERR_AUTH,
                         "this VM has no service account; give it one, or log in "
                         "with `gcloud auth application-default login`");
        return;
    }
    if (!metadata_is_json(fetch, reply)) {
        return;
    }
    if (!token_field_read(reply->body, STR("email"), &fetch->arena, &email, &err)) {
        token_fetch_fail(fetch, err.kind, "invalid reply of the metadata server: %s", err.text);
        return;
    }
    AUTO_BUF struct buf path;
    buf_init(&path, PATH_BYTES_MAX);
    buf_add_c(&path, "instance/service-accounts/default/token?scopes=");
    encode_uri(&path, scope.len > 0 ? scope : STR(TOKEN_SCOPE_DEFAULT), "");
    metadata_ask(fetch, buf_str(&path).ptr, metadata_on_token);
}

/* ---- finding the server ---- */

static void metadata_ask_account(struct token_fetch *fetch)
{
    struct gcp_access *access = &fetch->access;
    access->source = arena_printf(&fetch->arena, "metadata server %.*s",
                                  STR_ARG(fetch->search.metadata_host));
    access->quota_project = fetch->search.quota_project;
    access->project = fetch->search.project.len > 0 ? fetch->search.project : fetch->known.project;
    metadata_ask(fetch, "instance/service-accounts/default/?recursive=true", metadata_on_account);
}

static void metadata_on_project(void *context, const struct http_reply *reply)
{
    struct token_fetch *fetch = context;
    bool is_project = reply->outcome == HTTP_REPLIED && reply->status == 200 &&
                      reply->body.len <= PROJECT_BYTES_MAX && token_is_sendable(reply->body);
    fetch->known.is_metadata = true;
    fetch->known.project = is_project ? arena_str(&fetch->arena, reply->body) : STR("");
    metadata_ask_account(fetch);
}

/* The maker's name in the machine's firmware: the server may be slow at boot. */
bool token_fetch_is_google_machine(const struct gcp_setup *setup)
{
    const char *path = setup->product_path;
    AUTO_BUF struct buf name;
    struct err err = {0};
    buf_init(&name, PRODUCT_BYTES_MAX);
    return file_read(path ? path : "/sys/class/dmi/id/product_name", &name, &err) &&
           str_starts(str_trim(buf_str(&name)), "Google");
}

static void metadata_on_ping(void *context, const struct http_reply *reply)
{
    struct token_fetch *fetch = context;
    bool is_google = reply->outcome == HTTP_REPLIED && reply->status == 200 &&
                     str_is(http_find_header(reply, "metadata-flavor"), "Google");
    if (is_google || token_fetch_is_google_machine(fetch->setup)) {
        metadata_ask(fetch, "project/project-id", metadata_on_project);
        return;
    }
    token_fetch_fail(fetch, ERR_AUTH,
                     "no Google credentials found: GOOGLE_APPLICATION_CREDENTIALS is not set, %.*s "
                     "does not exist, and no metadata server answers at %.*s; run `gcloud auth "
                     "application-default login`",
                     STR_ARG(fetch->search.gcloud_path), STR_ARG(fetch->search.metadata_ip));
}

void token_fetch_from_metadata(struct token_fetch *fetch)
{
    struct question ping = {
        .url = arena_printf(&fetch->arena, "http://%.*s/", STR_ARG(fetch->search.metadata_ip)),
        .headers = {{STR("Metadata-Flavor"), STR("Google")}},
        .header_count = 1,
        .tries_max = fetch->search.ping_tries,
        .retries_lost = true,
        .is_ping = true,
        .is_direct = true,
        .total_ms = fetch->search.metadata_ms,
        .answered = metadata_on_ping,
    };
    if (fetch->known.is_metadata) {
        metadata_ask_account(fetch);
        return;
    }
    asker_ask(&fetch->asker, &ping);
}
