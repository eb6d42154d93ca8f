/*
 * schema_rows.h - how rows are written; for the schema's files only.
 */
#ifndef PST_CONFIG_SCHEMA_ROWS_H
#define PST_CONFIG_SCHEMA_ROWS_H

#include "config/draft.h"
#include "config/schema.h"

/* Where a value goes: a member of the section's struct. */
#define AT(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define POOL(member)     AT(struct pst_draft_pool, member)
/* The item itself, in a section of one row. */
#define ITEM(type) .size = sizeof(type), .required = true

#define ROWS(rows) .fields = (rows), .count = PST_COUNT_OF(rows)
#define NOWHERE    .name_offset = PST_SECTION_NOWHERE, .node_offset = PST_SECTION_NOWHERE

#define DAY (UINT64_C(86400) * PST_S)
#define GIB (UINT64_C(1) << 30)

extern const struct pst_section pst_schema_class, pst_schema_pool, pst_schema_replicas,
    pst_schema_warmup, pst_schema_scaler, pst_schema_cron, pst_schema_holiday, pst_schema_profile,
    pst_schema_signals, pst_schema_export;

#endif
