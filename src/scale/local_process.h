/*
 * local_process.h - an engine as a process: started so that it cannot be lost, known again after our
 * own death, and ended with all that it started.
 *
 * Why: a pid alone names whoever has it now. A pid with the time when its process began names one
 * process for ever; a pidfd tells its end, whether it is our child or not.
 *
 * Guarantee: a spawned process runs nothing until pst_local_release(): whoever starts it writes down
 * that it exists first, and when he dies before that, so does it. It leads a session of its own, holds no
 * descriptor of ours, and writes to a file, not to a pipe that would break when we die.
 */
#ifndef PST_SCALE_LOCAL_PROCESS_H
#define PST_SCALE_LOCAL_PROCESS_H

#include <sys/types.h>

#include "pst.h"

struct pst_local_process {
    pid_t pid;
    uint64_t start; /* clock ticks since boot */
    int pidfd;      /* readable when it has ended */
    int go;         /* spawned: released by one byte; -1 */
    int report;     /* spawned: end of file when the program runs, else a pst_local_failure; -1 */
    bool child;     /* ours, so its exit status is ours to know */
};

struct pst_local_program {
    char *const *argv;
    char *const *env;
    const char *directory; /* NULL: where we are */
    int output;            /* of both its outputs */
};

/* Why a program does not run; goes through `report`. */
struct pst_local_failure {
    int32_t at_directory; /* 1: its folder cannot be entered */
    int32_t error;        /* errno */
};

/* How a process ended. */
struct pst_local_end {
    bool known; /* false: it was not our child */
    bool signalled;
    int status; /* exit status or signal */
};

/* The kernel's word for this boot. */
int pst_local_boot(char *boot, size_t size);

/* PST_OK or PST_E_SYSTEM; done() gives descriptors back. */
int pst_local_spawn(const struct pst_local_program *program, struct pst_local_process *ret_process);
void pst_local_release(struct pst_local_process *process);
/* PST_E_UNKNOWN: that process is not there any more. */
int pst_local_adopt(pid_t pid, uint64_t start, struct pst_local_process *ret_process);

/* To it and to all that it started in its group. */
void pst_local_signal(const struct pst_local_process *process, int signal);
/* It has ended (pidfd is readable): what is left of its group is killed, and a child's status taken. */
struct pst_local_end pst_local_reap(struct pst_local_process *process);
void pst_local_process_done(struct pst_local_process *process);

#endif
