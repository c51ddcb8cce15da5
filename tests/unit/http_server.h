/*
 * http_server.h: a server for tests of the HTTP client, on loopback, in its own threads.
 *
 * The path of a request selects the answer: normal, slow, with a reset, cut in half, or too large.
 * The HTTP/2 servers, raw and with TLS, echo bodies as gRPC would, with trailers.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

enum http_server_kind { SERVER_PLAIN, SERVER_TLS, SERVER_OLD_TLS, SERVER_TLS_H2, SERVER_RAW_H2 };

/* How the raw server behaves from now on. */
enum raw_mood { RAW_ECHO, RAW_SILENT, RAW_HANG_UP };

struct http_server;

struct http_server *http_server_start(enum http_server_kind kind);
void http_server_stop(struct http_server *server);

/* Accepts no more connections; open ones continue. */
void http_server_deafen(struct http_server *server);

/* In one of a few static buffers; `host` is a name or an address of this machine. */
const char *http_server_url(const struct http_server *server, const char *host, const char *path);
const char *http_server_ca_file(const struct http_server *server);

int http_server_connections(struct http_server *server); /* accepted so far */
int http_server_requests(struct http_server *server);
int http_server_most_at_once(struct http_server *server); /* requests */
void http_server_set_mood(struct http_server *server, enum raw_mood mood);
