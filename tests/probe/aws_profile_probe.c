/* aws_profile_probe.c: reads each record, a set of AWS files and variables in JSON, and prints the
 * profiles, the region and the plan of sources; compared with botocore's session. */
#include "provider/aws/config/credential_chain.h"

#include "json_record.h"
#include "records.h"

#include <stdio.h>

enum { RECORD_BYTES_MAX = 16 * 1024 * 1024 };

static const char *const *read_environ(const json_t *record, struct arena *arena)
{
    const json_t *list = json_object_get(record, "environ");
    const char **env = ARENA_ARRAY(arena, json_array_size(list) + 1, const char *);
    for (size_t i = 0; i < json_array_size(list); i++) {
        env[i] = json_string_value(json_array_get(list, i));
    }
    return env;
}

static void add_option(json_t *out, const struct ini_option *option)
{
    json_t *value = option->nested ? json_object() : text_json(option->value);
    for (size_t i = 0; i < option->nested_count; i++) {
        const struct ini_pair *pair = &option->nested[i];
        json_object_setn_new(value, pair->name.ptr, pair->name.len, text_json(pair->value));
    }
    json_object_setn_new(out, option->name.ptr, option->name.len, value);
}

static void add_section(json_t *out, const struct ini *ini, const struct ini_section *section)
{
    for (size_t i = 0; section && i < ini->default_count; i++) {
        add_option(out, &ini->defaults[i]);
    }
    for (size_t i = 0; section && i < section->count; i++) {
        add_option(out, &ini->options[section->first + i]);
    }
}

static json_t *show_profiles(const struct aws_profiles *profiles)
{
    json_t *out = json_object();
    for (size_t i = 0; i < profiles->count; i++) {
        const struct aws_profile *profile = &profiles->items[i];
        json_t *values = json_object();
        add_section(values, &profiles->config, profile->config);
        add_section(values, &profiles->credentials, profile->credentials);
        json_object_setn_new(out, profile->name.ptr, profile->name.len, values);
    }
    return out;
}

static void add_text(json_t *out, const char *name, struct str text)
{
    json_object_set_new(out, name, text_json(text));
}

static json_t *show_source(const struct aws_source *source);

static void add_role(json_t *out, const struct aws_source *source)
{
    add_text(out, "arn", source->role.arn);
    add_text(out, "session_name", source->role.session_name);
    add_text(out, "external_id", source->role.external_id);
    add_text(out, "mfa_serial", source->role.mfa_serial);
    json_object_set_new(out, "duration", json_integer(source->role.duration_s));
    json_object_set_new(out, "base", show_source(source->role.base));
}

static void add_sso(json_t *out, const struct aws_source *source)
{
    add_text(out, "start_url", source->sso.start_url);
    add_text(out, "region", source->sso.region);
    add_text(out, "account_id", source->sso.account_id);
    add_text(out, "role_name", source->sso.role_name);
    add_text(out, "session", source->sso.session);
    add_text(out, "cache_name", source->sso.cache_name);
}

static void add_details(json_t *out, const struct aws_source *source)
{
    json_t *argv = json_array();
    switch (source->kind) {
    case SOURCE_ENVIRONMENT:
    case SOURCE_SHARED_FILE:
    case SOURCE_CONFIG_FILE:
        add_text(out, "access", source->keys.access_key);
        add_text(out, "secret", source->keys.secret_key);
        add_text(out, "token", source->keys.session_token);
        json_object_set_new(out, "expires", json_integer(source->keys.expires_at));
        break;
    case SOURCE_ASSUME_ROLE:
        add_role(out, source);
        break;
    case SOURCE_WEB_IDENTITY:
        add_text(out, "token_path", source->web.token_path);
        add_text(out, "arn", source->web.arn);
        add_text(out, "session_name", source->web.session_name);
        break;
    case SOURCE_SSO:
        add_sso(out, source);
        break;
    case SOURCE_PROCESS:
        for (size_t i = 0; i < source->process.argc; i++) {
            json_array_append_new(argv, text_json(source->process.argv[i]));
        }
        json_object_set(out, "argv", argv);
        break;
    case SOURCE_CONTAINER:
        add_text(out, "url", source->container.url);
        break;
    case SOURCE_IMDS:
        add_text(out, "endpoint", source->imds.endpoint);
        break;
    case SOURCE_LOGIN:
    case SOURCE_KIND_COUNT:
        break;
    }
    json_decref(argv);
}

static json_t *show_source(const struct aws_source *source)
{
    static const char *const states[] = {"absent", "ready", "broken"};
    json_t *out = json_object();
    add_text(out, "kind", str_from(aws_source_name(source->kind)));
    add_text(out, "state", str_from(states[source->state]));
    if (source->state == SOURCE_READY) {
        add_details(out, source);
    } else {
        add_text(out, "reason", source->reason);
    }
    return out;
}

static json_t *answer(const json_t *record, struct arena *arena)
{
    struct aws_profile_input input = {
        .environ = read_environ(record, arena),
        .named = record_text(record, "named"),
        .config = record_text(record, "config"),
        .credentials = record_text(record, "credentials"),
        .has_config = json_is_string(json_object_get(record, "config")),
        .has_credentials = json_is_string(json_object_get(record, "credentials")),
    };
    struct aws_profiles profiles;
    struct aws_source_plan plan;
    struct err err;
    json_t *out = json_object();
    if (!aws_profiles_load(&input, arena, &profiles, &err)) {
        add_text(out, "error", str_from(err.text));
        return out;
    }
    aws_source_plan(&profiles, arena, &plan);
    json_t *sources = json_array();
    for (size_t i = 0; i < SOURCE_KIND_COUNT; i++) {
        json_array_append_new(sources, show_source(&plan.sources[i]));
    }
    add_text(out, "active", profiles.active);
    add_text(out, "region", aws_region(&profiles));
    json_object_set_new(out, "profiles", show_profiles(&profiles));
    json_object_set_new(out, "sources", sources);
    return out;
}

int main(void)
{
    answer_records(answer, RECORD_BYTES_MAX);
    return 0;
}
