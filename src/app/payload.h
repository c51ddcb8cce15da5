/*
 * payload.h: this program, built for the machines of a cluster.
 *
 * The laptop and the machines it launches may differ in architecture, and the laptop's own program
 * may be linked with libraries that others lack. So a package carries one static program per
 * architecture, beside the program itself:
 *
 *     bin/shoal
 *     libexec/shoal/payload/shoal-x86_64
 *     libexec/shoal/payload/shoal-aarch64
 *
 * SHOAL_PAYLOADS names another folder of payloads, for those who work from a build folder.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

/* Where payloads are looked for. */
struct payload_places {
    struct str program;      /* full path of the running program */
    struct str instead_from; /* empty, or the one folder to look in */
};

/* Of this process. */
bool payload_places_find(struct arena *arena, struct payload_places *ret_places,
                         struct err *err) MUST_USE;

/*
 * The path of the program for machines of this architecture, in the words of uname -m, of Debian
 * or of a cloud: x86_64 or amd64, aarch64 or arm64. Else ERR_NOT_FOUND, with the place looked at.
 */
bool payload_find(struct arena *arena, const struct payload_places *places, struct str machine,
                  struct str *ret_path, struct err *err) MUST_USE;
