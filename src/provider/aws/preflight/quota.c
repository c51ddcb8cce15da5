/* quota.c: derives the class from the letters before the generation of an instance type. */
#include "provider/aws/preflight/quota.h"

#include "base/attr.h"

enum { STANDARD, GRAPHICS, PARALLEL, CLASS_COUNT };

static const struct quota quotas[CLASS_COUNT][2] = {
    [STANDARD] = {{"L-1216C47A", "on-demand Standard (A, C, D, H, I, M, R, T, Z) instances"},
                  {"L-34B43A08", "spot Standard (A, C, D, H, I, M, R, T, Z) instances"}},
    [GRAPHICS] = {{"L-DB2E81BA", "on-demand G and VT instances"},
                  {"L-3819A6DF", "spot G and VT instances"}},
    [PARALLEL] = {{"L-417A185B", "on-demand P instances"}, {"L-7212CCBC", "spot P instances"}},
};

/* "m" for "m5.large", "inf" for "inf2.xlarge". */
static struct str quota_letters_of(struct str machine)
{
    size_t len = 0;
    while (len < machine.len && machine.ptr[len] >= 'a' && machine.ptr[len] <= 'z') {
        len++;
    }
    return str_sub(machine, 0, len);
}

const struct quota *quota_of(struct str machine, bool is_spot)
{
    static const char *const standard[] = {"a", "c", "d", "h", "i", "m", "r", "t", "z", "is", "im"};
    struct str letters = quota_letters_of(machine);
    for (size_t i = 0; i < ARRAY_LEN(standard); i++) {
        if (str_is(letters, standard[i])) {
            return &quotas[STANDARD][is_spot];
        }
    }
    if (str_is(letters, "g") || str_is(letters, "gr") || str_is(letters, "vt")) {
        return &quotas[GRAPHICS][is_spot];
    }
    /* Spot instances of p5 and newer have separate quotas. */
    bool is_old = machine.len > 1 && machine.ptr[1] >= '2' && machine.ptr[1] <= '4';
    if (str_is(letters, "p") && (!is_spot || is_old)) {
        return &quotas[PARALLEL][is_spot];
    }
    return NULL;
}
