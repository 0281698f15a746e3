/* GNU OpenMP reads its limit only when the program is loaded, so this sets it and executes the program again, once.
 * */
#include "core/threads.h"

#include <stdlib.h>
#include <unistd.h>

/* About 5 microseconds: longer than threads usually wait for each other at a barrier, shorter than a sleep and a
 * wake-up. Measured on a busy and on an idle machine. */
#define SPINS "2000"

void sl_threads_wait_briefly(char **argv)
{
	if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY"))
		return;
	if (setenv("GOMP_SPINCOUNT", SPINS, 1) == 0)
		execv("/proc/self/exe", argv);  /* if it fails, the program continues without the setting */
}
