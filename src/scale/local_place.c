/* local_place.c - ports, GPUs and names that are free; see local.h. */
#include <stdio.h>
#include <string.h>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "scale/local.h"

static bool port_is_ours(const struct pst_local *local, uint16_t port)
{
    for (const struct pst_local_engine *e = local->engines; e != NULL; e = e->next)
        if (e->kept.port == port)
            return true;
    return false;
}

static bool gpu_is_used(const struct pst_local *local, uint32_t gpu)
{
    for (const struct pst_local_engine *e = local->engines; e != NULL; e = e->next)
        for (uint32_t i = 0; i < e->kept.gpus_count; i++)
            if (e->kept.gpus[i] == gpu)
                return true;
    return false;
}

static bool number_is_used(const struct pst_local *local, uint32_t number)
{
    for (const struct pst_local_engine *e = local->engines; e != NULL; e = e->next)
        if (e->kept.number == number)
            return true;
    return false;
}

/* Can an engine listen there? Somebody else's server would get our requests. */
static bool port_is_free(const char *host, uint16_t port)
{
    static const int on = 1;
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *address = NULL;
    char service[8];
    bool is_free = false;
    int fd;

    (void)snprintf(service, sizeof service, "%u", port);
    if (getaddrinfo(host, service, &hints, &address) != 0)
        return true; /* a name: the engine will see */
    fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        /* As servers do: connections that linger from the last engine are no obstacle. */
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        is_free = bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, 1) == 0;
        close(fd);
    }
    freeaddrinfo(address);
    return is_free;
}

static uint32_t gpus_free(const struct pst_local *local)
{
    uint32_t count = 0;

    for (size_t i = 0; i < local->config->gpus_count; i++)
        count += !gpu_is_used(local, local->config->gpus[i]);
    return count;
}

uint64_t pst_local_places_free(const struct pst_local *local)
{
    const struct pst_config_local *config = local->config;
    uint64_t ports = 0, by_gpu;
    uint32_t engines = 0;

    for (uint32_t port = config->port_first; port <= config->port_last; port++)
        ports += !port_is_ours(local, (uint16_t)port);
    for (const struct pst_local_engine *e = local->engines; e != NULL; e = e->next)
        engines++;
    if (ports > PST_STATE_ENGINES_MAX - engines)
        ports = PST_STATE_ENGINES_MAX - engines;
    if (config->gpus_count == 0)
        return ports;
    by_gpu = gpus_free(local) / config->gpus_each;
    return by_gpu < ports ? by_gpu : ports;
}

static void take_gpus(const struct pst_local *local, struct pst_state_engine *kept)
{
    const struct pst_config_local *config = local->config;

    if (config->gpus_count == 0)
        return;
    PST_ASSERT(config->gpus_each <= PST_STATE_GPUS_MAX);
    for (size_t i = 0; i < config->gpus_count && kept->gpus_count < config->gpus_each; i++)
        if (!gpu_is_used(local, config->gpus[i]))
            kept->gpus[kept->gpus_count++] = config->gpus[i];
    PST_ASSERT(kept->gpus_count == config->gpus_each);
}

int pst_local_place(const struct pst_local *local, struct pst_state_engine *ret_kept)
{
    const struct pst_config_local *config = local->config;
    struct pst_state_engine kept = {.number = 1};
    uint32_t port = config->port_first;

    if (pst_local_places_free(local) == 0)
        return PST_E_FULL;
    while (port <= config->port_last &&
           (port_is_ours(local, (uint16_t)port) || !port_is_free(config->host, (uint16_t)port)))
        port++;
    if (port > config->port_last) {
        pst_say(PST_LOG_WARN, "%s: every port from %u to %u is in use", local->pool,
                config->port_first, config->port_last);
        return PST_E_FULL;
    }
    kept.port = (uint16_t)port;
    /* The lowest number: names, logs and metrics of engines that crash all day stay few. */
    while (number_is_used(local, kept.number))
        kept.number++;
    take_gpus(local, &kept);
    *ret_kept = kept;
    return PST_OK;
}
