/*
 * keda_cert.h - certificates that change while we run.
 *
 * Why: whoever issues them replaces the files before they expire (a mounted Secret: by another link), and
 * tells nobody.
 *
 * Guarantee: looks at the files, and reads them only when one is another than before. A pair that does not
 * fit together (between two writes) leaves the old one in place, is said once, and is tried at every look.
 */
#ifndef PST_SCALE_KEDA_CERT_H
#define PST_SCALE_KEDA_CERT_H

#include <sys/stat.h>

#include "net/tls.h"

#define PST_KEDA_CERT_FILES 3

struct pst_keda_cert {
    struct pst_tls_context *tls;
    char *files[PST_KEDA_CERT_FILES]; /* certificate, key, client CA; NULL: none */
    struct stat seen[PST_KEDA_CERT_FILES];
    bool pending; /* they changed, and were not taken yet */
};

/* What goes wrong is said in the log. */
int pst_keda_cert_init(struct pst_keda_cert *cert, const char *cert_file, const char *key_file,
                       const char *client_ca_file);
void pst_keda_cert_done(struct pst_keda_cert *cert); /* takes a zeroed one */
void pst_keda_cert_look(struct pst_keda_cert *cert);

#endif
