/*
 * log.h - lines for people and machines: bounded, one write per loop turn, never blocking the relay.
 *
 * Why: an access log on a stuck pipe must not stop the data plane. Lines that do not fit are counted
 * and dropped, and the drop is said in the next line that fits.
 */
#ifndef PST_BASE_LOG_H
#define PST_BASE_LOG_H

#include "pst.h"

enum pst_log_level { PST_LOG_ERROR, PST_LOG_WARN, PST_LOG_INFO, PST_LOG_LEVEL_COUNT };

struct pst_log;

/* path: NULL or "-" is stderr. `bytes_max` of lines wait for a slow reader. */
int pst_log_new(const char *path, size_t bytes_max, struct pst_log **ret_log);
void pst_log_free(struct pst_log *log); /* flushes what can be written at once */
/* One whole line, newline added. Returns PST_E_FULL when it was dropped. */
int pst_log_line(struct pst_log *log, const char *line, size_t len);
void pst_log_flush(struct pst_log *log); /* at the end of a turn */
int pst_log_reopen(struct pst_log *log); /* after rotation */
uint64_t pst_log_dropped(const struct pst_log *log);

/* The program's own messages, to stderr: "penstock: warn: …". Each one line; unbuffered. */
void pst_say(enum pst_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
