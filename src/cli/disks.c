/* disks.c: prints what the disks of stopped instances cost. */
#include "cli/disks.h"

#include "app/hourly_price.h"
#include "cli/cloud.h"

/* Gigabytes and kind of the volumes of one node of this type, from the file. */
static int64_t volume_gb(const struct config_node_type *type, struct str *ret_kind)
{
    const struct value *list = value_get_c(type->node_config, "BlockDeviceMappings");
    int64_t sum = 0;
    *ret_kind = STR("gp3");
    for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
        const struct value *disk = value_get_c(list->list.items[i], "Ebs");
        const struct value *size = value_get_c(disk, "VolumeSize");
        struct str kind = value_text(value_get_c(disk, "VolumeType"));
        sum += value_is(size, VALUE_INT) && size->integer > 0 ? size->integer : 0;
        *ret_kind = kind.len > 0 ? kind : *ret_kind;
    }
    return sum;
}

/* "a stopped node keeps 140 GB, about $11.20 a month", for each type with known volumes. */
void disks_say(const struct target *target)
{
    enum { CENT = 10000, CENTS = 100, HOURS_A_MONTH = 730 };
    const struct config *config = target->config;
    struct price_book book = {.region = value_text(value_get_c(config->provider, "region")),
                              .is_listed = str_is(config->provider_type, "aws")};
    for (size_t i = 0; i < config->node_type_count; i++) {
        const struct config_node_type *type = &config->node_types[i];
        struct str kind;
        int64_t size = volume_gb(type, &kind);
        if (size == 0) {
            continue;
        }
        struct price_subject subject = {
            .disks = arena_printf(target->cli.arena, "%.*s %lld", STR_ARG(kind), (long long)size)};
        struct price_known price = hourly_price(&book, &subject);
        struct str cost = STR("price unknown");
        if (price.price != PRICE_UNKNOWN) {
            int64_t cents = (price.price * HOURS_A_MONTH + CENT / 2) / CENT;
            cost = arena_printf(target->cli.arena, "about $%lld.%02lld a month",
                                (long long)(cents / CENTS), (long long)(cents % CENTS));
        }
        cloud_print_lines(&target->cli, "note",
                          arena_printf(target->cli.arena,
                                       "a stopped node of type %.*s keeps its disks: %lld GB, %.*s",
                                       STR_ARG(type->name), (long long)size, STR_ARG(cost)));
    }
}
