/* The process that the user waits for, in front of the one that works.
 *
 * A server that stops answering can leave threads of the worker process asleep where not even
 * SIGKILL reaches them (an aio context waits for its last request), and a process does not end
 * before its threads do. The one in front has no threads: it passes signals on, and ends with the
 * worker's status, or, when the worker says that threads hang, without waiting for it. */
#ifndef NUMALOAD_FRONT_H
#define NUMALOAD_FRONT_H

/* Runs work(argc, argv) in a process of its own and returns its exit status, in both processes; to
 * be called before any thread is made. SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on; when this
 * process ends in any way, SIGKILL included, the worker is killed. Where no process can be forked,
 * work runs in this one. */
int front_run(int (*work)(int argc, char **argv), int argc, char **argv);

/* What a process does last with its standard output: a result that could not be written is said on
 * stderr, unless it was already (clearerr), and makes a status of 0 one of 1. */
int front_end_output(int status);

/* Called in the worker when threads of it hang: it will be left behind once its work returns. */
void front_leave_behind(void);

#endif
