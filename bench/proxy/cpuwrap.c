/* cpuwrap PIDLIST cmd...: run cmd, print CPU ns (schedstat) and utime/stime ticks used by the pids; pass wrk's total through */
#include "common.h"
int main(int ac, char **av)
{
    if (ac < 3)
        return 2;
    uint64_t u0, s0, u1, s1;
    int pf[2];
    if (pipe(pf))
        return 1;
    uint64_t c0 = pids_cpu_ns(av[1]), t0 = now_ns();
    pids_ticks(av[1], &u0, &s0);
    pid_t p = fork();
    if (!p) {
        dup2(pf[1], 1);
        close(pf[0]);
        execvp(av[2], av + 2);
        _exit(127);
    }
    close(pf[1]);
    static char out[65536];
    size_t n = 0;
    ssize_t k;
    while ((k = read(pf[0], out + n, sizeof out - 1 - n)) > 0)
        n += (size_t)k;
    out[n] = 0;
    int st;
    waitpid(p, &st, 0);
    uint64_t c1 = pids_cpu_ns(av[1]), t1 = now_ns();
    pids_ticks(av[1], &u1, &s1);
    double req = 0, rps = 0;
    char lat50[32] = "?", lat99[32] = "?";
    char *q = strstr(out, " requests in");
    if (q) {
        while (q > out && q[-1] != '\n' && q[-1] != ' ')
            q--;
        req = atof(q);
    }
    if ((q = strstr(out, "Requests/sec:")))
        rps = atof(q + 13);
    char *ld = strstr(out, "Latency Distribution");
    if (ld && (q = strstr(ld, "50%")))
        sscanf(q + 3, "%31s", lat50);
    if (ld && (q = strstr(ld, "99%")))
        sscanf(q + 3, "%31s", lat99);
    char *non = strstr(out, "Non-2xx");
    double bad = 0;
    if (non) {
        char *c = strchr(non, ':');
        if (c)
            bad = atof(c + 1);
    }
    double tu = (double)(u1 - u0), ts = (double)(s1 - s0);
    printf("req=%.0f rps=%.0f non2xx=%.0f p50=%s p99=%s cpu_us_per_req=%.2f proxy_util=%.2f "
           "user_frac=%.2f rps_per_core=%.0f\n",
           req, rps, bad, lat50, lat99, req ? (double)(c1 - c0) / 1e3 / req : 0,
           (double)(c1 - c0) / (double)(t1 - t0), tu + ts > 0 ? tu / (tu + ts) : 0,
           req && c1 > c0 ? req / ((double)(c1 - c0) / 1e9) : 0);
    return 0;
}
