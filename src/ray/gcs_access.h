/*
 * gcs_access.h: how the GCS of a cluster wants to be spoken to, by Ray's own variables.
 *
 * With RAY_USE_TLS it wants a certificate of whoever calls: the same three files that each of its
 * nodes has. With RAY_AUTH_MODE=token it wants the cluster's token. A start command may set such
 * variables for itself alone, so those of the Ray that runs on this machine count too.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "ray/gcs.h"

/* The values of Ray's variables. NULL: it is not set. */
struct gcs_access {
    const char *use_tls;     /* RAY_USE_TLS */
    const char *server_cert; /* RAY_TLS_SERVER_CERT */
    const char *server_key;  /* RAY_TLS_SERVER_KEY */
    const char *ca_cert;     /* RAY_TLS_CA_CERT */
    const char *auth_mode;   /* RAY_AUTH_MODE */
    const char *token;       /* RAY_AUTH_TOKEN: read instead of a file */
    const char *token_path;  /* RAY_AUTH_TOKEN_PATH; neither: ~/.ray/auth_token */
};

/*
 * As this program was started, or, of what that says nothing about (TLS, tokens), as Ray was on
 * this machine. `address` is that of the GCS, HOST:PORT. Strings live as long as the arena, which
 * is to be one for secrets.
 */
struct gcs_access gcs_access_find(const char *address, struct arena *arena);

/*
 * The setup's server, its files and, unless it has one, its token; all in the arena. ERR_CONFIG:
 * TLS is on and a file is not named. ERR_NOT_FOUND: there is no token yet.
 */
bool gcs_access_apply(const struct gcs_access *access, const char *address, struct arena *arena,
                      struct gcs_setup *setup, struct err *err) MUST_USE;

/*
 * For tests. Does Ray's process with this command line (its words divided by zero bytes) belong to
 * the GCS at `address`? And what a process's environment, likewise divided, says.
 */
bool gcs_access_is_process_of(struct str command_line, const char *address);
struct gcs_access gcs_access_of(struct str environment, struct arena *arena);
