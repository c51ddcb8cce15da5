/*
 * fuzz_aws_ini.c: any bytes as AWS's two shared files and a few variables. A zero byte ends the
 * first file, a second one the second; what follows is the environment, a variable a line.
 */
#include "fuzz.h"

#include "provider/aws/client/endpoint.h"
#include "provider/aws/config/credential_chain.h"

enum { VARIABLES_MAX = 16, GROWTH_MAX = 400, ROOM_MAX = 64 * 1024 };

static const char *const *split_environ(struct str text, struct arena *arena)
{
    const char **env = ARENA_ARRAY(arena, VARIABLES_MAX + 1, const char *);
    for (size_t i = 0; i < VARIABLES_MAX && text.len > 0; i++) {
        env[i] = arena_str(arena, str_cut(&text, '\n')).ptr;
    }
    return env;
}

static void check_source(const struct aws_source *source, int depth)
{
    if (source->state != SOURCE_READY && source->reason.len == 0) {
        fuzz_fail("a source that is not ready says why", source->profile);
    }
    if (source->state == SOURCE_READY && source->kind == SOURCE_PROCESS &&
        source->process.argc == 0) {
        fuzz_fail("a program has a name", source->profile);
    }
    if (source->state == SOURCE_READY && source->kind == SOURCE_ASSUME_ROLE) {
        if (depth > 64 || source->role.base->state != SOURCE_READY) {
            fuzz_fail("a role stands on a source that is ready", source->profile);
        }
        check_source(source->role.base, depth + 1);
    }
}

static void check_plan(const struct aws_profiles *profiles, struct arena *arena)
{
    struct aws_source_plan plan;
    struct aws_endpoint endpoint;
    struct err err;
    aws_source_plan(profiles, arena, &plan);
    for (size_t i = 0; i < SOURCE_KIND_COUNT; i++) {
        check_source(&plan.sources[i], 0);
    }
    if (aws_endpoint_find(profiles, AWS_EC2, aws_region(profiles), arena, &endpoint, &err) &&
        (endpoint.host.len == 0 || str_find_char(endpoint.host, '/') != SIZE_MAX)) {
        fuzz_fail("an endpoint has a host", endpoint.host);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {size > 0 ? (const char *)data : "", size};
    struct arena arena;
    struct aws_profiles profiles;
    struct err err = {0};
    arena_init(&arena);
    struct aws_profile_input input = {.has_config = true, .has_credentials = true};
    input.config = str_cut(&rest, '\0');
    input.credentials = str_cut(&rest, '\0');
    input.environ = split_environ(rest, &arena);
    if (aws_profiles_load(&input, &arena, &profiles, &err)) {
        check_plan(&profiles, &arena);
    } else if (err.kind == ERR_NONE) {
        fuzz_fail("a refusal says why", input.config);
    }
    if (arena.used_bytes > size * GROWTH_MAX + ROOM_MAX) {
        fuzz_fail("what is read takes memory as the bytes do", input.config);
    }
    arena_clear(&arena);
    return 0;
}
