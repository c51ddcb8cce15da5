/* tcp_probe.c: makes overlapping connection attempts and keeps none of them. */
#include "io/tcp_probe.h"

#include "io/loop_uv.h"
#include "io/xalloc.h"

#include <netinet/in.h>
#include <stdio.h>
#include <uv.h>

enum {
    FIRST_MS = 50,
    USUAL_MS = 100,
    MOST_MS = 200,
    PROBES_PER_MS = 5, /* an attempt costs about 30 us, and a thousand machines may boot at once */
    AT_ONCE = 6,       /* allows a round trip of up to 600 ms */
};

/* Probes in this process. */
static int64_t probe_count;

/* One attempt; frees itself when closed, even after its probe was freed. */
struct attempt {
    uv_tcp_t uv;
    uv_connect_t request;
    struct tcp_probe *probe; /* NULL: abandoned */
};

struct tcp_probe {
    struct loop *loop;
    struct sockaddr_storage address;
    struct attempt *attempts[AT_ONCE]; /* ring buffer */
    size_t next;
    struct loop_timer *timer;
    int64_t pause_ms;
    tcp_probe_open_fn *open;
    void *context;
    char why[64];
};

static void tcp_probe_release(uv_handle_t *handle)
{
    free(handle->data);
}

static void tcp_probe_drop(struct attempt *attempt)
{
    if (attempt && attempt->probe) {
        attempt->probe = NULL;
        uv_close((uv_handle_t *)&attempt->uv, tcp_probe_release);
    }
}

static void drop_all(struct tcp_probe *probe)
{
    for (size_t i = 0; i < AT_ONCE; i++) {
        tcp_probe_drop(probe->attempts[i]);
        probe->attempts[i] = NULL;
    }
}

static void tcp_probe_forget(struct tcp_probe *probe, struct attempt *attempt)
{
    for (size_t i = 0; i < AT_ONCE; i++) {
        if (probe->attempts[i] == attempt) {
            probe->attempts[i] = NULL;
        }
    }
    tcp_probe_drop(attempt);
}

static void on_connect(uv_connect_t *request, int fault)
{
    struct attempt *attempt = request->data;
    struct tcp_probe *probe = attempt->probe;
    if (!probe) {
        return; /* already closing; freed by the close callback */
    }
    tcp_probe_forget(probe, attempt);
    if (fault == 0) {
        loop_timer_stop(probe->timer);
        drop_all(probe);
        probe->open(probe->context);
    } else {
        snprintf(probe->why, sizeof(probe->why), "%s", uv_strerror(fault));
    }
}

static int64_t next_pause(int64_t pause_ms)
{
    int64_t fair = probe_count / PROBES_PER_MS;
    int64_t most = fair < USUAL_MS ? USUAL_MS : fair > MOST_MS ? MOST_MS : fair;
    return pause_ms * 3 / 2 > most ? most : pause_ms * 3 / 2;
}

static void try_once(void *context)
{
    struct tcp_probe *probe = context;
    struct attempt *attempt = HEAP_NEW(struct attempt);
    struct attempt **place = &probe->attempts[probe->next++ % AT_ONCE];
    tcp_probe_drop(*place); /* the oldest attempt has timed out */
    *place = attempt;
    attempt->probe = probe;
    attempt->uv.data = attempt->request.data = attempt;
    uv_tcp_init(loop_uv(probe->loop), &attempt->uv);
    int fault = uv_tcp_connect(&attempt->request, &attempt->uv,
                               (const struct sockaddr *)&probe->address, on_connect);
    if (fault != 0) { /* such as no descriptors left: retried later */
        snprintf(probe->why, sizeof(probe->why), "%s", uv_strerror(fault));
        tcp_probe_forget(probe, attempt);
    }
    loop_timer_start(probe->timer, probe->pause_ms);
    probe->pause_ms = next_pause(probe->pause_ms);
}

struct tcp_probe *tcp_probe_start(struct loop *loop, struct str address, uint16_t port,
                                  tcp_probe_open_fn *open, void *context)
{
    struct sockaddr_storage storage = {0};
    char text[INET6_ADDRSTRLEN + 1];
    if (address.len >= sizeof(text)) {
        return NULL;
    }
    snprintf(text, sizeof(text), "%.*s", STR_ARG(address));
    if (uv_ip4_addr(text, port, (struct sockaddr_in *)&storage) != 0 &&
        uv_ip6_addr(text, port, (struct sockaddr_in6 *)&storage) != 0) {
        return NULL;
    }
    struct tcp_probe *probe = HEAP_NEW(struct tcp_probe);
    probe_count++;
    probe->loop = loop;
    probe->address = storage;
    probe->open = open;
    probe->context = context;
    probe->pause_ms = FIRST_MS;
    probe->timer = loop_timer_new(loop, try_once, probe);
    loop_timer_start(probe->timer, 0);
    return probe;
}

struct str tcp_probe_why(const struct tcp_probe *probe)
{
    return str_from(probe->why);
}

void tcp_probe_end(struct tcp_probe *probe)
{
    if (probe) {
        drop_all(probe);
        loop_timer_free(probe->timer);
        probe_count--;
        free(probe);
    }
}
