/*
 * ray_class.h: starts a node provider class of Ray (provider.module, azure, vsphere) behind the
 * adapter python/ray_class.py, which is a plug-in.
 *
 * The program carries the adapter and passes it in the environment. It runs in the user's Python,
 * on the head in the one that runs Ray.
 */
#pragma once

#include "app/cloud_provider.h"
#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "provider/external/external_provider.h"
#include "remote/node_request.h"

/* Fills in what starts the adapter. `env` is the environment; `head` is NULL on the laptop. */
bool ray_class_setup(const struct config *config, const struct cloud_provider_head *head,
                     const char *const *env, struct arena *arena, struct external_setup *setup,
                     struct err *err) MUST_USE;

enum { RAY_CLASS_FILES_MAX = 2 };

/* What the head needs too: the module, if it is a file next to the cluster file, and what the class
 * has prepared on this machine. `state_folder` may be NULL: the module only. */
bool ray_class_files(const struct config *config, const char *state_folder, struct arena *arena,
                     struct node_file *files, size_t *ret_count, struct err *err) MUST_USE;
