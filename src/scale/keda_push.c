/* keda_push.c - see keda_push.h. */
#include "scale/keda_push.h"

static enum pst_keda_say say(struct pst_keda_push *push, enum pst_keda_say what)
{
    push->said = what;
    return what;
}

static enum pst_keda_say step_active(struct pst_keda_push *push, bool staffed, pst_ns now)
{
    bool is_news = push->said != PST_KEDA_SAY_TRUE;

    push->idles = false;
    if (staffed) {
        push->again_after = 0;
        return is_news ? say(push, PST_KEDA_SAY_TRUE) : PST_KEDA_SAY_NOTHING;
    }
    if (is_news || push->again_after == 0)
        push->again_after = PST_KEDA_PUSH_AGAIN_LEAST;
    else if (now < push->again_at)
        return PST_KEDA_SAY_NOTHING;
    else if (push->again_after < PST_KEDA_PUSH_AGAIN_MOST / 2)
        push->again_after *= 2;
    else
        push->again_after = PST_KEDA_PUSH_AGAIN_MOST;
    push->again_at = now + push->again_after;
    return say(push, PST_KEDA_SAY_TRUE);
}

static enum pst_keda_say step_idle(struct pst_keda_push *push, pst_ns hold, pst_ns now)
{
    if (!push->idles) {
        push->idles = true;
        push->idle_since = now;
    }
    if (hold < PST_KEDA_PUSH_HOLD_LEAST)
        hold = PST_KEDA_PUSH_HOLD_LEAST;
    if (push->said == PST_KEDA_SAY_FALSE || now - push->idle_since < hold)
        return PST_KEDA_SAY_NOTHING;
    return say(push, PST_KEDA_SAY_FALSE);
}

enum pst_keda_say pst_keda_push_step(struct pst_keda_push *push,
                                     const struct pst_keda_push_input *input, pst_ns now)
{
    push->known = input->known;
    if (!input->known) {
        push->idles = false;
        return PST_KEDA_SAY_NOTHING;
    }
    if (input->active)
        return step_active(push, input->staffed, now);
    return step_idle(push, input->hold, now);
}

enum pst_keda_say pst_keda_push_first(const struct pst_keda_push *push)
{
    return push->known || push->said == PST_KEDA_SAY_TRUE ? push->said : PST_KEDA_SAY_NOTHING;
}
