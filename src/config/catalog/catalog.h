/*
 * catalog.h: what is known of the clouds' machine types without asking them.
 *
 * The tables in this folder are made by the scripts beside them from published sources. A type that
 * is not in them may still exist: clouds add types faster than we release. Prices are those of one
 * region on one day; whoever shows a sum made from them says so.
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

/* An EC2 type by its exact name; false also for one of which only the name is known. */
bool catalog_ec2_type(struct str name, struct machine_type *ret_type) MUST_USE;

/* Does EC2 have a type of this name, described or not? */
bool catalog_ec2_has(struct str name);

/* The known EC2 type whose name is nearest to a mistyped one; empty when none is near. */
struct str catalog_ec2_nearest(struct str name);

/* Is this a parameter of EC2's RunInstances, so that it may stand in a node_config? */
bool catalog_ec2_param(struct str name);

/* The parameter nearest to a mistyped one below `parent` ("" for the top); empty when none is. */
struct str catalog_ec2_param_nearest(struct str parent, struct str name);

/*
 * The JSON type of a parameter by its path ("BlockDeviceMappings[].Ebs.VolumeSize" is "integer");
 * empty for a path that is not in the table.
 */
struct str catalog_ec2_param_type(struct str path);

/* Are the members of this parameter in the table, so that an unknown one is a mistake? */
bool catalog_ec2_param_is_open(struct str path);

/* "2026-11-15": the day the EC2 table was made. */
struct str catalog_ec2_date(void);

/*
 * Micro-dollars per hour of an EC2 type on demand with Linux, in the table's region on the table's
 * day; false when the table does not have it.
 */
bool catalog_ec2_price(struct str name, int64_t *ret_price) MUST_USE;
struct str catalog_ec2_price_date(void);
struct str catalog_ec2_price_region(void);
