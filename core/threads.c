#include "core/threads.h"

#include <stdlib.h>
#include <unistd.h>

/* About 5 microseconds: longer than threads usually miss each other by at a barrier, shorter than
 * a sleep and a wake-up cost. By measurement on a busy and on an idle machine. */
#define SPINS "2000"

void sl_threads_wait_briefly(char **argv)
{
	if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY"))
		return;
	if (setenv("GOMP_SPINCOUNT", SPINS, 1) == 0)
		execv("/proc/self/exe", argv);  /* on failure the program goes on as it is */
}
