/* check_region.c: the region and zones of an AWS file. */
#include "config/check/check.h"

#include "base/suggest.h"

/* As of 2026-11. An unknown one is only a warning. */
static const char *const regions[] = {
    "af-south-1",     "ap-east-1",      "ap-east-2",      "ap-northeast-1", "ap-northeast-2",
    "ap-northeast-3", "ap-south-1",     "ap-south-2",     "ap-southeast-1", "ap-southeast-2",
    "ap-southeast-3", "ap-southeast-4", "ap-southeast-5", "ap-southeast-6", "ap-southeast-7",
    "ca-central-1",   "ca-west-1",      "cn-north-1",     "cn-northwest-1", "eu-central-1",
    "eu-central-2",   "eu-north-1",     "eu-south-1",     "eu-south-2",     "eu-west-1",
    "eu-west-2",      "eu-west-3",      "il-central-1",   "me-central-1",   "me-south-1",
    "mx-central-1",   "sa-east-1",      "us-east-1",      "us-east-2",      "us-gov-east-1",
    "us-gov-west-1",  "us-west-1",      "us-west-2",
};

bool check_region_is_known(struct str region)
{
    for (size_t i = 0; i < ARRAY_LEN(regions); i++) {
        if (str_is(region, regions[i])) {
            return true;
        }
    }
    return false;
}

struct str check_region_nearest(struct str region)
{
    struct suggest suggest;
    suggest_start(&suggest, region);
    for (size_t i = 0; i < ARRAY_LEN(regions); i++) {
        suggest_offer(&suggest, str_from(regions[i]));
    }
    return suggest_best(&suggest);
}

static void warn_of_region(const struct check *check, const struct value *region)
{
    struct str best = check_region_nearest(region->text);
    struct diag *diag = diag_warn(check->diags, "region", region->place,
                                  "\"%.*s\" is not an AWS region that this release knows",
                                  STR_ARG(str_sub(region->text, 0, 60)));
    if (best.len > 0) {
        diag_hint(check->diags, diag, "did you mean \"%.*s\"?", STR_ARG(best));
    }
}

/* "us-west-2" ends in a digit; with a letter after it, it is a zone. */
static void check_name(const struct check *check, const struct value *region)
{
    struct str text = region->text;
    bool is_zone = text.len > 2 && text.ptr[text.len - 1] >= 'a' && text.ptr[text.len - 1] <= 'z' &&
                   text.ptr[text.len - 2] >= '0' && text.ptr[text.len - 2] <= '9';
    if (is_zone) {
        struct diag *diag = diag_error(check->diags, "region", region->place,
                                       "\"%.*s\" is a zone, not a region", STR_ARG(text));
        diag_hint(check->diags, diag, "region: %.*s", STR_ARG(str_sub(text, 0, text.len - 1)));
    } else if (!check_region_is_known(text)) {
        warn_of_region(check, region);
    }
}

static void check_zones(const struct check *check, struct str region, const struct value *zones)
{
    struct str rest = zones->text;
    while (rest.len > 0) {
        struct str zone = str_trim(str_cut(&rest, ','));
        bool is_inside = zone.len > region.len && str_eq(str_sub(zone, 0, region.len), region);
        if (!is_inside) {
            diag_error(check->diags, "region", zones->place, "zone \"%.*s\" is not in region %.*s",
                       STR_ARG(zone), STR_ARG(region));
            return;
        }
    }
}

void check_region(const struct check *check)
{
    const struct value *region = value_path(check->tree, "provider.region");
    const struct value *zones = value_path(check->tree, "provider.availability_zone");
    size_t errors = check->diags->error_count;
    if (!value_is(region, VALUE_STRING)) {
        return;
    }
    check_name(check, region);
    if (value_is(zones, VALUE_STRING) && errors == check->diags->error_count) {
        check_zones(check, region->text, zones);
    }
}
