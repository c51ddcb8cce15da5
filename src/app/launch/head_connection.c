/* head_connection.c: opens the shared ssh connection, or finds it open. */
#include "app/launch/head_connection.h"

#include "app/launch/admit.h"
#include "app/launch/cluster_session.h"
#include "base/encode.h"
#include "io/file.h"
#include "io/line_socket.h"
#include "io/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FILE_BYTES_MAX = 4096,
    ACCOUNT_BYTES_MAX = 64 * 1024,
    CONNECT_S = 5,
    RUN_MS = 15 * 1000,
    PRIVATE = 0600
};

/* ---- the stored head ---- */

/* One line per field. */
static const char *record_path(const char *folder, struct arena *arena)
{
    return arena_printf(arena, "%s/head", folder).ptr;
}

/*
 * Whose cloud it is. Two accounts may have a cluster of the same name: with another profile or key,
 * the stored head does not count. Hashed, because keys do not belong in this file.
 */
static struct str record_account(const struct launcher_setup *setup, struct arena *arena)
{
    static const char *const names[] = {"AWS_PROFILE",
                                        "AWS_DEFAULT_PROFILE",
                                        "AWS_ACCESS_KEY_ID",
                                        "AWS_ENDPOINT_URL",
                                        "AWS_ENDPOINT_URL_EC2",
                                        "AWS_CONFIG_FILE",
                                        "AWS_SHARED_CREDENTIALS_FILE",
                                        "AWS_ROLE_ARN",
                                        "AWS_WEB_IDENTITY_TOKEN_FILE",
                                        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                        "GOOGLE_APPLICATION_CREDENTIALS",
                                        "GOOGLE_CLOUD_PROJECT",
                                        "GCLOUD_PROJECT",
                                        "CLOUDSDK_CONFIG",
                                        "CLOUDSDK_CORE_PROJECT",
                                        "CLOUDSDK_ACTIVE_CONFIG_NAME",
                                        "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"};
    static const char *const keys[] = {"aws_access_key_id", "profile_name", "endpoint_url"};
    const struct value *google = value_get_c(setup->config->provider, "gcp_credentials");
    AUTO_BUF struct buf text;
    uint8_t digest[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1] = {0};
    const struct value *given = value_get_c(setup->config->provider, "aws_credentials");
    buf_init(&text, ACCOUNT_BYTES_MAX);
    buf_addf(&text, "%.*s\n%.*s\n", STR_ARG(setup->profile),
             STR_ARG(value_text(value_get_c(setup->config->provider, "aws_profile"))));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        buf_addf(&text, "%.*s\n", STR_ARG(value_text(value_get_c(given, keys[i]))));
    }
    buf_addf(&text, "%.*s\n%.*s\n",
             STR_ARG(value_text(value_get_c(setup->config->provider, "project_id"))),
             STR_ARG(value_text(value_get_c(google, "credentials"))));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        buf_addf(&text, "%s\n", value ? value : "");
    }
    sha256(buf_str(&text), digest);
    encode_hex_to(hex, digest, SHA256_BYTES);
    return arena_str(arena, str_from(hex));
}

static void record_write(const struct launcher_setup *setup, const struct cluster_state *state,
                         const struct launcher_head *head)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct err err;
    struct str text = arena_printf(&arena, "%.*s\n%.*s\n%.*s\n%.*s\n%.*s\n",
                                   STR_ARG(record_account(setup, &arena)), STR_ARG(head->id),
                                   STR_ARG(head->address), STR_ARG(head->private_ip),
                                   STR_ARG(head->public_ip));
    if (!file_write(record_path(state->folder, &arena), text, PRIVATE, &err)) {
        log_write(&setup->session->log, LOG_LEVEL_INFO, "the head is not stored error=%s",
                  err.text);
    }
}

static bool record_read(const struct launcher_setup *setup, const char *folder, struct arena *arena,
                        struct launcher_head *ret_head)
{
    AUTO_BUF struct buf text;
    struct err ignored;
    buf_init(&text, FILE_BYTES_MAX);
    if (!file_read(record_path(folder, arena), &text, &ignored)) {
        return false;
    }
    struct str rest = arena_str(arena, buf_str(&text));
    if (!str_eq(str_cut(&rest, '\n'), record_account(setup, arena))) {
        return false;
    }
    *ret_head = (struct launcher_head){.is_up_to_date = true};
    ret_head->id = str_cut(&rest, '\n');
    ret_head->address = str_cut(&rest, '\n');
    ret_head->private_ip = str_cut(&rest, '\n');
    ret_head->public_ip = str_cut(&rest, '\n');
    return ret_head->id.len > 0 && ret_head->address.len > 0;
}

struct record_search {
    const struct launcher_setup *setup;
    struct arena *arena;
    struct str owner;
    size_t count;
};

static void record_try(void *context, const char *folder)
{
    struct record_search *search = context;
    struct launcher_head head;
    if (record_read(search->setup, folder, search->arena, &head)) {
        search->owner = cluster_folder_read(folder, search->arena);
        search->count++;
    }
}

/* The owner whose head was stored with these credentials. If there are two, only the cloud knows
 * which of them is meant now. */
static bool record_choose(const struct launcher_setup *setup, struct arena *arena)
{
    struct record_search search = {.setup = setup, .arena = arena};
    if (cluster_folder_owner(setup->config, arena).len > 0) {
        return true;
    }
    cluster_folder_each(setup->config, arena, record_try, &search);
    if (search.count == 1) {
        cluster_folder_know(setup->config, search.owner, arena);
    }
    return search.count == 1;
}

/* ---- the connection ---- */

struct connection_run {
    struct cloud_session *session;
    bool is_done, was_fine;
};

static void connection_on_done(void *context, const struct child_result *result)
{
    struct connection_run *run = context;
    run->is_done = true;
    run->was_fine = child_was_fine(result);
    cloud_session_stop(run->session);
}

/* Runs an ssh for the connection itself. It may stay in the background, so it must not get our
 * descriptors: a reader of our output would wait for its end. */
static bool connection_run(const struct launcher_setup *setup, const struct ssh_target *place,
                           const struct ssh_session *session, struct arena *arena)
{
    const char *const *argv;
    struct err err;
    struct connection_run run = {.session = setup->session};
    struct ssh_target way = *place;
    way.connect_s = CONNECT_S;
    if (!ssh_argv(&way, session, arena, &argv, &err)) {
        return false;
    }
    struct child *child = child_start(setup->session->children,
                                      &(struct child_spec){.argv = argv,
                                                           .env_names = child_usual_env,
                                                           .deadline_ms = RUN_MS,
                                                           .done = connection_on_done,
                                                           .context = &run});
    bool ok = cloud_session_run(setup->session, &err);
    if (!run.is_done) { /* something else ended the wait */
        child_forget(child);
    }
    return ok && run.was_fine;
}

static bool connection_is_open(const struct ssh_target *place)
{
    struct err ignored;
    int fd;
    if (!place->control || !line_socket_connect(place->control, &fd, &ignored)) {
        return false;
    }
    close(fd);
    return true;
}

static bool connection_open(const struct launcher_setup *setup, const struct ssh_target *place,
                            struct arena *arena)
{
    const struct ssh_session opens = {.has_no_command = true, .is_background = true};
    return connection_run(setup, place, &opens, arena);
}

/* After this machine changed its network, an open connection is dead, but ssh needs 15 seconds to
 * notice that. */
static bool connection_is_lost(const struct launcher_setup *setup, const struct ssh_target *place,
                               struct arena *arena)
{
    const struct ssh_session ends = {.is_end = true};
    if (!admit_is_silent(setup, place->address)) {
        return false;
    }
    if (connection_is_open(place)) {
        (void)connection_run(setup, place, &ends, arena);
    }
    return true;
}

static bool connection_use(const struct launcher_setup *setup, struct arena *arena,
                           struct ssh_target *place)
{
    place->is_client = connection_is_open(place) || connection_open(setup, place, arena);
    return place->is_client;
}

/* Own machines read the head's record. What selects the cloud of a plug-in is not known. */
static bool connection_is_shared(const struct config *config)
{
    return str_is(config->provider_type, "aws") || str_is(config->provider_type, "gcp");
}

bool head_connection_recall(const struct launcher_setup *setup, struct arena *arena,
                            struct launcher_head *ret_head, struct ssh_target *ret_place)
{
    struct cluster_session launch = {.setup = setup, .arena = arena, .config = setup->config};
    struct err ignored;
    if (!connection_is_shared(setup->config) || !record_choose(setup, arena) ||
        !cluster_state_open(setup->config, false, arena, &launch.state, &ignored) ||
        !launch.state.key || !record_read(setup, launch.state.folder, arena, ret_head) ||
        !launch_head_place(&launch, ret_head->id, ret_head->address, ret_place)) {
        return false;
    }
    ret_place->connect_s = CONNECT_S;
    return true;
}

bool head_connection_resume(const struct launcher_setup *setup, struct arena *arena,
                            struct launcher_head *ret_head, struct ssh_target *ret_place)
{
    return head_connection_recall(setup, arena, ret_head, ret_place) &&
           !connection_is_lost(setup, ret_place, arena) && connection_use(setup, arena, ret_place);
}

const char *head_connection_log(const struct launcher_setup *setup, struct arena *arena)
{
    struct cluster_state state;
    struct err ignored;
    if (!cluster_state_open(setup->config, false, arena, &state, &ignored)) {
        return NULL;
    }
    /* Not the process id: two containers with the same home may both have it. */
    static const char name[] = "/ssh-log.XXXXXX";
    size_t size = strlen(state.folder) + sizeof(name);
    char *path = arena_alloc(arena, size);
    snprintf(path, size, "%s%s", state.folder, name);
    int fd = mkstemp(path); /* mode 0600 */
    return fd >= 0 && close(fd) == 0 ? path : NULL;
}

void head_connection_store(const struct launcher_setup *setup, const struct launcher_head *head,
                           struct arena *arena)
{
    struct cluster_state state;
    struct err ignored;
    if (connection_is_shared(setup->config) && head->is_up_to_date &&
        cluster_state_open(setup->config, false, arena, &state, &ignored)) {
        record_write(setup, &state, head);
    }
}

void head_connection_start(const struct launcher_setup *setup, const struct launcher_head *head,
                           struct arena *arena, struct ssh_target *place)
{
    if (connection_is_shared(setup->config) && head->is_up_to_date &&
        connection_use(setup, arena, place)) {
        head_connection_store(setup, head, arena);
    }
}
