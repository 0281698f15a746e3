/* threads.h -- how the threads of a process wait for one another. */
#ifndef SL_THREADS_H
#define SL_THREADS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Makes OpenMP threads wait at barriers without spinning for long. Call it first in main(), with main's argv.
 *
 * GNU OpenMP lets threads that wait at a barrier spin for milliseconds. If another thread needs the core meanwhile (the
 * server's HTTP thread, another program), an iteration of 0.5 ms takes 10 ms. The limit can be set only in the
 * environment and before the library loads. So this function sets the environment and executes the program again with
 * the same arguments. If the environment sets the limit already, it returns at once. */
void sl_threads_wait_briefly(char **argv);

#ifdef __cplusplus
}
#endif
#endif
