/*
 * catalog.h: what is known of the clouds' machine types without asking them.
 *
 * The tables in this folder are made by the scripts beside them from published packages. They have
 * no prices, and a type that is not in them may still exist: clouds add types faster than we
 * release.
 */
#pragma once

#include "base/attr.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct machine_type {
    struct str name;
    uint32_t vcpus;
    uint32_t memory_mib;
    struct str architectures; /* "x86_64", "arm64", "i386,x86_64" */
    uint32_t gpus;
    struct str gpu_name; /* empty when there are none */
    uint32_t neuron_cores;
};

/* An EC2 type by its exact name. */
bool catalog_ec2_type(struct str name, struct machine_type *ret_type) MUST_USE;

/* The known EC2 type whose name is nearest to a mistyped one; empty when none is near. */
struct str catalog_ec2_nearest(struct str name);

/* Is this a parameter of EC2's RunInstances, so that it may stand in a node_config? */
bool catalog_ec2_param(struct str name);
struct str catalog_ec2_param_nearest(struct str name);

/* "2026-11-15": the day the EC2 table was made. */
struct str catalog_ec2_date(void);
