/*
 * document.h - pages from the rows that the readers use.
 */
#ifndef PST_CONFIG_DOCUMENT_H
#define PST_CONFIG_DOCUMENT_H

#include <stdio.h>

struct pst_section;

/* A section as a chapter, with those below it. */
void pst_document_section(const struct pst_section *section, FILE *out);
/* The reference part of docs/scenarios.md. config.h has that of docs/configuration.md. */
void pst_scenario_document(FILE *out);

#endif
