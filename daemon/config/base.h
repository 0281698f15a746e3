/* base.h -- the option base_url, "https://lab.example/spaceland/": the address of the server behind a proxy. */
#ifndef SL_BASE_H
#define SL_BASE_H

#include <stdbool.h>

struct sl_base {
	bool tls;
	char origin[272];  /* "https://lab.example"; "": base_url is empty */
	char path[200];    /* "/spaceland", without a slash at the end; "": the server is at the proxy's root */
};

/* False: the text is no such address. Any thread. */
bool sl_base_read(const char *text, struct sl_base *out);
/* Host and port of the origin, "lab.example"; borrowed. */
const char *sl_base_authority(const struct sl_base *base);

#endif
