/* curl.c - see curl.h: libcurl's sockets and its timer on our loop, and who is told what, when. */
#include "scale/curl.h"

#include <stdlib.h>
#include <sys/epoll.h>

#include "scale/curl_call.h"

/* The answers of calls that are over, and pieces of those that are not; each may start and cancel others. */
static void tell(struct pst_curl *curl);

static void collect_ended(struct pst_curl *curl)
{
    struct pst_curl_call *call;
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(curl->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE)
            continue;
        PST_ASSERT(curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call) == CURLE_OK);
        call->is_over = true;
        call->code = message->data.result;
        pst_curl_call_ready(call);
    }
}

static void act(struct pst_curl *curl, curl_socket_t fd, int what)
{
    int running;

    /* Where it lacks memory, the requests that it concerns run into their time-outs. */
    (void)curl_multi_socket_action(curl->multi, fd, what, &running);
    collect_ended(curl);
    tell(curl);
}

/* A socket of libcurl's: from its first wish to CURL_POLL_REMOVE. */
struct watched {
    struct pst_io io;
    struct pst_curl *curl;
};

static void socket_ready(struct pst_io *io, uint32_t events)
{
    struct watched *watched = (struct watched *)io;
    int what = 0;

    if (events & (EPOLLIN | EPOLLHUP | EPOLLRDHUP))
        what |= CURL_CSELECT_IN;
    if (events & EPOLLOUT)
        what |= CURL_CSELECT_OUT;
    if (events & EPOLLERR)
        what |= CURL_CSELECT_ERR;
    act(watched->curl, io->fd, what);
}

static void unwatch(struct pst_curl *curl, curl_socket_t fd, struct watched *watched)
{
    if (watched == NULL)
        return;
    pst_io_remove(&watched->io);
    free(watched);
    curl_multi_assign(curl->multi, fd, NULL);
}

static int socket_wanted(CURL *easy, curl_socket_t fd, int what, void *user, void *socket_user)
{
    struct pst_curl *curl = user;
    struct watched *watched = socket_user;
    uint32_t events = 0;

    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        unwatch(curl, fd, watched);
        return 0;
    }
    if (what & CURL_POLL_IN)
        events |= EPOLLIN;
    if (what & CURL_POLL_OUT)
        events |= EPOLLOUT;
    if (watched != NULL) {
        pst_io_want(&watched->io, events);
        return 0;
    }
    watched = calloc(1, sizeof *watched);
    if (watched == NULL)
        return 0; /* -1 would be the end of all; this request times out */
    watched->curl = curl;
    watched->io = (struct pst_io){.fd = fd, .events = events, .ready = socket_ready};
    if (pst_io_add(curl->loop, &watched->io) != PST_OK) {
        free(watched);
        return 0;
    }
    curl_multi_assign(curl->multi, fd, watched);
    return 0;
}

static int timer_wanted(CURLM *multi, long timeout_ms, void *user)
{
    struct pst_curl *curl = user;

    (void)multi;
    pst_timer_set(curl->loop, &curl->timer,
                  timeout_ms < 0 ? PST_NEVER
                                 : pst_loop_now(curl->loop) + (pst_ns)timeout_ms * PST_MS);
    return 0;
}

static void timer_fired(struct pst_timer *timer)
{
    struct pst_curl *curl = (struct pst_curl *)((char *)timer - offsetof(struct pst_curl, timer));

    act(curl, CURL_SOCKET_TIMEOUT, 0);
}

static void run_later(struct pst_later *later)
{
    tell((struct pst_curl *)((char *)later - offsetof(struct pst_curl, later)));
}

int pst_curl_new(struct pst_loop *loop, struct pst_curl **ret_curl)
{
    struct pst_curl *curl;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return PST_E_SYSTEM;
    curl = calloc(1, sizeof *curl);
    if (curl == NULL || (curl->multi = curl_multi_init()) == NULL) {
        free(curl);
        curl_global_cleanup();
        return PST_E_NOMEM;
    }
    curl->loop = loop;
    curl->ready_tail = &curl->ready;
    curl->timer.fire = timer_fired;
    curl->later.run = run_later;
    curl_multi_setopt(curl->multi, CURLMOPT_SOCKETFUNCTION, socket_wanted);
    curl_multi_setopt(curl->multi, CURLMOPT_SOCKETDATA, curl);
    curl_multi_setopt(curl->multi, CURLMOPT_TIMERFUNCTION, timer_wanted);
    curl_multi_setopt(curl->multi, CURLMOPT_TIMERDATA, curl);
    *ret_curl = curl;
    return PST_OK;
}

void pst_curl_free(struct pst_curl *curl)
{
    if (curl == NULL)
        return;
    while (curl->calls != NULL)
        pst_curl_cancel(curl->calls);
    curl_multi_cleanup(curl->multi); /* its idle connections tell REMOVE */
    pst_timer_cancel(curl->loop, &curl->timer);
    pst_later_cancel(curl->loop, &curl->later);
    free(curl);
    curl_global_cleanup();
}

int pst_curl_start(struct pst_curl *curl, const struct pst_curl_request *request,
                   struct pst_curl_call **ret_call)
{
    struct pst_curl_call *call = calloc(1, sizeof *call);

    PST_ASSERT(request->connect_timeout > 0 && request->timeout > 0);
    if (call == NULL)
        return PST_E_NOMEM;
    call->curl = curl;
    call->request = *request;
    call->next = curl->calls;
    call->link = &curl->calls;
    if (call->next != NULL)
        call->next->link = &call->next;
    curl->calls = call;
    call->rc = pst_curl_call_prepare(call);
    if (call->rc == PST_E_NOMEM ||
        (call->rc == PST_OK && curl_multi_add_handle(curl->multi, call->easy) != CURLM_OK)) {
        pst_curl_cancel(call);
        return PST_E_NOMEM;
    }
    if (call->rc != PST_OK) {
        call->is_over = true;
        pst_curl_call_ready(call);
        pst_later(curl->loop, &curl->later);
    }
    *ret_call = call;
    return PST_OK;
}

static void leave_queue(struct pst_curl_call *call)
{
    struct pst_curl *curl = call->curl;
    struct pst_curl_call **link = &curl->ready;

    if (!call->is_ready)
        return;
    while (*link != call)
        link = &(*link)->next_ready;
    *link = call->next_ready;
    if (curl->ready_tail == &call->next_ready)
        curl->ready_tail = link;
    call->is_ready = false;
}

void pst_curl_cancel(struct pst_curl_call *call)
{
    struct pst_curl *curl;

    if (call == NULL)
        return;
    curl = call->curl;
    if (curl->telling == call)
        curl->telling = NULL;
    leave_queue(call);
    if (call->easy != NULL)
        curl_multi_remove_handle(curl->multi, call->easy);
    pst_curl_call_forget(call);
    if (call->next != NULL)
        call->next->link = call->link;
    *call->link = call->next;
    free(call);
}

void pst_curl_call_ready(struct pst_curl_call *call)
{
    struct pst_curl *curl = call->curl;

    if (call->is_ready)
        return;
    call->is_ready = true;
    call->next_ready = NULL;
    *curl->ready_tail = call;
    curl->ready_tail = &call->next_ready;
}

/* False: the call is gone. */
static bool tell_piece(struct pst_curl_call *call)
{
    struct pst_curl *curl = call->curl;
    struct pst_text piece = call->text; /* outlives a call that is cancelled meanwhile */
    bool more;

    call->text = (struct pst_text){0};
    curl->telling = call;
    more = call->request.data(call->request.user, piece.at, piece.len);
    pst_text_done(&piece);
    if (curl->telling == NULL)
        return false;
    curl->telling = NULL;
    if (!more)
        pst_curl_cancel(call);
    return more;
}

static void tell_end(struct pst_curl_call *call)
{
    struct pst_curl_request request = call->request;
    struct pst_text body = call->text;
    struct pst_curl_answer answer;
    char error[CURL_ERROR_SIZE];

    pst_curl_call_answer(call, &body, &answer);
    snprintf(error, sizeof error, "%s", answer.error);
    answer.error = error;
    call->text = (struct pst_text){0};
    pst_curl_cancel(call);
    request.done(request.user, &answer);
    pst_text_done(&body);
}

static void tell(struct pst_curl *curl)
{
    struct pst_curl_call *call;
    long status;

    while ((call = curl->ready) != NULL) {
        leave_queue(call);
        status = 0;
        if (call->easy != NULL)
            curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
        if (call->request.data != NULL && status == 200 && call->text.len > 0 && !tell_piece(call))
            continue;
        if (call->is_over)
            tell_end(call);
    }
}
