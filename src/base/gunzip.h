/*
 * gunzip.h - a whole file in memory, unpacked if it is compressed.
 *
 * Why: recorded traffic is kept as .csv.gz, and a small file may unpack into all of memory.
 *
 * Guarantee: regular files only; never more than bytes_max are kept, however much the file holds; a file
 * that is cut off or damaged is an error, not a shorter text.
 */
#ifndef PST_BASE_GUNZIP_H
#define PST_BASE_GUNZIP_H

#include "pst.h"

/*
 * *ret_text is the caller's to free and ends with a NUL that *ret_len does not count. PST_E_SYSTEM (errno),
 * PST_E_FULL (more than bytes_max), PST_E_SYNTAX (damaged) or PST_E_NOMEM.
 */
int pst_gunzip_read(const char *path, size_t bytes_max, char **ret_text, size_t *ret_len);

#endif
