/* status.h - reason phrases. Clients ignore them; people reading a capture do not. */
#ifndef PST_NET_STATUS_H
#define PST_NET_STATUS_H

#include "base/slice.h"

struct pst_slice pst_status_reason(uint16_t status); /* empty where there is none to say */

#endif
