/* threads.h -- how the threads of a process wait for one another. */
#ifndef SL_THREADS_H
#define SL_THREADS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Call first thing in main(), with main's argv. GNU OpenMP lets threads that wait at a barrier spin for
 * milliseconds. On a machine that does nothing else that is right; where anything else wants a
 * core (the server's own HTTP thread, a colleague) the waiting ones keep it from those that
 * have work, and an iteration of 0.5 ms takes 10. The limit can only be set in the environment, before
 * the library loads, so this sets it and starts the program again in place; it returns without
 * doing anything when the environment already says how to wait. */
void sl_threads_wait_briefly(char **argv);

#ifdef __cplusplus
}
#endif
#endif
