/* confine.c - files by Landlock, and the rights of root; see confine.h. */
#include "scale/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/landlock.h>

#include "base/log.h"
#include "scale/state.h"

/* What newer kernels know more than the headers that we may be built with (Landlock's ABI 2, 3, 5, 6). */
#define FS_REFER     (UINT64_C(1) << 13)
#define FS_TRUNCATE  (UINT64_C(1) << 14)
#define FS_IOCTL     (UINT64_C(1) << 15)
#define SCOPE_SIGNAL (UINT64_C(1) << 1)

#define FS_FIRST_ABI ((UINT64_C(1) << 13) - 1) /* all that ABI 1 has */
#define READS        (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define APPENDS      (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | FS_TRUNCATE)
#define KEEPS        (READS | APPENDS | LANDLOCK_ACCESS_FS_REMOVE_FILE)
#define OF_FILES                                                                                   \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |   \
     FS_TRUNCATE | FS_IOCTL)

struct ruleset {
    uint64_t handled_fs, handled_net, scoped;
};

static const struct {
    const char *path;
    uint64_t access;
} system_paths[] = {
    {"/lib", READS},
    {"/lib64", READS},
    {"/usr/lib", READS},
    {"/usr/lib64", READS},
    {"/usr/local/lib", READS},
    {"/usr/share/zoneinfo", READS},
    {"/usr/share/ca-certificates", READS},
    {"/etc/ssl", READS},
    {"/etc/pki", READS},
    {"/etc/localtime", READS},
    {"/etc/ld.so.cache", READS},
    {"/etc/resolv.conf", READS},
    {"/etc/hosts", READS},
    {"/etc/host.conf", READS},
    {"/etc/nsswitch.conf", READS},
    {"/etc/gai.conf", READS},
    {"/etc/services", READS},
    {"/dev/null", READS | LANDLOCK_ACCESS_FS_WRITE_FILE},
    {"/dev/random", READS},
    {"/dev/urandom", READS},
    {"/proc/self", READS},
    {"/proc/meminfo", READS},
    {"/proc/sys/net", READS},
    {"/proc/sys/vm/overcommit_memory", READS},
    {"/sys/devices/system/cpu", READS},
};

/* What is not there cannot be read anyway. */
static void allow(int ruleset, const struct ruleset *attr, const char *path, uint64_t access)
{
    struct landlock_path_beneath_attr rule = {.parent_fd = open(path, O_PATH | O_CLOEXEC),
                                              .allowed_access = access & attr->handled_fs};
    struct stat st;

    if (rule.parent_fd < 0)
        return;
    if (fstat(rule.parent_fd, &st) == 0) {
        if (!S_ISDIR(st.st_mode))
            rule.allowed_access &= OF_FILES;
        if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0 &&
            errno != EBADFD) /* a pipe: no file system, and never refused */
            pst_say(PST_LOG_WARN, "%s cannot be opened from now on: %s", path, strerror(errno));
    }
    close(rule.parent_fd);
}

/* The folder of a file, as a name for open(). */
static bool folder_of(const char *path, char folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - path);

    if (len >= PATH_MAX - 2)
        return false;
    if (slash == NULL) {
        strcpy(folder, ".");
    } else {
        memcpy(folder, path, len == 0 ? 1 : len);
        folder[len == 0 ? 1 : len] = '\0';
    }
    return true;
}

static bool lies_in(const char *file, const char *folder)
{
    char real_folder[PATH_MAX], real_file[PATH_MAX];
    size_t len;

    if (realpath(folder, real_folder) == NULL || realpath(file, real_file) == NULL)
        return true; /* not known */
    len = strlen(real_folder);
    return strncmp(real_folder, real_file, len) == 0 &&
           (len == 1 || real_file[len] == '/' || real_file[len] == '\0');
}

/* What is to be kept from us, or not to be changed by us. */
static bool holds_secrets(const char *folder, const struct pst_config *config)
{
    return lies_in(config->path, folder) ||
           (config->state != NULL && lies_in(config->state, folder));
}

/* Logs are opened again after rotation: their folder must be open to us, for writing, not for reading. */
static void allow_log(int ruleset, const struct ruleset *attr, const struct pst_config *config,
                      const char *path)
{
    char folder[PATH_MAX];
    struct stat st;

    if (path == NULL || strcmp(path, "-") == 0 || !folder_of(path, folder))
        return;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        allow(ruleset, attr, path,
              LANDLOCK_ACCESS_FS_WRITE_FILE); /* a device or FIFO stays where it is */
        return;
    }
    if (holds_secrets(folder, config))
        pst_say(PST_LOG_WARN,
                "%s: the gateway may write in its folder, where the configuration or "
                "`state` lies too: better another one",
                path);
    allow(ruleset, attr, folder, APPENDS);
}

/* A certificate is replaced by another file of its name, so its folder is open, unless secrets lie in it. */
static void allow_cert(int ruleset, const struct ruleset *attr, const struct pst_config *config,
                       const char *path)
{
    char folder[PATH_MAX];

    if (path == NULL)
        return;
    allow(ruleset, attr, path, READS);
    if (folder_of(path, folder) && !holds_secrets(folder, config))
        allow(ruleset, attr, folder, READS);
}

/* What is learned is kept there, by files that replace one another. */
static void allow_state(int ruleset, const struct ruleset *attr, const struct pst_config *config)
{
    char folder[PATH_MAX];

    if (config->state == NULL || snprintf(folder, sizeof folder, "%s/" PST_STATE_OF_GATEWAY,
                                          config->state) >= (int)sizeof folder)
        return;
    (void)mkdir(config->state, 0700);
    (void)mkdir(folder, 0750);
    allow(ruleset, attr, folder, KEEPS);
}

/* Elsewhere than in /etc it is written by a service, as a new file each time. */
static void allow_resolver(int ruleset, const struct ruleset *attr, const struct pst_config *config)
{
    char real[PATH_MAX], folder[PATH_MAX];

    if (realpath("/etc/resolv.conf", real) != NULL && folder_of(real, folder) &&
        strcmp(folder, "/etc") != 0 && strcmp(folder, "/") != 0 && !holds_secrets(folder, config))
        allow(ruleset, attr, folder, READS);
}

static void allow_all(int ruleset, const struct ruleset *attr, const struct pst_config *config)
{
    for (size_t i = 0; i < PST_COUNT_OF(system_paths); i++)
        allow(ruleset, attr, system_paths[i].path, system_paths[i].access);
    allow_log(ruleset, attr, config, config->access_log);
    allow_log(ruleset, attr, config, config->decision_log);
    allow_log(ruleset, attr, config, config->record);
    allow_resolver(ruleset, attr, config);
    allow_state(ruleset, attr, config);
    allow_cert(ruleset, attr, config, config->keda.cert);
    allow_cert(ruleset, attr, config, config->keda.key);
    allow_cert(ruleset, attr, config, config->keda.client_ca);
}

static bool confine_files(const struct pst_config *config)
{
    struct ruleset attr = {.handled_fs = FS_FIRST_ABI};
    size_t size = sizeof attr.handled_fs;
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    int ruleset;
    bool done;

    if (abi < 1) {
        pst_say(PST_LOG_WARN, "this kernel has no Landlock: the gateway could open every file that "
                              "its user can");
        return false;
    }
    attr.handled_fs |=
        (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) | (abi >= 5 ? FS_IOCTL : 0);
    if (abi >= 6) { /* older kernels refuse a structure that is longer than theirs and not 0 */
        attr.scoped = SCOPE_SIGNAL;
        size = sizeof attr;
    }
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (ruleset >= 0)
        allow_all(ruleset, &attr, config);
    done = ruleset >= 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    if (!done)
        pst_say(PST_LOG_WARN, "the gateway's files cannot be confined: %s", strerror(errno));
    if (ruleset >= 0)
        close(ruleset);
    return done;
}

/*
 * Root's rights, where we have them, but those that opening logs and listeners takes: root could
 * listen to what others on this host say, without opening a file.
 */
static bool drop_rights(void)
{
    static const uint32_t kept = UINT32_C(1) << CAP_DAC_OVERRIDE | UINT32_C(1)
                                                                       << CAP_NET_BIND_SERVICE;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3] = {0};

    if (syscall(SYS_capget, &header, rights) == 0) {
        for (size_t i = 0; i < PST_COUNT_OF(rights); i++) {
            rights[i].permitted &= i == 0 ? kept : 0;
            rights[i].effective &= rights[i].permitted;
            rights[i].inheritable = 0;
        }
        if (syscall(SYS_capset, &header, rights) == 0)
            return true;
    }
    pst_say(PST_LOG_WARN, "the gateway keeps all rights of its user: %s", strerror(errno));
    return false;
}

int pst_confine(const struct pst_config *config)
{
    bool files, rights, calls;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        pst_say(PST_LOG_WARN, "the gateway cannot be confined: %s", strerror(errno));
        return PST_E_SYSTEM;
    }
    files = confine_files(config);
    rights = drop_rights();
    calls = pst_confine_calls();
    return files && rights && calls ? PST_OK : PST_E_SYSTEM;
}
