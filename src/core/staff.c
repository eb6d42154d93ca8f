/* staff.c - see staff.h. */
#include "core/staff.h"

#include "core/num.h"

/* 1 / 0 without a division that a sanitizer would report. */
static double infinite(void)
{
    return pst_exp(1000);
}

/* 1 / B(n) from 1 / B(n - 1): grows without bound, and at infinity B is 0. */
static double inverse_next(double inverse, double erlangs, uint32_t n)
{
    return 1 + inverse * n / erlangs;
}

static double c_of_b(double b, double erlangs, uint32_t servers)
{
    return servers * b / (servers - erlangs * (1 - b));
}

double pst_staff_erlang_b(double erlangs, uint32_t servers)
{
    double inverse = 1;

    if (erlangs <= 0)
        return servers == 0 ? 1 : 0;
    for (uint32_t n = 1; n <= servers; n++)
        inverse = inverse_next(inverse, erlangs, n);
    return 1 / inverse;
}

double pst_staff_erlang_c(double erlangs, uint32_t servers)
{
    if (erlangs >= servers)
        return 1;
    return c_of_b(pst_staff_erlang_b(erlangs, servers), erlangs, servers);
}

double pst_staff_wait_mean(const struct pst_staff_load *load, uint32_t servers)
{
    if (load->erlangs >= servers)
        return infinite();
    return pst_staff_erlang_c(load->erlangs, servers) * load->variability * load->service_s /
           (servers - load->erlangs);
}

/* P(wait > wait_s) given C. */
static double tail(const struct pst_staff_load *load, double c, uint32_t servers, double wait_s)
{
    double scale = load->variability * load->service_s;

    if (scale <= 0) /* nothing varies: nobody waits while the load is below the servers */
        return 0;
    return c * pst_exp(-(servers - load->erlangs) * wait_s / scale);
}

double pst_staff_wait_tail(const struct pst_staff_load *load, uint32_t servers, double wait_s)
{
    if (load->erlangs >= servers)
        return 1;
    return tail(load, pst_staff_erlang_c(load->erlangs, servers), servers, wait_s);
}

double pst_staff_wait_exceeded(const struct pst_staff_load *load, uint32_t servers, double share)
{
    double c;

    PST_ASSERT(share > 0 && share < 1);
    if (load->erlangs >= servers)
        return infinite();
    c = pst_staff_erlang_c(load->erlangs, servers);
    if (c <= share)
        return 0;
    return pst_ln(c / share) * load->variability * load->service_s / (servers - load->erlangs);
}

uint32_t pst_staff_servers(const struct pst_staff_load *load, double wait_s, double share,
                           uint32_t most)
{
    double inverse = 1;

    if (load->erlangs <= 0)
        return 0;
    if (load->erlangs >= most)
        return most;
    for (uint32_t n = 1; n < most; n++) {
        inverse = inverse_next(inverse, load->erlangs, n);
        if (load->erlangs < n &&
            tail(load, c_of_b(1 / inverse, load->erlangs, n), n, wait_s) <= share)
            return n;
    }
    return most;
}
