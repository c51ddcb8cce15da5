/*
 * credentials_sso.c: single sign-on: uses the token of `aws sso login` to get keys for a role.
 *
 * A token that has expired or soon will is refreshed if the login allows it, and written back to
 * its file, as the AWS tools do.
 */
#include "base/encode.h"
#include "io/file.h"
#include "provider/aws/client/credentials_internal.h"
#include "provider/aws/wire/aws_json.h"

enum { SSO_MS = 30 * 1000, RENEW_S = 15 * 60, QUERY_BYTES_MAX = 4096 };

static void fail_login(struct credentials_fetch *fetch, const char *why)
{
    fetch_fail(fetch, ERR_AUTH, "%s; run `aws sso login --profile %.*s`", why,
               STR_ARG(fetch->source->profile));
}

static struct str cache_path(struct credentials_fetch *fetch)
{
    return arena_printf(&fetch->arena, "~/.aws/sso/cache/%.*s",
                        STR_ARG(fetch->source->sso.cache_name));
}

/* ---- keys ---- */

static void credentials_sso_on_keys(void *context, const struct aws_reply *reply)
{
    struct credentials_fetch *fetch = context;
    struct aws_credentials keys;
    struct err err = {0};
    fetch->call = NULL;
    if (!reply->is_ok && reply->error.status == 401) {
        fail_login(fetch, "single sign-on no longer accepts the token");
    } else if (!reply->is_ok) {
        fetch_fail(fetch, reply->err.kind, "%s", reply->err.text);
    } else if (!credential_from_sso(reply->body, &fetch->arena, &keys, &err)) {
        fetch_fail(fetch, err.kind, "invalid response from single sign-on: %s", err.text);
    } else {
        fetch_take_keys(fetch, &keys);
    }
}

static void ask_for_keys(struct credentials_fetch *fetch, const struct sso_token *token)
{
    const struct aws_source *source = fetch->source;
    AUTO_BUF struct buf path;
    buf_init(&path, QUERY_BYTES_MAX);
    buf_add_c(&path, "/federation/credentials?role_name=");
    encode_uri(&path, source->sso.role_name, "");
    buf_add_c(&path, "&account_id=");
    encode_uri(&path, source->sso.account_id, "");
    struct aws_call_way way = {.auth = AUTH_NONE,
                               .method = "GET",
                               .path = buf_str(&path),
                               .header = {STR("x-amz-sso_bearer_token"), token->access_token}};
    struct aws_request request = {.service = AWS_SSO,
                                  .region = source->sso.region,
                                  .action = "GetRoleCredentials",
                                  .care = AWS_READ,
                                  .deadline_ms = SSO_MS,
                                  .done = credentials_sso_on_keys,
                                  .context = fetch};
    fetch->call = aws_call_start_way(fetch->client, &request, &way);
}

/* ---- a new token ---- */

/* If it cannot be written back, it is still used in this process. */
static void write_back(struct credentials_fetch *fetch, struct str json)
{
    struct err err = {0};
    struct str path = aws_client_expand(fetch->client->setup.environ, cache_path(fetch),
                                        &fetch->arena);
    if (!file_write(path.ptr, json, 0600, &err)) {
        log_write(fetch->client->setup.log, LOG_LEVEL_WARNING,
                  "cannot store the new single sign-on token error=\"%s\"", err.text);
    }
}

static void credentials_sso_on_token(void *context, const struct aws_reply *reply)
{
    struct credentials_fetch *fetch = context;
    struct sso_token token;
    struct err err = {0};
    fetch->call = NULL;
    if (!reply->is_ok && reply->error.class != AWS_AMBIGUOUS &&
        reply->error.class != AWS_THROTTLE && reply->error.class != AWS_DEFINITE_NO) {
        fail_login(fetch, "the login has expired and cannot be refreshed");
        return;
    }
    if (!reply->is_ok) {
        fetch_fail(fetch, reply->err.kind, "%s", reply->err.text);
        return;
    }
    struct buf renewed;
    buf_init(&renewed, CREDENTIAL_BYTES_MAX);
    bool ok = sso_token_renew(fetch->token, reply->body, aws_client_now(fetch->client), &renewed,
                              &err);
    struct str json = arena_str(&fetch->arena, buf_str(&renewed));
    buf_wipe(&renewed);
    if (!ok || !sso_token_read(json, &fetch->arena, &token, &err)) {
        fetch_fail(fetch, err.kind, "invalid new single sign-on token: %s", err.text);
        return;
    }
    fetch_learn(fetch, token.access_token);
    fetch_learn(fetch, token.refresh_token);
    write_back(fetch, json);
    ask_for_keys(fetch, &token);
}

static void ask_for_token(struct credentials_fetch *fetch, const struct sso_token *token)
{
    struct arena *arena = &fetch->arena;
    struct param *input = param_new_map(arena);
    struct err err = {0};
    struct buf body;
    param_add_text(input, "clientId", token->client_id, arena);
    param_add_text(input, "clientSecret", token->client_secret, arena);
    param_add_text(input, "grantType", STR("refresh_token"), arena);
    param_add_text(input, "refreshToken", token->refresh_token, arena);
    buf_init(&body, CREDENTIAL_BYTES_MAX);
    if (!aws_json_write(input, &body, &err)) {
        buf_wipe(&body);
        fetch_fail(fetch, ERR_AUTH, "%s", err.text);
        return;
    }
    struct aws_call_way way = {.auth = AUTH_NONE,
                               .method = "POST",
                               .path = STR("/token"),
                               .content_type = "application/json"};
    /* A refresh token can be used once: if the reply is lost, the user must log in again. */
    struct aws_request request = {.service = AWS_SSO_OIDC,
                                  .region = fetch->source->sso.region,
                                  .action = "CreateToken",
                                  .body = arena_str(arena, buf_str(&body)),
                                  .care = AWS_ONCE,
                                  .deadline_ms = SSO_MS,
                                  .done = credentials_sso_on_token,
                                  .context = fetch};
    buf_wipe(&body);
    fetch->call = aws_call_start_way(fetch->client, &request, &way);
}

void fetch_from_sso(struct credentials_fetch *fetch)
{
    const struct aws_source *source = fetch->source;
    struct sso_token token;
    struct err err = {0};
    struct str path = aws_client_expand(fetch->client->setup.environ, cache_path(fetch),
                                        &fetch->arena);
    if (file_stat(path.ptr).kind == FILE_MISSING) {
        fail_login(fetch, "not logged in with single sign-on");
        return;
    }
    if (!fetch_read_file(fetch, path, &fetch->token)) {
        return;
    }
    if (!sso_token_read(fetch->token, &fetch->arena, &token, &err)) {
        fetch_fail(fetch, ERR_AUTH, "%s: %s; run `aws sso login --profile %.*s`", path.ptr,
                   err.text, STR_ARG(source->profile));
        return;
    }
    fetch_learn(fetch, token.access_token);
    fetch_learn(fetch, token.refresh_token);
    fetch_learn(fetch, token.client_secret);
    int64_t now = aws_client_now(fetch->client);
    bool can_renew = source->sso.session.len > 0 && token.refresh_token.len > 0 &&
                     token.client_id.len > 0 && token.client_secret.len > 0 &&
                     token.registration_expires_at > now;
    if (token.expires_at - now < RENEW_S && can_renew) {
        ask_for_token(fetch, &token);
    } else if (token.expires_at <= now) {
        fail_login(fetch, "the login has expired");
    } else {
        ask_for_keys(fetch, &token);
    }
}
