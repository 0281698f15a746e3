/* slurm_internal.h -- what the files of engine slurm share. Loop thread. */
#ifndef SL_SLURM_INTERNAL_H
#define SL_SLURM_INTERNAL_H

#include "daemon/config/daemon.h"
#include "daemon/processes/child.h"
#include "daemon/slurm/allocation.h"
#include "daemon/slurm/slurm.h"
#include "daemon/slurm/squeue.h"
#include "daemon/util/list.h"

#define SL__SERVER_BYTES 9        /* of the server's own name, with the 0 */
#define SL__PREFIX "spaceland-"
#define SL__ARGUMENTS 64
#define SL__CANCELS 64            /* allocations that are cancelled at once */
#define SL__NOTICE_S 60           /* Slurm sends SIGTERM so long before it ends a worker */

struct sl__allocation {
	struct sl_link link;
	struct sl_slurm *slurm;
	enum sl_allocation_stage stage;
	char name[SL_SQUEUE_NAME_BYTES];
	unsigned char hash[SL_SECRET_HASH_BYTES];  /* of its worker's token */
	char token[SL_SECRET_BYTES];         /* until it is submitted; then zeroed */
	uint64_t id;                      /* in Slurm; 0: not known yet */
	struct sl_slurm_need need;        /* for which it was requested */
	int gpus;
	struct sl_remote_expected *expected;
	struct sl_remote *worker;         /* NULL: it is not connected */
	bool destroyed;                   /* it is being freed */
	/* as last listed */
	enum sl_slurm_state state;
	bool stuck;                       /* Slurm could not start it, and holds it */
	char node[64], reason[128];
	int64_t start_s, end_s;
	/* its time, as far as it is accounted: of its present run, that is since start_s */
	double charged_s;
	int64_t lost_s;                   /* since 1970: when its worker was told to leave, or was lost; 0: it is there */
	/* loop time */
	uint64_t settled_ms;              /* when sbatch ended: later listings tell about it */
	uint64_t since_ms;                /* of the stage */
	uint64_t busy_ms;                 /* when it was last needed */
};

struct sl_slurm {
	struct sl_daemon *d;
	struct sl_slurm_listener listener;
	void *arg;
	char server[SL__SERVER_BYTES];
	struct sl_list allocations;       /* struct sl__allocation, the oldest first */
	uv_timer_t tick;
	uv_check_t look;                  /* once, after this turn's events */
	bool closing;
	/* ask.c: one process of each kind at a time; by rest.c, they are curl */
	struct sl_child *sbatch, *squeue, *scancel;
	struct sl__allocation *submitted; /* by sbatch */
	uint64_t listed_ms, begun_ms;     /* loop time of the last listing, and when it began */
	double interval_s;                /* until the next; grows while there is no answer */
	bool answers;                     /* squeue had an answer last time */
	int64_t silent_s;                 /* since 1970: since when not; 0: it answers */
	int failures;                     /* requests in a row that came to nothing */
	uint64_t again_ms;                /* loop time before which nothing is requested */
	uint64_t surplus_ms;              /* loop time since when there are more than are wanted; 0: there are not */
	char problem[300];                /* why the last request came to nothing; "" */
	char no_answer[300];              /* what squeue or sbatch said when slurmctld did not answer */
	uint64_t cancel[SL__CANCELS];              /* Slurm's ids to cancel */
	int cancels;
	/* book.c */
	bool changed, writing;
	/* rest.c */
	char rest[16];                    /* the version that slurmrestd offers, "v0.0.38"; "": not known yet */
	bool reading;                     /* its listing, on the pool */
	char account[64];                 /* name of the account that runs the server; "": not looked up yet */
	uint64_t booked_ms;               /* loop time of the last writing of what was charged */
	void (*closed)(void *arg);
	void *closed_arg;
	int handles;
	struct sl_metric *metric_stage[SL_ALLOCATION_STAGES], *metric_answers, *metric_queries, *metric_requests,
			  *metric_refused, *metric_idle_s, *metric_s;
};

/* ---- slurm.c ---- */

/* The event has come: changes the stage, and does what follows. `a` may be gone after it. */
void sl__allocation_event(struct sl__allocation *a, int event);
struct sl__allocation *sl__allocation_create(struct sl_slurm *s);  /* NULL: no memory. In no list yet */
void sl__allocation_destroy(struct sl__allocation *a);
/* Its jobs go on from their checkpoints; the stage is AWAY then. A worker may come again. */
void sl__allocation_end_worker(struct sl__allocation *a);
/* Its present run is over at this time (since 1970): what no job had of it is accounted to nobody. */
void sl__allocation_settle(struct sl__allocation *a, int64_t end_s);
/* A request came to nothing, or slurmctld does not answer: the next one waits. */
void sl__slurm_back_off(struct sl_slurm *s);

/* Tells that it is closed, if it is. */
void sl__slurm_closed(struct sl_slurm *s);

/* ---- ask.c ---- */

/* Each does nothing while such a process runs. */
void sl__slurm_submit(struct sl_slurm *s, struct sl__allocation *a);
void sl__slurm_list(struct sl_slurm *s);
void sl__slurm_cancel(struct sl_slurm *s, uint64_t id);   /* soon; 0: nothing */
void sl__slurm_cancel_now(struct sl_slurm *s);            /* those that wait for it */
void sl__slurm_ask_no_more(struct sl_slurm *s);

/* What came of it, by either way. why: NULL, or an error. */
enum sl__verdict { SL__GRANTED, SL__REFUSED, SL__NO_ANSWER };
void sl__slurm_submitted(struct sl_slurm *s, enum sl__verdict verdict, uint64_t id, const char *why);
/* Both NULL: there is an answer, but no listing. */
void sl__slurm_listed(struct sl_slurm *s, const char *lines, const char *why);
void sl__slurm_cancelled(struct sl_slurm *s, const char *why);

/* ---- script.c: what sbatch gets. Pure. ---- */

struct sl__script {
	const struct sl_config *config;
	const struct sl__allocation *a;
	const char *place, *pin;     /* where the worker connects */
	const char *program;
};

struct sl__arguments {
	int count;
	char *argv[SL__ARGUMENTS + 1];   /* NULL-terminated; malloc'd, each */
};

/* False: no memory, or there are too many. */
bool sl__script_arguments(const struct sl__script *s, struct sl__arguments *out);
void sl__arguments_finish(struct sl__arguments *a);
char *sl__script_text(const struct sl__script *s);  /* malloc'd; NULL: no memory */
/* The account of a project in "lab, genes=g123"; "": none. */
void sl__script_account(const char *list, const char *project, char *out, size_t bytes);
/* GPUs of "gpu:a100:2,other:1". */
int sl__script_gpus(const char *gres);
/* Path of a program of Slurm. */
char *sl__script_path(const struct sl_config *c, const char *program, char *out, size_t bytes);

/* ---- rest.c: slurmrestd instead of sbatch, squeue and scancel ---- */

bool sl__rest_used(const struct sl_slurm *s);
/* Its version, if that is not known yet; else the queue. */
void sl__rest_list(struct sl_slurm *s);
bool sl__rest_submit(struct sl_slurm *s, const struct sl__arguments *arguments, const char *script, const char *token,
		     char *why, size_t bytes);
void sl__rest_cancel(struct sl_slurm *s, const uint64_t *ids, int count);
/* What it gets for arguments of sbatch, with the worker's token: JSON, malloc'd; NULL: no memory. */
char *sl__rest_description(const struct sl__arguments *arguments, const char *script, const char *token);

/* ---- book.c: STATE_DIR/slurm.json ---- */

/* Reads the allocations; without a file, invents the server's name. */
int sl__book_read(struct sl_slurm *s, struct sl_error *err);
/* They have changed: writes them soon. */
void sl__book_write(struct sl_slurm *s);

/* ---- shown.c ---- */

void sl__slurm_register(struct sl_slurm *s);

#endif
