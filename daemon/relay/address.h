/* address.h -- the address of a peer, for the log: "127.0.0.1:41233", "a local process". */
#ifndef SL_RELAY_ADDRESS_H
#define SL_RELAY_ADDRESS_H

#include "daemon/relay/channel.h"

void sl__address_of(int fd, char out[SL_RELAY_TEXT_BYTES]);

#endif
