/*
 * reply.h - whole small answers on an exchange.
 */
#ifndef PST_OBSERVE_REPLY_H
#define PST_OBSERVE_REPLY_H

#include "net/server.h"
#include "base/text.h"

#define PST_TYPE_TEXT    "text/plain; charset=utf-8"
#define PST_TYPE_JSON    "application/json"
#define PST_TYPE_METRICS "text/plain; version=0.0.4; charset=utf-8"

/*
 * Listens for people and scrapers: few connections, small heads, no bodies worth reading. errno when
 * PST_E_SYSTEM.
 */
int pst_reply_listen(struct pst_loop *loop, const struct pst_server_handler *handler, void *user,
                     const char *address, struct pst_server **ret_server);

void pst_reply(struct pst_exchange *x, uint16_t status, const char *type, struct pst_slice body);
/* Sends the text, or 500 when it failed; and frees it. */
void pst_reply_text(struct pst_exchange *x, uint16_t status, const char *type,
                    struct pst_text *text);
/* {"error":{"message":…}}; `allow` names the methods with a 405, else NULL. */
void pst_reply_error(struct pst_exchange *x, uint16_t status, const char *allow,
                     const char *message);

#endif
