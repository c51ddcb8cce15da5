/*
 * gce_machine.h: CPUs, memory and GPUs of Compute Engine's machine types, by the rules of their
 * names.
 *
 * A name is FAMILY-CLASS-CPUS ("n2-standard-8"), FAMILY-CLASS-GPUSg ("a2-highgpu-4g") or
 * [FAMILY-]custom-CPUS-MEMORY ("n2-custom-6-20480-ext"). A type that the rules do not cover may
 * still exist.
 */
#pragma once

#include "base/arena.h"
#include "config/catalog/catalog.h"
#include "config/document/value.h"

/* A type by its name or by a URL that ends in its name; false if no rule covers it. */
bool gce_machine_type(struct str name, struct machine_type *ret_type) MUST_USE;

/* The machine of a node_config, with the GPUs of its guestAccelerators. */
bool gce_machine_of(struct arena *arena, const struct value *node_config,
                    struct machine_type *ret_type) MUST_USE;

/* "n2-standard-8" for "n2-standrad-8"; empty if no class of the same family is close. */
struct str gce_machine_nearest(struct arena *arena, struct str name);
