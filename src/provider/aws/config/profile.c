/* profile.c: finds profiles in both files and merges them. */
#include "provider/aws/config/profile.h"

#include "base/suggest.h"
#include "base/table.h"
#include "provider/shell_split.h"

#include <string.h>

struct str aws_config_path(aws_environ env)
{
    const char *path = variable_get(env, "AWS_CONFIG_FILE");
    return str_from(path ? path : "~/.aws/config");
}

struct str aws_credentials_path(aws_environ env)
{
    const char *path = variable_get(env, "AWS_SHARED_CREDENTIALS_FILE");
    return str_from(path ? path : "~/.aws/credentials");
}

/* ---- collecting ---- */

/* Profiles by name while collecting: some files have thousands. */
struct profile_gathering {
    struct arena *arena;
    struct aws_profile *items;
    size_t count;
    size_t capacity;
    struct table index;
};

struct profile_query {
    const struct profile_gathering *gathering;
    struct str name;
};

static bool is_profile(const void *context, size_t position)
{
    const struct profile_query *query = context;
    return str_eq(query->gathering->items[position].name, query->name);
}

/* The profile with this name, created if new. */
static struct aws_profile *profile_gather(struct profile_gathering *gathering, struct str name)
{
    struct profile_query query = {gathering, name};
    size_t found = table_find(&gathering->index, str_hash(name), is_profile, &query);
    if (found != TABLE_NONE) {
        return &gathering->items[found];
    }
    ARENA_GROW(gathering->arena, gathering->items, gathering->count, gathering->capacity);
    table_add(&gathering->index, gathering->arena, str_hash(name), gathering->count);
    gathering->items[gathering->count] = (struct aws_profile){.name = name};
    return &gathering->items[gathering->count++];
}

/* A section "PREFIX NAME". The last of equal sections replaces the others entirely. */
static void gather_titled(struct profile_gathering *gathering, const struct ini_section *section)
{
    struct str *words;
    size_t count;
    if (shell_split(section->name, gathering->arena, &words, &count) && count == 2) {
        profile_gather(gathering, words[1])->config = section;
    }
}

static void gather_config(struct profile_gathering *profiles, struct profile_gathering *sessions,
                          const struct ini *config)
{
    for (size_t i = 0; i < config->section_count; i++) {
        const struct ini_section *section = &config->sections[i];
        if (str_starts(section->name, "profile")) {
            gather_titled(profiles, section);
        } else if (str_starts(section->name, "sso-session")) {
            gather_titled(sessions, section);
        } else if (str_is(section->name, "default")) {
            profile_gather(profiles, section->name)->config = section;
        }
    }
}

static bool parse_files(const struct aws_profile_input *input, struct arena *arena,
                        struct aws_profiles *profiles, struct err *err)
{
    if (input->has_config && !ini_parse(input->config, arena, &profiles->config, err)) {
        return err_wrap(err, "%.*s", STR_ARG(aws_config_path(input->environ)));
    }
    if (input->has_credentials &&
        !ini_parse(input->credentials, arena, &profiles->credentials, err)) {
        return err_wrap(err, "%.*s", STR_ARG(aws_credentials_path(input->environ)));
    }
    return true;
}

/* ---- selecting ---- */

static bool fail_unknown(const struct aws_profiles *profiles, struct str name, struct err *err)
{
    struct suggest suggest;
    suggest_start(&suggest, name);
    for (size_t i = 0; i < profiles->count; i++) {
        suggest_offer(&suggest, profiles->items[i].name);
    }
    struct str best = suggest_best(&suggest);
    struct str config = aws_config_path(profiles->environ);
    struct str credentials = aws_credentials_path(profiles->environ);
    return err_set(err, ERR_AUTH,
                   "no AWS profile \"%.*s\" in %.*s or %.*s, which have %zu profile%s%s%.*s%s",
                   STR_ARG(name), STR_ARG(config), STR_ARG(credentials), profiles->count,
                   profiles->count == 1 ? "" : "s", best.len > 0 ? "; did you mean \"" : "",
                   STR_ARG(best), best.len > 0 ? "\"?" : "");
}

static bool profile_choose(const struct aws_profile_input *input, struct aws_profiles *profiles,
                           struct err *err)
{
    const char *old = variable_get(input->environ, "AWS_DEFAULT_PROFILE");
    const char *set = old ? old : variable_get(input->environ, "AWS_PROFILE");
    profiles->is_named_by_user = input->named.len > 0;
    profiles->active = profiles->is_named_by_user ? input->named : str_from(set ? set : "default");
    bool is_asked_for = profiles->is_named_by_user || set;
    if (is_asked_for && !aws_profile_find(profiles, profiles->active)) {
        return fail_unknown(profiles, profiles->active, err);
    }
    /* An empty profile name is treated as not set, as in botocore. */
    if (profiles->active.len == 0) {
        profiles->active = STR("default");
    }
    return true;
}

bool aws_profiles_load(const struct aws_profile_input *input, struct arena *arena,
                       struct aws_profiles *ret_profiles, struct err *err)
{
    struct aws_profiles *profiles = ARENA_NEW(arena, struct aws_profiles);
    struct profile_gathering gathering = {.arena = arena};
    struct profile_gathering sessions = {.arena = arena};
    profiles->environ = input->environ;
    if (!parse_files(input, arena, profiles, err)) {
        return false;
    }
    gather_config(&gathering, &sessions, &profiles->config);
    for (size_t i = 0; i < profiles->credentials.section_count; i++) {
        const struct ini_section *section = &profiles->credentials.sections[i];
        profile_gather(&gathering, section->name)->credentials = section;
    }
    profiles->items = gathering.items;
    profiles->count = gathering.count;
    profiles->sso_sessions = sessions.items;
    profiles->sso_session_count = sessions.count;
    if (!profile_choose(input, profiles, err)) {
        return false;
    }
    *ret_profiles = *profiles;
    return true;
}

const struct aws_profile *aws_profile_find(const struct aws_profiles *profiles, struct str name)
{
    for (size_t i = 0; i < profiles->count; i++) {
        if (str_eq(profiles->items[i].name, name)) {
            return &profiles->items[i];
        }
    }
    return NULL;
}

const struct ini_option *aws_profile_option(const struct aws_profiles *profiles,
                                            const struct aws_profile *profile, const char *name)
{
    if (!profile) {
        return NULL;
    }
    const struct ini_option *option = ini_option(&profiles->credentials, profile->credentials,
                                                 name);
    return option ? option : ini_option(&profiles->config, profile->config, name);
}

struct str aws_region(const struct aws_profiles *profiles)
{
    static const char *const names[] = {"AWS_REGION", "AWS_DEFAULT_REGION"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *value = variable_get(profiles->environ, names[i]);
        if (value && *value) {
            return str_from(value);
        }
    }
    const struct aws_profile *profile = aws_profile_find(profiles, profiles->active);
    const struct ini_option *option = aws_profile_option(profiles, profile, "region");
    return option && !option->nested ? option->value : STR("");
}
