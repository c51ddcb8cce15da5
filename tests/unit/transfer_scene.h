/* transfer_scene.h: a server of checkpoints in a process of its own, a folder for each side. */
#pragma once

#include "app/train/state_transfer.h"
#include "base/attr.h"
#include "scratch.h"
#include "unit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef0123456789abcdef"

enum { PATH_SIZE = 300, IDLE_MS = 400, LARGE_BYTES = 32 << 20 };

#ifndef SERVER_IDLE_MS
#define SERVER_IDLE_MS IDLE_MS
#endif

/* ---- a folder of a source, a folder of a fetch, a server ---- */

struct scene {
    char base[64], from[80], to[80];
    pid_t server, proxy;
    uint16_t port;       /* of the server */
    uint16_t proxy_port; /* 0: none */
    int64_t idle_ms;     /* of fetches */
    struct err err;
    struct state_fetched fetched;
};

static inline int listen_on(uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 64), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    *ret_port = ntohs(address.sin_port);
    return listener;
}

static inline int dial(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(made, (struct sockaddr *)&address, sizeof(address)), 0);
    return made;
}

static inline void silence(void)
{
    int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, STDERR_FILENO);
    close(nothing);
}

static inline void start_server(struct scene *scene, int64_t hello_ms)
{
    int listener = listen_on(&scene->port);
    scene->server = fork();
    if (scene->server == 0) {
        struct state_server server = {.listener = listener,
                                      .root = scene->from,
                                      .token = STR(TOKEN),
                                      .hello_ms = hello_ms,
                                      .idle_ms = SERVER_IDLE_MS};
        struct err err;
        silence();
        (void)!state_serve(&server, &err);
        _exit(1);
    }
    close(listener);
}

static inline void end_process(pid_t *pid)
{
    if (*pid > 0) {
        kill(*pid, SIGKILL);
        waitpid(*pid, NULL, 0);
    }
    *pid = 0;
}

static inline void open_scene(struct scene *scene, int64_t hello_ms)
{
    *scene = (struct scene){.base = "/tmp/test_state.XXXXXX", .idle_ms = 60000};
    assert_non_null(mkdtemp(scene->base));
    snprintf(scene->from, sizeof(scene->from), "%s/from", scene->base);
    snprintf(scene->to, sizeof(scene->to), "%s/to", scene->base);
    assert_int_equal(mkdir(scene->from, 0700), 0);
    assert_int_equal(mkdir(scene->to, 0700), 0);
    start_server(scene, hello_ms);
}

static inline void close_scene(struct scene *scene)
{
    end_process(&scene->server);
    end_process(&scene->proxy);
    assert_int_equal(scratch_remove(scene->base), 0);
}

static inline const char *in(const char *folder, const char *name)
{
    static char paths[4][PATH_SIZE];
    static int next;
    char *path = paths[next++ % 4];
    assert_true(snprintf(path, PATH_SIZE, "%s/%s", folder, name) < PATH_SIZE);
    return path;
}

static inline void make_folder(struct scene *scene, const char *name)
{
    assert_int_equal(mkdir(in(scene->from, name), 0755), 0);
}

static inline void make_file(struct scene *scene, const char *name, size_t size, unsigned mode)
{
    char piece[4096];
    int file = open(in(scene->from, name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    for (size_t done = 0; done < size;) {
        size_t part = size - done < sizeof(piece) ? size - done : sizeof(piece);
        for (size_t i = 0; i < part; i++) {
            piece[i] = (char)((done + i) * 31 + (done >> 12));
        }
        assert_int_equal(write(file, piece, part), part);
        done += part;
    }
    assert_int_equal(fchmod(file, mode), 0);
    close(file);
}

static inline bool fetch(struct scene *scene, const char *name)
{
    struct state_source source = {.host = "127.0.0.1",
                                  .port = scene->proxy_port ? scene->proxy_port : scene->port,
                                  .token = STR(TOKEN),
                                  .idle_ms = scene->idle_ms};
    scene->err = (struct err){0};
    bool is_fetched = state_fetch(&source, scene->to, name, &scene->fetched, &scene->err);
    assert_true(is_fetched == (scene->err.kind == ERR_NONE));
    return is_fetched;
}

static inline int count_entries(const char *folder)
{
    DIR *listing = opendir(folder);
    const struct dirent *found;
    int count = -2; /* "." and ".." */
    while (listing && (found = readdir(listing)) != NULL) {
        count++;
    }
    closedir(listing);
    return count;
}

static inline void check_equal(struct scene *scene, const char *name)
{
    char here[STATE_DIGEST_SIZE];
    char there[STATE_DIGEST_SIZE];
    struct err err;
    assert_true(state_digest(scene->from, name, here, &err));
    assert_true(state_digest(scene->to, name, there, &err));
    assert_string_equal(here, there);
    assert_string_equal(here, scene->fetched.digest);
    assert_int_equal(count_entries(scene->to), 1);
}

static inline void make_tree(struct scene *scene, const char *name)
{
    char path[PATH_SIZE];
    static const char *const folders[] = {"", "/a", "/a/b", "/a/b/empty", "/a-b", "/a b"};
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        snprintf(path, sizeof(path), "%s%s", name, folders[i]);
        make_folder(scene, path);
    }
    static const struct {
        const char *name;
        size_t size;
        unsigned mode;
    } files[] = {{"/zero", 0, 0600},           {"/a/one", 1, 0644},
                 {"/a/b/x", 5000, 0755},       {"/a-b/x", 70000, 0444},
                 {"/a b/with blank", 7, 0600}, {"/\xc3\xa4\xe6\xa8\xa1.pt", 33, 0640},
                 {"/.hidden", 2, 0600},        {"/bad\xff", 3, 0600}};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(path, sizeof(path), "%s%s", name, files[i].name);
        make_file(scene, path, files[i].size, files[i].mode);
    }
}
