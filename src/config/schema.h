/*
 * schema.h - what may stand in a configuration: one row per key.
 *
 * Why: reading, defaults, messages, "did you mean" and the documentation must not drift apart, so all
 * of them walk these rows and nothing else knows a key's name, form, range or default.
 *
 * A section is a map of keys that fills one struct. A row says where in that struct its value goes.
 * Defaults are written as a user would write them and read by the same code.
 */
#ifndef PST_CONFIG_SCHEMA_H
#define PST_CONFIG_SCHEMA_H

#include "config/config.h"
#include "config/tree.h"

enum pst_field_kind {
    PST_FIELD_TEXT,
    PST_FIELD_NAME,   /* a text fit for labels */
    PST_FIELD_PATH,   /* "/…", as in a request */
    PST_FIELD_SWITCH, /* true | false */
    PST_FIELD_CHOICE, /* one of `choices` */
    PST_FIELD_ENUM,   /* one of `names`, kept as its index; `max` names */
    PST_FIELD_COUNT,  /* a whole number */
    PST_FIELD_SHARE,  /* parts per million, "0.5" or "50%" */
    PST_FIELD_WEIGHT, /* percent, "1.5" is 150 */
    PST_FIELD_FACTOR, /* a double > 0, "1.5" */
    PST_FIELD_RATE,   /* a double per second, "200/s", "12/m" */
    PST_FIELD_DURATION,
    PST_FIELD_PERIOD, /* a duration; "off" is 0 */
    PST_FIELD_SIZE,
    PST_FIELD_MONEY,    /* "2.5 USD", kept as millionths */
    PST_FIELD_LAW,      /* struct pst_law of durations */
    PST_FIELD_COUNTS,   /* struct pst_law of counts */
    PST_FIELD_FORM,     /* struct pst_law with mean one: written without it */
    PST_FIELD_FILE,     /* a path, from where the file at hand is */
    PST_FIELD_ADDRESS,  /* of a listener, kept as its text */
    PST_FIELD_NETWORK,  /* struct pst_config_network */
    PST_FIELD_URL,      /* struct pst_config_replica */
    PST_FIELD_ENDPOINT, /* a URL, kept as its text */
    PST_FIELD_HOST,     /* a name or an address */
    PST_FIELD_PORTS,    /* struct pst_scalar_ports */
    PST_FIELD_CRON,     /* five fields, kept as their text */
    PST_FIELD_DATE,     /* kept as its text */
    PST_FIELD_ZONE,     /* a time zone's name */
    PST_FIELD_HASH,     /* 32 bytes */
    PST_FIELD_SECRET,   /* {env: NAME} or {file: PATH}, kept as what is there */
    PST_FIELD_PRIVATE,  /* a text, or as SECRET */
    PST_FIELD_SECTION,  /* a map: `section` */
    PST_FIELD_LIST,     /* a list of `section` */
    PST_FIELD_NAMED,    /* a map from names to `section` */
    PST_FIELD_REFUSED,  /* known, and not to be had: `doc` says what to do */
    PST_FIELD_IGNORED,  /* known, and of no effect here */
    PST_FIELD_KIND_COUNT
};

struct pst_choice {
    const char *name; /* NULL ends the list */
    int value;
    const char *refused; /* not NULL: why this one is not to be had */
};

struct pst_field {
    const char *key; /* NULL: the item itself, in a section of one row */
    enum pst_field_kind kind;
    size_t offset, size;
    const char *fallback; /* default as written; NULL: none, or `fallback_note` says where from */
    bool required;
    uint64_t min, max; /* of COUNT, WEIGHT, DURATION, SIZE, SHARE, LIST and NAMED; 0, 0: any */
    const struct pst_choice *choices;
    const char *const *names;
    const struct pst_section *section;
    const char *fallback_note;
    const char *doc; /* one sentence */
};

#define PST_SECTION_NOWHERE SIZE_MAX

/* What a list keeps: `items` is an array of the section's structs. */
struct pst_items {
    void *items;
    size_t count;
};

struct pst_section {
    const char *title; /* as in messages and headings: "pools[].ready" */
    const char *doc;
    size_t size;                       /* of the struct it fills; only lists of it take memory */
    size_t name_offset;                /* NAMED: where the name goes */
    size_t node_offset;                /* where the tree's node goes, for later messages */
    const char *plain;                 /* a text in place of the map means this key */
    const char *listed;                /* a list in place of the map means this key */
    const struct pst_section *extends; /* its rows too; own rows of the same key hide them */
    void (*prepare)(void *element, const char *name); /* defaults that depend on the name */
    const struct pst_field *fields;
    size_t count;
};

extern const struct pst_section pst_schema;

/* Secrets of a file that is another machine's are not there: each is taken for its own name. */
enum pst_schema_secrets { PST_SCHEMA_OWN, PST_SCHEMA_ELSEWHERE };

/*
 * Fills `base` from the map, and `variables` (char *) with the name of each variable of the environment
 * that is a secret. All problems go to the list.
 */
void pst_schema_read(const struct pst_section *section, const struct pst_tree_node *map, void *base,
                     enum pst_schema_secrets secrets, struct pst_items *variables,
                     struct pst_arena *arena, struct pst_problems *problems);

#endif
