/*
 * page.h - what may be seen from anywhere: GET /metrics, /healthz, /readyz.
 *
 * Why: probes and scrapers come from the network and must reach nothing else. The admin listener serves
 * the same three.
 *
 * Guarantee: /healthz is 200 while the process runs. /readyz is 503 once draining began and 200
 * otherwise, also without a replica: taking a gateway out because its engines are busy or loading would
 * only move the queue to where nobody sees it.
 */
#ifndef PST_OBSERVE_PAGE_H
#define PST_OBSERVE_PAGE_H

#include <stdio.h>

#include "net/server.h"
#include "observe/view.h"

struct pst_page;

/* Serves at `address`. errno when PST_E_SYSTEM. */
int pst_page_new(const struct pst_view *view, const char *address, struct pst_page **ret_page);
void pst_page_free(struct pst_page *page); /* takes NULL */
uint16_t pst_page_port(const struct pst_page *page);

/* Answers one of the three; false (and nothing done) when `path` is none of them. */
bool pst_page_answer(struct pst_exchange *x, const struct pst_view *view, enum pst_method method,
                     struct pst_slice path);

/* docs/metrics.md, from the table of metrics. */
void pst_observe_document(FILE *out);

#endif
