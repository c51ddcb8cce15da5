/* test_credentials.c: every source of credentials, and their renewal, against a server that plays
 * AWS and the machine. */
#include "aws_scene.h"
#include "io/file.h"
#include "provider/aws_time.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a server that issues keys ---- */

/* Every set of keys contains the next number. */
struct mint {
    int made;        /* sets of keys so far */
    int64_t life_s;  /* of each */
    int64_t clock_s; /* the time at which they are issued */
    int refuse;      /* X answers ExpiredToken for keys up to this number */
    bool is_silent;  /* only X is answered */
    bool is_ill;     /* no more keys are issued */
    bool is_shaky;   /* every question to the metadata service fails once */
    int asked;
    char last_user[64]; /* the access key that X was last called with */
    char bearer[64];    /* the token in the last single sign-on request */
    char authorization[128], role_asked_by[64], refresh_body[512], role_body[512];
    bool had_token_put;
    char text[1024];
};

static void copy_between(char *into, size_t size, const char *text, const char *before, char after)
{
    const char *from = text ? strcasestr(text, before) : NULL;
    const char *end = from ? strchr(from + strlen(before), after) : NULL;
    into[0] = '\0';
    if (end) {
        from += strlen(before);
        snprintf(into, size, "%.*s", (int)(end - from), from);
    }
}

static void until(const struct mint *mint, char text[AWS_TIME_ISO_SIZE])
{
    aws_time_iso(mint->clock_s + mint->life_s, text);
}

static struct script_answer machine_keys(struct mint *mint)
{
    char end[AWS_TIME_ISO_SIZE];
    until(mint, end);
    mint->made++;
    snprintf(mint->text, sizeof(mint->text),
             "{\"Code\":\"Success\",\"AccessKeyId\":\"AKIA%d\",\"SecretAccessKey\":\"sEcReT%04d\","
             "\"Token\":\"tOkEn%04d\",\"Expiration\":\"%s\"}",
             mint->made, mint->made, mint->made, end);
    return (struct script_answer){.body = mint->text};
}

static struct script_answer role_keys(struct mint *mint, const char *action)
{
    char end[AWS_TIME_ISO_SIZE];
    until(mint, end);
    mint->made++;
    snprintf(mint->text, sizeof(mint->text),
             "<%sResponse><%sResult><Credentials><AccessKeyId>AKIA%d</AccessKeyId>"
             "<SecretAccessKey>sEcReT%04d</SecretAccessKey><SessionToken>tOkEn%04d</SessionToken>"
             "<Expiration>%s</Expiration></Credentials></%sResult></%sResponse>",
             action, action, mint->made, mint->made, mint->made, end, action, action);
    return (struct script_answer){.body = mint->text};
}

static struct script_answer sso_keys(struct mint *mint)
{
    mint->made++;
    snprintf(mint->text, sizeof(mint->text),
             "{\"roleCredentials\":{\"accessKeyId\":\"AKIA%d\",\"secretAccessKey\":\"sEcReT%04d\","
             "\"sessionToken\":\"tOkEn%04d\",\"expiration\":%lld}}",
             mint->made, mint->made, mint->made, (long long)(mint->clock_s + mint->life_s) * 1000);
    return (struct script_answer){.body = mint->text};
}

static struct script_answer call_x(struct mint *mint, const struct script_request *request)
{
    copy_between(mint->last_user, sizeof(mint->last_user), request->head, "Credential=", '/');
    long number = strncmp(mint->last_user, "AKIA", 4) == 0 ? strtol(mint->last_user + 4, NULL, 10)
                                                           : 0;
    if (number > 0 && number <= mint->refuse) {
        return (struct script_answer){.status = 400,
                                      .body = SCENE_REFUSAL("ExpiredToken", "it has expired")};
    }
    return (struct script_answer){.body = "<XResponse/>"};
}

static struct script_answer serve(void *context, const struct script_request *request)
{
    struct mint *mint = context;
    if (strstr(request->body, "Action=X&")) {
        return call_x(mint, request);
    }
    if (mint->is_silent) {
        return (struct script_answer){.deed = SCRIPT_HANG};
    }
    if (mint->is_ill) {
        return (struct script_answer){.status = 503, .body = "ill"};
    }
    if (mint->is_shaky && strncmp(request->target, "/latest/", 8) == 0 && mint->asked++ % 2 == 0) {
        return (struct script_answer){.status = 503, .body = "busy"};
    }
    if (strcmp(request->target, "/latest/api/token") == 0) {
        mint->had_token_put = strcmp(request->method, "PUT") == 0 &&
                              strcasestr(request->head, "ttl-seconds: 21600");
        return (struct script_answer){.body = "imds-token"};
    }
    bool has_token = strcasestr(request->head, "metadata-token: imds-token");
    if (strcmp(request->target, "/latest/meta-data/iam/security-credentials/") == 0) {
        return (struct script_answer){.status = has_token ? 200 : 401, .body = "my-role\n"};
    }
    if (strcmp(request->target, "/latest/meta-data/iam/security-credentials/my-role") == 0) {
        return has_token ? machine_keys(mint) : (struct script_answer){.status = 401};
    }
    if (strcmp(request->target, "/container") == 0) {
        copy_between(mint->authorization, sizeof(mint->authorization), request->head,
                     "Authorization: ", '\r');
        return machine_keys(mint);
    }
    if (strstr(request->target, "/federation/credentials")) {
        copy_between(mint->bearer, sizeof(mint->bearer), request->head,
                     "x-amz-sso_bearer_token: ", '\r');
        return strcmp(mint->bearer, "old") == 0
                   ? (struct script_answer){.status = 401, .body = "{\"message\":\"expired\"}"}
                   : sso_keys(mint);
    }
    if (strcmp(request->target, "/token") == 0) {
        snprintf(mint->refresh_body, sizeof(mint->refresh_body), "%s", request->body);
        return (struct script_answer){
            .body = "{\"accessToken\":\"newer\",\"expiresIn\":28800,\"tokenType\":\"Bearer\","
                    "\"refreshToken\":\"refresh-2\"}"};
    }
    copy_between(mint->role_asked_by, sizeof(mint->role_asked_by), request->head,
                 "Credential=", '/');
    snprintf(mint->role_body, sizeof(mint->role_body), "%s", request->body);
    return role_keys(mint, strstr(request->body, "WebIdentity") ? "AssumeRoleWithWebIdentity"
                                                                : "AssumeRole");
}

/* ---- a home ---- */

static char home[] = "/tmp/shoal-credentials-XXXXXX";

static void write_at(const char *name, const char *text)
{
    char path[256];
    struct err err;
    snprintf(path, sizeof(path), "%s/%s", home, name);
    assert_true(file_write(path, str_from(text), 0600, &err));
}

static int make_home(void **state)
{
    char path[256];
    (void)state;
    assert_non_null(mkdtemp(home));
    static const char *const folders[] = {".aws", ".aws/sso", ".aws/sso/cache"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        snprintf(path, sizeof(path), "%s/%s", home, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    return 0;
}

static int drop_home(void **state)
{
    static const char *const names[] = {".aws/config", ".aws/credentials", "token", "program",
                                        ".aws/sso/cache/*"};
    char path[256];
    (void)state;
    for (size_t i = 0; i + 1 < ARRAY_LEN(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", home, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s/.aws/sso/cache/%s", home,
             "d033e22ae348aeb5660fc2140aec35850c4da997.json"); /* of "admin" */
    unlink(path);
    static const char *const folders[] = {".aws/sso/cache", ".aws/sso", ".aws", ""};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        snprintf(path, sizeof(path), "%s/%s", home, folders[i]);
        rmdir(path);
    }
    return 0;
}

static struct mint new_mint(void)
{
    return (struct mint){.life_s = 3600, .clock_s = clock_wall_ms(&clock_of_machine) / 1000};
}

/* With files in the home; the profile is chosen by the variable. */
static void open_home(struct scene *scene, struct mint *mint, const char *profile)
{
    scene_open(scene, serve, mint);
    scene->variable_count = 1; /* the endpoint stays, the paths of the files are the defaults */
    scene_set(scene, "HOME", home);
    scene_set(scene, "PATH", "/usr/bin:/bin");
    scene_set(scene, "AWS_EC2_METADATA_DISABLED", "true");
    if (profile) {
        scene_set(scene, "AWS_PROFILE", profile);
    }
}

static void expect_keys(struct scene *scene, struct mint *mint, const char *user,
                        const char *source)
{
    struct heard heard;
    scene_ask(scene, AWS_READ, &heard);
    if (!heard.reply.is_ok) {
        fail_msg("%s", heard.reply.err.text);
    }
    assert_string_equal(mint->last_user, user);
    assert_str(aws_client_source(scene->client), source);
}

static void expect_none(struct scene *scene, const char *code, const char *like)
{
    struct heard heard;
    scene_ask(scene, AWS_ONCE, &heard);
    assert_false(heard.reply.is_ok);
    assert_false(heard.reply.may_have_acted);
    assert_string_equal(heard.code, code);
    assert_int_equal(heard.reply.tries, 0);
    assert_like(str_from(heard.reply.err.text), like);
}

/* ---- each source ---- */

static void a_container_gives_keys(void **state)
{
    struct mint mint = new_mint();
    struct scene scene;
    (void)state;
    scene_open(&scene, serve, &mint);
    scene_set(&scene, "AWS_CONTAINER_CREDENTIALS_FULL_URI", scene_url(&scene, "/container"));
    scene_set(&scene, "AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abc");
    scene_start(&scene);
    expect_keys(&scene, &mint, "AKIA1", "container");
    assert_string_equal(mint.authorization, "Basic abc");
    scene_close(&scene);
}

static void a_machine_gives_keys(void **state)
{
    struct mint mint = new_mint();
    struct scene scene;
    struct arena arena;
    (void)state;
    scene_open(&scene, serve, &mint);
    scene_set(&scene, "AWS_EC2_METADATA_SERVICE_ENDPOINT", scene_url(&scene, ""));
    scene_start(&scene);
    arena_init(&arena);
    assert_like(str_from(strstr(aws_client_sources_report(scene.client, &arena).ptr,
                                "  instance-metadata")),
                "  instance-metadata: not tried\n");
    expect_keys(&scene, &mint, "AKIA1", "instance-metadata");
    assert_true(mint.had_token_put);
    assert_like(str_from(strstr(aws_client_sources_report(scene.client, &arena).ptr,
                                "  instance-metadata")),
                "  instance-metadata: in use\n");
    arena_clear(&arena);
    scene_close(&scene);
}

/* When a head starts, many processes ask the metadata service at once, and it refuses some. */
static void a_busy_metadata_service_is_asked_again(void **state)
{
    struct mint mint = new_mint();
    struct scene scene;
    (void)state;
    mint.is_shaky = true;
    scene_open(&scene, serve, &mint);
    scene_set(&scene, "AWS_EC2_METADATA_SERVICE_ENDPOINT", scene_url(&scene, ""));
    scene_start(&scene);
    expect_keys(&scene, &mint, "AKIA1", "instance-metadata");
    assert_int_equal(mint.asked, 6); /* token, role and keys, each twice */
    scene_close(&scene);
}

static void nothing_at_all(void **state)
{
    struct mint mint = new_mint();
    struct scene scene;
    struct arena arena;
    (void)state;
    scene_open(&scene, serve, &mint);
    scene_set(&scene, "AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9");
    scene_start(&scene);
    expect_none(&scene, "NoCredentials",
                "no AWS credentials found: no source is configured, "
                "and no metadata service answers at http://127.0.0.1:9/");
    arena_init(&arena);
    assert_like(aws_client_sources_report(scene.client, &arena),
                "  environment: AWS_ACCESS_KEY_ID is not set\n  assume-role: *\n  web-identity: "
                "*\n  sso: *\n  credentials-file: *\n  login: *\n  credential-process: *\n  "
                "config-file: *\n  container: *\n  instance-metadata: no AWS credentials found*\n");
    arena_clear(&arena);
    scene_close(&scene);
    open_home(&scene, &mint, NULL);
    scene_start(&scene);
    expect_none(&scene, "NoCredentials", "*: no source is configured");
    scene_close(&scene);
}

/* A role by a role by keys; each step uses the credentials of the one before. */
static void roles_are_taken_in_a_row(void **state)
{
    struct mint mint = new_mint();
    struct scene scene;
    (void)state;
    write_at(".aws/config", "[profile first]\nrole_arn = arn:aws:iam::1:role/a\nexternal_id = ext\n"
                            "source_profile = second\nduration_seconds = 900\n"
                            "[profile second]\nrole_arn = arn:aws:iam::1:role/b\n"
                            "source_profile = base\nrole_session_name = me\n"
                            "[profile multi]\nrole_arn = arn:aws:iam::1:role/c\n"
                            "source_profile = base\nmfa_serial = arn:aws:iam::1:mfa/me\n");
    write_at(".aws/credentials", "[base]\naws_access_key_id = AKIABASE\n"
                                 "aws_secret_access_key = sEcReTbase\n");
    open_home(&scene, &mint, "first");
    scene_start(&scene);
    expect_keys(&scene, &mint, "AKIA2", "profile first: assume-role");
    assert_string_equal(mint.role_asked_by, "AKIA1");
    assert_non_null(strstr(mint.role_body, "role%2Fa"));
    assert_non_null(strstr(mint.role_body, "ExternalId=ext"));
    assert_non_null(strstr(mint.role_body, "DurationSeconds=900"));
    assert_non_null(strstr(mint.role_body, "RoleSessionName=shoal-"));
    scene_close(&scene);
    open_home(&scene, &mint, "multi");
    scene_start(&scene);
    expect_none(&scene, "NoCredentials", "*the role needs an MFA code*--profile multi*");
    scene_close(&scene);
}

static void a_web_identity_is_exchanged(void **state)
{
    struct mint mint = new_mint();
    struct scene scene;
    char path[256];
    (void)state;
    write_at("token", "jwt.jwt.jwt\n");
    open_home(&scene, &mint, NULL);
    snprintf(path, sizeof(path), "~/token");
    scene_set(&scene, "AWS_WEB_IDENTITY_TOKEN_FILE", path);
    scene_set(&scene, "AWS_ROLE_ARN", "arn:aws:iam::1:role/pod");
    scene_start(&scene);
    expect_keys(&scene, &mint, "AKIA1", "profile default: web-identity");
    assert_string_equal(mint.role_asked_by, ""); /* not signed */
    assert_non_null(strstr(mint.role_body, "WebIdentityToken=jwt.jwt.jwt"));
    scene_close(&scene);
}

static void a_program_prints_keys(void **state)
{
    struct mint mint = new_mint();
    struct scene scene;
    (void)state;
    write_at(".aws/config",
             "[profile good]\ncredential_process = sh -c 'echo \"{\\\"Version\\\":1,"
             "\\\"AccessKeyId\\\":\\\"AKIAPROG\\\",\\\"SecretAccessKey\\\":\\\"sEcReTprog\\\"}\"'\n"
             "[profile bad]\ncredential_process = sh -c 'echo one >&2; echo session over >&2; "
             "exit 3'\n"
             "[profile odd]\ncredential_process = echo hello\n");
    open_home(&scene, &mint, "good");
    scene_start(&scene);
    expect_keys(&scene, &mint, "AKIAPROG", "profile good: credential-process");
    scene_close(&scene);
    open_home(&scene, &mint, "bad");
    scene_start(&scene);
    expect_none(&scene, "NoCredentials",
                "*profile bad: credential-process: *status 3*: session over");
    scene_close(&scene);
    open_home(&scene, &mint, "odd");
    scene_start(&scene);
    expect_none(&scene, "NoCredentials", "*invalid output of the program: invalid JSON*");
    scene_close(&scene);
}

#define SSO_CONFIG                                                                   \
    "[profile work]\nsso_session = admin\nsso_account_id = 1\nsso_role_name = dev\n" \
    "[sso-session admin]\nsso_start_url = https://x.awsapps.com/start\nsso_region = us-east-1\n"
#define SSO_CACHE ".aws/sso/cache/d033e22ae348aeb5660fc2140aec35850c4da997.json"

static void single_sign_on(void **state)
{
    struct mint mint = new_mint();
    struct scene scene;
    AUTO_BUF struct buf kept;
    char path[256];
    struct err err;
    (void)state;
    write_at(".aws/config", SSO_CONFIG);
    open_home(&scene, &mint, "work");
    scene_start(&scene);
    expect_none(&scene, "NoCredentials",
                "*not logged in with single sign-on*`aws sso login --profile work`");
    write_at(SSO_CACHE, "{\"accessToken\":\"fresh\",\"expiresAt\":\"2099-01-01T00:00:00Z\"}");
    expect_keys(&scene, &mint, "AKIA1", "profile work: sso"); /* the same client, after the login */
    assert_string_equal(mint.bearer, "fresh");
    scene_close(&scene);
    /* A session that the service does not know any more, and one that has expired. */
    write_at(SSO_CACHE, "{\"accessToken\":\"old\",\"expiresAt\":\"2099-01-01T00:00:00Z\"}");
    open_home(&scene, &mint, "work");
    scene_start(&scene);
    expect_none(&scene, "NoCredentials", "*`aws sso login --profile work`");
    write_at(SSO_CACHE, "{\"accessToken\":\"fresh\",\"expiresAt\":\"2020-01-01T00:00:00Z\"}");
    expect_none(&scene, "NoCredentials", "*the login has expired; run `aws sso login *");
    /* Renewed if possible, and stored. */
    write_at(SSO_CACHE,
             "{\"accessToken\":\"ended\",\"expiresAt\":\"2020-01-01T00:00:00Z\","
             "\"startUrl\":\"https://x\",\"refreshToken\":\"refresh-1\",\"clientId\":\"c\","
             "\"clientSecret\":\"cs\",\"registrationExpiresAt\":"
             "\"2099-01-01T00:00:00Z\"}");
    expect_keys(&scene, &mint, "AKIA2", "profile work: sso");
    assert_string_equal(mint.bearer, "newer");
    assert_string_equal(mint.refresh_body, "{\"clientId\":\"c\",\"clientSecret\":\"cs\","
                                           "\"grantType\":\"refresh_token\","
                                           "\"refreshToken\":\"refresh-1\"}");
    snprintf(path, sizeof(path), "%s/%s", home, SSO_CACHE);
    buf_init(&kept, 4096);
    assert_true(file_read(path, &kept, &err));
    assert_like(buf_str(&kept), "{\"accessToken\":\"newer\",\"expiresAt\":\"20*Z\",\"startUrl\":"
                                "\"https://x\",\"refreshToken\":\"refresh-2\",*");
    scene_close(&scene);
}

static void broken_sources_decide(void **state)
{
    struct mint mint = new_mint();
    struct scene scene;
    (void)state;
    scene_open(&scene, serve, &mint);
    scene_set(&scene, "AWS_ACCESS_KEY_ID", "AKIAHALF");
    scene_set(&scene, "AWS_CONTAINER_CREDENTIALS_FULL_URI", scene_url(&scene, "/container"));
    scene_start(&scene);
    expect_none(&scene, "NoCredentials", "*environment: *AWS_SECRET_ACCESS_KEY is not");
    scene_close(&scene);
    mint.is_ill = true; /* an unreachable source is not a reason to give up for good */
    scene_open(&scene, serve, &mint);
    scene_set(&scene, "AWS_CONTAINER_CREDENTIALS_FULL_URI", scene_url(&scene, "/container"));
    scene_start(&scene);
    expect_none(&scene, "CredentialsUnavailable", "*container: *503");
    mint.is_ill = false;
    expect_keys(&scene, &mint, "AKIA1", "container");
    scene_close(&scene);
}

/* ---- renewal ---- */

static void open_container(struct scene *scene, struct mint *mint)
{
    scene_open(scene, serve, mint);
    scene_set(scene, "AWS_CONTAINER_CREDENTIALS_FULL_URI", scene_url(scene, "/container"));
    scene_start(scene);
}

static void one_fetch_for_all(void **state)
{
    struct mint mint = new_mint();
    struct scene scene;
    struct heard heard[20];
    (void)state;
    open_container(&scene, &mint);
    for (size_t i = 0; i < ARRAY_LEN(heard); i++) {
        struct aws_request request = scene_request(&heard[i], AWS_READ);
        aws_call_start(scene.client, &request);
    }
    loop_run(scene.loop);
    for (size_t i = 0; i < ARRAY_LEN(heard); i++) {
        assert_int_equal(heard[i].calls, 1);
        assert_true(heard[i].reply.is_ok);
    }
    assert_int_equal(mint.made, 1);
    scene_close(&scene);
}

/* AWS says that they have expired before they should have. */
static void refused_keys_are_replaced_once(void **state)
{
    struct mint mint = new_mint();
    struct scene scene;
    struct heard heard[10];
    (void)state;
    mint.refuse = 1;
    open_container(&scene, &mint);
    for (size_t i = 0; i < ARRAY_LEN(heard); i++) {
        struct aws_request request = scene_request(&heard[i], AWS_ONCE);
        aws_call_start(scene.client, &request);
    }
    loop_run(scene.loop);
    for (size_t i = 0; i < ARRAY_LEN(heard); i++) {
        assert_true(heard[i].reply.is_ok);
    }
    assert_int_equal(mint.made, 2);
    mint.refuse = 100; /* and if that does not help, the error is reported */
    scene_ask(&scene, AWS_ONCE, &heard[0]);
    assert_string_equal(heard[0].code, "ExpiredToken");
    assert_int_equal(heard[0].reply.tries, 2);
    assert_int_equal(heard[0].reply.err.kind, ERR_AUTH);
    scene_close(&scene);
}

static void move_clock(struct scene *scene, struct mint *mint, int64_t seconds)
{
    scene->wall_shift_ms += seconds * 1000;
    mint->clock_s += seconds;
}

static void keys_are_renewed_before_their_end(void **state)
{
    struct mint mint = new_mint();
    struct scene scene;
    (void)state;
    open_container(&scene, &mint);
    expect_keys(&scene, &mint, "AKIA1", "container");
    move_clock(&scene, &mint, 3600 - 16 * 60);
    expect_keys(&scene, &mint, "AKIA1", "container");
    assert_int_equal(mint.made, 1);
    move_clock(&scene, &mint, 2 * 60); /* in the background */
    expect_keys(&scene, &mint, "AKIA1", "container");
    assert_int_equal(mint.made, 2);
    expect_keys(&scene, &mint, "AKIA2", "container");
    move_clock(&scene, &mint, 3600 - 9 * 60); /* waited for */
    expect_keys(&scene, &mint, "AKIA3", "container");
    scene_close(&scene);
}

static void old_keys_are_used_while_they_count(void **state)
{
    struct mint mint = new_mint();
    struct scene scene;
    (void)state;
    open_container(&scene, &mint);
    expect_keys(&scene, &mint, "AKIA1", "container");
    mint.is_ill = true;
    move_clock(&scene, &mint, 3600 - 60);
    expect_keys(&scene, &mint, "AKIA1", "container");
    assert_int_equal(scene.warnings, 1);
    assert_null(strstr(scene.logged, "sEcReT"));
    move_clock(&scene, &mint, 61);
    expect_none(&scene, "CredentialsUnavailable", "*container: *503");
    scene_close(&scene);
}

static bool is_hidden(const struct scene *scene, const char *secret)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 1000);
    redact_clean(scene->redact, str_from(secret), &out);
    return !str_is(buf_str(&out), secret);
}

/* Months of renewals do not accumulate, and old keys that may still be printed are masked. */
static void secrets_are_hidden_while_they_count(void **state)
{
    struct mint mint = new_mint();
    struct scene scene;
    (void)state;
    open_container(&scene, &mint);
    for (int i = 1; i <= 3; i++) {
        char user[16];
        snprintf(user, sizeof(user), "AKIA%d", i);
        expect_keys(&scene, &mint, user, "container");
        assert_true(is_hidden(&scene, "sEcReT0001") == (i <= 2));
        assert_true(is_hidden(&scene, "tOkEn0001") == (i <= 2));
        assert_true(is_hidden(&scene, "sEcReT0003") == (i == 3));
        move_clock(&scene, &mint, 3601);
    }
    aws_client_close(scene.client);
    scene.client = NULL;
    assert_true(is_hidden(&scene, "sEcReT0003"));
    scene_close(&scene);
}

/* Keys with a shorter life than the usual renewal window are not fetched for every call. */
static void short_lives_are_lived(void **state)
{
    struct mint mint = new_mint();
    struct scene scene;
    (void)state;
    mint.life_s = 600;
    open_container(&scene, &mint);
    expect_keys(&scene, &mint, "AKIA1", "container");
    expect_keys(&scene, &mint, "AKIA1", "container");
    assert_int_equal(mint.made, 1);
    mint.life_s = -5; /* and expired keys are not used */
    move_clock(&scene, &mint, 601);
    expect_none(&scene, "NoCredentials", "*container: the credentials have expired");
    scene_close(&scene);
}

/* ---- ends ---- */

static void stop(void *context)
{
    loop_stop(context);
}

static void never(void *context, const struct aws_reply *reply)
{
    (void)context;
    (void)reply;
    fail_msg("done was called after the close");
}

/* While a program, a silent metadata service, or STS is asked. */
static void closing_ends_a_fetch(void **state)
{
    static const char *const profiles[] = {"slow", "role", NULL};
    (void)state;
    write_at(".aws/config", "[profile slow]\ncredential_process = sleep 10\n"
                            "[profile role]\nrole_arn = arn:aws:iam::1:role/a\n"
                            "source_profile = base\n");
    write_at(".aws/credentials", "[base]\naws_access_key_id = AKIABASE\n"
                                 "aws_secret_access_key = sEcReTbase\n");
    for (size_t i = 0; i < ARRAY_LEN(profiles) * 2; i++) {
        struct mint mint = new_mint();
        struct scene scene;
        struct aws_request request = {.service = AWS_EC2, .action = "X", .done = never};
        mint.is_silent = true;
        open_home(&scene, &mint, profiles[i / 2]);
        if (!profiles[i / 2]) {
            scene.variable_count--;
            scene_set(&scene, "AWS_EC2_METADATA_SERVICE_ENDPOINT", scene_url(&scene, ""));
        }
        scene_start(&scene);
        struct aws_call *call = aws_call_start(scene.client, &request);
        aws_call_start(scene.client, &request);
        struct loop_timer *timer = loop_timer_new(scene.loop, stop, scene.loop);
        loop_timer_start(timer, i % 2 ? 1 : 40);
        loop_run(scene.loop);
        if (i % 2) {
            aws_call_cancel(call);
        }
        loop_timer_free(timer);
        scene_close(&scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_gives_keys),
        cmocka_unit_test(a_machine_gives_keys),
        cmocka_unit_test(a_busy_metadata_service_is_asked_again),
        cmocka_unit_test(nothing_at_all),
        cmocka_unit_test(roles_are_taken_in_a_row),
        cmocka_unit_test(a_web_identity_is_exchanged),
        cmocka_unit_test(a_program_prints_keys),
        cmocka_unit_test(single_sign_on),
        cmocka_unit_test(broken_sources_decide),
        cmocka_unit_test(one_fetch_for_all),
        cmocka_unit_test(refused_keys_are_replaced_once),
        cmocka_unit_test(keys_are_renewed_before_their_end),
        cmocka_unit_test(old_keys_are_used_while_they_count),
        cmocka_unit_test(secrets_are_hidden_while_they_count),
        cmocka_unit_test(short_lives_are_lived),
        cmocka_unit_test(closing_ends_a_fetch),
    };
    return cmocka_run_group_tests(tests, make_home, drop_home);
}
