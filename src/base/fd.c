/* fd.c - see fd.h. */
#include "base/fd.h"

#include <signal.h>
#include <sys/resource.h>

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

void pst_fd_ignore_sigpipe(void)
{
    signal(SIGPIPE, SIG_IGN);
}
