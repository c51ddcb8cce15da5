/* adc_search.c: the variables of google-auth. */
#include "provider/gcp/credentials/adc_search.h"

#include "provider/gcp/credentials/adc_file.h"
#include "provider/gcp/credentials/token_reply.h"
#include "provider/variable.h"

enum { METADATA_S = 3, METADATA_S_MAX = 600, PING_TRIES = 3, PING_TRIES_MAX = 6 };

/* Empty if it is not set. */
static struct str adc_variable(const char *const *env, const char *name)
{
    return str_from(variable_get(env, name));
}

static int64_t adc_number(const char *const *env, const char *name, int64_t usual, int64_t most)
{
    int64_t number = 0;
    bool ok = str_to_i64(str_trim(adc_variable(env, name)), &number);
    return ok && number >= 1 && number <= most ? number : usual;
}

static struct str adc_or(struct str first, struct str second)
{
    return first.len > 0 ? first : second;
}

static struct str adc_folder(const char *const *env, struct arena *arena)
{
    const char *set = variable_get(env, "CLOUDSDK_CONFIG");
    return set ? str_from(set)
               : arena_printf(arena, "%.*s/.config/gcloud", STR_ARG(adc_variable(env, "HOME")));
}

void adc_search_plan(const char *const *env, struct arena *arena, struct adc_search *ret_search)
{
    const char *project = variable_get(env, "GOOGLE_CLOUD_PROJECT");
    struct str ip = adc_variable(env, "GCE_METADATA_IP");
    struct str host = adc_or(adc_variable(env, "GCE_METADATA_HOST"),
                             adc_variable(env, "GCE_METADATA_ROOT"));
    struct adc_search search = {
        .named_path = adc_variable(env, "GOOGLE_APPLICATION_CREDENTIALS"),
        .folder = adc_folder(env, arena),
        /* As in google-auth: an empty value hides the older variable. */
        .project = project ? str_from(project) : adc_variable(env, "GCLOUD_PROJECT"),
        .quota_project = adc_variable(env, "GOOGLE_CLOUD_QUOTA_PROJECT"),
        .has_metadata = !str_is(adc_variable(env, "NO_GCE_CHECK"), "true"),
        .metadata_ip = adc_or(ip, STR("169.254.169.254")),
        .metadata_host = adc_or(host, STR("metadata.google.internal")),
        .metadata_ms = 1000 * adc_number(env, "GCE_METADATA_TIMEOUT", METADATA_S, METADATA_S_MAX),
        .ping_tries = (unsigned)adc_number(env, "GCE_METADATA_DETECT_RETRIES", PING_TRIES,
                                           PING_TRIES_MAX),
    };
    const char *slash = search.folder.len == 0 || str_ends(search.folder, "/") ? "" : "/";
    search.gcloud_path = arena_printf(arena, "%.*s%sapplication_default_credentials.json",
                                      STR_ARG(search.folder), slash);
    *ret_search = search;
}

/* ---- gcloud's configuration ---- */

struct str adc_gcloud_active_path(void)
{
    return STR("active_config");
}

struct str adc_gcloud_config_path(const char *const *env, struct str active_file,
                                  struct arena *arena)
{
    struct str name = adc_or(adc_variable(env, "CLOUDSDK_ACTIVE_CONFIG_NAME"),
                             adc_or(str_trim(active_file), STR("default")));
    return adc_is_domain(name) ? arena_printf(arena, "configurations/config_%.*s", STR_ARG(name))
                               : STR("");
}

struct str adc_gcloud_project(struct str config_file)
{
    bool is_core = false;
    while (config_file.len > 0) {
        struct str line = str_trim(str_cut(&config_file, '\n'));
        if (str_starts(line, "[")) {
            is_core = str_is(line, "[core]");
            continue;
        }
        size_t equals = str_find_char(line, '=');
        if (is_core && equals != SIZE_MAX &&
            str_is(str_trim(str_sub(line, 0, equals)), "project")) {
            struct str project = str_trim(str_sub(line, equals + 1, line.len));
            return token_is_sendable(project) ? project : STR("");
        }
    }
    return STR("");
}
