/* endpoint.c: partitions, the services' own rules, and overrides. */
#include "provider/aws/endpoint.h"

#include "provider/aws/shell_words.h"

enum { REGION_LEN_MAX = 63 };

/* ---- tables ---- */

static const struct {
    const char *name;        /* as it is signed */
    const char *host_prefix; /* what stands before the region */
    const char *variable;    /* AWS_ENDPOINT_URL_ and the service */
    const char *config_name; /* in a [services] section */
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

/* A partition of AWS: regions that share accounts and a domain. The first fits all the rest. */
struct partition {
    const char *region_prefix;
    const char *domain;
    const char *iam_host;       /* NULL: as for every other service */
    const char *iam_region;     /* for which IAM's requests are signed; NULL: the caller's */
    const char *pricing_region; /* one that has the Pricing API; NULL: none does */
};

static const struct partition partitions[] = {
    {"", "amazonaws.com", "iam.amazonaws.com", "us-east-1", "us-east-1"},
    {"cn-", "amazonaws.com.cn", "iam.cn-north-1.amazonaws.com.cn", "cn-north-1", "cn-northwest-1"},
    {"us-gov-", "amazonaws.com", "iam.us-gov.amazonaws.com", "us-gov-west-1", NULL},
    {"us-iso-", "c2s.ic.gov", "iam.us-iso-east-1.c2s.ic.gov", "us-iso-east-1", "us-iso-east-1"},
    {"us-isob-", "sc2s.sgov.gov", "iam.us-isob-east-1.sc2s.sgov.gov", "us-isob-east-1",
     "us-isob-east-1"},
    {"us-isof-", "csp.hci.ic.gov", "iam.us-isof-south-1.csp.hci.ic.gov", "us-isof-south-1",
     "us-isof-south-1"},
    {"eu-isoe-", "cloud.adc-e.uk", "iam.eu-isoe-west-1.cloud.adc-e.uk", "eu-isoe-west-1",
     "eu-isoe-west-1"},
    {"eusc-", "amazonaws.eu", "iam.eusc-de-east-1.amazonaws.eu", "eusc-de-east-1",
     "eusc-de-east-1"},
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

/* ---- overrides ---- */

static struct str variable(const struct aws_profiles *profiles, const char *name)
{
    return str_from(aws_variable(profiles->environ, name));
}

/* endpoint_url in the part of a [services NAME] section that is about this service. */
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
            shell_words(config->sections[i].name, arena, &words, &count) && count == 2 &&
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
    const char *set = aws_variable(profiles->environ, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
    struct str value = set ? str_from(set) : option ? option->value : STR("");
    return str_is(value, "true") || str_is(value, "True") || str_is(value, "TRUE");
}

/* Empty when the user has not said any. */
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
                       "an endpoint must be a host with at most a port and a path");
    }
    for (size_t i = 0; i < endpoint->path.len; i++) {
        char c = endpoint->path.ptr[i];
        if (c <= ' ' || c > '~' || c == '?' || c == '#') {
            return err_set(err, ERR_CONFIG,
                           "the path of an endpoint has a character that cannot "
                           "be in it");
        }
    }
    return true;
}

/* ---- the answer ---- */

/* The region becomes a part of a host name: nothing else may come along. */
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
    if (override.len > 0) {
        endpoint.is_override = true;
        if (!parse_url(override, &endpoint, err)) {
            return err_wrap(err, "%s", services[service].config_name);
        }
    } else if (service == AWS_PRICING && !partition->pricing_region) {
        return err_set(err, ERR_NOT_FOUND, "there is no Pricing API for %.*s", STR_ARG(region));
    } else if (service == AWS_IAM) {
        endpoint.host = str_from(partition->iam_host);
    } else {
        endpoint.host = arena_printf(arena, "%s.%.*s.%s", services[service].host_prefix,
                                     STR_ARG(endpoint.signing_region), partition->domain);
    }
    *ret_endpoint = endpoint;
    return true;
}
