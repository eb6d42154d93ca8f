/* keeper_enter.c - the first steps of a gateway that has a keeper; see keeper_room.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/log.h"
#include "scale/confine.h"
#include "scale/keeper_room.h"

bool pst_keeper_is_child(void)
{
    return getenv(PST_KEEPER_VARIABLE) != NULL;
}

static bool is_wire(int fd)
{
    int type = 0;
    socklen_t len = sizeof type;

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

int pst_keeper_enter(struct pst_config **ret_config, int *ret_wire)
{
    char *path = strdup(getenv(PST_KEEPER_VARIABLE));
    struct pst_config *config;
    struct pst_problems problems;
    int rc;

    if (path == NULL)
        return PST_E_NOMEM;
    (void)unsetenv(PST_KEEPER_VARIABLE);
    (void)prctl(PR_SET_NAME, "penstock"); /* and not "exe" */
    if (!is_wire(PST_KEEPER_WIRE) || fcntl(PST_KEEPER_WIRE, F_SETFD, FD_CLOEXEC) != 0) {
        pst_say(PST_LOG_ERROR, PST_KEEPER_VARIABLE " is set, and there is no keeper");
        free(path);
        return PST_E_INVALID;
    }
    rc = pst_keeper_config(PST_KEEPER_PACKAGE, path, &config, &problems);
    pst_problems_done(&problems); /* the keeper has said them */
    free(path);
    if (rc != PST_OK) {
        pst_say(PST_LOG_ERROR, "what the keeper handed over cannot be read");
        return rc;
    }
    (void)pst_confine(config); /* says what is missing */
    *ret_config = config;
    *ret_wire = PST_KEEPER_WIRE;
    return PST_OK;
}
