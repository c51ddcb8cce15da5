/* credential_chain.c: reads the settings of each source and decides whether it applies. */
#include "provider/aws/config/credential_chain.h"

#include "base/buf.h"
#include "base/encode.h"
#include "base/panic.h"
#include "base/utf8.h"
#include "provider/aws_time.h"
#include "provider/shell_split.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

enum { CHAIN_MAX = 32, SHA1_BYTES = 20, NAME_SHOWN_MAX = 100, REPORT_BYTES_MAX = 64 * 1024 };

struct credential_chain_planner {
    const struct aws_profiles *profiles;
    struct arena *arena;
    struct str visited[CHAIN_MAX]; /* profiles of the role chain, in order */
    size_t visited_count;
};

/* The settings of one profile. */
struct view {
    struct credential_chain_planner *planner;
    const struct aws_profile *profile; /* NULL: no settings */
    struct str name;
    bool uses_environment; /* environment variables override settings */
};

const char *aws_source_name(enum aws_source_kind kind)
{
    static const char *const names[SOURCE_KIND_COUNT] = {
        [SOURCE_ENVIRONMENT] = "environment",      [SOURCE_ASSUME_ROLE] = "assume-role",
        [SOURCE_WEB_IDENTITY] = "web-identity",    [SOURCE_SSO] = "sso",
        [SOURCE_SHARED_FILE] = "credentials-file", [SOURCE_LOGIN] = "login",
        [SOURCE_PROCESS] = "credential-process",   [SOURCE_CONFIG_FILE] = "config-file",
        [SOURCE_CONTAINER] = "container",          [SOURCE_IMDS] = "instance-metadata",
    };
    return names[kind];
}

#define SHOWN(s) STR_ARG(str_sub((s), 0, NAME_SHOWN_MAX))

static struct aws_source absent(enum aws_source_kind kind, struct str reason)
{
    return (struct aws_source){.kind = kind, .state = SOURCE_ABSENT, .reason = reason};
}

static struct aws_source broken(enum aws_source_kind kind, struct str reason)
{
    return (struct aws_source){.kind = kind, .state = SOURCE_BROKEN, .reason = reason};
}

static const struct ini_option *option(const struct view *view, const char *name)
{
    return aws_profile_option(view->planner->profiles, view->profile, name);
}

static struct str option_text(const struct view *view, const char *name)
{
    const struct ini_option *found = option(view, name);
    return found && !found->nested ? found->value : STR("");
}

static const char *credential_chain_variable(const struct credential_chain_planner *planner,
                                             const char *name)
{
    return variable_get(planner->profiles->environ, name);
}

static struct view view_of(struct credential_chain_planner *planner, struct str name)
{
    return (struct view){planner, aws_profile_find(planner->profiles, name), name, false};
}

/* Why a source of a profile does not apply: "profile "x" has no WHAT". */
static struct aws_source not_set(const struct view *view, enum aws_source_kind kind,
                                 const char *what)
{
    return absent(kind, arena_printf(view->planner->arena, "profile \"%.*s\" has no %s",
                                     SHOWN(view->name), what));
}

/* ---- static keys ---- */

static struct aws_source plan_environment(const struct credential_chain_planner *planner)
{
    const char *access = credential_chain_variable(planner, "AWS_ACCESS_KEY_ID");
    const char *secret = credential_chain_variable(planner, "AWS_SECRET_ACCESS_KEY");
    const char *token = credential_chain_variable(planner, "AWS_SECURITY_TOKEN");
    const char *expiry = credential_chain_variable(planner, "AWS_CREDENTIAL_EXPIRATION");
    int64_t expires_at = INT64_MAX;
    if (!access || !*access) {
        return absent(SOURCE_ENVIRONMENT, STR("AWS_ACCESS_KEY_ID is not set"));
    }
    if (!secret || !*secret) {
        return broken(SOURCE_ENVIRONMENT,
                      STR("AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not"));
    }
    if (expiry && *expiry && !aws_time_parse(str_from(expiry), &expires_at)) {
        return broken(SOURCE_ENVIRONMENT, STR("AWS_CREDENTIAL_EXPIRATION is not a time"));
    }
    token = token && *token ? token : credential_chain_variable(planner, "AWS_SESSION_TOKEN");
    return (struct aws_source){
        .kind = SOURCE_ENVIRONMENT,
        .state = SOURCE_READY,
        .keys = {str_from(access), str_from(secret), str_from(token), expires_at}};
}

/* The keys in one file, without those of the other file. */
static struct aws_source plan_file(const struct view *view, enum aws_source_kind kind,
                                   const struct ini *ini, const struct ini_section *section)
{
    const struct ini_option *access = ini_option(ini, section, "aws_access_key_id");
    const struct ini_option *secret = ini_option(ini, section, "aws_secret_access_key");
    const struct ini_option *token = ini_option(ini, section, "aws_security_token");
    const char *file = kind == SOURCE_SHARED_FILE ? "the credentials file" : "the config file";
    if (!access) {
        return absent(kind, arena_printf(view->planner->arena, "%s in %s: \"%.*s\"",
                                         section ? "no aws_access_key_id" : "no such profile", file,
                                         SHOWN(view->name)));
    }
    if (!secret) {
        return broken(kind, arena_printf(view->planner->arena,
                                         "profile \"%.*s\" in %s has no aws_secret_access_key",
                                         SHOWN(view->name), file));
    }
    token = token ? token : ini_option(ini, section, "aws_session_token");
    return (struct aws_source){
        .kind = kind,
        .state = SOURCE_READY,
        .profile = view->name,
        .keys = {access->value, secret->value, token ? token->value : STR(""), INT64_MAX}};
}

/* ---- web identity ---- */

/* The variable overrides the setting even if it is empty. */
static struct str web_setting(const struct view *view, const char *variable_name, const char *name)
{
    const char *value = view->uses_environment
                            ? credential_chain_variable(view->planner, variable_name)
                            : NULL;
    return value ? str_from(value) : option_text(view, name);
}

static struct aws_source plan_web_identity(const struct view *view)
{
    struct str path = web_setting(view, "AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file");
    struct str arn = web_setting(view, "AWS_ROLE_ARN", "role_arn");
    struct str session = web_setting(view, "AWS_ROLE_SESSION_NAME", "role_session_name");
    if (path.len == 0) {
        return view->uses_environment
                   ? absent(SOURCE_WEB_IDENTITY, STR("AWS_WEB_IDENTITY_TOKEN_FILE is not set and "
                                                     "the profile has no web_identity_token_file"))
                   : not_set(view, SOURCE_WEB_IDENTITY, "web_identity_token_file");
    }
    if (arn.len == 0) {
        return broken(SOURCE_WEB_IDENTITY,
                      STR("a web identity token file is set, but neither role_arn nor "
                          "AWS_ROLE_ARN is"));
    }
    return (struct aws_source){.kind = SOURCE_WEB_IDENTITY,
                               .state = SOURCE_READY,
                               .profile = view->name,
                               .web = {path, arn, session}};
}

/* ---- single sign-on ---- */

static struct str cache_name(struct arena *arena, struct str key)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    AUTO_BUF struct buf name;
    buf_init(&name, SHA1_BYTES * 2 + 8);
    if (!EVP_Digest(key.ptr, key.len, digest, NULL, EVP_sha1(), NULL)) {
        panic("SHA-1 failed");
    }
    encode_hex(&name, digest, SHA1_BYTES);
    buf_add_c(&name, ".json");
    return arena_str(arena, buf_str(&name));
}

static const struct aws_profile *find_session(const struct aws_profiles *profiles, struct str name)
{
    for (size_t i = 0; i < profiles->sso_session_count; i++) {
        if (str_eq(profiles->sso_sessions[i].name, name)) {
            return &profiles->sso_sessions[i];
        }
    }
    return NULL;
}

/* The name of a setting that the profile and its session set to different values. [DEFAULT] applies
 * to the session too. */
static struct str find_conflict(const struct view *view, const struct aws_profile *session)
{
    const struct ini *config = &view->planner->profiles->config;
    size_t own = session->config->count;
    for (size_t i = 0; i < own + config->default_count; i++) {
        struct str name = i < own ? config->options[session->config->first + i].name
                                  : config->defaults[i - own].name;
        const struct ini_option *there = ini_option(config, session->config, name.ptr);
        const struct ini_option *here = option(view, name.ptr);
        if (here && there && !str_eq(here->value, there->value)) {
            return name;
        }
    }
    return STR("");
}

static struct aws_source plan_sso_fields(const struct view *view, const struct aws_profile *session,
                                         struct str session_name)
{
    static const char *const names[] = {"sso_role_name", "sso_account_id", "sso_start_url",
                                        "sso_region"};
    struct str values[ARRAY_LEN(names)];
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct ini_option *found = option(view, names[i]);
        if (!found) {
            found = aws_profile_option(view->planner->profiles, session, names[i]);
        }
        if (!found) {
            return broken(
                SOURCE_SSO,
                arena_printf(view->planner->arena,
                             "profile \"%.*s\" is set up for single sign-on but has no %s",
                             SHOWN(view->name), names[i]));
        }
        values[i] = found->value;
    }
    struct str key = session ? session_name : values[2];
    return (struct aws_source){.kind = SOURCE_SSO,
                               .state = SOURCE_READY,
                               .profile = view->name,
                               .sso = {.start_url = values[2],
                                       .region = values[3],
                                       .account_id = values[1],
                                       .role_name = values[0],
                                       .session = session_name,
                                       .cache_name = cache_name(view->planner->arena, key)}};
}

static struct aws_source plan_sso(const struct view *view)
{
    const struct ini_option *named = option(view, "sso_session");
    const struct aws_profile *session = NULL;
    if (!option(view, "sso_role_name") && !option(view, "sso_account_id")) {
        return not_set(view, SOURCE_SSO, "sso_role_name or sso_account_id");
    }
    if (named) {
        session = find_session(view->planner->profiles, named->value);
        if (!session) {
            return broken(SOURCE_SSO, arena_printf(view->planner->arena,
                                                   "profile \"%.*s\" names the sso-session "
                                                   "\"%.*s\", which does not exist",
                                                   SHOWN(view->name), SHOWN(named->value)));
        }
        struct str conflict = find_conflict(view, session);
        if (conflict.len > 0) {
            return broken(SOURCE_SSO, arena_printf(view->planner->arena,
                                                   "%.*s differs between profile \"%.*s\" and its "
                                                   "sso-session",
                                                   SHOWN(conflict), SHOWN(view->name)));
        }
    }
    return plan_sso_fields(view, session, named ? named->value : STR(""));
}

/* ---- credential_process ---- */

static struct aws_source plan_process(const struct view *view)
{
    const struct ini_option *command = option(view, "credential_process");
    struct aws_source source = {
        .kind = SOURCE_PROCESS, .state = SOURCE_READY, .profile = view->name};
    if (!command) {
        return not_set(view, SOURCE_PROCESS, "credential_process");
    }
    if (!shell_split(command->value, view->planner->arena, &source.process.argv,
                     &source.process.argc) ||
        source.process.argc == 0) {
        return broken(SOURCE_PROCESS,
                      arena_printf(view->planner->arena,
                                   "credential_process of profile \"%.*s\" is empty or has an "
                                   "unclosed quote",
                                   SHOWN(view->name)));
    }
    return source;
}

/* A profile that also has a credential_process follows our advice. botocore would read the session,
 * as does the AWS CLI that the process calls. */
static struct aws_source plan_login(const struct view *view)
{
    if (!option(view, "login_session") || option(view, "credential_process")) {
        return not_set(view, SOURCE_LOGIN, "login_session without credential_process");
    }
    const char *quote = str_find_char(view->name, ' ') != SIZE_MAX ? "\"" : "";
    return broken(SOURCE_LOGIN,
                  arena_printf(view->planner->arena,
                               "Shoal cannot read `aws login` sessions; add this line to the "
                               "profile: credential_process = aws configure export-credentials "
                               "--format process --profile %s%.*s%s",
                               quote, SHOWN(view->name), quote));
}

/* ---- roles ---- */

/* The sources of one profile; for a role only the first one that is not absent matters. */
static void plan_profile(const struct view *view, struct aws_source *sources)
{
    const struct aws_profiles *profiles = view->planner->profiles;
    const struct aws_profile *profile = view->profile;
    sources[0] = plan_web_identity(view);
    sources[1] = plan_sso(view);
    sources[2] = plan_file(view, SOURCE_SHARED_FILE, &profiles->credentials,
                           profile ? profile->credentials : NULL);
    sources[3] = plan_login(view);
    sources[4] = plan_process(view);
    sources[5] = plan_file(view, SOURCE_CONFIG_FILE, &profiles->config,
                           profile ? profile->config : NULL);
}

enum { PROFILE_SOURCES = 6 };

static bool has_role(const struct view *view)
{
    return option(view, "role_arn") && !option(view, "web_identity_token_file");
}

static bool credential_chain_has_keys(const struct view *view)
{
    return option(view, "aws_access_key_id") || option(view, "aws_secret_access_key");
}

static struct aws_source plan_container(const struct credential_chain_planner *planner);
static struct aws_source plan_imds(const struct credential_chain_planner *planner);

static struct aws_source plan_named_base(const struct view *view, struct str name)
{
    struct credential_chain_planner *planner = view->planner;
    struct aws_source base;
    if (str_is(name, "Environment")) {
        base = plan_environment(planner);
    } else if (str_is(name, "EcsContainer")) {
        base = plan_container(planner);
    } else if (str_is(name, "Ec2InstanceMetadata")) {
        base = plan_imds(planner);
    } else {
        return broken(SOURCE_ASSUME_ROLE,
                      arena_printf(planner->arena,
                                   "credential_source \"%.*s\" of profile \"%.*s\" is not one of "
                                   "Environment, EcsContainer, Ec2InstanceMetadata",
                                   SHOWN(name), SHOWN(view->name)));
    }
    if (base.state != SOURCE_READY) {
        return broken(SOURCE_ASSUME_ROLE,
                      arena_printf(planner->arena, "credential_source of profile \"%.*s\": %.*s",
                                   SHOWN(view->name), STR_ARG(base.reason)));
    }
    return base;
}

static bool was_visited(const struct credential_chain_planner *planner, struct str name)
{
    for (size_t i = 0; i < planner->visited_count; i++) {
        if (str_eq(planner->visited[i], name)) {
            return true;
        }
    }
    return false;
}

/* The base of a role: keys in the profile itself, or its other sources, if it is not a role. */
static struct aws_source plan_plain_base(const struct view *view)
{
    struct aws_source sources[PROFILE_SOURCES];
    plan_profile(view, sources);
    for (size_t i = 0; i < PROFILE_SOURCES; i++) {
        if (sources[i].state != SOURCE_ABSENT) {
            return sources[i];
        }
    }
    return broken(SOURCE_ASSUME_ROLE, arena_printf(view->planner->arena,
                                                   "the source profile \"%.*s\" has no credentials",
                                                   SHOWN(view->name)));
}

static struct aws_source plan_role(const struct view *view);

static struct aws_source plan_profile_base(const struct view *view, struct str name)
{
    struct credential_chain_planner *planner = view->planner;
    struct view base = view_of(planner, name);
    if (!base.profile) {
        return broken(SOURCE_ASSUME_ROLE,
                      arena_printf(planner->arena,
                                   "source_profile \"%.*s\" of profile \"%.*s\" does not exist",
                                   SHOWN(name), SHOWN(view->name)));
    }
    /* A profile with keys may name itself; any other cycle is an error. */
    bool is_own_keys = str_eq(name, view->name) && credential_chain_has_keys(&base);
    if (was_visited(planner, name) && !is_own_keys) {
        return broken(SOURCE_ASSUME_ROLE,
                      arena_printf(planner->arena,
                                   "source_profile \"%.*s\" of profile \"%.*s\" is circular",
                                   SHOWN(name), SHOWN(view->name)));
    }
    if (planner->visited_count == CHAIN_MAX) {
        return broken(
            SOURCE_ASSUME_ROLE,
            arena_printf(planner->arena, "the profile chains more than %d roles", CHAIN_MAX));
    }
    planner->visited[planner->visited_count++] = name;
    return credential_chain_has_keys(&base) || !has_role(&base) ? plan_plain_base(&base)
                                                                : plan_role(&base);
}

static struct aws_source role_source(const struct view *view, const struct aws_source *base)
{
    struct aws_source source = {.kind = SOURCE_ASSUME_ROLE,
                                .state = SOURCE_READY,
                                .profile = view->name,
                                .role = {.arn = option_text(view, "role_arn"),
                                         .session_name = option_text(view, "role_session_name"),
                                         .external_id = option_text(view, "external_id"),
                                         .mfa_serial = option_text(view, "mfa_serial")}};
    int64_t duration_s;
    /* An invalid duration is ignored, as in botocore. */
    if (str_to_i64(option_text(view, "duration_seconds"), &duration_s)) {
        source.role.duration_s = duration_s;
    }
    struct aws_source *copy = ARENA_NEW(view->planner->arena, struct aws_source);
    *copy = *base;
    source.role.base = copy;
    return source;
}

/* The recursion is bounded: each step adds a profile to `visited`. */
static struct aws_source plan_role(const struct view *view)
{
    const struct ini_option *profile = option(view, "source_profile");
    const struct ini_option *named = option(view, "credential_source");
    struct arena *arena = view->planner->arena;
    if (profile && named) {
        return broken(SOURCE_ASSUME_ROLE,
                      arena_printf(arena,
                                   "profile \"%.*s\" has both source_profile and credential_source",
                                   SHOWN(view->name)));
    }
    if (!profile && !named) {
        return broken(SOURCE_ASSUME_ROLE,
                      arena_printf(arena,
                                   "profile \"%.*s\" has a role_arn but neither source_profile nor "
                                   "credential_source",
                                   SHOWN(view->name)));
    }
    struct aws_source base = named ? plan_named_base(view, named->value)
                                   : plan_profile_base(view, profile->value);
    if (base.state != SOURCE_READY) {
        return broken(SOURCE_ASSUME_ROLE, base.reason);
    }
    return role_source(view, &base);
}

/* ---- metadata services ---- */

static struct str url_host(struct str url)
{
    struct str rest = str_sub(url, str_find(url, "://") + 3, url.len);
    size_t end = 0;
    while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '?' && rest.ptr[end] != '#') {
        end++;
    }
    rest = str_sub(rest, 0, end);
    size_t at = str_find_char(rest, '@');
    rest = str_sub(rest, at == SIZE_MAX ? 0 : at + 1, rest.len);
    if (str_starts(rest, "[")) {
        struct str inner = str_sub(rest, 1, rest.len);
        return str_cut(&inner, ']');
    }
    return str_cut(&rest, ':');
}

/* Keys must not cross a network unencrypted: plain HTTP is allowed only for this machine and the
 * addresses of AWS's agents. */
static bool is_safe_url(struct str url)
{
    static const char *const hosts[] = {"169.254.170.2", "169.254.170.23", "fd00:ec2::23",
                                        "localhost", "::1"};
    if (str_starts(url, "https://")) {
        return true;
    }
    if (!str_starts(url, "http://")) {
        return false;
    }
    struct str host = url_host(url);
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        if (str_is(host, hosts[i])) {
            return true;
        }
    }
    int dots = 0;
    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];
        if (c != '.' && (c < '0' || c > '9')) {
            return false;
        }
        dots += c == '.';
    }
    return dots == 3 && str_starts(host, "127.");
}

static struct aws_source plan_container(const struct credential_chain_planner *planner)
{
    const char *relative = credential_chain_variable(planner,
                                                     "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = credential_chain_variable(planner, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const char *token = credential_chain_variable(planner, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
    const char *path = credential_chain_variable(planner, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    if (!relative && !full) {
        return absent(SOURCE_CONTAINER, STR("neither AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor "
                                            "AWS_CONTAINER_CREDENTIALS_FULL_URI is set"));
    }
    struct str url = relative ? arena_printf(planner->arena, "http://169.254.170.2%s", relative)
                              : str_from(full);
    if (!is_safe_url(url)) {
        return broken(SOURCE_CONTAINER,
                      STR("AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or http to this "
                          "machine or to an address of an AWS agent"));
    }
    if (token && strpbrk(token, "\r\n")) {
        return broken(SOURCE_CONTAINER, STR("AWS_CONTAINER_AUTHORIZATION_TOKEN contains a line "
                                            "break"));
    }
    return (struct aws_source){.kind = SOURCE_CONTAINER,
                               .state = SOURCE_READY,
                               .container = {url, str_from(token), str_from(path)}};
}

static struct str imds_setting(const struct credential_chain_planner *planner, const char *name,
                               const char *key)
{
    const char *value = credential_chain_variable(planner, name);
    const struct aws_profile *profile = aws_profile_find(planner->profiles,
                                                         planner->profiles->active);
    const struct ini_option *found = aws_profile_option(planner->profiles, profile, key);
    return value ? str_from(value) : found ? found->value : STR("");
}

static struct aws_source plan_imds(const struct credential_chain_planner *planner)
{
    const char *disabled = credential_chain_variable(planner, "AWS_EC2_METADATA_DISABLED");
    struct str mode = imds_setting(planner, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
                                   "ec2_metadata_service_endpoint_mode");
    struct str endpoint = imds_setting(planner, "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                                       "ec2_metadata_service_endpoint");
    if (disabled && strcasecmp(disabled, "true") == 0) {
        return absent(SOURCE_IMDS, STR("AWS_EC2_METADATA_DISABLED is true"));
    }
    if (endpoint.len == 0) {
        bool is_ipv6 = mode.len == 4 && strncasecmp(mode.ptr, "ipv6", 4) == 0;
        endpoint = is_ipv6 ? STR("http://[fd00:ec2::254]/") : STR("http://169.254.169.254/");
    }
    if (!str_ends(endpoint, "/")) {
        endpoint = arena_printf(planner->arena, "%.*s/", STR_ARG(endpoint));
    }
    return (struct aws_source){
        .kind = SOURCE_IMDS, .state = SOURCE_READY, .imds = {.endpoint = endpoint}};
}

/* ---- the plan ---- */

void aws_source_plan(const struct aws_profiles *profiles, struct arena *arena,
                     struct aws_source_plan *ret_plan)
{
    struct credential_chain_planner planner = {.profiles = profiles, .arena = arena};
    struct view view = view_of(&planner, profiles->active);
    struct aws_source *sources = ret_plan->sources;
    view.uses_environment = !profiles->is_named_by_user;
    planner.visited[planner.visited_count++] = profiles->active;
    sources[SOURCE_ENVIRONMENT] = profiles->is_named_by_user
                                      ? absent(SOURCE_ENVIRONMENT,
                                               STR("not used, because a profile was given"))
                                      : plan_environment(&planner);
    sources[SOURCE_ASSUME_ROLE] = has_role(&view) ? plan_role(&view)
                                                  : not_set(&view, SOURCE_ASSUME_ROLE, "role_arn");
    plan_profile(&view, sources + SOURCE_WEB_IDENTITY);
    sources[SOURCE_CONTAINER] = plan_container(&planner);
    sources[SOURCE_IMDS] = plan_imds(&planner);
}

struct str aws_source_report(const struct aws_source_plan *plan, const struct str *said,
                             struct arena *arena)
{
    AUTO_BUF struct buf out;
    buf_init(&out, REPORT_BYTES_MAX);
    for (size_t i = 0; i < SOURCE_KIND_COUNT; i++) {
        const struct aws_source *source = &plan->sources[i];
        struct str line = source->reason;
        if (said && said[i].len > 0) {
            line = said[i];
        } else if (source->state == SOURCE_READY) {
            line = STR("not tried");
        }
        buf_addf(&out, "  %s: ", aws_source_name(source->kind));
        utf8_add_visible(&out, line, false);
        buf_add_char(&out, '\n');
    }
    return arena_str(arena, buf_str(&out));
}
