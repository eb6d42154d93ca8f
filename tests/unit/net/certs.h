/* certs.h - certificates for tests, made when a test runs and gone with its directory. */
#ifndef PST_TEST_CERTS_H
#define PST_TEST_CERTS_H

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "wire.h"

#define CERTS_PATH 96

struct authority {
    EVP_PKEY *key;
    X509 *cert;
    char path[CERTS_PATH]; /* of its certificate */
};

struct identity {
    char cert[CERTS_PATH], key[CERTS_PATH];
};

static char certs_directory[64];

static inline void certs_begin(void)
{
    snprintf(certs_directory, sizeof certs_directory, "/tmp/penstock-certs-XXXXXX");
    assert_non_null(mkdtemp(certs_directory));
}

static inline void certs_end(void)
{
    char command[96];

    snprintf(command, sizeof command, "rm -r %s", certs_directory);
    assert_int_equal(system(command), 0);
}

static inline void certs_path(char path[static CERTS_PATH], const char *name, const char *kind)
{
    snprintf(path, CERTS_PATH, "%s/%s.%s", certs_directory, name, kind);
}

static inline void certs_extend(X509 *cert, X509 *issuer, int id, const char *value)
{
    X509V3_CTX context;
    X509_EXTENSION *extension;

    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, id, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(cert, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

/* issuer NULL: signs itself. */
static inline X509 *certs_sign(const char *name, EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key)
{
    static long serial;
    X509 *cert = X509_new();

    assert_non_null(cert);
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(cert), -60);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(cert, X509_get_subject_name(issuer == NULL ? cert : issuer));
    X509_set_pubkey(cert, key);
    if (issuer == NULL)
        certs_extend(cert, cert, NID_basic_constraints, "critical,CA:TRUE");
    else
        certs_extend(cert, issuer, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    assert_true(X509_sign(cert, issuer_key, EVP_sha256()) > 0);
    return cert;
}

static inline void certs_write(const char *path, X509 *cert, EVP_PKEY *key)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    if (cert != NULL)
        assert_int_equal(PEM_write_X509(file, cert), 1);
    else
        assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(file), 0);
}

static inline void authority_make(struct authority *a, const char *name)
{
    a->key = EVP_EC_gen("P-256");
    assert_non_null(a->key);
    a->cert = certs_sign(name, a->key, NULL, a->key);
    certs_path(a->path, name, "crt");
    certs_write(a->path, a->cert, NULL);
}

static inline void authority_done(struct authority *a)
{
    EVP_PKEY_free(a->key);
    X509_free(a->cert);
}

/* Writes over an identity of the same name. */
static inline void identity_make(struct identity *i, const struct authority *by, const char *name)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = certs_sign(name, key, by->cert, by->key);

    certs_path(i->cert, name, "crt");
    certs_path(i->key, name, "key");
    certs_write(i->cert, cert, NULL);
    certs_write(i->key, NULL, key);
    X509_free(cert);
    EVP_PKEY_free(key);
}

#endif
