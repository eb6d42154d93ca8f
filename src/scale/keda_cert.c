/* keda_cert.c - see keda_cert.h. */
#include "scale/keda_cert.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* True when one is another than at the last look. A file that is not there now will come back. */
static bool have_changed(struct pst_keda_cert *cert)
{
    bool changed = false;

    for (int i = 0; i < PST_KEDA_CERT_FILES; i++) {
        struct stat now;

        if (cert->files[i] == NULL || stat(cert->files[i], &now) != 0 ||
            is_same(&now, &cert->seen[i]))
            continue;
        cert->seen[i] = now;
        changed = true;
    }
    return changed;
}

static int copy(const char *text, char **ret_copy)
{
    if (text != NULL && (*ret_copy = strdup(text)) == NULL)
        return PST_E_NOMEM;
    return PST_OK;
}

int pst_keda_cert_init(struct pst_keda_cert *cert, const char *cert_file, const char *key_file,
                       const char *client_ca_file)
{
    char message[256] = "out of memory";
    int rc;

    memset(cert, 0, sizeof *cert);
    rc = copy(cert_file, &cert->files[0]);
    if (rc == PST_OK)
        rc = copy(key_file, &cert->files[1]);
    if (rc == PST_OK)
        rc = copy(client_ca_file, &cert->files[2]);
    if (rc == PST_OK) {
        const struct pst_tls_config config = {
            .cert = cert->files[0],
            .key = cert->files[1],
            .client_ca = cert->files[2],
            .alpn = "h2",
        };

        (void)have_changed(cert); /* before they are read: a change in between is seen later */
        rc = pst_tls_server_new(&config, &cert->tls, message);
    }
    if (rc != PST_OK) {
        pst_say(PST_LOG_ERROR, "keda: no TLS: %s", message);
        pst_keda_cert_done(cert);
    }
    return rc;
}

void pst_keda_cert_done(struct pst_keda_cert *cert)
{
    if (cert->tls != NULL)
        pst_tls_context_free(cert->tls);
    for (int i = 0; i < PST_KEDA_CERT_FILES; i++)
        free(cert->files[i]);
    memset(cert, 0, sizeof *cert);
}

void pst_keda_cert_look(struct pst_keda_cert *cert)
{
    bool changed = have_changed(cert);
    char message[256];

    if (cert->tls == NULL || (!changed && !cert->pending))
        return;
    cert->pending = pst_tls_reload(cert->tls, message) != PST_OK;
    if (!cert->pending)
        pst_say(PST_LOG_INFO, "keda: certificates were read again");
    else if (changed)
        pst_say(PST_LOG_WARN, "keda: the old certificates stay: %s", message);
}
