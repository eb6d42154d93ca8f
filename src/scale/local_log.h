/*
 * local_log.h - what an engine prints: a file that outlives us, bounded, and its lines in our log.
 *
 * Why: an engine must be able to print when we are dead, so it writes to a file. Files without a bound
 * fill disks; an engine that prints without end must not fill our log either.
 *
 * Guarantee: a file above its bound is copied to <name>.log.1 (and that to .2) and emptied; what is printed
 * between the two may be lost, and of one above twice its bound the oldest part; nothing else. A look
 * reads and says a bounded number of bytes and lines; what is left out is counted.
 */
#ifndef PST_SCALE_LOCAL_LOG_H
#define PST_SCALE_LOCAL_LOG_H

#include <limits.h>

#include "pst.h"

#define PST_LOCAL_LOG_BYTES ((uint64_t)16 << 20) /* of a file */
#define PST_LOCAL_LOG_LINE  512
#define PST_LOCAL_LOG_LINES 20 /* said at one look */

struct pst_local_log {
    int fd;      /* -1: not open */
    bool says;   /* its lines go to our log */
    uint64_t at; /* read so far */
    uint64_t bytes_max;
    char line[PST_LOCAL_LOG_LINE]; /* an unfinished one */
    size_t len;
    char path[PATH_MAX];
};

/* Makes the folder where it is missing. What is in the file already is not said again. */
int pst_local_log_open(struct pst_local_log *log, const char *folder, const char *name, bool says);
/* For the engine, to be closed when it was given. -1: errno. */
int pst_local_log_output(const struct pst_local_log *log);
/* `scratch` is for the time of the call. */
void pst_local_log_look(struct pst_local_log *log, const char *name, char *scratch, size_t size);
void pst_local_log_done(struct pst_local_log *log);

#endif
