/* embedded.c: finds an embedded file by name. */
#include "config/embedded.h"

#include "config/embedded_data.h"

static struct str file_named(struct str folder, struct str name, const char *suffix)
{
    for (size_t i = 0; i < embedded_file_count; i++) {
        struct str rest = str_from(embedded_files[i].name);
        if (str_starts(rest, folder.ptr) && str_ends(rest, suffix) &&
            str_eq(str_sub(rest, folder.len, rest.len - str_from(suffix).len), name)) {
            return (struct str){(const char *)embedded_files[i].bytes, embedded_files[i].size};
        }
    }
    return STR("");
}

struct str embedded_ec2_types(void)
{
    return file_named(STR("catalog/"), STR("ec2_types"), ".tsv");
}

struct str embedded_ec2_params(void)
{
    return file_named(STR("catalog/"), STR("ec2_params"), ".tsv");
}

struct str embedded_gce_fields(void)
{
    return file_named(STR("catalog/"), STR("gce_fields"), ".tsv");
}

struct str embedded_ec2_prices(void)
{
    return file_named(STR("catalog/"), STR("ec2_prices"), ".tsv");
}

struct str embedded_defaults(struct str provider_type)
{
    return provider_type.len > 0 ? file_named(STR("prepare/defaults/"), provider_type, ".yaml")
                                 : STR("");
}

#define WORKLOADS "workload/"

struct str embedded_workload(struct str name)
{
    return name.len > 0 ? file_named(STR(WORKLOADS), name, ".yaml") : STR("");
}

struct str embedded_workload_name(size_t position)
{
    for (size_t i = 0; i < embedded_file_count; i++) {
        struct str name = str_from(embedded_files[i].name);
        if (str_starts(name, WORKLOADS) && position-- == 0) {
            return str_sub(name, sizeof(WORKLOADS) - 1, str_find(name, ".yaml"));
        }
    }
    return STR("");
}
