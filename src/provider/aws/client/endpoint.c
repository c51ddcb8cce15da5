/* endpoint.c: partitions, special rules of services, and overrides. */
#include "provider/aws/client/endpoint.h"

#include "provider/shell_split.h"

#include <string.h>
#include <strings.h>

enum { REGION_LEN_MAX = 63 };

/* ---- tables ---- */

static const struct {
    const char *name;        /* signing name */
    const char *host_prefix; /* part of the host before the region */
    const char *variable;    /* AWS_ENDPOINT_URL_ and the service */
    const char *config_name; /* name in a [services] section */
} services[AWS_SERVICE_COUNT] = {
    [AWS_EC2] = {"ec2", "ec2", "AWS_ENDPOINT_URL_EC2", "ec2"},
    [AWS_STS] = {"sts", "sts", "AWS_ENDPOINT_URL_STS", "sts"},
    [AWS_IAM] = {"iam", "iam", "AWS_ENDPOINT_URL_IAM", "iam"},
    [AWS_SSM] = {"ssm", "ssm", "AWS_ENDPOINT_URL_SSM", "ssm"},
    [AWS_S3] = {"s3", "s3", "AWS_ENDPOINT_URL_S3", "s3"},
    [AWS_PRICING] = {"pricing", "api.pricing", "AWS_ENDPOINT_URL_PRICING", "pricing"},
    [AWS_SSO] = {"awsssoportal", "portal.sso", "AWS_ENDPOINT_URL_SSO", "sso"},
    [AWS_SSO_OIDC] = {"sso-oauth", "oidc", "AWS_ENDPOINT_URL_SSO_OIDC", "sso_oidc"},
    [AWS_QUOTAS] = {"servicequotas", "servicequotas", "AWS_ENDPOINT_URL_SERVICE_QUOTAS",
                    "service_quotas"},
};

const char *aws_service_name(enum aws_service service)
{
    return services[service].config_name;
}

/* Bits of an index: there are four kinds of endpoints. */
enum { KIND_FIPS = 1, KIND_DUAL = 2, KIND_COUNT = 4 };

/* An AWS partition: regions that share accounts and a domain. The first one matches all other
 * regions. */
struct partition {
    const char *name; /* in ARNs */
    const char *region_prefix;
    const char *domain;
    const char *dual_domain;           /* domain of dual-stack (IPv6) endpoints */
    const char *iam_hosts[KIND_COUNT]; /* IAM hosts, by partition; they follow no rule */
    const char *iam_region;            /* signing region of IAM */
    const char *pricing_region;        /* a region with the Pricing API; NULL: none */
    bool has_plain_fips;               /* without dual-stack, the usual names are always FIPS */
    bool has_no_s3_fips;
};

static const struct partition partitions[] = {
    {.name = "aws",
     .region_prefix = "",
     .domain = "amazonaws.com",
     .dual_domain = "api.aws",
     .iam_hosts = {"iam.amazonaws.com", "iam-fips.amazonaws.com", "iam.global.api.aws",
                   "iam-fips.global.api.aws"},
     .iam_region = "us-east-1",
     .pricing_region = "us-east-1"},
    {.name = "aws-cn",
     .region_prefix = "cn-",
     .domain = "amazonaws.com.cn",
     .dual_domain = "api.amazonwebservices.com.cn",
     .iam_hosts = {"iam.cn-north-1.amazonaws.com.cn", "iam-fips.amazonaws.com.cn",
                   "iam.global.api.amazonwebservices.com.cn",
                   "iam-fips.api.amazonwebservices.com.cn"},
     .iam_region = "cn-north-1",
     .pricing_region = "cn-northwest-1",
     .has_no_s3_fips = true},
    {.name = "aws-us-gov",
     .region_prefix = "us-gov-",
     .domain = "amazonaws.com",
     .dual_domain = "api.aws",
     .iam_hosts = {"iam.us-gov.amazonaws.com", "iam.us-gov.amazonaws.com", "iam.us-gov.api.aws",
                   "iam.us-gov.api.aws"},
     .iam_region = "us-gov-west-1",
     .has_plain_fips = true},
    {.name = "aws-iso",
     .region_prefix = "us-iso-",
     .domain = "c2s.ic.gov",
     .dual_domain = "api.aws.ic.gov",
     .iam_hosts = {"iam.us-iso-east-1.c2s.ic.gov", "iam-fips.us-iso-east-1.c2s.ic.gov",
                   "iam.api.aws.ic.gov", "iam-fips.api.aws.ic.gov"},
     .iam_region = "us-iso-east-1",
     .pricing_region = "us-iso-east-1"},
    {.name = "aws-iso-b",
     .region_prefix = "us-isob-",
     .domain = "sc2s.sgov.gov",
     .dual_domain = "api.aws.scloud",
     .iam_hosts = {"iam.us-isob-east-1.sc2s.sgov.gov", "iam-fips.us-isob-east-1.sc2s.sgov.gov",
                   "iam.api.aws.scloud", "iam-fips.api.aws.scloud"},
     .iam_region = "us-isob-east-1",
     .pricing_region = "us-isob-east-1"},
    {.name = "aws-iso-f",
     .region_prefix = "us-isof-",
     .domain = "csp.hci.ic.gov",
     .dual_domain = "api.aws.hci.ic.gov",
     .iam_hosts = {"iam.us-isof-south-1.csp.hci.ic.gov", "iam-fips.csp.hci.ic.gov",
                   "iam.api.aws.hci.ic.gov", "iam-fips.api.aws.hci.ic.gov"},
     .iam_region = "us-isof-south-1",
     .pricing_region = "us-isof-south-1"},
    {.name = "aws-iso-e",
     .region_prefix = "eu-isoe-",
     .domain = "cloud.adc-e.uk",
     .dual_domain = "api.cloud-aws.adc-e.uk",
     .iam_hosts = {"iam.eu-isoe-west-1.cloud.adc-e.uk", "iam-fips.cloud.adc-e.uk",
                   "iam.api.cloud-aws.adc-e.uk", "iam-fips.api.cloud-aws.adc-e.uk"},
     .iam_region = "eu-isoe-west-1",
     .pricing_region = "eu-isoe-west-1"},
    {.name = "aws-eusc",
     .region_prefix = "eusc-",
     .domain = "amazonaws.eu",
     .dual_domain = "api.amazonwebservices.eu",
     .iam_hosts = {"iam.eusc-de-east-1.amazonaws.eu", "iam-fips.amazonaws.eu",
                   "iam.global.api.amazonwebservices.eu", "iam-fips.api.amazonwebservices.eu"},
     .iam_region = "eusc-de-east-1",
     .pricing_region = "eusc-de-east-1"},
};

static const struct partition *partition_of(struct str region)
{
    for (size_t i = 1; i < ARRAY_LEN(partitions); i++) {
        if (str_starts(region, partitions[i].region_prefix)) {
            return &partitions[i];
        }
    }
    return &partitions[0];
}

const char *aws_partition(struct str region)
{
    return partition_of(region)->name;
}

const char *aws_ec2_principal(struct str region)
{
    return str_starts(region, "cn-") ? "ec2.amazonaws.com.cn" : "ec2.amazonaws.com";
}

/* ---- overrides ---- */

static struct str variable(const struct aws_profiles *profiles, const char *name)
{
    return str_from(variable_get(profiles->environ, name));
}

/* endpoint_url for this service in a [services NAME] section. */
static struct str in_section(const struct ini *config, const struct ini_section *section,
                             enum aws_service service)
{
    const struct ini_option *option = ini_option(config, section, services[service].config_name);
    for (size_t i = option ? option->nested_count : 0; i-- > 0;) {
        if (str_is(option->nested[i].name, "endpoint_url")) {
            return option->nested[i].value;
        }
    }
    return STR("");
}

static struct str in_services(const struct aws_profiles *profiles, struct str name,
                              enum aws_service service, struct arena *arena)
{
    const struct ini *config = &profiles->config;
    for (size_t i = config->section_count; i-- > 0;) {
        struct str *words;
        size_t count;
        if (str_starts(config->sections[i].name, "services") &&
            shell_split(config->sections[i].name, arena, &words, &count) && count == 2 &&
            str_eq(words[1], name)) {
            return in_section(config, &config->sections[i], service);
        }
    }
    return STR("");
}

static bool is_ignored(const struct aws_profiles *profiles, const struct aws_profile *profile)
{
    const struct ini_option *option = aws_profile_option(profiles, profile,
                                                         "ignore_configured_endpoint_urls");
    const char *set = variable_get(profiles->environ, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
    struct str value = set ? str_from(set) : option ? option->value : STR("");
    return str_is(value, "true") || str_is(value, "True") || str_is(value, "TRUE");
}

/* Empty if the user set none. */
static struct str find_override(const struct aws_profiles *profiles, enum aws_service service,
                                struct arena *arena)
{
    const struct aws_profile *profile = aws_profile_find(profiles, profiles->active);
    const struct ini_option *named = aws_profile_option(profiles, profile, "services");
    const struct ini_option *all = aws_profile_option(profiles, profile, "endpoint_url");
    if (is_ignored(profiles, profile)) {
        return STR("");
    }
    struct str found[] = {
        variable(profiles, services[service].variable),
        variable(profiles, "AWS_ENDPOINT_URL"),
        named ? in_services(profiles, named->value, service, arena) : STR(""),
        all && !all->nested ? all->value : STR(""),
    };
    for (size_t i = 0; i < ARRAY_LEN(found); i++) {
        if (found[i].len > 0) {
            return found[i];
        }
    }
    return STR("");
}

static bool is_host_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == ':' || c == '[' || c == ']';
}

static bool parse_url(struct str url, struct aws_endpoint *endpoint, struct err *err)
{
    struct str rest = url;
    endpoint->is_tls = str_starts(url, "https://");
    if (!endpoint->is_tls && !str_starts(url, "http://")) {
        return err_set(err, ERR_CONFIG, "an endpoint must start with http:// or https://");
    }
    rest = str_sub(rest, endpoint->is_tls ? 8 : 7, rest.len);
    size_t end = 0;
    while (end < rest.len && is_host_char(rest.ptr[end])) {
        end++;
    }
    endpoint->host = str_sub(rest, 0, end);
    endpoint->path = str_sub(rest, end, rest.len);
    while (str_ends(endpoint->path, "/")) {
        endpoint->path.len--;
    }
    bool has_path = end < rest.len;
    if (end == 0 || (has_path && rest.ptr[end] != '/')) {
        return err_set(err, ERR_CONFIG,
                       "an endpoint must be a host, optionally with a port and a path");
    }
    for (size_t i = 0; i < endpoint->path.len; i++) {
        char c = endpoint->path.ptr[i];
        if (c <= ' ' || c > '~' || c == '?' || c == '#') {
            return err_set(err, ERR_CONFIG,
                           "the path of an endpoint contains an invalid character");
        }
    }
    return true;
}

/* ---- finding the endpoint ---- */

/* The region becomes part of a host name, so its characters are checked. */
static bool check_region(struct str region, struct err *err)
{
    bool is_label = region.len > 0 && region.len <= REGION_LEN_MAX && region.ptr[0] != '-';
    for (size_t i = 0; is_label && i < region.len; i++) {
        char c = region.ptr[i];
        is_label = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    }
    return is_label || err_set(err, ERR_CONFIG,
                               region.len == 0 ? "no AWS region is set"
                                               : "the AWS region is not a name like us-east-1");
}

/* A user's switch: the variable, then the profile's option; "true" in any letter case. */
static bool is_switched_on(const struct aws_profiles *profiles, const char *variable_name,
                           const char *option_name)
{
    const struct aws_profile *profile = aws_profile_find(profiles, profiles->active);
    const char *set = variable_get(profiles->environ, variable_name);
    const struct ini_option *option = aws_profile_option(profiles, profile, option_name);
    struct str value = set ? str_from(set) : option ? option->value : STR("");
    return value.len == strlen("true") && strncasecmp(value.ptr, "true", value.len) == 0;
}

static unsigned wanted_kind(const struct aws_profiles *profiles)
{
    if (!profiles) {
        return 0;
    }
    bool is_fips = is_switched_on(profiles, "AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint");
    bool is_dual = is_switched_on(profiles, "AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint");
    return (is_fips ? KIND_FIPS : 0) | (is_dual ? KIND_DUAL : 0);
}

static bool endpoint_find_host(const struct partition *partition, enum aws_service service,
                               unsigned kind, struct arena *arena, struct aws_endpoint *endpoint,
                               struct err *err)
{
    bool is_dual = kind & KIND_DUAL;
    bool is_fips = kind & KIND_FIPS;
    if (service == AWS_PRICING && !partition->pricing_region) {
        return err_set(err, ERR_NOT_FOUND, "this AWS partition has no Pricing API");
    }
    if (service == AWS_IAM) {
        endpoint->host = str_from(partition->iam_hosts[kind]);
        return true;
    }
    if (service == AWS_S3) {
        if (is_fips && partition->has_no_s3_fips) {
            return err_set(err, ERR_CONFIG, "this AWS partition has no FIPS endpoints for S3");
        }
        endpoint->host = arena_printf(arena, "s3%s%s.%.*s.%s", is_fips ? "-fips" : "",
                                      is_dual ? ".dualstack" : "",
                                      STR_ARG(endpoint->signing_region), partition->domain);
        return true;
    }
    bool says_fips = is_fips && (is_dual || !partition->has_plain_fips);
    endpoint->host = arena_printf(arena, "%s%s.%.*s.%s", services[service].host_prefix,
                                  says_fips ? "-fips" : "", STR_ARG(endpoint->signing_region),
                                  is_dual ? partition->dual_domain : partition->domain);
    return true;
}

bool aws_endpoint_find(const struct aws_profiles *profiles, enum aws_service service,
                       struct str region, struct arena *arena, struct aws_endpoint *ret_endpoint,
                       struct err *err)
{
    struct aws_endpoint endpoint = {.is_tls = true, .path = STR(""), .signing_region = region};
    if (!check_region(region, err)) {
        return false;
    }
    const struct partition *partition = partition_of(region);
    if (service == AWS_IAM) {
        endpoint.signing_region = str_from(partition->iam_region);
    } else if (service == AWS_PRICING) {
        endpoint.signing_region = str_from(partition->pricing_region);
    }
    endpoint.signing_name = str_from(services[service].name);
    struct str override = profiles ? find_override(profiles, service, arena) : STR("");
    unsigned kind = wanted_kind(profiles);
    if (override.len > 0) {
        endpoint.is_override = true;
        if (kind != 0) {
            return err_set(
                err, ERR_CONFIG, "a custom endpoint cannot be combined with %s; unset one",
                kind & KIND_FIPS ? "AWS_USE_FIPS_ENDPOINT" : "AWS_USE_DUALSTACK_ENDPOINT");
        }
        if (!parse_url(override, &endpoint, err)) {
            return err_wrap(err, "%s", services[service].config_name);
        }
    } else if (!endpoint_find_host(partition, service, kind, arena, &endpoint, err)) {
        return false;
    }
    *ret_endpoint = endpoint;
    return true;
}
