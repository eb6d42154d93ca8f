/* scale_wire.c - whatever packet is taken is a message in range, and is packed as it came. */
#include "scale/wire_layout.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t packet[PST_WIRE_PACKET_MAX];
    struct pst_wire_message message;

    if (pst_wire_unpack(data, size, &message) != PST_OK)
        return 0;
    PST_ASSERT(pst_wire_pack(&message, packet) == size); /* asserts every range */
    PST_ASSERT(memcmp(packet, data, size) == 0);
    return 0;
}
