/* test_gce_machine.c: machine types of Compute Engine by the rules of their names. */
#include "config/catalog/gce_machine.h"

#include "fixture.h"

static void names_say_what_a_machine_has(void **state)
{
    static const struct {
        const char *name;
        uint32_t vcpus, memory_mib, gpus;
        const char *gpu_name, *architectures;
    } rows[] = {
        {"n1-standard-1", 1, 3840, 0, "", "x86_64"},
        {"n1-highcpu-2", 2, 1843, 0, "", "x86_64"},
        {"n1-highmem-96", 96, 624 * 1024, 0, "", "x86_64"},
        {"n2-standard-8", 8, 32 * 1024, 0, "", "x86_64"},
        {"n2-highmem-96", 96, 768 * 1024, 0, "", "x86_64"},
        {"n2-highmem-128", 128, 864 * 1024, 0, "", "x86_64"},
        {"e2-medium", 2, 4096, 0, "", "x86_64"},
        {"c3d-highcpu-16", 16, 32 * 1024, 0, "", "x86_64"}, /* rounded up */
        {"c3d-highcpu-360", 360, 708 * 1024, 0, "", "x86_64"},
        {"c4-standard-2", 2, 7 * 1024, 0, "", "x86_64"}, /* rounded down */
        {"c4d-highmem-4", 4, 31 * 1024, 0, "", "x86_64"},
        {"c3-standard-22-lssd", 22, 88 * 1024, 0, "", "x86_64"},
        {"c3-highcpu-192-metal", 192, 512 * 1024, 0, "", "x86_64"},
        {"m1-megamem-96", 96, 1468006, 0, "", "x86_64"},
        {"m2-ultramem-416", 416, 11776 * 1024, 0, "", "x86_64"},
        {"m4-megamem-28", 28, 372 * 1024, 0, "", "x86_64"},
        {"z3-highmem-14-standardlssd", 14, 112 * 1024, 0, "", "x86_64"},
        {"t2a-standard-4", 4, 16 * 1024, 0, "", "arm64"},
        {"c4a-standard-72", 72, 288 * 1024, 0, "", "arm64"},
        {"a2-highgpu-8g", 96, 680 * 1024, 8, "A100", "x86_64"},
        {"a2-megagpu-16g", 96, 1360 * 1024, 16, "A100", "x86_64"},
        {"a3-highgpu-8g", 208, 1872 * 1024, 8, "H100", "x86_64"},
        {"a3-ultragpu-8g-nolssd", 224, 2952 * 1024, 8, "H200", "x86_64"},
        {"a4x-highgpu-4g", 140, 884 * 1024, 4, "GB200", "arm64"},
        {"g2-standard-4", 4, 16 * 1024, 1, "L4", "x86_64"},
        {"g2-standard-24", 24, 96 * 1024, 2, "L4", "x86_64"},
        {"g2-standard-32", 32, 128 * 1024, 1, "L4", "x86_64"},
        {"g2-standard-48", 48, 192 * 1024, 4, "L4", "x86_64"},
        {"g2-standard-96", 96, 384 * 1024, 8, "L4", "x86_64"},
        {"g4-standard-96", 96, 360 * 1024, 2, "RTX-PRO-6000", "x86_64"},
        {"custom-6-20480", 6, 20480, 0, "", "x86_64"},
        {"n2-custom-6-20480-ext", 6, 20480, 0, "", "x86_64"},
        {"g2-custom-8-40960", 8, 40960, 1, "L4", "x86_64"},
        {"zones/us-west1-a/machineTypes/e2-standard-4", 4, 16 * 1024, 0, "", "x86_64"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct machine_type machine;
        assert_true(gce_machine_type(str_from(rows[i].name), &machine));
        assert_int_equal(machine.vcpus, rows[i].vcpus);
        assert_int_equal(machine.memory_mib, rows[i].memory_mib);
        assert_int_equal(machine.gpus, rows[i].gpus);
        assert_str(machine.gpu_name, rows[i].gpu_name);
        assert_str(machine.architectures, rows[i].architectures);
    }
}

static void other_names_say_nothing(void **state)
{
    static const char *const rows[] = {"",
                                       "n2",
                                       "n2-standard",
                                       "n2-standard-",
                                       "n2-standard-0",
                                       "n2-standard-8g",
                                       "n2-standard-99999",
                                       "n9-standard-8",
                                       "m5.large",
                                       "a2-highgpu-8",
                                       "a2-highgpu-0g",
                                       "a2-highgpu-65g",
                                       "custom-0-1024",
                                       "custom-4",
                                       "n2-custom-4-1024-big",
                                       "ct5lp-hightpu-4t",
                                       "N2-STANDARD-8"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct machine_type machine;
        assert_false(gce_machine_type(str_from(rows[i]), &machine));
    }
}

static void accelerators_of_a_node_config_count(void **state)
{
    static const struct {
        const char *accelerators;
        uint32_t gpus;
        const char *gpu_name;
    } rows[] = {
        {"[]", 0, ""},
        {"[{acceleratorType: nvidia-tesla-t4, acceleratorCount: 4}]", 4, "T4"},
        {"[{acceleratorType: nvidia-tesla-p100-vws, acceleratorCount: 1}]", 1, "P100"},
        {"[{acceleratorType: projects/p/zones/z/acceleratorTypes/nvidia-h100-80gb, "
         "acceleratorCount: 1}]",
         1, "H100"},
        {"[{acceleratorType: nvidia-rtx-pro-6000-vws, acceleratorCount: 1}]", 1, "RTX-PRO-6000"},
        {"[{acceleratorType: nvidia-l4}]", 0, ""},
        {"[{acceleratorType: nvidia-l4, acceleratorCount: 0}]", 0, ""},
        {"[{acceleratorCount: 1}, 5]", 0, ""},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct machine_type machine;
        struct str yaml = arena_printf(
            &f->arena, "{machineType: n1-standard-8, guestAccelerators: %s}", rows[i].accelerators);
        assert_true(gce_machine_of(&f->arena, fixture_read_c(f, yaml.ptr), &machine));
        assert_int_equal(machine.vcpus, 8);
        assert_int_equal(machine.gpus, rows[i].gpus);
        assert_str(machine.gpu_name, rows[i].gpu_name);
    }
}

/* Only in the same family: n3-standard-8 may exist one day. */
static void nearest_name_is_the_one_that_was_meant(void **state)
{
    static const char *const rows[][2] = {
        {"n2-standrad-8", "n2-standard-8"},
        {"n2-hihgmem-16", "n2-highmem-16"},
        {"a2-higpgu-1g", "a2-highgpu-1g"},
        {"n3-standard-8", ""},
        {"n2-standard-8", ""},
        {"n2", ""},
        {"", ""},
        {"m5.large", ""},
        {"c3-stadard-22-lssd", "c3-standard-22-lssd"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(gce_machine_nearest(&f->arena, str_from(rows[i][0])), rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_say_what_a_machine_has),
        cmocka_unit_test(other_names_say_nothing),
        cmocka_unit_test(accelerators_of_a_node_config_count),
        cmocka_unit_test(nearest_name_is_the_one_that_was_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
