/*
 * crash.h - what a failed assertion leaves behind: one line on stderr, then the trap's core.
 */
#ifndef PST_BASE_CRASH_H
#define PST_BASE_CRASH_H

#include "pst.h"

void pst_crash_install(void); /* once, first thing in main */

#endif
