/* Fake inference engine: single-thread epoll HTTP/1.1 keep-alive.
 * backend -p PORT [-m MEAN_MS] [-d const|exp|lognormal|pareto] [-s SIGMA|ALPHA] [-k CONC]
 *         [-n TOKENS] [-r TOK_PER_S] [-b TOK_BYTES] [-A]   (-A: all streams tick on one grid, like an engine step)
 * Body containing "stream":true (first 512 bytes) -> SSE chunked; else 300-byte JSON after the service time.
 * Any GET answers at once with a model list and max_running_requests = CONC (for routers that ask). Each SSE token carries "t":<CLOCK_MONOTONIC ns at send>. */
#include "common.h"
struct conn {
    int fd;
    uint32_t gen;
    char *hb;
    size_t hl;
    long body;
    int chunked, busy, stream, queued, running;
    int left;
    uint64_t next;
};
static struct conn *C[65536];
static uint32_t gens;
struct ev {
    uint64_t t;
    int fd;
    uint32_t gen;
};
static struct ev *H;
static size_t hn, hcap;
static void hpush(struct ev e)
{
    if (hn == hcap) {
        hcap = hcap ? hcap * 2 : 1024;
        H = realloc(H, hcap * sizeof *H);
    }
    size_t i = hn++;
    while (i && H[(i - 1) / 2].t > e.t) {
        H[i] = H[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    H[i] = e;
}
static struct ev hpop(void)
{
    struct ev r = H[0], e = H[--hn];
    size_t i = 0;
    for (;;) {
        size_t c = 2 * i + 1;
        if (c >= hn)
            break;
        if (c + 1 < hn && H[c + 1].t < H[c].t)
            c++;
        if (H[c].t >= e.t)
            break;
        H[i] = H[c];
        i = c;
    }
    H[i] = e;
    return r;
}
struct qe {
    int fd;
    uint32_t gen;
};
static struct qe *Q;
static size_t qh, qt, qcap;
static double mean_ms = 0, sig = 1.0;
static const char *dist = "const";
static int conc = 1 << 30, active, ntok = 100, tokb = 120, align;
static double trate = 50;
static char resp[600];
static size_t respn;
static int ep;
static uint64_t nreq;
static double draw(void)
{
    double m = mean_ms * 1e6;
    if (*dist == 'e')
        return -m * log(1 - rnd());
    if (*dist == 'l')
        return m * exp(sig * rnd_norm() - sig * sig / 2);
    if (*dist == 'p') {
        double xm = m * (sig - 1) / sig;
        return xm / pow(1 - rnd(), 1 / sig);
    }
    return m;
}
static void wr(int fd, const char *b, size_t n)
{
    while (n) {
        ssize_t k = send(fd, b, n, MSG_NOSIGNAL);
        if (k < 0) {
            if (errno == EAGAIN) {
                struct pollfd p = {fd, POLLOUT, 0};
                poll(&p, 1, 100);
                continue;
            }
            return;
        }
        b += k;
        n -= (size_t)k;
    }
}
static void start(struct conn *c);
static void done(struct conn *c)
{
    (void)c;
    active--;
    while (qh < qt && active < conc) {
        struct qe q = Q[qh++];
        struct conn *d = C[q.fd];
        if (!d || d->gen != q.gen)
            continue;
        d->queued = 0;
        start(d);
    }
    if (qh == qt)
        qh = qt = 0;
}
static void drop(struct conn *c)
{
    int fd = c->fd, run = c->running;
    close(fd);
    C[fd] = NULL;
    free(c->hb);
    free(c);
    if (run)
        done(NULL);
}
static void start(struct conn *c)
{
    active++;
    c->running = 1;
    uint64_t t = now_ns();
    if (c->stream) {
        static const char h[] =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: "
            "no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";
        wr(c->fd, h, sizeof h - 1);
        c->left = ntok;
        uint64_t iv = (uint64_t)(1e9 / trate);
        c->next = align ? (t / iv + 1) * iv : t + (uint64_t)((double)iv * rnd());
        hpush((struct ev){c->next, c->fd, c->gen});
        return;
    }
    if (mean_ms == 0) {
        c->running = c->busy = 0;
        active--;
        wr(c->fd, resp, respn);
        return;
    }
    hpush((struct ev){t + (uint64_t)draw(), c->fd, c->gen});
}
static void fire(struct ev e)
{
    struct conn *c = C[e.fd];
    if (!c || c->gen != e.gen)
        return;
    if (!c->stream) {
        wr(c->fd, resp, respn);
        c->running = c->busy = 0;
        done(c);
        return;
    }
    if (c->left-- > 0) {
        char d[1024], o[1100];
        int n =
            snprintf(d, sizeof d,
                     "data: {\"id\":\"c\",\"t\":%020llu,\"choices\":[{\"delta\":{\"content\":\"",
                     (unsigned long long)now_ns());
        while (n < tokb - 6)
            d[n++] = 'x';
        memcpy(d + n, "\"}}]}\n\n", 7);
        n += 7;
        int m = snprintf(o, sizeof o, "%x\r\n", n);
        memcpy(o + m, d, (size_t)n);
        m += n;
        memcpy(o + m, "\r\n", 2);
        m += 2;
        wr(c->fd, o, (size_t)m);
        c->next += (uint64_t)(1e9 / trate);
        hpush((struct ev){c->next, c->fd, c->gen});
    } else {
        wr(c->fd, "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n", 24);
        c->running = c->busy = 0;
        done(c);
    }
}
static void request(struct conn *c)
{
    nreq++;
    c->busy = 1;
    if (active >= conc) {
        c->queued = 1;
        if (qt == qcap) {
            if (qh > qcap / 2) {
                memmove(Q, Q + qh, (qt - qh) * sizeof *Q);
                qt -= qh;
                qh = 0;
            } else {
                qcap = qcap ? qcap * 2 : 4096;
                Q = realloc(Q, qcap * sizeof *Q);
            }
        }
        Q[qt++] = (struct qe){c->fd, c->gen};
        return;
    }
    start(c);
}
static char B[262144];
static void readable(struct conn *c)
{
    ssize_t n = recv(c->fd, B, sizeof B - 1, 0);
    if (n <= 0) {
        if (n < 0 && errno == EAGAIN)
            return;
        drop(c);
        return;
    }
    char *p = B;
    size_t len = (size_t)n;
    if (c->body > 0) {
        c->body -= (long)len;
        if (c->body <= 0) {
            c->body = 0;
            request(c);
        }
        return;
    }
    if (c->body == -2) {
        if (len >= 5 && !memcmp(p + len - 5, "0\r\n\r\n", 5)) {
            c->body = 0;
            request(c);
        }
        return;
    }
    if (c->hl) {
        c->hb = realloc(c->hb, c->hl + len + 1);
        memcpy(c->hb + c->hl, p, len);
        c->hl += len;
        p = c->hb;
        len = c->hl;
    }
    char *e = memmem(p, len, "\r\n\r\n", 4);
    if (!e) {
        if (!c->hl) {
            c->hb = malloc(len + 1);
            memcpy(c->hb, p, len);
            c->hl = len;
        }
        return;
    }
    size_t hl = (size_t)(e - p) + 4;
    long cl = hdr_cl(p, hl);
    size_t bl = len - hl;
    size_t sc = bl > 512 ? 512 : bl;
    c->stream =
        memmem(p + hl, sc, "\"stream\":true", 13) != NULL || (len > 8 && memmem(p, 24, " /sse", 5));
    c->hl = 0;
    if (cl == -2) {
        if (bl >= 5 && !memcmp(p + len - 5, "0\r\n\r\n", 5))
            request(c);
        else
            c->body = -2;
        return;
    }
    if (!memcmp(p, "GET ", 4)) {
        char o[900], j[700];
        int jn = snprintf(
            j, sizeof j,
            "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"object\":\"model\",\"owned_by\":"
            "\"sglang\",\"max_model_len\":8192}],\"model_path\":\"m\",\"served_model_name\":\"m\","
            "\"is_generation\":true,\"max_running_requests\":%d,\"version\":\"0.5\"}",
            conc);
        int on = snprintf(
            o, sizeof o,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", jn,
            j);
        wr(c->fd, o, (size_t)on);
        return;
    }
    if (cl < 0)
        cl = 0;
    if ((long)bl >= cl)
        request(c);
    else
        c->body = cl - (long)bl;
}
static void onterm(int s)
{
    (void)s;
    _exit(0);
}
int main(int ac, char **av)
{
    int port = 9000, o;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, onterm);
    prctl(PR_SET_TIMERSLACK, 1);
    while ((o = getopt(ac, av, "p:m:d:s:k:n:r:b:A")) != -1)
        switch (o) {
        case 'p':
            port = atoi(optarg);
            break;
        case 'm':
            mean_ms = atof(optarg);
            break;
        case 'd':
            dist = optarg;
            break;
        case 's':
            sig = atof(optarg);
            break;
        case 'k':
            conc = atoi(optarg);
            break;
        case 'n':
            ntok = atoi(optarg);
            break;
        case 'r':
            trate = atof(optarg);
            break;
        case 'b':
            tokb = atoi(optarg);
            break;
        case 'A':
            align = 1;
            break;
        default:
            return 2;
        }
    char body[512];
    int bn = snprintf(
        body, sizeof body,
        "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":"
        "\"m\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"");
    while (bn < 300 - 92)
        body[bn++] = 'y';
    bn += snprintf(body + bn, sizeof body - (size_t)bn,
                   "\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":9,\"completion_"
                   "tokens\":12,\"total_tokens\":21}}");
    respn = (size_t)snprintf(
        resp, sizeof resp,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%.*s", bn,
        bn, body);
    int lf = tcp_listen(port);
    ep = epoll_create1(0);
    struct epoll_event ev = {EPOLLIN, {.fd = lf}}, E[512];
    epoll_ctl(ep, EPOLL_CTL_ADD, lf, &ev);
    for (;;) {
        struct timespec ts, *tp = NULL;
        if (hn) {
            uint64_t t = now_ns();
            uint64_t d = H[0].t > t ? H[0].t - t : 0;
            ts.tv_sec = (time_t)(d / 1000000000ull);
            ts.tv_nsec = (long)(d % 1000000000ull);
            tp = &ts;
        }
        int n = epoll_pwait2(ep, E, 512, tp, NULL);
        for (int i = 0; i < n; i++) {
            int fd = E[i].data.fd;
            if (fd == lf) {
                for (;;) {
                    int c = accept4(lf, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
                    if (c < 0)
                        break;
                    if (c >= 65536) {
                        close(c);
                        continue;
                    }
                    int one = 1;
                    setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                    struct conn *k = calloc(1, sizeof *k);
                    k->fd = c;
                    k->gen = ++gens;
                    C[c] = k;
                    ev.events = EPOLLIN;
                    ev.data.fd = c;
                    epoll_ctl(ep, EPOLL_CTL_ADD, c, &ev);
                }
            } else if (C[fd])
                readable(C[fd]);
        }
        if (hn) {
            uint64_t t = now_ns();
            while (hn && H[0].t <= t)
                fire(hpop());
        }
    }
}
