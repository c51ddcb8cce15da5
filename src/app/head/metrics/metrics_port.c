/* metrics_port.c: serves /metrics over HTTP. */
#include "app/head/metrics/metrics_port.h"

#include "app/head/metrics/metrics.h"
#include "io/http_server.h"
#include "io/xalloc.h"

enum { AGAIN_MS = 15 * 1000 };

struct metrics_port {
    struct metrics_port_setup setup;
    struct http_serve *serve;
    struct loop_timer *timer;
    bool is_told; /* the error was reported */
};

static void metrics_port_answer(void *context, const struct http_server_request *request,
                                struct http_served *answer)
{
    struct metrics_port *port = context;
    if (str_is(request->path, "/metrics") || str_is(request->path, "/")) {
        answer->status = 200;
        answer->type = metrics_content_type;
        port->setup.write(port->setup.context, &answer->body);
    }
}

static void try_open(void *context)
{
    struct metrics_port *port = context;
    const struct metrics_port_setup *setup = &port->setup;
    struct err err = {0};
    if (http_serve_open(setup->loop, setup->address, setup->port, metrics_port_answer, port,
                        &port->serve, &err)) {
        setup->listening(setup->context, http_serve_port(port->serve));
        return;
    }
    if (!port->is_told) {
        port->is_told = true;
        setup->trouble(setup->context, &err);
    }
    loop_timer_start(port->timer, AGAIN_MS);
}

struct metrics_port *metrics_port_open(const struct metrics_port_setup *setup)
{
    struct metrics_port *port = HEAP_NEW(struct metrics_port);
    port->setup = *setup;
    port->timer = loop_timer_new(setup->loop, try_open, port);
    loop_timer_start(port->timer, 0);
    return port;
}

void metrics_port_close(struct metrics_port *port)
{
    if (port) {
        http_serve_close(port->serve);
        loop_timer_free(port->timer);
        free(port);
    }
}
