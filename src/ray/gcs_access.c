/* gcs_access.c: reads Ray's environment variables, of this process and of Ray's processes. */
#include "ray/gcs_access.h"

#include "io/file.h"
#include "io/process.h"
#include "ray/token.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { WORDS_MAX = 128 * 1024, ENVIRONMENT_MAX = 4 << 20 };

static const struct {
    const char *name;
    size_t place; /* offset in the struct */
} variables[] = {
    {"RAY_USE_TLS", offsetof(struct gcs_access, use_tls)},
    {"RAY_TLS_SERVER_CERT", offsetof(struct gcs_access, server_cert)},
    {"RAY_TLS_SERVER_KEY", offsetof(struct gcs_access, server_key)},
    {"RAY_TLS_CA_CERT", offsetof(struct gcs_access, ca_cert)},
    {"RAY_AUTH_MODE", offsetof(struct gcs_access, auth_mode)},
    {"RAY_AUTH_TOKEN", offsetof(struct gcs_access, token)},
    {"RAY_AUTH_TOKEN_PATH", offsetof(struct gcs_access, token_path)},
};

static const char **gcs_access_value_of(struct gcs_access *access, size_t i)
{
    return (const char **)((char *)access + variables[i].place);
}

/* ---- reading ---- */

static struct gcs_access of_own_environment(void)
{
    struct gcs_access access = {0};
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        *gcs_access_value_of(&access, i) = getenv(variables[i].name);
    }
    return access;
}

struct gcs_access gcs_access_of(struct str environment, struct arena *arena)
{
    struct gcs_access access = {0};
    while (environment.len > 0) {
        struct str value = str_cut(&environment, '\0');
        struct str name = str_cut(&value, '=');
        for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
            /* Of duplicates, getenv() returns the first. */
            if (str_is(name, variables[i].name) && !*gcs_access_value_of(&access, i)) {
                *gcs_access_value_of(&access, i) = arena_str(arena, value).ptr;
            }
        }
    }
    return access;
}

/* Hosts are not compared: a machine has several addresses. */
bool gcs_access_is_process_of(struct str command_line, const char *address)
{
    static const char of_raylet[] = "--gcs-address=";
    static const char of_gcs[] = "--gcs_server_port=";
    const char *colon = strrchr(address, ':');
    while (colon && command_line.len > 0) {
        struct str word = str_cut(&command_line, '\0');
        struct str port = str_sub(word, strlen(of_gcs), word.len);
        if ((str_starts(word, of_raylet) && str_ends(word, colon)) ||
            (str_starts(word, of_gcs) && str_is(port, colon + 1))) {
            return true;
        }
    }
    return false;
}

struct gcs_access_search {
    const char *address;
    struct arena *arena;
    struct gcs_access found;
};

/* A process of another user could redirect our token, or name any file as the token. */
static bool gcs_access_is_ours(int64_t pid)
{
    uint32_t user;
    return process_owner(pid, &user) && user == geteuid() &&
           (process_is_named(pid, "gcs_server") || process_is_named(pid, "raylet"));
}

/* An environment may contain other secrets: it is wiped afterwards. */
static bool gcs_access_inspect(void *context, int64_t pid)
{
    struct gcs_access_search *search = context;
    AUTO_BUF struct buf words;
    struct buf environment;
    buf_init(&words, WORDS_MAX);
    if (!gcs_access_is_ours(pid) || !process_read(pid, "cmdline", &words) ||
        !gcs_access_is_process_of(buf_str(&words), search->address)) {
        return true;
    }
    buf_init(&environment, ENVIRONMENT_MAX);
    bool is_read = process_read(pid, "environ", &environment);
    if (is_read) {
        search->found = gcs_access_of(buf_str(&environment), search->arena);
    }
    buf_wipe(&environment);
    return !is_read;
}

struct gcs_access gcs_access_find(const char *address, struct arena *arena)
{
    struct gcs_access own = of_own_environment();
    if (own.use_tls && own.auth_mode) {
        return own;
    }
    struct gcs_access_search search = {.address = address, .arena = arena};
    process_each(gcs_access_inspect, &search);
    struct gcs_access found = search.found;
    if (own.use_tls) {
        found.use_tls = own.use_tls;
        found.server_cert = own.server_cert;
        found.server_key = own.server_key;
        found.ca_cert = own.ca_cert;
    }
    if (own.auth_mode) {
        found.auth_mode = own.auth_mode;
        found.token = own.token;
        found.token_path = own.token_path;
    }
    return found;
}

/* ---- using ---- */

static bool gcs_access_is_set(const char *value)
{
    return value && value[0] != '\0';
}

static bool gcs_access_is_word(const char *value, const char *word)
{
    return value && strcasecmp(value, word) == 0;
}

static bool check_file(const char *path, const char *variable, struct err *err)
{
    return gcs_access_is_set(path) ||
           err_set(err, ERR_CONFIG, "RAY_USE_TLS is set, but %s does not name a file", variable);
}

static bool apply_tls(const struct gcs_access *access, const char *address, struct arena *arena,
                      struct gcs_setup *setup, struct err *err)
{
    bool is_on = gcs_access_is_word(access->use_tls, "1") ||
                 gcs_access_is_word(access->use_tls, "true");
    setup->server = arena_printf(arena, "%s://%s", is_on ? "https" : "http", address).ptr;
    setup->ca_file = is_on ? access->ca_cert : NULL;
    setup->cert_file = is_on ? access->server_cert : NULL;
    setup->key_file = is_on ? access->server_key : NULL;
    return !is_on || (check_file(setup->cert_file, "RAY_TLS_SERVER_CERT", err) &&
                      check_file(setup->key_file, "RAY_TLS_SERVER_KEY", err) &&
                      check_file(setup->ca_file, "RAY_TLS_CA_CERT", err));
}

static bool read_token(const char *path, struct arena *arena, struct str *ret_token,
                       struct err *err)
{
    struct buf token;
    buf_init(&token, RAY_TOKEN_BYTES_MAX);
    bool ok = ray_token_read(path, &token, err);
    *ret_token = arena_str(arena, buf_str(&token));
    buf_wipe(&token);
    return ok;
}

/* In Ray's order of precedence. */
static bool apply_token(const struct gcs_access *access, struct arena *arena,
                        struct gcs_setup *setup, struct err *err)
{
    if (setup->token.len > 0 || !gcs_access_is_word(access->auth_mode, "token")) {
        return true;
    }
    if (gcs_access_is_set(access->token)) {
        setup->token = str_trim(str_from(access->token));
        return true;
    }
    const char *path = gcs_access_is_set(access->token_path) ? access->token_path
                                                             : "~/.ray/auth_token";
    return read_token(arena_str(arena, file_expand_home(arena, str_from(path))).ptr, arena,
                      &setup->token, err);
}

bool gcs_access_apply(const struct gcs_access *access, const char *address, struct arena *arena,
                      struct gcs_setup *setup, struct err *err)
{
    return apply_tls(access, address, arena, setup, err) && apply_token(access, arena, setup, err);
}

struct gcs *gcs_open_at(const struct gcs_place *place, bool *ret_has_token, struct err *err)
{
    struct gcs_setup setup = {.http = place->http, .deadline_ms = place->deadline_ms};
    struct gcs *gcs = NULL;
    struct arena arena;
    struct buf token;
    arena_init_secret(&arena);
    buf_init(&token, RAY_TOKEN_BYTES_MAX);
    struct gcs_access access = gcs_access_find(place->address, &arena);
    bool ok = !place->token_path ||
              (place->is_token_private ? file_read_secret(place->token_path, &token, err)
                                       : ray_token_read(place->token_path, &token, err));
    setup.token = str_trim(buf_str(&token));
    if (ok && gcs_access_apply(&access, place->address, &arena, &setup, err)) {
        *ret_has_token = setup.token.len > 0;
        gcs = gcs_open(&setup);
    }
    buf_wipe(&token);
    arena_clear(&arena);
    return gcs;
}
