/* ssegen -p PORT -n STREAMS -t SECS [-w WARM] [-P PIDLIST] [-b BODY] [-H hdr]: keeps N SSE streams open, per-token latency = recv - "t" stamp in token */
#include "common.h"
struct s {
    int fd;
    char carry[256];
    size_t cn;
    int tail;
};
int main(int ac, char **av)
{
    int o, port = 0, N = 200, body = 1024;
    double secs = 10, warm = 2;
    const char *pids = NULL;
    char extra[2048] = "";
    signal(SIGPIPE, SIG_IGN);
    while ((o = getopt(ac, av, "p:n:t:w:P:b:H:")) != -1)
        switch (o) {
        case 'p':
            port = atoi(optarg);
            break;
        case 'n':
            N = atoi(optarg);
            break;
        case 't':
            secs = atof(optarg);
            break;
        case 'w':
            warm = atof(optarg);
            break;
        case 'P':
            pids = optarg;
            break;
        case 'b':
            body = atoi(optarg);
            break;
        case 'H':
            strcat(extra, optarg);
            strcat(extra, "\r\n");
            break;
        default:
            return 2;
        }
    char *rq = malloc((size_t)body + 4096);
    int n = snprintf(rq, 4096,
                     "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: "
                     "application/json\r\nAuthorization: Bearer k\r\n%sContent-Length: %d\r\n\r\n",
                     port, extra, body);
    int h = n;
    n += snprintf(
        rq + n, 256,
        "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"");
    while (n - h < body - 4)
        rq[n++] = 'z';
    memcpy(rq + n, "\"}]}", 4);
    n += 4;
    int ep = epoll_create1(0);
    struct s *S = calloc((size_t)N, sizeof *S);
    for (int i = 0; i < N; i++) {
        S[i].fd = tcp_connect(port, 0);
        if (S[i].fd < 0)
            die("connect");
        fcntl(S[i].fd, F_SETFL, O_NONBLOCK);
        struct epoll_event e = {EPOLLIN, {.ptr = &S[i]}};
        epoll_ctl(ep, EPOLL_CTL_ADD, S[i].fd, &e);
        if (send(S[i].fd, rq, (size_t)n, MSG_NOSIGNAL) != n)
            die("send");
    }
    uint64_t t0 = now_ns(), tw = t0 + (uint64_t)(warm * 1e9), te = tw + (uint64_t)(secs * 1e9),
             cpu0 = 0, cpu1, reads = 0, restarts = 0, errs = 0;
    int on = 0;
    struct lat L = {0};
    struct epoll_event E[256];
    static char B[65536 + 256];
    for (;;) {
        int k = epoll_wait(ep, E, 256, 100);
        uint64_t t = now_ns();
        if (!on && t >= tw) {
            on = 1;
            if (pids)
                cpu0 = pids_cpu_ns(pids);
        }
        if (t >= te)
            break;
        for (int i = 0; i < k; i++) {
            struct s *s = E[i].data.ptr;
            memcpy(B, s->carry, s->cn);
            ssize_t r = recv(s->fd, B + s->cn, 65536, 0);
            if (r <= 0) {
                if (r < 0 && errno == EAGAIN)
                    continue;
                errs++;
                epoll_ctl(ep, EPOLL_CTL_DEL, s->fd, NULL);
                close(s->fd);
                continue;
            }
            t = now_ns();
            size_t len = s->cn + (size_t)r;
            char *p = B, *e = B + len;
            if (on)
                reads++;
            for (;;) {
                char *q = memmem(p, (size_t)(e - p), "\"t\":", 4);
                if (!q || e - q < 24) {
                    if (!q)
                        q = e - (e - p > 3 ? 3 : e - p);
                    s->cn = (size_t)(e - q);
                    if (s->cn > 200)
                        s->cn = 0;
                    memcpy(s->carry, q, s->cn);
                    break;
                }
                uint64_t st = strtoull(q + 4, NULL, 10);
                if (on)
                    lat_add(&L, t > st ? t - st : 0);
                p = q + 24;
            }
            if (len >= 5 && !memcmp(e - 5, "0\r\n\r\n", 5)) {
                restarts++;
                s->cn = 0;
                if (send(s->fd, rq, (size_t)n, MSG_NOSIGNAL) != n)
                    errs++;
            }
        }
    }
    cpu1 = pids ? pids_cpu_ns(pids) : 0;
    qsort(L.v, L.n, 8, cmp_u64);
    printf("streams=%d tokens=%zu reads=%lu restarts=%lu errs=%lu tok_per_s=%.0f | token us "
           "p50=%.1f p90=%.1f p99=%.1f p99.9=%.1f max=%.1f",
           N, L.n, reads, restarts, errs, (double)L.n / secs, lat_q(&L, .5) / 1e3,
           lat_q(&L, .9) / 1e3, lat_q(&L, .99) / 1e3, lat_q(&L, .999) / 1e3, lat_q(&L, 1) / 1e3);
    if (pids)
        printf(" proxy_cpu_us_per_token=%.2f util=%.3f rss_kb=%ld",
               (double)(cpu1 - cpu0) / 1e3 / (double)L.n, (double)(cpu1 - cpu0) / 1e9 / secs,
               pids_status_kb(pids, "VmRSS:"));
    printf("\n");
    return 0;
}
