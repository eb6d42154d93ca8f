/* calendar_file.c - the learned week, kept across our own death. */
#include "scale/calendar_week.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#define FILE_BYTES_MAX (64u << 10)
#define VERSION        1
#define WEEK_MOST      1000000 /* of a number that may be one */

/* A whole number in [0, most], exactly. */
static bool read_number(const cJSON *item, double most, double *ret_number)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || !(item->valuedouble <= most) ||
        item->valuedouble != (double)(int64_t)item->valuedouble)
        return false;
    *ret_number = item->valuedouble;
    return true;
}

static bool read_week(const cJSON *object, struct pst_calendar_week *week)
{
    const cJSON *hours = cJSON_GetObjectItemCaseSensitive(object, "replicas"), *item;
    double number, value;
    uint8_t hour = 0;

    if (!read_number(cJSON_GetObjectItemCaseSensitive(object, "week"), WEEK_MOST, &number) ||
        !cJSON_IsArray(hours) || cJSON_GetArraySize(hours) != PST_CALENDAR_HOURS)
        return false;
    cJSON_ArrayForEach(item, hours)
    {
        if (read_number(item, PST_CALENDAR_UNKNOWN - 1, &value))
            pst_calendar_week_learn(week, (struct pst_calendar_hour){(int32_t)number, hour},
                                    (uint32_t)value);
        else if (!cJSON_IsNull(item))
            return false;
        hour++;
    }
    return true;
}

static int read_object(const cJSON *root, const char *zone, struct pst_calendar_week *ret_week)
{
    const cJSON *weeks = cJSON_GetObjectItemCaseSensitive(root, "weeks"), *item;
    const cJSON *its_zone = cJSON_GetObjectItemCaseSensitive(root, "zone");
    struct pst_calendar_week week;
    double version;

    pst_calendar_week_init(&week);
    if (!read_number(cJSON_GetObjectItemCaseSensitive(root, "version"), VERSION, &version) ||
        version != VERSION || !cJSON_IsString(its_zone) || !cJSON_IsArray(weeks) ||
        cJSON_GetArraySize(weeks) > PST_CALENDAR_WEEKS)
        return PST_E_SYNTAX;
    if (strcmp(its_zone->valuestring, zone) != 0)
        return PST_E_UNKNOWN; /* its hours are not ours */
    cJSON_ArrayForEach(item, weeks)
    {
        if (!read_week(item, &week))
            return PST_E_SYNTAX;
    }
    *ret_week = week;
    return PST_OK;
}

/* PST_E_FULL: more than one of ours may have. */
static int read_bytes(const char *path, char *bytes, size_t *ret_len)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    size_t len = 0;
    ssize_t n = 0;
    struct stat st;

    if (fd < 0)
        return errno == ENOENT ? PST_E_UNKNOWN : PST_E_SYSTEM;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        while (len < FILE_BYTES_MAX && (n = read(fd, bytes + len, FILE_BYTES_MAX - len)) > 0)
            len += (size_t)n;
    } else {
        n = -1;
    }
    close(fd);
    if (n < 0)
        return PST_E_SYSTEM;
    *ret_len = len;
    return len < FILE_BYTES_MAX ? PST_OK : PST_E_FULL;
}

int pst_calendar_week_read(const char *path, const char *zone, struct pst_calendar_week *ret_week)
{
    char *bytes = malloc(FILE_BYTES_MAX);
    size_t len = 0;
    cJSON *root;
    int rc;

    if (bytes == NULL)
        return PST_E_NOMEM;
    rc = read_bytes(path, bytes, &len);
    if (rc == PST_E_FULL)
        rc = PST_E_SYNTAX;
    if (rc == PST_OK) {
        root = cJSON_ParseWithLength(bytes, len);
        rc = root == NULL ? PST_E_SYNTAX : read_object(root, zone, ret_week);
        cJSON_Delete(root);
    }
    free(bytes);
    return rc;
}

static void print_week(FILE *out, const struct pst_calendar_week *week, size_t i)
{
    fprintf(out, "{\"week\":%d,\"replicas\":[", week->weeks[i].number);
    for (size_t hour = 0; hour < PST_CALENDAR_HOURS; hour++) {
        const uint16_t value = week->weeks[i].replicas[hour];

        if (value == PST_CALENDAR_UNKNOWN)
            fprintf(out, "%snull", hour == 0 ? "" : ",");
        else
            fprintf(out, "%s%u", hour == 0 ? "" : ",", value);
    }
    fputs("]}", out);
}

int pst_calendar_week_write(const char *path, const char *zone,
                            const struct pst_calendar_week *week)
{
    const char *separator = "";
    char beside[4096];
    FILE *out;
    int fd, fault;
    bool good;

    if (snprintf(beside, sizeof beside, "%s.new", path) >= (int)sizeof beside)
        return PST_E_INVALID;
    fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
    out = fd < 0 ? NULL : fdopen(fd, "w");
    if (out == NULL) {
        fault = errno;
        if (fd >= 0)
            close(fd);
        errno = fault;
        return PST_E_SYSTEM;
    }
    fprintf(out, "{\"version\":%d,\"zone\":\"%s\",\"weeks\":[", VERSION, zone);
    for (size_t i = 0; i < PST_CALENDAR_WEEKS; i++) {
        if (!week->weeks[i].is_used)
            continue;
        fputs(separator, out);
        print_week(out, week, i);
        separator = ",\n";
    }
    fputs("]}\n", out);
    good = ferror(out) == 0;
    good = fclose(out) == 0 && good && rename(beside, path) == 0;
    if (good)
        return PST_OK;
    fault = errno;
    unlink(beside);
    errno = fault;
    return PST_E_SYSTEM;
}
