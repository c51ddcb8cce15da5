/*
 * script_server.h: a server whose answers a test decides, request by request; on loopback, in
 * threads of its own.
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
    SCRIPT_RESET,    /* the connection breaks, without a byte */
    SCRIPT_TRUNCATE, /* half of the body, and the connection breaks */
    SCRIPT_HANG,     /* nothing comes until the server stops */
};

struct script_answer {
    int status; /* 0: 200 */
    const char *body;
    const char *headers; /* more lines, each with "\r\n"; NULL: none */
    enum script_deed deed;
};

/* Called in a thread of the server's, one at a time. What it returns must stay for a while. */
typedef struct script_answer script_fn(void *context, const struct script_request *request);

struct script_server;

struct script_server *script_server_start(script_fn *answer, void *context);
void script_server_stop(struct script_server *server);
int script_server_port(const struct script_server *server);
int script_server_requests(struct script_server *server);
