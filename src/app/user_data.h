/* user_data.h: the user data of a node type: ours, with that of the file or its launch template. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "config/config.h"
#include "remote/ssh_key.h"

struct user_data_parts {
    const struct config *config;
    size_t type;
    bool is_head;
    const struct ssh_key *host_key;
    struct str cluster_key; /* public; may be empty */
    struct str template;    /* what the launch template sets; used if the file sets nothing */
};

/* Fails with ERR_CONFIG, and the key of the file, if the parts cannot be combined. */
bool user_data_compose(const struct user_data_parts *parts, struct arena *arena,
                       struct str *ret_text, struct err *err) MUST_USE;

/* The same without a cluster: whether they can be combined. */
bool user_data_check(const struct config *config, size_t type, struct str template,
                     struct arena *arena, struct err *err) MUST_USE;
