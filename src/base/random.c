/* random.c - see random.h. */
#include "base/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

static void refill(struct pst_random *random)
{
    size_t have = 0;

    while (have < sizeof random->bytes) {
        ssize_t n = getrandom(random->bytes + have, sizeof random->bytes - have, 0);

        PST_ASSERT(n > 0 || errno == EINTR);
        if (n > 0)
            have += (size_t)n;
    }
    random->left = sizeof random->bytes;
}

void pst_random_fill(struct pst_random *random, void *out, size_t len)
{
    unsigned char *from;

    PST_ASSERT(len <= sizeof random->bytes);
    if (random->left < len)
        refill(random);
    random->left -= len;
    from = random->bytes + random->left;
    memcpy(out, from, len);
    memset(from, 0, len);
}
