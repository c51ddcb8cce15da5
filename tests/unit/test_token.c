/* test_token.c: the token is created once and never replaced. */
#include "ray/token.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void made_once_and_kept(void **state)
{
    char folder[] = "/tmp/shoal-token-XXXXXX";
    char path[100], inner[100];
    struct err err;
    struct stat status;
    AUTO_BUF struct buf first;
    AUTO_BUF struct buf second;
    (void)state;
    buf_init(&first, RAY_TOKEN_BYTES_MAX);
    buf_init(&second, RAY_TOKEN_BYTES_MAX);
    assert_non_null(mkdtemp(folder));
    snprintf(inner, sizeof(inner), "%s/.ray", folder);
    snprintf(path, sizeof(path), "%s/.ray/auth_token", folder);
    assert_false(ray_token_read(path, &first, &err));
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_true(ray_token_make(path, &err));
    assert_true(ray_token_read(path, &first, &err));
    assert_int_equal(first.len, 64);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_true(ray_token_make(path, &err));
    assert_true(ray_token_read(path, &second, &err));
    assert_str(buf_str(&second), first.ptr);
    unlink(path);
    assert_int_equal(rmdir(inner), 0); /* no temporary file is left */
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(made_once_and_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
