/* What makes the loop run libmicrohttpd again, or watch a socket. The callbacks are those of server.c and sockets.c. */
#include "daemon/http/mhd/mhd_internal.h"

void sl__mhd_soon(struct sl__mhd *m)
{
	m->kicked = true;  /* in case sl__mhd_run() is running now */
	if (m->daemon)
		uv_idle_start(&m->soon, m->on_soon);
}

void sl__mhd_resume(struct sl__mhd *m, struct MHD_Connection *connection)
{
	MHD_resume_connection(connection);
	sl__mhd_soon(m);
}

void sl__socket_watch(struct sl__socket *s, int events)
{
	uv_poll_start(&s->poll, events, s->on_poll);
}
