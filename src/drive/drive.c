/* drive.c - see drive.h. */
#include "drive/drive.h"

#include <stdlib.h>
#include <string.h>

#include "drive/inbox.h"
#include "drive/recorder.h"

/* Who may use which ticket index: a stack of free ones, and the generation of each. */
struct tickets {
    uint32_t *free;
    uint32_t free_count;
    uint32_t *generation; /* odd while in use */
    uint32_t max;
};

struct pst_drive {
    struct pst_gate *gate;
    struct pst_recorder *recorder; /* NULL: none */
    struct pst_drive_handlers handlers;
    bool handled; /* handlers are set */
    bool stepping;
    pst_ns now;
    struct pst_drive_inbox inbox;
    struct tickets tickets;
    struct pst_gate_config config; /* the first frame of a recording */
};

static int tickets_init(struct tickets *tickets, uint32_t max)
{
    tickets->free = malloc(max * sizeof *tickets->free);
    tickets->generation = calloc(max, sizeof *tickets->generation);
    if (tickets->free == NULL || tickets->generation == NULL)
        return PST_E_NOMEM;
    for (uint32_t i = 0; i < max; i++)
        tickets->free[i] = max - 1 - i; /* the lowest index first */
    tickets->free_count = max;
    tickets->max = max;
    return PST_OK;
}

static void tickets_give_back(struct tickets *tickets, struct pst_ticket_id id)
{
    PST_ASSERT(id.index < tickets->max);
    PST_ASSERT(tickets->generation[id.index] == id.generation && (id.generation & 1) == 1);
    tickets->generation[id.index]++;
    tickets->free[tickets->free_count++] = id.index;
}

int pst_drive_new(const struct pst_gate_config *config, struct pst_drive **ret_drive)
{
    struct pst_drive *drive = calloc(1, sizeof *drive);
    int rc;

    if (drive == NULL)
        return PST_E_NOMEM;
    drive->config = *config;
    rc = pst_gate_new(config, &drive->gate);
    if (rc != PST_OK)
        goto fail;
    rc = tickets_init(&drive->tickets, config->tickets_max);
    if (rc != PST_OK)
        goto fail;
    *ret_drive = drive;
    return PST_OK;

fail:
    pst_drive_free(drive);
    return rc;
}

void pst_drive_free(struct pst_drive *drive)
{
    if (drive == NULL)
        return;
    pst_recorder_free(drive->recorder);
    pst_gate_free(drive->gate);
    free(drive->tickets.free);
    free(drive->tickets.generation);
    pst_drive_inbox_done(&drive->inbox);
    free(drive);
}

int pst_drive_record(struct pst_drive *drive, const char *path)
{
    int rc;

    PST_ASSERT(drive->recorder == NULL && drive->now == 0);
    rc = pst_recorder_new(path, &drive->recorder);
    if (rc == PST_OK)
        pst_recorder_config(drive->recorder, &drive->config);
    return rc;
}

struct pst_recorder *pst_drive_recorder(struct pst_drive *drive)
{
    return drive->recorder;
}

static void hand_out(struct pst_drive *drive, const struct pst_gate_action *action)
{
    const struct pst_drive_handlers *handlers = &drive->handlers;

    switch ((enum pst_gate_action_kind)action->kind) {
    case PST_ACTION_CONTINUE:
    case PST_ACTION_PAUSE:
    case PST_ACTION_DISPATCH:
    case PST_ACTION_CLOSE:
        handlers->request(handlers->user, action);
        return;
    case PST_ACTION_FINISH:
        handlers->request(handlers->user, action);
        tickets_give_back(&drive->tickets, action->u.finish.id);
        return;
    case PST_ACTION_CHECK:
    case PST_ACTION_DRAINED:
    case PST_ACTION_WAKE:
    case PST_ACTION_STATE:
        handlers->fleet(handlers->user, action);
        return;
    case PST_ACTION_COUNT:
        break;
    }
    PST_ASSERT(!"an action of a known kind");
}

/* All that the gate wants done now. */
static void act(struct pst_drive *drive)
{
    struct pst_gate_action action;

    while (pst_gate_poll(drive->gate, &action)) {
        if (drive->recorder != NULL)
            pst_recorder_action(drive->recorder, &action);
        hand_out(drive, &action);
    }
}

static void step(struct pst_drive *drive, struct pst_gate_event *event)
{
    /* Events wait in the inbox, so the time they carry may be older than what was stepped since. */
    if (event->now < drive->now)
        event->now = drive->now;
    drive->now = event->now;
    if (drive->recorder != NULL)
        pst_recorder_event(drive->recorder, event);
    pst_gate_step(drive->gate, event);
    act(drive);
}

/* Steps until nothing waits. Handlers come back here only through the inbox. */
static void pump(struct pst_drive *drive)
{
    struct pst_gate_event event;

    if (drive->stepping || !drive->handled)
        return;
    drive->stepping = true;
    while (pst_drive_inbox_pop(&drive->inbox, &event, sizeof event))
        step(drive, &event);
    drive->stepping = false;
    if (drive->recorder != NULL)
        pst_recorder_settled(drive->recorder, drive->now);
    drive->handlers.settled(drive->handlers.user, pst_gate_deadline(drive->gate));
}

void pst_drive_handlers(struct pst_drive *drive, const struct pst_drive_handlers *handlers)
{
    drive->handlers = *handlers;
    drive->handled = true;
    pump(drive);
}

int pst_drive_reconfigure(struct pst_drive *drive, const struct pst_gate_config *config)
{
    int rc;

    PST_ASSERT(!drive->stepping && drive->handled);
    rc = pst_gate_reconfigure(drive->gate, config);
    if (rc != PST_OK)
        return rc;
    if (drive->recorder != NULL)
        pst_recorder_config(drive->recorder, config);
    drive->stepping = true;
    act(drive); /* a higher limit lets somebody go */
    drive->stepping = false;
    pump(drive);
    return PST_OK;
}

void pst_drive_event(struct pst_drive *drive, const struct pst_gate_event *event)
{
    pst_drive_inbox_push(&drive->inbox, event, sizeof *event);
    pump(drive);
}

bool pst_drive_ticket(struct pst_drive *drive, struct pst_ticket_id *ret_id)
{
    struct tickets *tickets = &drive->tickets;
    uint32_t index;

    if (tickets->free_count == 0)
        return false;
    index = tickets->free[--tickets->free_count];
    *ret_id = (struct pst_ticket_id){index, ++tickets->generation[index]};
    return true;
}

const struct pst_gate *pst_drive_gate(const struct pst_drive *drive)
{
    return drive->gate;
}
