/* confine_calls.c - calls by seccomp; see confine.h. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <asm/sockios.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "base/log.h"
#include "scale/confine.h"

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define THIS_ARCH AUDIT_ARCH_RISCV64
#endif

#ifdef THIS_ARCH

/* What a server of requests never does. */
static const uint32_t refused_calls[] = {
    SYS_execve,
    SYS_execveat,
#ifndef __SANITIZE_ADDRESS__ /* its leak checker traces us */
    SYS_ptrace,
#endif
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_kill,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_kcmp,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_open_by_handle_at,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_init_module,
    SYS_finit_module,
    SYS_kexec_load,
};

/* What it does in one way only: by the value of an argument. */
struct by_value {
    uint32_t call, argument;
    uint32_t values[3], count;
    bool allows;    /* these values and no others; else none of these */
    uint32_t error; /* errno of what is refused */
};

#define RULES    5
#define CODE_MAX (PST_COUNT_OF(refused_calls) + (size_t)8 * RULES + 8)

struct code {
    struct sock_filter at[CODE_MAX];
    unsigned short len;
};

static void put(struct code *code, uint32_t what, uint32_t k, size_t yes, size_t no)
{
    PST_ASSERT(code->len < CODE_MAX && yes <= UINT8_MAX && no <= UINT8_MAX);
    code->at[code->len++] =
        (struct sock_filter)BPF_JUMP((uint16_t)what, k, (uint8_t)yes, (uint8_t)no);
}

static void put_load(struct code *code, size_t offset)
{
    put(code, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void put_is(struct code *code, uint32_t value, size_t yes, size_t no)
{
    put(code, BPF_JMP | BPF_JEQ | BPF_K, value, yes, no);
}

static void put_end(struct code *code, uint32_t with)
{
    put(code, BPF_RET | BPF_K, with, 0, 0);
}

/* The number of the call is loaded, before and after. */
static void put_rule(struct code *code, const struct by_value *rule)
{
    size_t left = rule->count;

    put_is(code, rule->call, 0, left + (rule->allows ? 3 : 4));
    /* These arguments are ints: the kernel too looks at the lower half, which comes first. */
    put_load(code, offsetof(struct seccomp_data, args) + rule->argument * sizeof(uint64_t));
    for (size_t i = 0; i < rule->count; i++, left--)
        put_is(code, rule->values[i], left, 0); /* to the end, or past it */
    if (!rule->allows)
        put(code, BPF_JMP | BPF_JA, 1, 0, 0);
    put_end(code, SECCOMP_RET_ERRNO | rule->error);
    put_load(code, offsetof(struct seccomp_data, nr));
}

static void put_all(struct code *code)
{
    const uint32_t self = (uint32_t)getpid();
    const struct by_value rules[RULES] = {
        /* abort() and raise() are of ourselves. */
        {SYS_tgkill, 0, {self}, 1, true, EPERM},
        {SYS_prlimit64, 0, {0, self}, 2, true, EPERM},
        /* Whom the kernel signals when a socket is ready. */
        {SYS_fcntl, 1, {F_SETOWN, F_SETOWN_EX}, 2, false, EPERM},
        {SYS_ioctl, 1, {FIOSETOWN, SIOCSPGRP}, 2, false, EPERM},
        /* No door of another service on this host: a container engine or systemd would run a program
         * for us. Resolvers fall back on DNS. */
        {SYS_socket, 0, {AF_INET, AF_INET6, AF_NETLINK}, 3, true, EAFNOSUPPORT},
    };

    put_load(code, offsetof(struct seccomp_data, arch));
    put_is(code, THIS_ARCH, 1, 0);
    put_end(code, SECCOMP_RET_ERRNO | ENOSYS); /* 32 bits: other numbers for the same calls */
    put_load(code, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    put(code, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
    put_end(code, SECCOMP_RET_ERRNO | ENOSYS); /* x32, likewise */
#endif
    for (size_t i = 0; i < PST_COUNT_OF(rules); i++)
        put_rule(code, &rules[i]);
    for (size_t i = 0; i < PST_COUNT_OF(refused_calls); i++)
        put_is(code, refused_calls[i], PST_COUNT_OF(refused_calls) - i, 0);
    put_end(code, SECCOMP_RET_ALLOW);
    put_end(code, SECCOMP_RET_ERRNO | EPERM);
}

bool pst_confine_calls(void)
{
    struct code code = {.len = 0};
    struct sock_fprog program = {.filter = code.at};

    put_all(&code);
    program.len = code.len;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
        return true;
    pst_say(PST_LOG_WARN, "the gateway's system calls cannot be confined: %s", strerror(errno));
    return false;
}

#else

bool pst_confine_calls(void)
{
    pst_say(PST_LOG_WARN, "the gateway's system calls are not confined on this processor");
    return false;
}

#endif
