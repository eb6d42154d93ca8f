/* The floor: bare epoll HTTP/1.1 relay, minimal framing only (find CRLFCRLF, Content-Length / chunked end),
 * pooled keep-alive upstream connections, one shared read buffer, no per-request allocation, no routing/queue/log.
 * relay LPORT UPORT  */
#include "common.h"
struct c {
    int fd, peer, up;
    long left;
    int chunked, inbody, dead;
};
static struct c *T[65536];
static int pool[65536], pn, ep, uport;
static char B[65536];
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
static struct c *add(int fd, int up)
{
    struct c *k = calloc(1, sizeof *k);
    k->fd = fd;
    k->up = up;
    k->peer = -1;
    T[fd] = k;
    struct epoll_event e = {EPOLLIN, {.fd = fd}};
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
    return k;
}
static void drop(struct c *k)
{
    if (!k)
        return;
    struct c *p = k->peer >= 0 ? T[k->peer] : NULL;
    close(k->fd);
    T[k->fd] = NULL;
    if (k->up)
        for (int i = 0; i < pn; i++)
            if (pool[i] == k->fd) {
                pool[i] = pool[--pn];
                break;
            }
    free(k);
    if (p) {
        p->peer = -1;
        drop(p);
    }
}
static int upstream(void)
{
    if (pn)
        return pool[--pn];
    int fd = tcp_connect(uport, 0);
    if (fd < 0)
        return -1;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    add(fd, 1);
    return fd;
}
int main(int ac, char **av)
{
    if (ac < 3)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    uport = atoi(av[2]);
    int lf = tcp_listen(atoi(av[1]));
    ep = epoll_create1(0);
    struct epoll_event ev = {EPOLLIN, {.fd = lf}}, E[256];
    epoll_ctl(ep, EPOLL_CTL_ADD, lf, &ev);
    for (;;) {
        int n = epoll_wait(ep, E, 256, -1);
        for (int i = 0; i < n; i++) {
            int fd = E[i].data.fd;
            if (fd == lf) {
                for (;;) {
                    int c = accept4(lf, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
                    if (c < 0)
                        break;
                    setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                    add(c, 0);
                }
                continue;
            }
            struct c *k = T[fd];
            if (!k)
                continue;
            ssize_t r = recv(fd, B, sizeof B, 0);
            if (r <= 0) {
                if (r < 0 && errno == EAGAIN)
                    continue;
                drop(k);
                continue;
            }
            if (!k->inbody) {
                char *e = memmem(B, (size_t)r, "\r\n\r\n", 4);
                if (!e) {
                    drop(k);
                    continue;
                }
                size_t hl = (size_t)(e - B) + 4;
                long cl = hdr_cl(B, hl);
                k->chunked = cl == -2;
                k->left = cl > 0 ? cl - (r - (long)hl) : 0;
                k->inbody = 1;
                if (!k->up) {
                    int u = upstream();
                    if (u < 0) {
                        drop(k);
                        continue;
                    }
                    k->peer = u;
                    T[u]->peer = fd;
                    T[u]->inbody = 0;
                }
            } else if (!k->chunked)
                k->left -= r;
            if (k->peer >= 0)
                wr(k->peer, B, (size_t)r);
            int fin = k->chunked ? (r >= 5 && !memcmp(B + r - 5, "0\r\n\r\n", 5)) : k->left <= 0;
            if (fin) {
                k->inbody = 0;
                if (k->up && k->peer >= 0) {
                    struct c *p = T[k->peer];
                    if (p)
                        p->peer = -1;
                    k->peer = -1;
                    pool[pn++] = fd;
                }
            }
        }
    }
}
