/* common.h - clocks, sockets and CPU counters that the measuring programs share. Linux only. */
#ifndef COMMON_H
#define COMMON_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}
static inline void die(const char *m)
{
    perror(m);
    exit(1);
}
/* CPU ns over all threads of a comma separated pid list */
static inline uint64_t pids_cpu_ns(const char *list)
{
    uint64_t tot = 0;
    char tmp[512];
    snprintf(tmp, sizeof tmp, "%s", list);
    for (char *s = strtok(tmp, ","); s; s = strtok(NULL, ",")) {
        char p[128];
        snprintf(p, sizeof p, "/proc/%s/task", s);
        DIR *d = opendir(p);
        if (!d)
            continue;
        struct dirent *e;
        while ((e = readdir(d))) {
            if (e->d_name[0] == '.')
                continue;
            char q[512];
            snprintf(q, sizeof q, "/proc/%s/task/%s/schedstat", s, e->d_name);
            FILE *f = fopen(q, "r");
            unsigned long long v = 0;
            if (f) {
                if (fscanf(f, "%llu", &v) == 1)
                    tot += v;
                fclose(f);
            }
        }
        closedir(d);
    }
    return tot;
}
static inline void pids_ticks(const char *list, uint64_t *ut, uint64_t *st)
{
    *ut = *st = 0;
    char tmp[512];
    snprintf(tmp, sizeof tmp, "%s", list);
    for (char *s = strtok(tmp, ","); s; s = strtok(NULL, ",")) {
        char p[128], b[1024];
        snprintf(p, sizeof p, "/proc/%s/stat", s);
        FILE *f = fopen(p, "r");
        if (!f)
            continue;
        size_t n = fread(b, 1, sizeof b - 1, f);
        b[n] = 0;
        fclose(f);
        char *q = strrchr(b, ')');
        unsigned long long u = 0, v = 0;
        if (q &&
            sscanf(q + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &u, &v) == 2) {
            *ut += u;
            *st += v;
        }
    }
}
static inline long pids_status_kb(const char *list, const char *key)
{
    long tot = 0;
    char tmp[512];
    snprintf(tmp, sizeof tmp, "%s", list);
    for (char *s = strtok(tmp, ","); s; s = strtok(NULL, ",")) {
        char p[128], l[256];
        snprintf(p, sizeof p, "/proc/%s/status", s);
        FILE *f = fopen(p, "r");
        if (!f)
            continue;
        while (fgets(l, sizeof l, f))
            if (!strncmp(l, key, strlen(key))) {
                tot += atol(l + strlen(key) + 1);
                break;
            }
        fclose(f);
    }
    return tot;
}
static inline long meminfo_kb(const char *key)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char l[256];
    long v = -1;
    if (!f)
        return -1;
    while (fgets(l, sizeof l, f))
        if (!strncmp(l, key, strlen(key))) {
            v = atol(l + strlen(key) + 1);
            break;
        }
    fclose(f);
    return v;
}
static inline int tcp_listen(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(fd, (void *)&a, sizeof a) || listen(fd, 4096))
        die("listen");
    return fd;
}
static inline int tcp_connect(int port, int nonblock)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (nonblock ? SOCK_NONBLOCK : 0), 0),
        one = 1;
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (connect(fd, (void *)&a, sizeof a) && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}
static inline long hdr_cl(const char *h, size_t n)
{ /* content-length in header block, -1 none, -2 chunked */
    const char *p = h, *e = h + n;
    while ((p = memchr(p, '\n', (size_t)(e - p)))) {
        p++;
        if (e - p > 15 && (*p == 'C' || *p == 'c') && !strncasecmp(p, "content-length:", 15))
            return atol(p + 15);
        if (e - p > 18 && (*p == 'T' || *p == 't') && !strncasecmp(p, "transfer-encoding:", 18))
            return -2;
    }
    return -1;
}
static int cmp_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}
struct lat {
    uint64_t *v;
    size_t n, cap;
};
static inline void lat_add(struct lat *l, uint64_t v)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 4096;
        l->v = realloc(l->v, l->cap * 8);
    }
    l->v[l->n++] = v;
}
static inline double lat_q(struct lat *l, double q)
{
    if (!l->n)
        return NAN;
    size_t i = (size_t)(q * (double)(l->n - 1) + .5);
    return (double)l->v[i];
}
/* splitmix/xorshift */
static uint64_t rs_ = 88172645463325252ull;
static inline double rnd(void)
{
    rs_ ^= rs_ << 13;
    rs_ ^= rs_ >> 7;
    rs_ ^= rs_ << 17;
    return (double)(rs_ >> 11) * (1.0 / 9007199254740992.0);
}
static inline double rnd_norm(void)
{
    double u = rnd() + 1e-18, v = rnd();
    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}
#endif
