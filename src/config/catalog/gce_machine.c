/* gce_machine.c: the rules of names. CPUs and memory agree with a list of machine types of 2026-08;
 * GPUs were compared with nothing. */
#include "config/catalog/gce_machine.h"

#include "base/suggest.h"

enum rounding { EXACT, DOWN, UP }; /* to whole GB */

/* GB of memory for `cpus` CPUs; the CPUs are in the name. */
static const struct {
    const char *series;
    uint16_t gb, cpus;
    enum rounding rounding;
} cpu_series[] = {
    {"c2-standard", 4, 1, EXACT},    {"c2d-highcpu", 2, 1, EXACT},
    {"c2d-highmem", 8, 1, EXACT},    {"c2d-standard", 4, 1, EXACT},
    {"c3-highcpu", 2, 1, EXACT},     {"c3-highmem", 8, 1, EXACT},
    {"c3-standard", 4, 1, EXACT},    {"c3d-highcpu", 59, 30, UP},
    {"c3d-highmem", 8, 1, EXACT},    {"c3d-standard", 4, 1, EXACT},
    {"c4-highcpu", 2, 1, EXACT},     {"c4-highmem", 31, 4, DOWN},
    {"c4-standard", 15, 4, DOWN},    {"c4a-highcpu", 2, 1, EXACT},
    {"c4a-highmem", 8, 1, EXACT},    {"c4a-standard", 4, 1, EXACT},
    {"c4d-highcpu", 15, 8, DOWN},    {"c4d-highmem", 63, 8, DOWN},
    {"c4d-standard", 31, 8, DOWN},   {"c4n-highcpu", 2, 1, EXACT},
    {"c4n-highmem", 31, 4, DOWN},    {"c4n-standard", 15, 4, DOWN},
    {"e2-highcpu", 1, 1, EXACT},     {"e2-highmem", 8, 1, EXACT},
    {"e2-standard", 4, 1, EXACT},    {"g2-standard", 4, 1, EXACT},
    {"g4-standard", 15, 4, DOWN},    {"h3-standard", 4, 1, EXACT},
    {"h4d-highmem", 31, 4, EXACT},   {"h4d-standard", 15, 4, EXACT},
    {"m1-megamem", 224, 15, EXACT},  {"m1-ultramem", 961, 40, EXACT},
    {"m2-hypermem", 276, 13, EXACT}, {"m2-megamem", 184, 13, EXACT},
    {"m2-ultramem", 368, 13, EXACT}, {"m3-megamem", 61, 4, EXACT},
    {"m3-ultramem", 61, 2, EXACT},   {"m4-hypermem", 31, 2, EXACT},
    {"m4-megamem", 93, 7, EXACT},    {"m4-ultramem", 186, 7, EXACT},
    {"m4n-hypermem", 31, 2, EXACT},  {"m4n-megamem", 93, 7, EXACT},
    {"m4n-ultramem", 186, 7, EXACT}, {"n1-highcpu", 9, 10, EXACT},
    {"n1-highmem", 13, 2, EXACT},    {"n1-megamem", 224, 15, EXACT},
    {"n1-standard", 15, 4, EXACT},   {"n1-ultramem", 961, 40, EXACT},
    {"n2-highcpu", 1, 1, EXACT},     {"n2-highmem", 8, 1, EXACT},
    {"n2-standard", 4, 1, EXACT},    {"n2d-highcpu", 1, 1, EXACT},
    {"n2d-highmem", 8, 1, EXACT},    {"n2d-standard", 4, 1, EXACT},
    {"n4-highcpu", 2, 1, EXACT},     {"n4-highmem", 8, 1, EXACT},
    {"n4-standard", 4, 1, EXACT},    {"n4a-highcpu", 2, 1, EXACT},
    {"n4a-highmem", 8, 1, EXACT},    {"n4a-standard", 4, 1, EXACT},
    {"n4d-highcpu", 2, 1, EXACT},    {"n4d-highmem", 8, 1, EXACT},
    {"n4d-standard", 4, 1, EXACT},   {"t2a-standard", 4, 1, EXACT},
    {"t2d-standard", 4, 1, EXACT},   {"x4-megamem", 256, 15, EXACT},
    {"z3-highmem", 8, 1, EXACT},
};

/* CPUs and GB for each GPU; the number of GPUs is in the name. */
static const struct {
    const char *series;
    uint16_t cpus, gb;
    const char *gpu;
} gpu_series[] = {
    {"a2-highgpu", 12, 85, "A100"},    {"a2-megagpu", 6, 85, "A100"},
    {"a2-ultragpu", 12, 170, "A100"},  {"a3-edgegpu", 26, 234, "H100"},
    {"a3-highgpu", 26, 234, "H100"},   {"a3-megagpu", 26, 234, "H100"},
    {"a3-ultragpu", 28, 369, "H200"},  {"a4-highgpu", 28, 496, "B200"},
    {"a4x-highgpu", 35, 221, "GB200"}, {"a4x-maxgpu", 36, 240, "GB300"},
};

/* Types outside the rules of their series. */
static const struct {
    const char *name;
    uint32_t cpus, memory_mib;
} odd_types[] = {
    {"c3-highcpu-192-metal", 192, 512 * 1024},
    {"c4d-highcpu-384-metal", 384, 768 * 1024},
    {"c4d-highmem-384-metal", 384, 3072 * 1024},
    {"c4d-standard-384-metal", 384, 1536 * 1024},
    {"e2-medium", 2, 4096},
    {"e2-micro", 2, 1024},
    {"e2-small", 2, 2048},
    {"f1-micro", 1, 614},
    {"g1-small", 1, 1740},
    {"n2-highmem-128", 128, 864 * 1024},
};

static struct str gce_machine_short_name(struct str name)
{
    while (str_find_char(name, '/') != SIZE_MAX) {
        str_cut(&name, '/');
    }
    return name;
}

/* "n2-standard-8-lssd": the series "n2-standard", the number "8", and the rest. */
static void gce_machine_split(struct str name, struct str *ret_series, struct str *ret_number)
{
    struct str rest = name;
    struct str family = str_cut(&rest, '-');
    struct str class = str_cut(&rest, '-');
    *ret_series = str_sub(name, 0, family.len + 1 + class.len);
    *ret_number = str_cut(&rest, '-');
}

/* GPUs that come with a type by the number of its CPUs. */
static void gce_machine_add_gpus(struct str series, struct machine_type *type)
{
    if (str_starts(series, "g2-")) {
        type->gpus = type->vcpus == 24 || type->vcpus >= 48 ? type->vcpus / 12 : 1;
        type->gpu_name = STR("L4");
    } else if (str_starts(series, "g4-")) {
        type->gpus = type->vcpus / 48; /* smaller types have a part of a GPU */
        type->gpu_name = STR("RTX-PRO-6000");
    }
}

/* [FAMILY-]custom-CPUS-MEMORY[-ext] */
static bool gce_machine_custom(struct str name, struct machine_type *ret_type)
{
    size_t at = str_starts(name, "custom-") ? 0 : str_find(name, "-custom-");
    struct str rest = at == SIZE_MAX ? STR("") : str_sub(name, at == 0 ? 0 : at + 1, name.len);
    str_cut(&rest, '-');
    if (!str_to_u32(str_cut(&rest, '-'), &ret_type->vcpus) ||
        !str_to_u32(str_cut(&rest, '-'), &ret_type->memory_mib) || ret_type->vcpus == 0) {
        return false;
    }
    gce_machine_add_gpus(name, ret_type);
    return rest.len == 0 || str_is(rest, "ext");
}

static uint32_t gce_machine_memory(size_t series, uint32_t cpus)
{
    enum { MIB = 1024 };
    uint64_t gb = (uint64_t)cpus * cpu_series[series].gb;
    uint64_t per = cpu_series[series].cpus;
    enum rounding rounding = cpu_series[series].rounding;
    if (rounding == EXACT) {
        return (uint32_t)(gb * MIB / per);
    }
    return (uint32_t)((gb + (rounding == UP ? per - 1 : 0)) / per * MIB);
}

static bool gce_machine_by_cpus(struct str series, struct str number, struct machine_type *type)
{
    enum { CPUS_MAX = 4096 };
    for (size_t i = 0; i < ARRAY_LEN(cpu_series); i++) {
        if (str_is(series, cpu_series[i].series)) {
            if (!str_to_u32(number, &type->vcpus) || type->vcpus == 0 || type->vcpus > CPUS_MAX) {
                return false;
            }
            type->memory_mib = gce_machine_memory(i, type->vcpus);
            gce_machine_add_gpus(series, type);
            return true;
        }
    }
    return false;
}

static bool gce_machine_by_gpus(struct str series, struct str number, struct machine_type *type)
{
    enum { GPUS_MAX = 64, MIB = 1024 };
    for (size_t i = 0; i < ARRAY_LEN(gpu_series); i++) {
        if (str_is(series, gpu_series[i].series)) {
            if (!str_ends(number, "g") ||
                !str_to_u32(str_sub(number, 0, number.len - 1), &type->gpus) || type->gpus == 0 ||
                type->gpus > GPUS_MAX) {
                return false;
            }
            type->vcpus = type->gpus * gpu_series[i].cpus;
            type->memory_mib = type->gpus * gpu_series[i].gb * MIB;
            type->gpu_name = str_from(gpu_series[i].gpu);
            return true;
        }
    }
    return false;
}

bool gce_machine_type(struct str name, struct machine_type *ret_type)
{
    static const char *const arm[] = {"t2a-", "c4a-", "n4a-", "a4x-"};
    struct str series;
    struct str number;
    *ret_type = (struct machine_type){.name = gce_machine_short_name(name),
                                      .architectures = STR("x86_64")};
    for (size_t i = 0; i < ARRAY_LEN(odd_types); i++) {
        if (str_is(ret_type->name, odd_types[i].name)) {
            ret_type->vcpus = odd_types[i].cpus;
            ret_type->memory_mib = odd_types[i].memory_mib;
            return true;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(arm); i++) {
        if (str_starts(ret_type->name, arm[i])) {
            ret_type->architectures = STR("arm64");
        }
    }
    gce_machine_split(ret_type->name, &series, &number);
    return gce_machine_by_cpus(series, number, ret_type) ||
           gce_machine_by_gpus(series, number, ret_type) ||
           gce_machine_custom(ret_type->name, ret_type);
}

/* "nvidia-tesla-t4" is "T4" for Ray, "nvidia-h100-80gb" is "H100". */
static struct str gce_machine_gpu_name(struct arena *arena, struct str type)
{
    struct str rest = gce_machine_short_name(type);
    if (str_starts(rest, "nvidia-rtx-pro-6000")) {
        return STR("RTX-PRO-6000");
    }
    struct str word = str_cut(&rest, '-');
    while (rest.len > 0 && (str_is(word, "nvidia") || str_is(word, "tesla"))) {
        word = str_cut(&rest, '-');
    }
    char *upper = arena_alloc(arena, word.len + 1);
    for (size_t i = 0; i < word.len; i++) {
        upper[i] = word.ptr[i] >= 'a' && word.ptr[i] <= 'z' ? (char)(word.ptr[i] - 32)
                                                            : word.ptr[i];
    }
    return (struct str){upper, word.len};
}

bool gce_machine_of(struct arena *arena, const struct value *node_config,
                    struct machine_type *ret_type)
{
    const struct value *list = value_get_c(node_config, "guestAccelerators");
    if (!gce_machine_type(value_text(value_get_c(node_config, "machineType")), ret_type)) {
        return false;
    }
    for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
        const struct value *item = list->list.items[i];
        struct str name = value_text(value_get_c(item, "acceleratorType"));
        double count;
        const struct value *number = value_get_c(item, "acceleratorCount");
        if (name.len == 0 || !number || !value_number(number, &count) ||
            !(count >= 1 && count <= 64)) {
            continue;
        }
        /* A type with GPUs may list them again. */
        ret_type->gpus = (uint32_t)count;
        ret_type->gpu_name = gce_machine_gpu_name(arena, name);
    }
    return true;
}

struct str gce_machine_nearest(struct arena *arena, struct str name)
{
    struct suggest suggest;
    struct str series;
    struct str number;
    name = gce_machine_short_name(name);
    gce_machine_split(name, &series, &number);
    struct str rest = series;
    struct str family = str_cut(&rest, '-');
    suggest_start(&suggest, series);
    for (size_t i = 0; i < ARRAY_LEN(cpu_series); i++) {
        struct str offer = str_from(cpu_series[i].series);
        struct str offer_class = offer;
        if (str_eq(str_cut(&offer_class, '-'), family)) {
            suggest_offer(&suggest, offer);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(gpu_series); i++) {
        struct str offer = str_from(gpu_series[i].series);
        struct str offer_class = offer;
        if (str_eq(str_cut(&offer_class, '-'), family)) {
            suggest_offer(&suggest, offer);
        }
    }
    struct str best = suggest_best(&suggest);
    return best.len == 0 || number.len == 0 || str_eq(best, series)
               ? STR("")
               : arena_printf(arena, "%.*s%.*s", STR_ARG(best),
                              STR_ARG(str_sub(name, series.len, name.len)));
}
