/* received.h -- apart from the rest, because the kernel's header and the C library's, which uv.h includes, exclude each
 * other, and only the kernel's counts bytes. */
#ifndef SL_HTTP_RECEIVED_H
#define SL_HTTP_RECEIVED_H

#include <stdint.h>

/* Bytes that have come on this TCP connection, read or not; 0: not known. */
uint64_t sl__bytes_received(int fd);

#endif
