/* fd.c - see fd.h. */
#include "base/fd.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

uint64_t pst_fd_limit_raise(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    if (limit.rlim_cur < limit.rlim_max) {
        struct rlimit most = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};

        if (setrlimit(RLIMIT_NOFILE, &most) == 0)
            return most.rlim_cur;
    }
    return limit.rlim_cur;
}

void pst_fd_hold_standard(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY); /* writing there goes on being an error */
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

void pst_fd_ignore_sigpipe(void)
{
    signal(SIGPIPE, SIG_IGN);
}

void pst_fd_tune_tcp(int fd)
{
    static const int on = 1, idle_s = 30, interval_s = 10, probes = 3;

    /* None of these can fail on a TCP socket, and all can be done without. */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}
