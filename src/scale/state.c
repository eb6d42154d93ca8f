/* state.c - see state.h. */
#include "scale/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#define VERSION        1
#define FILE_BYTES_MAX ((size_t)1 << 20)
#define FOLDER_MODE    0700
#define FILE_MODE      0600
#define PREFIX         "local-"
#define SUFFIX         ".json"
#define PID_LARGEST    (1u << 22) /* PID_MAX_LIMIT of Linux */

bool pst_state_path(const char *folder, const char *pool, char *path, size_t size)
{
    int len = snprintf(path, size, "%s/" PREFIX "%s" SUFFIX, folder, pool);

    return len > 0 && (size_t)len < size;
}

int pst_state_lock(const char *folder, int *ret_fd)
{
    char path[PATH_MAX];
    int fd;

    if (mkdir(folder, FOLDER_MODE) != 0 && errno != EEXIST)
        return PST_E_SYSTEM;
    if ((size_t)snprintf(path, sizeof path, "%s/lock", folder) >= sizeof path) {
        errno = ENAMETOOLONG;
        return PST_E_SYSTEM;
    }
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    if (fd < 0)
        return PST_E_SYSTEM;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int error = errno;

        close(fd);
        errno = error;
        return error == EWOULDBLOCK ? PST_E_FULL : PST_E_SYSTEM;
    }
    *ret_fd = fd;
    return PST_OK;
}

/* A whole number in [0, most]. */
static bool get_number(const cJSON *object, const char *key, uint64_t most, uint64_t *ret_value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > (double)most ||
        item->valuedouble != (double)(uint64_t)item->valuedouble)
        return false;
    *ret_value = (uint64_t)item->valuedouble;
    return true;
}

static bool get_switch(const cJSON *object, const char *key, bool *ret_value)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    if (!cJSON_IsBool(item))
        return false;
    *ret_value = cJSON_IsTrue(item);
    return true;
}

static bool read_gpus(const cJSON *object, struct pst_state_engine *engine)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, "gpus"), *item;

    if (!cJSON_IsArray(list))
        return false;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > 4095 ||
            engine->gpus_count == PST_STATE_GPUS_MAX)
            return false;
        engine->gpus[engine->gpus_count++] = (uint32_t)item->valuedouble;
    }
    return true;
}

static bool read_engine(const cJSON *object, struct pst_state_engine *engine)
{
    uint64_t number, pid, port, revision;

    *engine = (struct pst_state_engine){0};
    if (!get_number(object, "number", UINT32_MAX, &number) || number == 0 ||
        !get_number(object, "pid", PID_LARGEST, &pid) || pid < 2 ||
        !get_number(object, "start", UINT64_C(1) << 53, &engine->start) ||
        !get_number(object, "port", UINT16_MAX, &port) || port == 0 ||
        !get_number(object, "revision", UINT32_MAX, &revision) ||
        !get_switch(object, "warm", &engine->warm) ||
        !get_switch(object, "stopping", &engine->stopping))
        return false;
    engine->number = (uint32_t)number;
    engine->pid = (pid_t)pid;
    engine->port = (uint16_t)port;
    engine->revision = (uint32_t)revision;
    return read_gpus(object, engine);
}

static bool is_new(const struct pst_state *state, const struct pst_state_engine *engine)
{
    for (uint32_t i = 0; i < state->count; i++) {
        const struct pst_state_engine *other = &state->engines[i];

        if (other->number == engine->number || other->pid == engine->pid ||
            other->port == engine->port)
            return false;
    }
    return true;
}

static bool read_salt(const cJSON *root, uint8_t salt[PST_STATE_SALT])
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "salt");

    if (!cJSON_IsString(item) || strlen(item->valuestring) != (size_t)2 * PST_STATE_SALT)
        return false;
    for (size_t i = 0; i < PST_STATE_SALT; i++) {
        unsigned byte;

        if (sscanf(item->valuestring + 2 * i, "%2x", &byte) != 1)
            return false;
        salt[i] = (uint8_t)byte;
    }
    return true;
}

static bool read_root(const cJSON *root, struct pst_state *state)
{
    const cJSON *boot = cJSON_GetObjectItemCaseSensitive(root, "boot");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "engines"), *item;
    uint64_t version;

    if (!get_number(root, "version", UINT32_MAX, &version) || version != VERSION ||
        !cJSON_IsString(boot) || strlen(boot->valuestring) >= sizeof state->boot ||
        !cJSON_IsArray(list) || !read_salt(root, state->salt))
        return false;
    strcpy(state->boot, boot->valuestring);
    cJSON_ArrayForEach(item, list)
    {
        struct pst_state_engine engine;

        if (state->count == PST_STATE_ENGINES_MAX || !read_engine(item, &engine) ||
            !is_new(state, &engine))
            return false;
        state->engines[state->count++] = engine;
    }
    return true;
}

/* The whole file, NUL-terminated, or NULL with errno. */
static char *read_text(int fd, size_t *ret_len)
{
    char *text = malloc(FILE_BYTES_MAX + 1);
    size_t len = 0;

    while (text != NULL && len < FILE_BYTES_MAX) {
        ssize_t got = read(fd, text + len, FILE_BYTES_MAX - len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            free(text);
            return NULL;
        }
        if (got == 0)
            break;
        len += (size_t)got;
    }
    if (text != NULL)
        text[len] = '\0';
    *ret_len = len;
    return text;
}

int pst_state_read(const char *path, struct pst_state *ret_state)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct pst_state *state = NULL;
    cJSON *root = NULL;
    size_t len = 0;
    char *text;
    int rc = PST_E_SYSTEM;

    if (fd < 0)
        return errno == ENOENT ? PST_E_UNKNOWN : PST_E_SYSTEM;
    text = read_text(fd, &len);
    close(fd);
    if (text == NULL)
        return PST_E_SYSTEM;
    rc = PST_E_NOMEM;
    state = calloc(1, sizeof *state);
    if (state == NULL)
        goto done;
    rc = PST_E_SYNTAX;
    root = cJSON_ParseWithLength(text, len);
    if (root != NULL && read_root(root, state)) {
        *ret_state = *state;
        rc = PST_OK;
    }

done:
    cJSON_Delete(root);
    free(state);
    free(text);
    return rc;
}

static void print_engine(FILE *out, const struct pst_state_engine *engine)
{
    fprintf(out,
            "    {\"number\": %u, \"pid\": %d, \"start\": %llu, \"port\": %u, \"revision\": %u, "
            "\"warm\": %s, \"stopping\": %s, \"gpus\": [",
            engine->number, (int)engine->pid, (unsigned long long)engine->start, engine->port,
            engine->revision, engine->warm ? "true" : "false", engine->stopping ? "true" : "false");
    for (uint32_t i = 0; i < engine->gpus_count; i++)
        fprintf(out, "%s%u", i == 0 ? "" : ", ", engine->gpus[i]);
    fputs("]}", out);
}

static void print_state(FILE *out, const struct pst_state *state)
{
    fprintf(out, "{\n  \"version\": %d,\n  \"boot\": \"%s\",\n  \"salt\": \"", VERSION,
            state->boot);
    for (size_t i = 0; i < PST_STATE_SALT; i++)
        fprintf(out, "%02x", state->salt[i]);
    fputs("\",\n  \"engines\": [\n", out);
    for (uint32_t i = 0; i < state->count; i++) {
        print_engine(out, &state->engines[i]);
        fputs(i + 1 == state->count ? "\n" : ",\n", out);
    }
    fputs("  ]\n}\n", out);
}

/* The name of a file is safe on disk only when its folder is. */
static int sync_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int fd, rc;

    PST_ASSERT(slash != NULL && (size_t)(slash - path) < sizeof folder);
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    fd = open(folder[0] == '\0' ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return PST_E_SYSTEM;
    rc = fsync(fd) == 0 ? PST_OK : PST_E_SYSTEM;
    close(fd);
    return rc;
}

int pst_state_write(const char *path, const struct pst_state *state)
{
    char beside[PATH_MAX];
    FILE *out;
    bool good;
    int fd, error;

    if ((size_t)snprintf(beside, sizeof beside, "%s.new", path) >= sizeof beside) {
        errno = ENAMETOOLONG;
        return PST_E_SYSTEM;
    }
    (void)unlink(beside); /* of one that died while it wrote */
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    if (fd < 0)
        return PST_E_SYSTEM;
    out = fdopen(fd, "w");
    if (out == NULL) {
        close(fd);
        return PST_E_NOMEM;
    }
    print_state(out, state);
    good = fflush(out) == 0 && ferror(out) == 0 && fsync(fd) == 0;
    error = errno;
    if (fclose(out) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && rename(beside, path) == 0)
        return sync_folder(path);
    if (!good)
        errno = error;
    return PST_E_SYSTEM;
}

void pst_state_pools(const char *folder, bool (*each)(void *user, const char *pool), void *user)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;

    if (dir == NULL)
        return;
    while ((entry = readdir(dir)) != NULL) {
        size_t len = strlen(entry->d_name), around = strlen(PREFIX) + strlen(SUFFIX);
        char pool[NAME_MAX + 1];

        if (len <= around || strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
            strcmp(entry->d_name + len - strlen(SUFFIX), SUFFIX) != 0)
            continue;
        memcpy(pool, entry->d_name + strlen(PREFIX), len - around);
        pool[len - around] = '\0';
        if (!each(user, pool))
            break;
    }
    closedir(dir);
}
