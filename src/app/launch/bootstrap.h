/*
 * bootstrap.h: the configuration as the head gets it: ~/ray_bootstrap_config.yaml, as Ray writes it
 * and Ray's own tools read it.
 *
 * It is the prepared tree with what only the laptop needs taken out: how the laptop gets through to
 * the head, and every credential. Mounts lead from the head's copies to the same paths elsewhere.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"

#define BOOTSTRAP_CONFIG "~/ray_bootstrap_config.yaml"
#define BOOTSTRAP_KEY "~/ray_bootstrap_key.pem"

enum bootstrap_reader {
    BOOTSTRAP_FOR_RAY,
    /* Its key is the cluster's own unless the file named one: a launch must know the difference. */
    BOOTSTRAP_FOR_SERVICE,
};

/* JSON, which is YAML too. */
bool bootstrap_config(const struct config *config, enum bootstrap_reader reader, bool no_restart,
                      struct arena *arena, struct str *ret_json, struct err *err) MUST_USE;
