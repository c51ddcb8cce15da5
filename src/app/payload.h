/*
 * payload.h: this program, built for the machines of a cluster.
 *
 * The laptop and the machines may differ in architecture, and the laptop's program may need
 * libraries that the machines lack. So a package contains one static program per architecture, next
 * to the program itself:
 *
 *     bin/shoal
 *     libexec/shoal/payload/shoal-x86_64
 *     libexec/shoal/payload/shoal-aarch64
 *
 * SHOAL_PAYLOADS names another folder of payloads, for use from a build folder. Without payloads, a
 * static program is itself the payload for its own architecture.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

/* Where to look for payloads. */
struct payload_places {
    struct str program;      /* absolute path of the running program */
    struct str instead_from; /* the only folder to search, or empty */
    struct str own_machine;  /* uname -m; empty if the program itself must not be sent */
};

/* Finds the folders in which this process looks for payloads. */
bool payload_places_find(struct arena *arena, struct payload_places *ret_places,
                         struct err *err) MUST_USE;

/*
 * The path of the program for an architecture, as named by uname -m, Debian or a cloud: x86_64 or
 * amd64, aarch64 or arm64. Otherwise ERR_NOT_FOUND, with the missing file and how to get it.
 */
bool payload_find(struct arena *arena, const struct payload_places *places, struct str machine,
                  struct str *ret_path, struct err *err) MUST_USE;
/* The same, in the folders of this process. */
bool payload_find_here(struct arena *arena, struct str machine, struct str *ret_path,
                       struct err *err) MUST_USE;
