/* script_server.c: one thread listens, one for each connection. */
#include "script_server.h"

#include "base/buf.h"
#include "io/xalloc.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 256, REQUEST_MAX = 1024 * 1024, TURN_MS = 50 };

struct connection {
    struct script_server *server;
    int socket;
    pthread_t thread;
};

struct script_server {
    script_fn *answer;
    void *context;
    int socket, port;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows, and of the script */
    bool is_ending;
    int requests;
    struct connection connections[CONNECTIONS_MAX];
    int count;
};

static bool is_ending(struct script_server *server)
{
    pthread_mutex_lock(&server->lock);
    bool ending = server->is_ending;
    pthread_mutex_unlock(&server->lock);
    return ending;
}

static bool wait_for_bytes(struct script_server *server, int socket)
{
    struct pollfd watch = {.fd = socket, .events = POLLIN};
    while (!is_ending(server)) {
        if (poll(&watch, 1, TURN_MS) > 0) {
            return true;
        }
    }
    return false;
}

/* A complete request with its body; false at the end of the connection. */
static bool read_request(struct connection *connection, struct buf *bytes, size_t *ret_head)
{
    char piece[16384];
    while (true) {
        char *end = bytes->len > 0 ? strstr(bytes->ptr, "\r\n\r\n") : NULL;
        if (end) {
            const char *length = strcasestr(bytes->ptr, "\r\ncontent-length:");
            size_t body = length && length < end ? (size_t)strtoul(length + 17, NULL, 10) : 0;
            *ret_head = (size_t)(end - bytes->ptr) + 4;
            if (bytes->len >= *ret_head + body) {
                return true;
            }
        }
        if (!wait_for_bytes(connection->server, connection->socket)) {
            return false;
        }
        ssize_t got = recv(connection->socket, piece, sizeof(piece), 0);
        if (got <= 0) {
            return false;
        }
        buf_add(bytes, (struct str){piece, (size_t)got});
    }
}

static void reset(struct connection *connection)
{
    struct linger linger = {1, 0};
    setsockopt(connection->socket, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

static void send_all(int socket, struct str bytes)
{
    while (bytes.len > 0) {
        ssize_t sent = send(socket, bytes.ptr, bytes.len, MSG_NOSIGNAL);
        if (sent <= 0) {
            return;
        }
        bytes = str_sub(bytes, (size_t)sent, bytes.len);
    }
}

/* False if that was the last answer of the connection. */
static bool reply(struct connection *connection, const struct script_answer *answer)
{
    AUTO_BUF struct buf out;
    const char *body = answer->body ? answer->body : "";
    size_t len = strlen(body);
    buf_init(&out, len + 4096);
    if (answer->deed == SCRIPT_RESET) {
        reset(connection);
        return false;
    }
    if (answer->deed == SCRIPT_HANG) {
        while (!is_ending(connection->server)) {
            usleep(TURN_MS * 1000);
        }
        return false;
    }
    buf_addf(&out, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n%s\r\n",
             answer->status ? answer->status : 200, len, answer->headers ? answer->headers : "");
    bool is_half = answer->deed == SCRIPT_TRUNCATE;
    buf_add(&out, (struct str){body, is_half ? len / 2 : len});
    send_all(connection->socket, buf_str(&out));
    return !is_half;
}

static void *serve(void *context)
{
    struct connection *connection = context;
    struct script_server *server = connection->server;
    bool goes_on = true;
    while (goes_on) {
        AUTO_BUF struct buf bytes;
        size_t head;
        buf_init(&bytes, REQUEST_MAX);
        if (!read_request(connection, &bytes, &head)) {
            break;
        }
        bytes.ptr[head - 1] = '\0';
        char method[16] = "";
        char target[1024] = "";
        char *blank = strchr(bytes.ptr, ' ');
        char *second = blank ? strchr(blank + 1, ' ') : NULL;
        if (second) {
            snprintf(method, sizeof(method), "%.*s", (int)(blank - bytes.ptr), bytes.ptr);
            snprintf(target, sizeof(target), "%.*s", (int)(second - blank - 1), blank + 1);
        }
        pthread_mutex_lock(&server->lock);
        struct script_request request = {.method = method,
                                         .target = target,
                                         .head = bytes.ptr,
                                         .body = bytes.ptr + head,
                                         .number = ++server->requests};
        struct script_answer answer = server->answer(server->context, &request);
        pthread_mutex_unlock(&server->lock);
        goes_on = reply(connection, &answer);
    }
    close(connection->socket);
    return NULL;
}

static void *listen_on(void *context)
{
    struct script_server *server = context;
    while (wait_for_bytes(server, server->socket)) {
        int accepted = accept4(server->socket, NULL, NULL, SOCK_CLOEXEC);
        if (accepted < 0 || server->count == CONNECTIONS_MAX) {
            break;
        }
        struct connection *connection = &server->connections[server->count++];
        *connection = (struct connection){.server = server, .socket = accepted};
        if (pthread_create(&connection->thread, NULL, serve, connection) != 0) {
            panic("no thread");
        }
    }
    return NULL;
}

struct script_server *script_server_start(script_fn *answer, void *context)
{
    struct script_server *server = HEAP_NEW(struct script_server);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    server->answer = answer;
    server->context = context;
    pthread_mutex_init(&server->lock, NULL);
    server->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server->socket, (struct sockaddr *)&address, size) != 0 ||
        listen(server->socket, 64) != 0 ||
        getsockname(server->socket, (struct sockaddr *)&address, &size) != 0 ||
        pthread_create(&server->thread, NULL, listen_on, server) != 0) {
        panic("no server");
    }
    server->port = ntohs(address.sin_port);
    return server;
}

void script_server_stop(struct script_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->is_ending = true;
    pthread_mutex_unlock(&server->lock);
    pthread_join(server->thread, NULL);
    for (int i = 0; i < server->count; i++) {
        pthread_join(server->connections[i].thread, NULL);
    }
    close(server->socket);
    pthread_mutex_destroy(&server->lock);
    free(server);
}

int script_server_port(const struct script_server *server)
{
    return server->port;
}

int script_server_requests(struct script_server *server)
{
    pthread_mutex_lock(&server->lock);
    int requests = server->requests;
    pthread_mutex_unlock(&server->lock);
    return requests;
}
