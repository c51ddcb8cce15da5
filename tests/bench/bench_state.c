/*
 * bench_state.c: how long checkpoints of several sizes take over loopback, from tmpfs to tmpfs.
 * Prints figures, with the load of the machine, and asserts nothing but success.
 */
#include "app/train/state_transfer.h"
#include "app/train/state_wire.h"
#include "io/file.h"
#include "io/xalloc.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef0123456789abcdef"

enum { PIECE = 1 << 20, ROUNDS = 3 };

static const struct {
    const char *name;
    int files;
    int64_t size;
} cases[] = {
    {"1MB", 1, 1 << 20},
    {"100MB", 1, 100 << 20},
    {"1GB", 1, 1 << 30},
    {"10000x1kB", 10000, 1 << 10},
};

static void must(bool is_fine, const char *what)
{
    if (!is_fine) {
        fprintf(stderr, "bench_state: %s failed\n", what);
        exit(1);
    }
}

static void fill(const char *folder, size_t which)
{
    char path[200];
    char *piece = heap_zeroed(PIECE);
    snprintf(path, sizeof(path), "%s/from/%s", folder, cases[which].name);
    must(mkdir(path, 0700) == 0, "mkdir");
    for (int i = 0; i < cases[which].files; i++) {
        snprintf(path, sizeof(path), "%s/from/%s/%d", folder, cases[which].name, i);
        int file = open(path, O_WRONLY | O_CREAT, 0600);
        for (int64_t done = 0; done < cases[which].size; done += PIECE) {
            int64_t left = cases[which].size - done;
            size_t part = left < PIECE ? (size_t)left : PIECE;
            memset(piece, (int)(done >> 20) + i, part);
            must(write(file, piece, part) == (ssize_t)part, "write");
        }
        close(file);
    }
    free(piece);
}

static pid_t start(const char *root, uint16_t *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    struct err err;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 8) == 0,
         "listen");
    getsockname(listener, (struct sockaddr *)&address, &size);
    *ret_port = ntohs(address.sin_port);
    pid_t server = fork();
    if (server == 0) {
        (void)!state_serve(
            &(struct state_server){.listener = listener, .root = root, .token = STR(TOKEN)}, &err);
        _exit(1);
    }
    close(listener);
    return server;
}

static void measure(const char *folder, uint16_t port, size_t which)
{
    struct state_source source = {.host = "127.0.0.1", .port = port, .token = STR(TOKEN)};
    struct state_fetched fetched;
    struct err err = {0};
    char to[100];
    char path[200];
    double best = 1e9;
    double load[3] = {0};
    snprintf(to, sizeof(to), "%s/to", folder);
    snprintf(path, sizeof(path), "%s/%s", to, cases[which].name);
    for (int i = 0; i < ROUNDS; i++) {
        must(file_remove_folder(path, &err), "remove");
        must(state_fetch(&source, to, cases[which].name, &fetched, &err), "fetch");
        must(!fetched.was_there, "transfer");
        best = fetched.seconds < best ? fetched.seconds : best;
    }
    must(state_fetch(&source, to, cases[which].name, &fetched, &err) && fetched.was_there, "same");
    getloadavg(load, 3);
    must(file_remove_folder(path, &err), "remove");
    printf("%-10s %8.3f s %8.1f MB/s; the same again %7.3f s; load %.1f\n", cases[which].name, best,
           (double)fetched.bytes / 1e6 / (best > 0 ? best : 0.001), fetched.seconds, load[0]);
    fflush(stdout);
}

static void measure_digest(void)
{
    char *piece = heap_zeroed(PIECE);
    uint8_t digest[SHA256_BYTES];
    int64_t begin = state_now_ms();
    for (int i = 0; i < 512; i++) {
        sha256((struct str){piece, PIECE}, digest);
    }
    printf("SHA-256 alone: %.0f MB/s\n", 512 * 1048.576 / (double)(state_now_ms() - begin));
    free(piece);
}

int main(void)
{
    char folder[] = "/dev/shm/bench_state.XXXXXX";
    char path[100];
    uint16_t port;
    struct err err;
    must(mkdtemp(folder) != NULL, "mkdtemp");
    snprintf(path, sizeof(path), "%s/to", folder);
    must(mkdir(path, 0700) == 0, "mkdir");
    snprintf(path, sizeof(path), "%s/from", folder);
    must(mkdir(path, 0700) == 0, "mkdir");
    pid_t server = start(path, &port);
    measure_digest();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        fill(folder, i);
        measure(folder, port, i);
    }
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    must(file_remove_folder(folder, &err), "remove");
    return 0;
}
