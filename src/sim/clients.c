/* clients.c - see clients.h. */
#include "sim/clients.h"

#include <stdlib.h>

#define CAPACITY_FIRST 1024

void pst_clients_init(struct pst_clients *clients, uint32_t max)
{
    *clients = (struct pst_clients){.max = max, .free = PST_CLIENT_NONE};
}

void pst_clients_done(struct pst_clients *clients)
{
    free(clients->items);
    clients->items = NULL;
}

static int grow(struct pst_clients *clients)
{
    uint64_t capacity = clients->capacity == 0 ? CAPACITY_FIRST : (uint64_t)clients->capacity * 2;
    struct pst_client *items;

    if (capacity > clients->max)
        capacity = clients->max;
    if (capacity == clients->capacity)
        return PST_E_FULL;
    items = realloc(clients->items, (size_t)capacity * sizeof *items);
    if (items == NULL)
        return PST_E_NOMEM;
    clients->items = items;
    clients->capacity = (uint32_t)capacity;
    return PST_OK;
}

int pst_clients_take(struct pst_clients *clients, uint32_t *ret_index)
{
    uint32_t index = clients->free, generation = 0;

    if (index != PST_CLIENT_NONE) {
        clients->free = clients->items[index].next_free;
        generation = clients->items[index].generation;
    } else {
        int rc = clients->made < clients->capacity ? PST_OK : grow(clients);

        if (rc != PST_OK)
            return rc;
        index = clients->made++;
    }
    clients->items[index] = (struct pst_client){.generation = generation + 1};
    clients->alive++;
    *ret_index = index;
    return PST_OK;
}

void pst_clients_give(struct pst_clients *clients, uint32_t index)
{
    struct pst_client *client = &clients->items[index];

    PST_ASSERT(index < clients->made && client->state != PST_CLIENT_FREE);
    client->state = PST_CLIENT_FREE;
    client->next_free = clients->free;
    clients->free = index;
    clients->alive--;
}
