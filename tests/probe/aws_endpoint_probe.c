/* aws_endpoint_probe.c: prints for each record, a service, a region, a configuration file and
 * variables in JSON, where the service is reached; compared with botocore's rules. */
#include "provider/aws/client/endpoint.h"

#include "json_record.h"
#include "records.h"

#include <stdio.h>

enum { RECORD_BYTES_MAX = 1024 * 1024 };

static enum aws_service service_named(struct str name)
{
    static const char *const names[AWS_SERVICE_COUNT] = {
        "ec2", "sts", "iam", "ssm", "s3", "pricing", "sso", "sso-oidc", "service-quotas"};
    enum aws_service service = AWS_EC2;
    while (!str_is(name, names[service])) {
        service++;
    }
    return service;
}

static json_t *answer(const json_t *record, struct arena *arena)
{
    const json_t *list = json_object_get(record, "environ");
    const char **env = ARENA_ARRAY(arena, json_array_size(list) + 1, const char *);
    struct aws_profiles profiles;
    struct aws_endpoint endpoint;
    struct err err;
    for (size_t i = 0; i < json_array_size(list); i++) {
        env[i] = json_string_value(json_array_get(list, i));
    }
    struct aws_profile_input input = {
        .environ = env, .config = record_text(record, "config"), .has_config = true};
    if (!aws_profiles_load(&input, arena, &profiles, &err) ||
        !aws_endpoint_find(&profiles, service_named(record_text(record, "service")),
                           record_text(record, "region"), arena, &endpoint, &err)) {
        return json_pack("{s:s}", "error", err.text);
    }
    struct str url = arena_printf(arena, "http%s://%.*s%.*s", endpoint.is_tls ? "s" : "",
                                  STR_ARG(endpoint.host), STR_ARG(endpoint.path));
    return json_pack("{s:o, s:o, s:o}", "url", text_json(url), "region",
                     text_json(endpoint.signing_region), "name", text_json(endpoint.signing_name));
}

int main(void)
{
    answer_records(answer, RECORD_BYTES_MAX);
    return 0;
}
