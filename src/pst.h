/*
 * pst.h - the words every room shares: time, status, assertions.
 *
 * Why: core may depend on nothing and everything may depend on these few lines. Header plus pst.c,
 * which is pure: no libc beyond what the compiler provides.
 */
#ifndef PST_H
#define PST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Time and durations: nanoseconds of a monotonic clock. */
typedef uint64_t pst_ns;

#define PST_NEVER UINT64_MAX
#define PST_US    UINT64_C(1000)
#define PST_MS    UINT64_C(1000000)
#define PST_S     UINT64_C(1000000000)

/* Shares and ratios: parts per million. */
#define PST_PPM UINT32_C(1000000)

enum pst_status {
    PST_OK = 0,
    PST_E_INVALID = -1, /* the caller's input is wrong */
    PST_E_NOMEM = -2,
    PST_E_FULL = -3,    /* a documented bound was reached */
    PST_E_SYSTEM = -4,  /* errno says what */
    PST_E_SYNTAX = -5,  /* bytes do not follow their format */
    PST_E_AGAIN = -6,   /* more input is needed */
    PST_E_UNKNOWN = -7, /* it is not known; never to be read as zero */
};

#define PST_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Always on, in release too: guards our own bugs, never a stranger's bytes. The hook (set once by the
 * program; NULL in pure tests) prints; the trap that follows leaves a core.
 */
extern void (*pst_assert_hook)(const char *condition, const char *file, int line);
_Noreturn void pst_assert_failed(const char *condition, const char *file, int line);

#define PST_ASSERT(condition)                                                                      \
    ((condition) ? (void)0 : pst_assert_failed(#condition, __FILE__, __LINE__))

#endif
