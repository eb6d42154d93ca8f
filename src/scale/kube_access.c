/* kube_access.c - see kube.h: what a pod is told of its API server, where the configuration says nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <curl/curl.h>

#include "base/text.h"
#include "scale/kube.h"

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount/"

static char *copy(const char *text, bool *ok)
{
    char *copied = text == NULL ? NULL : strdup(text);

    *ok = *ok && (text == NULL || copied != NULL);
    return copied;
}

static bool copy_config(struct pst_kube *kube)
{
    const struct pst_config_kubernetes *from = &pst_kube_pool(kube)->kubernetes;
    struct pst_config_kubernetes *to = &kube->config;
    bool ok = true;

    *to = (struct pst_config_kubernetes){.port = from->port};
    to->selector = copy(from->selector, &ok);
    to->namespace_ = copy(from->namespace_, &ok);
    to->server = copy(from->server, &ok);
    to->token_file = copy(from->token_file, &ok);
    to->ca_file = copy(from->ca_file, &ok);
    to->cert_file = copy(from->cert_file, &ok);
    to->key_file = copy(from->key_file, &ok);
    return ok;
}

static void put_server(const struct pst_kube *kube, struct pst_text *url)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    size_t len;

    if (kube->config.server != NULL) {
        len = strlen(kube->config.server);
        pst_text_add(url, kube->config.server,
                     len - (len > 0 && kube->config.server[len - 1] == '/'));
    } else if (host != NULL && port != NULL) {
        pst_text_print(url, strchr(host, ':') == NULL ? "https://%s:%s" : "https://[%s]:%s", host,
                       port);
    }
}

/* The namespace of the service account; "default" outside of a pod. */
static void put_namespace(const struct pst_kube *kube, struct pst_text *url)
{
    char own[256];
    ssize_t n;
    int fd;

    if (kube->config.namespace_ != NULL) {
        pst_text_put(url, kube->config.namespace_);
        return;
    }
    fd = open(ACCOUNT "namespace", O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, own, sizeof own);
    if (fd >= 0)
        close(fd);
    while (n > 0 && own[n - 1] <= ' ')
        n--;
    if (n > 0)
        pst_text_add(url, own, (size_t)n);
    else
        pst_text_put(url, "default");
}

/* A server of one's own has its own papers; the cluster's are for the cluster's. */
static void take_papers(struct pst_kube *kube)
{
    const struct pst_config_kubernetes *config = &kube->config;
    bool is_inside = config->server == NULL;

    kube->access = (struct pst_curl_access){
        .ca_file = config->ca_file != NULL ? config->ca_file
                   : is_inside             ? ACCOUNT "ca.crt"
                                           : NULL,
        .cert_file = config->cert_file,
        .key_file = config->key_file,
        .token_file = config->token_file != NULL               ? config->token_file
                      : is_inside && config->cert_file == NULL ? ACCOUNT "token"
                                                               : NULL,
    };
}

int pst_kube_access_take(struct pst_kube *kube, char **ret_watch_url)
{
    struct pst_text url = {0}, watch = {0};
    char *selector = NULL;
    int rc = PST_E_NOMEM;

    if (!copy_config(kube))
        goto out;
    put_server(kube, &url);
    if (url.len == 0) {
        rc = PST_E_INVALID;
        goto out;
    }
    pst_text_put(&url, "/api/v1/namespaces/");
    put_namespace(kube, &url);
    pst_text_put(&url, "/pods");
    selector = curl_easy_escape(NULL, kube->config.selector, 0);
    if (url.broken || selector == NULL)
        goto out;
    pst_text_print(&watch, "%s?labelSelector=%s", url.at, selector);
    if (watch.broken)
        goto out;
    take_papers(kube);
    kube->pods_url = url.at;
    *ret_watch_url = watch.at;
    url = watch = (struct pst_text){0};
    rc = PST_OK;
out:
    curl_free(selector);
    pst_text_done(&url);
    pst_text_done(&watch);
    return rc;
}

void pst_kube_access_drop(struct pst_kube *kube)
{
    struct pst_config_kubernetes *config = &kube->config;

    pst_curl_access_done(&kube->access);
    free(config->selector);
    free(config->namespace_);
    free(config->server);
    free(config->token_file);
    free(config->ca_file);
    free(config->cert_file);
    free(config->key_file);
    *config = (struct pst_config_kubernetes){0};
    free(kube->pods_url);
    kube->pods_url = NULL;
}

static bool is_equal(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool pst_kube_access_is_same(const struct pst_kube *kube)
{
    const struct pst_config_kubernetes *a = &kube->config, *b = &pst_kube_pool(kube)->kubernetes;

    return a->port == b->port && is_equal(a->selector, b->selector) &&
           is_equal(a->namespace_, b->namespace_) && is_equal(a->server, b->server) &&
           is_equal(a->token_file, b->token_file) && is_equal(a->ca_file, b->ca_file) &&
           is_equal(a->cert_file, b->cert_file) && is_equal(a->key_file, b->key_file);
}
