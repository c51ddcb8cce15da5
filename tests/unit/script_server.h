/*
 * script_server.h: a server whose answers a test chooses, request by request; on loopback, in its
 * own threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct script_request {
    const char *method, *target;
    const char *head; /* all of its lines, for strstr() */
    const char *body;
    int number; /* from 1 */
};

enum script_deed {
    SCRIPT_ANSWER,
    SCRIPT_RESET,    /* the connection is closed without a byte */
    SCRIPT_TRUNCATE, /* half of the body, then the connection is closed */
    SCRIPT_HANG,     /* no answer until the server stops */
};

struct script_answer {
    int status; /* 0: 200 */
    const char *body;
    const char *headers; /* more lines, each with "\r\n"; NULL: none */
    enum script_deed deed;
};

/* Called in a thread of the server, one at a time. The returned memory must stay valid for a
 * while. */
typedef struct script_answer script_fn(void *context, const struct script_request *request);

struct script_server;

struct script_server *script_server_start(script_fn *answer, void *context);
void script_server_stop(struct script_server *server);
int script_server_port(const struct script_server *server);
int script_server_requests(struct script_server *server);
