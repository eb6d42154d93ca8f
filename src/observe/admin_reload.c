/*
 * admin_reload.c - POST /reload; see admin.h. Where another process reads the configuration, the answer
 * comes when that has: those who asked meanwhile get the same one.
 */
#include <stdlib.h>

#include "observe/admin_room.h"
#include "observe/reply.h"

static void answer(struct pst_exchange *x, const char *message)
{
    if (message == NULL)
        pst_reply(x, 200, PST_TYPE_JSON, PST_SLICE("{\"reloaded\":true}\n"));
    else
        pst_reply_error(x, 409, NULL, message);
}

static void reader_free(struct pst_admin_reader *reader)
{
    struct pst_admin_reader **at = &reader->admin->readers;

    while (*at != reader)
        at = &(*at)->next;
    *at = reader->next;
    free(reader);
}

static void on_gone(struct pst_admin_held *held)
{
    reader_free((struct pst_admin_reader *)held);
}

static void wait_for_it(const struct pst_admin_ask *ask)
{
    struct pst_admin_reader *reader = calloc(1, sizeof *reader);

    if (reader == NULL) {
        pst_reply_error(ask->x, 500, NULL, "out of memory");
        return;
    }
    *reader = (struct pst_admin_reader){
        .held = {.x = ask->x, .gone = on_gone}, .admin = ask->admin, .next = ask->admin->readers};
    ask->admin->readers = reader;
    pst_exchange_set_user(ask->x, &reader->held);
}

void pst_admin_reload(const struct pst_admin_ask *ask)
{
    const struct pst_view *view = ask->admin->view;
    char message[PST_OBSERVE_MESSAGE_MAX] = "";
    int rc = view->program->reload(view->user, message);

    if (rc == PST_E_AGAIN)
        wait_for_it(ask);
    else
        answer(ask->x, rc == PST_OK ? NULL : message);
}

void pst_admin_readers_end(struct pst_admin *admin, const char *message)
{
    while (admin->readers != NULL) {
        struct pst_exchange *x = admin->readers->held.x;

        reader_free(admin->readers);
        answer(x, message);
    }
}
