/* A library to preload: libmicrohttpd says that it is the version in the environment variable MICROHTTPD_VERSION. */
#include <stdlib.h>

__attribute__((visibility("default"))) const char *MHD_get_version(void);

const char *MHD_get_version(void)
{
	return getenv("MICROHTTPD_VERSION");
}
