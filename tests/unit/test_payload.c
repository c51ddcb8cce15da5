/* test_payload.c: the payload of each architecture is found beside the program or where one says,
 * and who finds none is told where it should have been. */
#include "app/payload.h"

#include "app/program.h"
#include "io/file.h"
#include "unit.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[64];
static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    memcpy(scratch, "/tmp/shoal-payload-XXXXXX", 26);
    unsetenv("SHOAL_PAYLOADS");
    return mkdtemp(scratch) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int clean_up(void **state)
{
    (void)state;
    arena_clear(&arena);
    return nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct str at(const char *name)
{
    return arena_printf(&arena, "%s/%s", scratch, name);
}

/* A package as it is unpacked, with a payload for x86_64 only. */
static struct payload_places unpack(void)
{
    struct err err = {0};
    assert_true(file_make_private_folder(at("libexec/shoal/payload").ptr, &err));
    assert_true(
        file_write(at("libexec/shoal/payload/shoal-x86_64").ptr, STR("program"), 0755, &err));
    return (struct payload_places){.program = at("bin/shoal")};
}

static void found_beside_the_program(void **state)
{
    struct payload_places places = unpack();
    struct err err = {0};
    struct str path;
    (void)state;
    assert_true(payload_find(&arena, &places, STR("x86_64"), &path, &err));
    assert_str(path, at("libexec/shoal/payload/shoal-x86_64").ptr);
    assert_true(payload_find(&arena, &places, STR("amd64"), &path, &err));
    assert_str(path, at("libexec/shoal/payload/shoal-x86_64").ptr);
}

static void missing_ones_are_named(void **state)
{
    struct payload_places places = unpack();
    struct err err = {0};
    struct str path;
    (void)state;
    assert_false(payload_find(&arena, &places, STR("arm64"), &path, &err));
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_like(str_from(err.text),
                "the shoal for aarch64 machines is missing: no readable file "
                "/tmp/shoal-payload-*/libexec/shoal/payload/shoal-aarch64\n*SHOAL_PAYLOADS");
    assert_false(payload_find(&arena, &places, STR("riscv64"), &path, &err));
    assert_like(str_from(err.text), "*\"riscv64\"*x86_64 and aarch64*");
    places.program = STR("/shoal"); /* nothing above it but the root */
    assert_false(payload_find(&arena, &places, STR("aarch64"), &path, &err));
    assert_like(str_from(err.text), "* /libexec/shoal/payload/shoal-aarch64\n*");
}

static void a_folder_is_no_payload(void **state)
{
    struct payload_places places = unpack();
    struct err err = {0};
    struct str path;
    (void)state;
    assert_int_equal(mkdir(at("libexec/shoal/payload/shoal-aarch64").ptr, 0755), 0);
    assert_false(payload_find(&arena, &places, STR("aarch64"), &path, &err));
    assert_int_equal(err.kind, ERR_NOT_FOUND);
}

static void the_environment_comes_first(void **state)
{
    struct payload_places places;
    struct err err = {0};
    struct str path;
    (void)state;
    unpack();
    setenv("SHOAL_PAYLOADS", at("libexec/shoal/payload").ptr, 1);
    assert_true(payload_places_find(&arena, &places, &err));
    assert_true(payload_find(&arena, &places, STR("x86_64"), &path, &err));
    assert_str(path, at("libexec/shoal/payload/shoal-x86_64").ptr);
    assert_false(payload_find(&arena, &places, STR("aarch64"), &path, &err));
    assert_like(str_from(err.text), "*\n  the folder comes from SHOAL_PAYLOADS");
}

static void the_program_knows_its_place(void **state)
{
    struct payload_places places;
    struct err err = {0};
    (void)state;
    assert_true(payload_places_find(&arena, &places, &err));
    assert_true(str_ends(places.program, "/test_payload"));
    assert_int_equal(places.instead_from.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(found_beside_the_program, set_up, clean_up),
        cmocka_unit_test_setup_teardown(missing_ones_are_named, set_up, clean_up),
        cmocka_unit_test_setup_teardown(a_folder_is_no_payload, set_up, clean_up),
        cmocka_unit_test_setup_teardown(the_environment_comes_first, set_up, clean_up),
        cmocka_unit_test_setup_teardown(the_program_knows_its_place, set_up, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
