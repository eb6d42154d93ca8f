/*
 * study_assets.h - the files of web/, and the plots' library beside them, as they are in the binary.
 *
 * The build writes the arrays (tools/embed.cmake); each ends with a NUL that its text does not count.
 */
#ifndef PST_CMD_STUDY_ASSETS_H
#define PST_CMD_STUDY_ASSETS_H

#include <stddef.h>

struct pst_asset {
    const char *name; /* "report.js" */
    const char *text;
    size_t len;
};

extern const struct pst_asset pst_assets[];
extern const size_t pst_assets_count;

#endif
