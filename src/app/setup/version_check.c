/* version_check.c: Ray's rule for the versions in one cluster, with advice. */
#include "app/setup/version_check.h"

static bool version_check_is_same(struct str a, struct str b)
{
    return a.len == 0 || b.len == 0 || str_eq(a, b);
}

/* "3.11" of "3.11.2" */
static struct str minor_of(struct str version)
{
    struct str rest = version;
    struct str major = str_cut(&rest, '.');
    struct str minor = str_cut(&rest, '.');
    return str_sub(version, 0, major.len + 1 + minor.len);
}

static void version_check_add_pair(struct buf *out, const char *whose, struct version_pair pair)
{
    buf_addf(out, "  %s Ray %.*s, Python %.*s\n", whose, STR_ARG(pair.ray), STR_ARG(pair.python));
}

bool version_check(struct version_pair here, struct version_pair there, bool only_minor,
                   struct buf *out)
{
    bool same_ray = version_check_is_same(here.ray, there.ray);
    bool same_python = version_check_is_same(here.python, there.python);
    bool same_minor = version_check_is_same(minor_of(here.python), minor_of(there.python));
    if (same_ray && same_python) {
        return true;
    }
    bool is_fine = same_ray && only_minor && same_minor;
    buf_addf(out, "%s: this node and the head have different versions of %s\n",
             is_fine ? "warning" : "error",
             same_ray      ? "Python"
             : same_python ? "Ray"
                           : "Ray and Python");
    version_check_add_pair(out, "the head: ", there);
    version_check_add_pair(out, "this node:", here);
    if (is_fine) {
        return true;
    }
    if (!same_ray) {
        buf_addf(out,
                 "install the same version on both, for example in setup_commands: pip install "
                 "'ray[default]==%.*s'\n",
                 STR_ARG(there.ray));
    }
    if (!same_python) {
        buf_add_c(out, "use one image for all node types, or install the same Python on head and "
                       "workers\n");
        if (same_minor && same_ray) {
            buf_add_c(out, "or let Ray accept the same minor version: put `export "
                           "RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL=minor; ` before `ray start` in "
                           "the start commands of head and workers\n");
        }
    }
    return false;
}
