/* test_payload.c: the payload of each architecture is found next to the program or in the
 * configured place; if it is missing, the error says where it should be. */
#include "app/payload.h"

#include "app/program.h"
#include "io/file.h"
#include "scratch.h"
#include "unit.h"

#include <elf.h>
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

static int clean_up(void **state)
{
    (void)state;
    arena_clear(&arena);
    return scratch_remove(scratch);
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
                "the shoal program for aarch64 machines is missing: "
                "/tmp/shoal-payload-*/libexec/shoal/payload/shoal-aarch64\n"
                "  install the release package (build it with `packaging/static package`), *");
    assert_false(payload_find(&arena, &places, STR("riscv64"), &path, &err));
    assert_like(str_from(err.text), "*x86_64 and aarch64*\"riscv64\"*");
    places.program = STR("/shoal"); /* nothing above it but the root */
    assert_false(payload_find(&arena, &places, STR("aarch64"), &path, &err));
    assert_like(str_from(err.text), "* /libexec/shoal/payload/shoal-aarch64\n*");
}

/* The portable program needs no second copy of itself for instances of its own architecture. */
static void a_static_program_serves_its_own_architecture(void **state)
{
    struct payload_places places = {.program = at("bin/shoal"), .own_machine = STR("aarch64")};
    struct err err = {0};
    struct str path;
    (void)state;
    unpack();
    assert_true(payload_find(&arena, &places, STR("arm64"), &path, &err));
    assert_str(path, at("bin/shoal").ptr);
    places.own_machine = STR("x86_64");
    assert_false(payload_find(&arena, &places, STR("arm64"), &path, &err));
    places.own_machine = STR("aarch64");
    places.instead_from = at("nowhere");
    assert_false(payload_find(&arena, &places, STR("arm64"), &path, &err));
}

/* An ELF file with one program header of that type. */
static const char *elf_with(uint32_t type, const char *name)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr part;
    } elf = {.header = {.e_ident = {0x7F, 'E', 'L', 'F', ELFCLASS64},
                        .e_phoff = sizeof(Elf64_Ehdr),
                        .e_phentsize = sizeof(Elf64_Phdr),
                        .e_phnum = 1},
             .part = {.p_type = type}};
    struct err err = {0};
    assert_true(
        file_write(at(name).ptr, (struct str){(const char *)&elf, sizeof(elf)}, 0755, &err));
    return at(name).ptr;
}

static void a_static_program_names_no_dynamic_linker(void **state)
{
    struct err err = {0};
    (void)state;
    assert_true(program_is_static(elf_with(PT_LOAD, "static")));
    assert_false(program_is_static(elf_with(PT_INTERP, "dynamic")));
    assert_false(program_is_static(at("missing").ptr));
    assert_true(file_write(at("script").ptr, STR("#!/bin/sh"), 0755, &err));
    assert_false(program_is_static(at("script").ptr));
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
    assert_like(str_from(err.text), "*\n  SHOAL_PAYLOADS is set to this folder; *");
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
        cmocka_unit_test_setup_teardown(a_static_program_serves_its_own_architecture, set_up,
                                        clean_up),
        cmocka_unit_test_setup_teardown(a_static_program_names_no_dynamic_linker, set_up, clean_up),
        cmocka_unit_test_setup_teardown(a_folder_is_no_payload, set_up, clean_up),
        cmocka_unit_test_setup_teardown(the_environment_comes_first, set_up, clean_up),
        cmocka_unit_test_setup_teardown(the_program_knows_its_place, set_up, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
