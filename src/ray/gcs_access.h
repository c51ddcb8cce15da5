/*
 * gcs_access.h: TLS and authentication for the GCS of a cluster, from Ray's environment variables.
 *
 * With RAY_USE_TLS the GCS requires a client certificate: the three files that each node has. With
 * RAY_AUTH_MODE=token it requires the cluster's token. A start command may set such variables for
 * itself only, so those of the Ray running on this machine are used, too.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "ray/gcs.h"

/* The values of Ray's variables; NULL if not set. */
struct gcs_access {
    const char *use_tls;     /* RAY_USE_TLS */
    const char *server_cert; /* RAY_TLS_SERVER_CERT */
    const char *server_key;  /* RAY_TLS_SERVER_KEY */
    const char *ca_cert;     /* RAY_TLS_CA_CERT */
    const char *auth_mode;   /* RAY_AUTH_MODE */
    const char *token;       /* RAY_AUTH_TOKEN: used instead of a file */
    const char *token_path;  /* RAY_AUTH_TOKEN_PATH; default: ~/.ray/auth_token */
};

/*
 * From this program's environment, or, for settings it does not contain (TLS, tokens), from that of
 * the Ray running on this machine. `address` is the GCS's HOST:PORT. Strings live in `arena`, which
 * must be one for secrets.
 */
struct gcs_access gcs_access_find(const char *address, struct arena *arena);

/*
 * Sets the setup's server, files and, unless it has one, token; all live in `arena`. ERR_CONFIG:
 * TLS is on and a file is not named. ERR_NOT_FOUND: there is no token yet.
 */
bool gcs_access_apply(const struct gcs_access *access, const char *address, struct arena *arena,
                      struct gcs_setup *setup, struct err *err) MUST_USE;

/* A GCS of this machine's cluster. */
struct gcs_place {
    struct http *http;
    const char *address;    /* HOST:PORT */
    const char *token_path; /* NULL if only Ray's variables say whether there is a token */
    bool
        is_token_private; /* Shoal wrote the file: no other user may read it, and it may be empty */
    int64_t deadline_ms;  /* per call */
};

/* Opens a client with the token file and Ray's variables. NULL after an error, as above. */
struct gcs *gcs_open_at(const struct gcs_place *place, bool *ret_has_token, struct err *err);

/*
 * For tests. Does the Ray process with this command line (NUL-separated) belong to the GCS at
 * `address`? And the settings in an environment (also NUL-separated).
 */
bool gcs_access_is_process_of(struct str command_line, const char *address);
struct gcs_access gcs_access_of(struct str environment, struct arena *arena);
