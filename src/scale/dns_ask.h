/*
 * dns_ask.h - which addresses a name has: A and AAAA, through c-ares on our loop.
 *
 * Why: libc's resolver blocks, and says "no such name" for what it could not find out. Who removes replicas
 * by what DNS says must know the difference: an empty answer is an answer, a silent or failing server is
 * none.
 *
 * Guarantee: answered() comes once for each start, from the loop. A family is known only if a server said
 * so for the name that counts: the first of the search list that exists. At most PST_REPLICAS_MAX
 * addresses a family. Truncated answers are asked for again over TCP. Not thread-safe: one owner.
 */
#ifndef PST_SCALE_DNS_ASK_H
#define PST_SCALE_DNS_ASK_H

#include "core/gate.h"
#include "net/address.h"
#include "net/loop.h"

struct pst_dns_answer {
    bool knows_v4, knows_v6; /* this family was answered, with addresses or with none */
    const char *error;       /* what a family that is not known failed with; NULL: none did */
    size_t count;
    struct pst_address addresses[2 * PST_REPLICAS_MAX]; /* port 0 */
};

struct pst_dns_ask;

/* server: "10.0.0.10:53", "[fd00::a]:53"; NULL: those of the system. PST_E_INVALID: it is none. */
int pst_dns_ask_new(struct pst_loop *loop, const char *server,
                    void (*answered)(void *user, const struct pst_dns_answer *answer), void *user,
                    struct pst_dns_ask **ret_ask);
void pst_dns_ask_free(struct pst_dns_ask *ask); /* takes NULL; also while a question is open */
/* One question at a time: the last one was answered. PST_E_INVALID: that is no name; it is not asked. */
int pst_dns_ask_start(struct pst_dns_ask *ask, const char *name);

#endif
