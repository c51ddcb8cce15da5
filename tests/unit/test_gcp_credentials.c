/* test_gcp_credentials.c: the cache of Google's tokens: renewal, waiting calls, failures and
 * secrets, against a server that plays the token service and the metadata server. */
#include "provider/gcp/credentials/gcp_credentials.h"

#include "io/file.h"
#include "scratch.h"
#include "script_server.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIABLES_MAX = 8 };

/* What the server does, and what it saw. */
struct service {
    int tokens; /* issued; each contains the next number */
    int requests, pings, projects, accounts, universes;
    int life_s;
    int failures;     /* so many questions for tokens fail, with this status */
    int status;       /* 0: the connection is lost */
    bool is_silent;   /* no answers at all */
    bool has_rotated; /* the reply has a new refresh token */
    char body[1024];  /* of the last question for a token */
    char bearer[64];  /* who asked for the token of another account */
    char text[256];
};

struct stage {
    struct service service;
    struct loop *loop;
    struct http *http;
    struct child_pool *children;
    struct redact *redact;
    struct log log;
    struct clock clock;
    int64_t ahead_ms; /* of both clocks */
    char logged[8192];
    int warnings;
    struct script_server *server;
    char folder[64], path[128], host[64];
    char variables[VARIABLES_MAX][256];
    const char *environ[VARIABLES_MAX + 1];
    size_t variable_count;
    struct gcp_setup setup;
    struct gcp_credentials *credentials;
};

/* ---- the server ---- */

static struct script_answer issue(struct service *service, const struct script_request *request)
{
    snprintf(service->body, sizeof(service->body), "%s", request->body);
    if (service->failures > 0) {
        service->failures--;
        return service->status == 0
                   ? (struct script_answer){.deed = SCRIPT_RESET}
                   : (struct script_answer){.status = service->status, .body = "{\"error\":\"x\"}"};
    }
    service->tokens++;
    snprintf(service->text, sizeof(service->text),
             "{\"access_token\":\"sEcReT-%04d\",\"expires_in\":%d%s}", service->tokens,
             service->life_s, service->has_rotated ? ",\"refresh_token\":\"rotated-token\"" : "");
    return (struct script_answer){.body = service->text,
                                  .headers = "Content-Type: application/json\r\n"};
}

static struct script_answer impersonate(struct service *service,
                                        const struct script_request *request)
{
    const char *bearer = strstr(request->head, "Bearer ");
    snprintf(service->bearer, sizeof(service->bearer), "%.*s",
             (int)(bearer ? strcspn(bearer, "\r") : 0), bearer ? bearer : "");
    return (struct script_answer){.body = "{\"accessToken\":\"of-the-account\","
                                          "\"expireTime\":\"2099-01-01T00:00:00Z\"}"};
}

static struct script_answer serve(void *context, const struct script_request *request)
{
    struct service *service = context;
    const char *target = request->target;
    service->requests++;
    if (service->is_silent) {
        return (struct script_answer){.deed = SCRIPT_HANG};
    }
    if (strcmp(target, "/token") == 0 || strstr(target, "/default/token?scopes=")) {
        return issue(service, request);
    }
    if (strstr(target, "/serviceAccounts/sa:generateAccessToken")) {
        return impersonate(service, request);
    }
    if (strcmp(target, "/") == 0) {
        service->pings++;
        return (struct script_answer){.headers = "Metadata-Flavor: Google\r\n", .body = ""};
    }
    if (strstr(target, "/project/project-id")) {
        service->projects++;
        return (struct script_answer){.body = "vm-project"};
    }
    if (strstr(target, "/universe/universe-domain")) {
        service->universes++;
        return (struct script_answer){.status = 404, .body = ""};
    }
    if (strstr(target, "/service-accounts/default/?recursive=true")) {
        service->accounts++;
        return (struct script_answer){.headers = "Content-Type: application/json\r\n",
                                      .body = "{\"email\":\"vm@p\"}"};
    }
    return (struct script_answer){.status = 404, .body = ""};
}

/* ---- the stage ---- */

static int64_t stage_monotonic(void *context)
{
    const struct stage *stage = context;
    return clock_monotonic_ms(&clock_of_machine) + stage->ahead_ms;
}

static int64_t stage_wall(void *context)
{
    const struct stage *stage = context;
    return clock_wall_ms(&clock_of_machine) + stage->ahead_ms;
}

static void stage_log(void *context, struct str line)
{
    struct stage *stage = context;
    size_t len = strlen(stage->logged);
    snprintf(stage->logged + len, sizeof(stage->logged) - len, "%.*s", STR_ARG(line));
    stage->warnings += str_find(line, " warning ") != SIZE_MAX;
}

static void stage_set(struct stage *stage, const char *name, const char *value)
{
    size_t at = stage->variable_count++;
    snprintf(stage->variables[at], sizeof(stage->variables[at]), "%s=%s", name, value);
    stage->environ[at] = stage->variables[at];
}

static void stage_open(struct stage *stage)
{
    static const struct http_limits limits = {0};
    struct err err = {0};
    memset(stage, 0, sizeof(*stage));
    stage->service.life_s = 3600;
    stage->server = script_server_start(serve, &stage->service);
    stage->clock = (struct clock){stage_monotonic, stage_wall, stage};
    assert_true(loop_open(&stage->clock, &stage->loop, &err));
    assert_true(http_open(stage->loop, &limits, &stage->http, &err));
    stage->children = child_pool_new(stage->loop, 1);
    stage->redact = redact_new();
    stage->log = (struct log){&stage->clock, stage->redact, LOG_LEVEL_DEBUG, stage_log, stage};
    snprintf(stage->folder, sizeof(stage->folder), "/tmp/shoal-gcp-XXXXXX");
    assert_non_null(mkdtemp(stage->folder));
    snprintf(stage->host, sizeof(stage->host), "127.0.0.1:%d", script_server_port(stage->server));
    stage_set(stage, "CLOUDSDK_CONFIG", stage->folder);
    stage_set(stage, "GCE_METADATA_HOST", stage->host);
    stage_set(stage, "GCE_METADATA_IP", stage->host);
    stage->setup = (struct gcp_setup){.loop = stage->loop,
                                      .http = stage->http,
                                      .children = stage->children,
                                      .log = &stage->log,
                                      .redact = stage->redact,
                                      .environ = stage->environ,
                                      .pause_ms = 1,
                                      .product_path = "/nonexistent"};
    stage->credentials = gcp_credentials_new(&stage->setup);
}

static void stage_close(struct stage *stage)
{
    gcp_credentials_free(stage->credentials);
    child_pool_free(stage->children);
    http_close(stage->http);
    loop_close(stage->loop);
    redact_free(stage->redact);
    script_server_stop(stage->server);
    assert_int_equal(scratch_remove(stage->folder), 0);
}

static void stage_write(struct stage *stage, const char *text)
{
    struct err err = {0};
    snprintf(stage->path, sizeof(stage->path), "%s/key.json", stage->folder);
    assert_true(file_write(stage->path, str_from(text), 0600, &err));
}

/* A login with a refresh token, whose token service is the server. */
static void stage_login_with(struct stage *stage, const char *more)
{
    char text[512];
    snprintf(text, sizeof(text),
             "{\"type\":\"external_account_authorized_user\",\"client_id\":\"id\","
             "\"client_secret\":\"client-secret\",\"refresh_token\":\"first-token\","
             "\"token_url\":\"http://%s/token\"%s}",
             stage->host, more);
    stage_write(stage, text);
    stage_set(stage, "GOOGLE_APPLICATION_CREDENTIALS", stage->path);
}

static void stage_login(struct stage *stage)
{
    stage_login_with(stage, "");
}

/* ---- waiting calls ---- */

struct call {
    struct waiter waiter;
    struct gcp_credentials *credentials;
    int served;
    enum err_kind kind;
    char text[600], token[64];
    unsigned number;
};

static void on_ready(void *context, const struct err *err)
{
    struct call *call = context;
    call->served++;
    call->kind = err ? err->kind : ERR_NONE;
    snprintf(call->text, sizeof(call->text), "%s", err ? err->text : "");
    const struct gcp_access *access = err ? NULL
                                          : gcp_credentials_now(call->credentials, &call->number);
    snprintf(call->token, sizeof(call->token), "%.*s", STR_ARG(access ? access->token : STR("")));
}

static void call_start(struct stage *stage, struct call *call)
{
    *call = (struct call){.credentials = stage->credentials,
                          .waiter = {.ready = on_ready, .context = call}};
    gcp_credentials_await(stage->credentials, &call->waiter);
    assert_int_equal(call->served, 0);
}

static void call_run(struct stage *stage, struct call *call)
{
    call_start(stage, call);
    loop_run(stage->loop);
    assert_int_equal(call->served, 1);
}

/* ---- tests ---- */

static void test_one_fetch_for_all(void **state)
{
    struct stage stage;
    struct call calls[3];
    (void)state;
    stage_open(&stage);
    stage_login(&stage);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        call_start(&stage, &calls[i]);
    }
    gcp_credentials_leave(stage.credentials, &calls[1].waiter);
    loop_run(stage.loop);
    assert_int_equal(stage.service.tokens, 1);
    assert_string_equal(calls[0].token, "sEcReT-0001");
    assert_string_equal(calls[2].token, "sEcReT-0001");
    assert_int_equal(calls[1].served, 0);
    assert_null(strstr(stage.logged, "sEcReT"));
    stage_close(&stage);
}

static void test_renewal(void **state)
{
    struct stage stage;
    struct call call;
    unsigned number = 0;
    (void)state;
    stage_open(&stage);
    stage_login(&stage);
    assert_null(gcp_credentials_now(stage.credentials, &number));
    call_run(&stage, &call);
    stage.ahead_ms += (3600 - 240) * 1000; /* not yet */
    assert_non_null(gcp_credentials_now(stage.credentials, &number));
    loop_run(stage.loop);
    assert_int_equal(stage.service.tokens, 1);
    stage.ahead_ms += 20 * 1000; /* in the background: the old token is still good */
    assert_str(gcp_credentials_now(stage.credentials, &number)->token, "sEcReT-0001");
    assert_int_equal(number, 1);
    loop_run(stage.loop);
    assert_int_equal(stage.service.tokens, 2);
    assert_str(gcp_credentials_now(stage.credentials, &number)->token, "sEcReT-0002");
    assert_int_equal(number, 2);
    stage.ahead_ms += (3600 - 30) * 1000; /* too late: calls wait */
    assert_null(gcp_credentials_now(stage.credentials, &number));
    call_run(&stage, &call);
    assert_string_equal(call.token, "sEcReT-0003");
    stage_close(&stage);
}

static void test_failed_renewal_keeps_the_token(void **state)
{
    struct stage stage;
    struct call call;
    unsigned number = 0;
    (void)state;
    stage_open(&stage);
    stage_login(&stage);
    call_run(&stage, &call);
    stage.service.failures = 100;
    stage.service.status = 503;
    stage.ahead_ms += (3600 - 50) * 1000;
    assert_null(gcp_credentials_now(stage.credentials, &number));
    call_run(&stage, &call);
    assert_string_equal(call.token, "sEcReT-0001");
    assert_int_equal(stage.warnings, 1);
    int asked = stage.service.requests;
    assert_non_null(gcp_credentials_now(stage.credentials, &number)); /* no new try for a minute */
    loop_run(stage.loop);
    assert_int_equal(stage.service.requests, asked);
    stage.ahead_ms += 51 * 1000; /* it has expired */
    assert_null(gcp_credentials_now(stage.credentials, &number));
    call_run(&stage, &call);
    assert_int_equal(call.kind, ERR_UNAVAILABLE);
    assert_like(str_from(call.text), "external_account_authorized_user */key.json: *status 503*");
    stage.service.failures = 0;
    call_run(&stage, &call);
    assert_string_equal(call.token, "sEcReT-0002");
    stage_close(&stage);
}

static void test_rejected_token(void **state)
{
    struct stage stage;
    struct call call;
    unsigned number = 0;
    (void)state;
    stage_open(&stage);
    stage_login(&stage);
    call_run(&stage, &call);
    gcp_credentials_reject(stage.credentials, call.number + 1); /* another token */
    assert_non_null(gcp_credentials_now(stage.credentials, &number));
    gcp_credentials_reject(stage.credentials, call.number);
    assert_null(gcp_credentials_now(stage.credentials, &number));
    call_run(&stage, &call);
    assert_string_equal(call.token, "sEcReT-0002");
    stage_close(&stage);
}

/* The file still has it, and says that it is valid. */
static void test_rejected_token_of_a_file(void **state)
{
    struct stage stage;
    struct call call;
    (void)state;
    stage_open(&stage);
    stage_login_with(&stage, ",\"token\":\"of-the-file\",\"expiry\":\"2099-01-01T00:00:00Z\"");
    call_run(&stage, &call);
    assert_string_equal(call.token, "of-the-file");
    assert_int_equal(stage.service.requests, 0);
    gcp_credentials_reject(stage.credentials, call.number);
    stage.service.failures = 1;
    stage.service.status = 400;
    call_run(&stage, &call); /* a failed fetch does not forget it */
    assert_int_equal(call.kind, ERR_AUTH);
    call_run(&stage, &call);
    assert_string_equal(call.token, "sEcReT-0001");
    gcp_credentials_reject(stage.credentials, call.number);
    call_run(&stage, &call);
    assert_string_equal(call.token, "sEcReT-0002");
    stage_login_with(&stage, ",\"token\":\"newer\",\"expiry\":\"2099-01-01T00:00:00Z\"");
    gcp_credentials_reject(stage.credentials, call.number);
    call_run(&stage, &call); /* the user has logged in again */
    assert_string_equal(call.token, "newer");
    stage_close(&stage);
}

static void test_rotated_refresh_token(void **state)
{
    struct stage stage;
    struct call call;
    (void)state;
    stage_open(&stage);
    stage_login(&stage);
    stage.service.has_rotated = true;
    call_run(&stage, &call);
    assert_non_null(strstr(stage.service.body, "refresh_token=first-token"));
    for (int i = 0; i < 2; i++) {
        gcp_credentials_reject(stage.credentials, call.number);
        call_run(&stage, &call);
        assert_non_null(strstr(stage.service.body, "refresh_token=rotated-token"));
        stage.service.has_rotated = false;
    }
    stage_close(&stage);
}

/* The new refresh token is kept although the fetch fails later. */
static void test_rotation_in_a_failed_fetch(void **state)
{
    struct stage stage;
    struct call call;
    (void)state;
    stage_open(&stage);
    stage_login(&stage);
    stage.service.has_rotated = true;
    stage.service.life_s = 0;
    call_run(&stage, &call);
    assert_int_equal(call.kind, ERR_AUTH);
    stage.service.life_s = 3600;
    call_run(&stage, &call);
    assert_non_null(strstr(stage.service.body, "refresh_token=rotated-token"));
    assert_string_equal(call.token, "sEcReT-0002");
    stage_close(&stage);
}

static void test_expired_on_arrival(void **state)
{
    struct stage stage;
    struct call call;
    (void)state;
    stage_open(&stage);
    stage_login(&stage);
    stage.service.life_s = 0;
    call_run(&stage, &call);
    assert_int_equal(call.kind, ERR_AUTH);
    assert_like(str_from(call.text), "*the new token has expired already");
    assert_int_equal(stage.service.tokens, 1);
    stage_close(&stage);
}

static bool is_masked(const struct stage *stage, const char *secret)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 1024);
    redact_clean(stage->redact, str_from(secret), &out);
    return str_find(buf_str(&out), secret) == SIZE_MAX;
}

/* The log masks what was found. Only the last two tokens are remembered. */
static void test_secrets_are_registered(void **state)
{
    struct stage stage;
    struct call call;
    (void)state;
    stage_open(&stage);
    stage_login(&stage);
    stage.service.has_rotated = true;
    assert_false(is_masked(&stage, "sEcReT-0001"));
    for (int i = 0; i < 3; i++) {
        call_run(&stage, &call);
        gcp_credentials_reject(stage.credentials, call.number);
    }
    assert_false(is_masked(&stage, "sEcReT-0001"));
    assert_true(is_masked(&stage, "sEcReT-0002"));
    assert_true(is_masked(&stage, "sEcReT-0003"));
    assert_true(is_masked(&stage, "client-secret"));
    assert_true(is_masked(&stage, "first-token"));
    assert_true(is_masked(&stage, "rotated-token"));
    stage_close(&stage);
}

/* The token or key of the cluster file comes before the login, and is not asked for. */
static void test_given_credentials(void **state)
{
    struct stage stage;
    struct call call;
    char key[256];
    (void)state;
    stage_open(&stage);
    stage_login(&stage);
    for (int i = 0; i < 3; i++) {
        gcp_credentials_free(stage.credentials);
        snprintf(key, sizeof(key),
                 "{\"type\":\"external_account_authorized_user\",\"client_id\":\"id\","
                 "\"client_secret\":\"other-secret\",\"refresh_token\":\"given-refresh\","
                 "\"token_url\":\"http://%s/token\"}",
                 stage.host);
        stage.setup.given_token = i == 0 ? STR("given-token") : STR("");
        stage.setup.given_key = i == 1 ? str_from(key) : i == 2 ? STR("s3cretkey") : STR("");
        stage.credentials = gcp_credentials_new(&stage.setup);
        call_run(&stage, &call);
        if (i == 0) {
            assert_string_equal(call.token, "given-token");
            assert_int_equal(stage.service.requests, 0);
            assert_true(is_masked(&stage, "given-token"));
        } else if (i == 1) {
            assert_string_equal(call.token, "sEcReT-0001");
            assert_non_null(strstr(stage.service.body, "refresh_token=given-refresh"));
            assert_true(is_masked(&stage, "other-secret"));
        } else {
            assert_like(str_from(call.text), "provider.gcp_credentials: invalid JSON*");
            assert_null(strstr(call.text, "s3cretkey"));
        }
    }
    stage_close(&stage);
}

/* The identity's own token has rights only to ask for that of the service account. */
static void the_token_is_that_of_the_impersonated_account(void **state)
{
    struct stage stage;
    struct call call;
    char text[768];
    (void)state;
    stage_open(&stage);
    snprintf(text, sizeof(text),
             "{\"type\":\"external_account\",\"audience\":\"//iam/pool\","
             "\"subject_token_type\":\"urn:ietf:params:oauth:token-type:jwt\","
             "\"token_url\":\"http://%s/token\",\"credential_source\":{\"file\":\"%s/key.json\"},"
             "\"service_account_impersonation_url\":"
             "\"http://%s/v1/projects/-/serviceAccounts/sa:generateAccessToken\"}",
             stage.host, stage.folder, stage.host);
    stage_write(&stage, text); /* it is its own subject token */
    stage_set(&stage, "GOOGLE_APPLICATION_CREDENTIALS", stage.path);
    call_run(&stage, &call);
    assert_string_equal(call.text, "");
    assert_string_equal(call.token, "of-the-account");
    assert_string_equal(stage.service.bearer, "Bearer sEcReT-0001");
    assert_non_null(strstr(stage.service.body, "%2Fauth%2Fiam&"));
    assert_int_equal(stage.service.requests, 2);
    stage_close(&stage);
}

static void test_broken_files(void **state)
{
    static const char *const rows[][2] = {
        {"{\"type\":\"service_account\",\"client_email\":\"a\",\"private_key\":\"s3cretkey\","
         "\"token_uri\":\"https://x/\"}",
         "*/key.json: private_key is not a usable RSA key"},
        {"{\"type\":\"authorized_user\",\"client_secret\":\"s3cretkey\"}",
         "*/key.json: client_id is missing"},
        {"s3cretkey", "*/key.json: invalid JSON at line*"},
    };
    struct stage stage;
    struct call call;
    (void)state;
    stage_open(&stage);
    stage_write(&stage, "");
    stage_set(&stage, "GOOGLE_APPLICATION_CREDENTIALS", stage.path);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        stage_write(&stage, rows[i][0]);
        call_run(&stage, &call);
        assert_int_equal(call.kind, ERR_AUTH);
        assert_like(str_from(call.text), rows[i][1]);
        assert_null(strstr(call.text, "s3cret"));
    }
    assert_int_equal(remove(stage.path), 0);
    call_run(&stage, &call);
    assert_like(str_from(call.text), "cannot read the Google credentials: *does not exist*");
    assert_int_equal(stage.service.requests, 0);
    stage_close(&stage);
}

static void test_metadata_is_asked_once(void **state)
{
    struct stage stage;
    struct call call;
    unsigned number = 0;
    (void)state;
    stage_open(&stage);
    for (int i = 1; i <= 3; i++) {
        call_run(&stage, &call);
        assert_int_equal(stage.service.tokens, i);
        assert_int_equal(stage.service.accounts, i);
        const struct gcp_access *access = gcp_credentials_now(stage.credentials, &number);
        assert_str(access->project, "vm-project");
        assert_str(access->universe, "googleapis.com");
        gcp_credentials_reject(stage.credentials, number);
    }
    assert_int_equal(stage.service.pings, 1);
    assert_int_equal(stage.service.projects, 1);
    assert_int_equal(stage.service.universes, 1);
    stage_close(&stage);
}

static void test_metadata_failures(void **state)
{
    struct stage stage;
    struct call call;
    (void)state;
    stage_open(&stage);
    stage.service.failures = 4; /* the fifth try succeeds */
    stage.service.status = 0;
    call_run(&stage, &call);
    assert_string_equal(call.token, "sEcReT-0001");
    gcp_credentials_reject(stage.credentials, call.number);
    stage.service.failures = 5;
    stage.service.status = 500;
    call_run(&stage, &call);
    assert_int_equal(call.kind, ERR_UNAVAILABLE);
    assert_like(str_from(call.text), "metadata server *: *status 500*");
    stage_close(&stage);
}

static void stage_stop(void *context)
{
    struct stage *stage = context;
    loop_stop(stage->loop);
}

/* Runs the loop until the server has seen so many requests. */
static void stage_run_until(struct stage *stage, int requests)
{
    struct loop_timer *timer = loop_timer_new(stage->loop, stage_stop, stage);
    while (stage->service.requests < requests) {
        loop_timer_start(timer, 1);
        loop_run(stage->loop);
    }
    loop_timer_free(timer);
}

/* The server does not answer; the machine's firmware says who made it. */
static void test_silent_metadata(void **state)
{
    struct stage stage;
    struct call call;
    struct err err = {0};
    (void)state;
    stage_open(&stage);
    stage_set(&stage, "GCE_METADATA_TIMEOUT", "1");
    stage_set(&stage, "GCE_METADATA_DETECT_RETRIES", "1");
    stage.service.is_silent = true;
    call_run(&stage, &call);
    assert_like(str_from(call.text), "no Google credentials found: *no metadata server answers*");
    assert_int_equal(stage.service.requests, 1);
    snprintf(stage.path, sizeof(stage.path), "%s/product", stage.folder);
    assert_true(file_write(stage.path, STR("Google Compute Engine\n"), 0600, &err));
    stage.setup.product_path = stage.path;
    gcp_credentials_free(stage.credentials);
    stage.credentials = gcp_credentials_new(&stage.setup);
    call_start(&stage, &call);
    stage_run_until(&stage, 3); /* the ping, then the project */
    assert_int_equal(call.served, 0);
    stage_close(&stage); /* while a request is under way */
}

static void test_freed_at_every_step(void **state)
{
    struct stage stage;
    struct call call;
    (void)state;
    for (int step = 0; step < 5; step++) {
        stage_open(&stage);
        call_start(&stage, &call);
        stage_run_until(&stage, step);
        int served = call.served;
        stage_close(&stage);
        assert_int_equal(call.served, served);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_fetch_for_all),
        cmocka_unit_test(test_renewal),
        cmocka_unit_test(test_failed_renewal_keeps_the_token),
        cmocka_unit_test(test_rejected_token),
        cmocka_unit_test(test_rejected_token_of_a_file),
        cmocka_unit_test(test_rotated_refresh_token),
        cmocka_unit_test(test_rotation_in_a_failed_fetch),
        cmocka_unit_test(test_expired_on_arrival),
        cmocka_unit_test(test_secrets_are_registered),
        cmocka_unit_test(test_given_credentials),
        cmocka_unit_test(the_token_is_that_of_the_impersonated_account),
        cmocka_unit_test(test_broken_files),
        cmocka_unit_test(test_metadata_is_asked_once),
        cmocka_unit_test(test_metadata_failures),
        cmocka_unit_test(test_silent_metadata),
        cmocka_unit_test(test_freed_at_every_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
