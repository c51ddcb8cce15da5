/* test_catalog.c: every line of the tables is found, and nothing that is not in them. */
#include "config/catalog/catalog.h"

#include "config/embedded.h"
#include "unit.h"

static struct str next_name(struct str *table)
{
    struct str line = STR("#");
    while (table->len > 0 && str_starts(line, "#")) {
        line = str_cut(table, '\n');
    }
    return str_starts(line, "#") ? STR("") : str_cut(&line, '\t');
}

/* The first and the last line are where a binary search goes wrong. */
static void every_machine_type_is_found(void **state)
{
    struct str table = embedded_ec2_types();
    struct str before = STR("");
    size_t described = 0;
    (void)state;
    for (struct str name = next_name(&table); name.len > 0; name = next_name(&table)) {
        struct machine_type machine;
        assert_true(catalog_ec2_has(name));
        assert_true(str_cmp(before, name) < 0);
        before = name;
        if (!catalog_ec2_type(name, &machine)) {
            continue; /* only its name is known */
        }
        assert_true(str_eq(machine.name, name));
        assert_true(machine.vcpus > 0);
        assert_true(machine.memory_mib > 0);
        assert_true(machine.gpus == 0 || machine.gpu_name.len > 0);
        described++;
    }
    assert_true(described > 1000);
}

static void machine_types_have_what_they_have(void **state)
{
    static const struct {
        const char *name;
        uint32_t vcpus, memory_mib, gpus;
        const char *gpu_name;
        uint32_t neuron_cores;
        const char *architectures;
    } rows[] = {
        {"m5.large", 2, 8192, 0, "", 0, "x86_64"},
        {"g5.xlarge", 4, 16384, 1, "A10G", 0, "x86_64"},
        {"p4d.24xlarge", 96, 1179648, 8, "A100", 0, "x86_64"},
        {"m6g.large", 2, 8192, 0, "", 0, "arm64"},
        {"trn1.2xlarge", 8, 32768, 0, "", 2, "x86_64"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct machine_type machine;
        assert_true(catalog_ec2_type(str_from(rows[i].name), &machine));
        assert_int_equal(machine.vcpus, rows[i].vcpus);
        assert_int_equal(machine.memory_mib, rows[i].memory_mib);
        assert_int_equal(machine.gpus, rows[i].gpus);
        assert_str(machine.gpu_name, rows[i].gpu_name);
        assert_int_equal(machine.neuron_cores, rows[i].neuron_cores);
        assert_str(machine.architectures, rows[i].architectures);
    }
}

static void every_price_is_found(void **state)
{
    struct str table = embedded_ec2_prices();
    int64_t price = 0;
    size_t count = 0;
    (void)state;
    for (struct str name = next_name(&table); name.len > 0; name = next_name(&table)) {
        assert_true(catalog_ec2_price(name, &price));
        assert_true(price > 1000 && price < INT64_C(1000000000));
        assert_true(catalog_ec2_has(name));
        count++;
    }
    assert_true(count > 1000);
    assert_true(catalog_ec2_price(STR("m5.large"), &price));
    assert_int_equal(price, 96000);
    assert_true(catalog_ec2_price(STR("g5.xlarge"), &price));
    assert_int_equal(price, 1006000);
    assert_false(catalog_ec2_price(STR(""), &price));
    assert_false(catalog_ec2_price(STR("m5"), &price));
    assert_false(catalog_ec2_price(STR("n1-standard-2"), &price));
    assert_int_equal(catalog_ec2_price_date().len, 10);
    assert_str(catalog_ec2_price_region(), "us-east-1");
}

static void other_names_are_not_found(void **state)
{
    static const char *const rows[] = {
        "",  "a",      "zzz",         "m5", "m5.", "m5.larg",    "m5.largee", "M5.LARGE",
        "#", "# date", "m5.large\t2", "-",  "0",   "z1d.xlargf", "a1.2xlargd"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct machine_type machine;
        assert_false(catalog_ec2_type(str_from(rows[i]), &machine));
        assert_false(catalog_ec2_has(str_from(rows[i])));
    }
}

static void nearest_machine_type_is_the_one_that_was_meant(void **state)
{
    static const char *const rows[][2] = {
        {"m5.lagre", "m5.large"}, {"g5.xlrage", "g5.xlarge"}, {"p4d.24xlrge", "p4d.24xlarge"},
        {"M5.Large", "m5.large"}, {"quantum.huge", ""},       {"", ""},
        {"n1-standard-2", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(catalog_ec2_nearest(str_from(rows[i][0])), rows[i][1]);
    }
}

static void launch_parameters_are_known(void **state)
{
    struct str table = embedded_ec2_params();
    (void)state;
    for (struct str path = next_name(&table); path.len > 0; path = next_name(&table)) {
        assert_true(catalog_param_type(CATALOG_EC2, path).len > 0);
    }
    assert_true(catalog_param(CATALOG_EC2, STR("AdditionalInfo"))); /* the first */
    assert_true(catalog_param(CATALOG_EC2, STR("UserData")));       /* the last */
    assert_true(catalog_param(CATALOG_EC2, STR("InstanceType")));
    assert_false(catalog_param(CATALOG_EC2, STR("instancetype")));
    assert_false(
        catalog_param(CATALOG_EC2, STR("CpuOptions.CoreCount"))); /* not a key of a node_config */
    assert_false(catalog_param(CATALOG_EC2, STR("VolumeSize")));
    assert_false(catalog_param(CATALOG_EC2, STR("")));
}

static void google_fields_are_known(void **state)
{
    struct str table = embedded_gce_fields();
    size_t count = 0;
    (void)state;
    for (struct str path = next_name(&table); path.len > 0; path = next_name(&table)) {
        assert_true(catalog_param_type(CATALOG_GCE, path).len > 0);
        count++;
    }
    assert_true(count > 150);
    assert_true(catalog_param(CATALOG_GCE, STR("advancedMachineFeatures"))); /* the first */
    assert_true(catalog_param(CATALOG_GCE, STR("zone")));                    /* the last */
    assert_false(catalog_param(CATALOG_GCE, STR("InstanceType")));
    assert_false(catalog_param(CATALOG_EC2, STR("machineType")));
    assert_str(catalog_param_type(CATALOG_GCE, STR("disks[].diskSizeGb")), "int64");
    assert_str(catalog_param_type(CATALOG_GCE, STR("labels")), "labels");
    assert_str(catalog_param_type(CATALOG_GCE, STR("status")), "ignored");
    assert_str(catalog_param_values(CATALOG_GCE, STR("disks[].type")), "PERSISTENT|SCRATCH");
    assert_str(catalog_param_values(CATALOG_GCE, STR("name")), "");
    assert_str(catalog_param_values(CATALOG_GCE, STR("")), "");
}

static void members_of_parameters_are_known(void **state)
{
    (void)state;
    assert_str(catalog_param_type(CATALOG_EC2, STR("BlockDeviceMappings[].Ebs.VolumeSize")),
               "integer");
    assert_str(catalog_param_type(CATALOG_EC2, STR("BlockDeviceMappings")), "array");
    assert_str(catalog_param_type(CATALOG_EC2, STR("BlockDeviceMappings[].Ebs.Size")), "");
    assert_str(catalog_param_type(CATALOG_EC2, STR("")), "");
    assert_true(catalog_param_is_open(CATALOG_EC2, STR("CpuOptions")));
    assert_true(catalog_param_is_open(CATALOG_EC2, STR("BlockDeviceMappings[].Ebs")));
    assert_false(catalog_param_is_open(CATALOG_EC2, STR("UserData")));
    assert_false(catalog_param_is_open(CATALOG_EC2, STR("Cpu")));
}

static void nearest_parameter_is_looked_for_in_its_own_place(void **state)
{
    static const char *const rows[][3] = {
        {"", "InstanceMarketOption", "InstanceMarketOptions"},
        {"", "ImageID", "ImageId"},
        {"", "CpuOptionsCoreCount", ""}, /* a member, not a parameter */
        {"", "FavouriteColour", ""},
        {"CpuOptions", "CoreCounts", "CoreCount"},
        {"BlockDeviceMappings[].Ebs", "VolumSize", "VolumeSize"},
        {"BlockDeviceMappings[]", "VolumSize", ""},
        {"UserData", "CoreCount", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str got = catalog_param_nearest(CATALOG_EC2, str_from(rows[i][0]),
                                               str_from(rows[i][1]));
        assert_str(got, rows[i][2]);
    }
}

static void tables_say_when_they_were_made(void **state)
{
    struct str date = catalog_ec2_date();
    (void)state;
    assert_int_equal(date.len, 10);
    assert_str(str_sub(date, 0, 2), "20");
    assert_int_equal(date.ptr[4], '-');
    assert_int_equal(date.ptr[7], '-');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_machine_type_is_found),
        cmocka_unit_test(machine_types_have_what_they_have),
        cmocka_unit_test(every_price_is_found),
        cmocka_unit_test(other_names_are_not_found),
        cmocka_unit_test(nearest_machine_type_is_the_one_that_was_meant),
        cmocka_unit_test(launch_parameters_are_known),
        cmocka_unit_test(google_fields_are_known),
        cmocka_unit_test(members_of_parameters_are_known),
        cmocka_unit_test(nearest_parameter_is_looked_for_in_its_own_place),
        cmocka_unit_test(tables_say_when_they_were_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
