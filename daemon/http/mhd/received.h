/* received.h -- counts the bytes of a TCP connection. It is separate because it needs the kernel's header linux/tcp.h,
 * which cannot be included together with netinet/tcp.h of the C library, and uv.h includes that. */
#ifndef SL_HTTP_RECEIVED_H
#define SL_HTTP_RECEIVED_H

#include <stdint.h>

/* The bytes that have arrived on this TCP connection, read or not; 0: not known. */
uint64_t sl__bytes_received(int fd);

#endif
