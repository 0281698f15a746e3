/* Verifying reads only. It compares both ways: each record against the files that it needs (expect), and each file
 * against its seal and its record. Repairing deletes nothing: of a damaged data base it keeps what can be read, sets
 * the file aside and writes a new one; records that are missing are made from the seals of undamaged files, those in
 * lost+found/ too; then files with a record come back from there. At the end it verifies. */
#include "core/meant.h"
#include "daemon/files/verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/store/atomic.h"
#include "daemon/store/db.h"
#include "daemon/files/columns_file.h"
#include "daemon/files/graph_file.h"
#include "daemon/files/job_files.h"
#include "daemon/store/seal.h"
#include "daemon/store/sweep.h"
#include "daemon/upkeep/spare.h"
#include "daemon/util/time_text.h"
#include "daemon/util/ulid.h"

/* Names of tables, by enum sl_db_table; only the first two have folders. */
static const char *const folders[SL_DB_TABLES] = {"graphs", "jobs", "users", "access", "usage", "links", "batches",
							  "projects", "uses", "settings", "accounting"};

struct state {
	uv_loop_t *loop;
	const char *dir;
	FILE *out;
	struct sl_db *db;            /* or NULL */
	json_t *records[SL_DB_TABLES];          /* by table: documents by id */
	json_t *made;                /* ids of restored records, for repair only; else NULL */
	json_t *kept;                /* repair: ids of jobs that were kept, or NULL */
	int problems;
	bool gone;                   /* repair: something is lost for ever */
	struct sl_error err;
};

static void problem(struct state *s, const char *folder, const char *name, const char *what)
{
	fprintf(s->out, "%s%s%s: %s\n", folder, *folder ? "/" : "", name, what);
	s->problems++;
}

static char *path_of(const struct state *s, const char *folder, const char *name)
{
	char *path;
	return asprintf(&path, "%s/%s/%s", s->dir, folder, name) < 0 ? NULL : path;
}

/* ---- one file ------------------------------------------------------------------------- */

/* Checks a file. On failure, s->err says what is wrong. *record: from its seal, malloc'd, or NULL. *bytes: its size. */
static int check_file(struct state *s, const char *folder, const char *name, char **record, uint64_t *bytes)
{
	char *path = path_of(s, folder, name);
	struct sl_seal seal;
	struct stat st;
	int fd = path ? sl_file_open(path) : -1, rc;
	*record = NULL;
	if (fd < 0 || fstat(fd, &st)) {
		rc = path ? sl_atomic_error(path, "read", errno, &s->err) : SL_NOMEM;
	} else {
		rc = sl_seal_read(fd, path, &seal, record, &s->err);
		*bytes = (uint64_t)st.st_size;
		if (!rc)
			rc = sl_seal_check(fd, path, &seal, &s->err);
	}
	if (rc) {
		free(*record);
		*record = NULL;
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return rc;
}

/* ---- records -------------------------------------------------------------------------- */

static int keep(void *arg, const char *id, json_t *document)
{
	return json_object_set(arg, id, document) ? SL_NOMEM : 0;
}

static void load_records(struct state *s)
{
	for (int t = 0; t < SL_DB_TABLES; t++) {
		int rc = sl_db_load(s->db, (enum sl_db_table)t, keep, s->records[t], &s->err);
		char text[96];
		snprintf(text, sizeof text, "%d record%s of %s damaged", rc, rc == 1 ? "" : "s", folders[t]);
		if (rc)
			problem(s, "", "spacelandd.db", rc < 0 ? s->err.detail : text);
	}
}

/* Returns true if the complete file exists under its temporary name, since a crash came between the upload's record and
 * the renaming. The next start renames it. */
static bool only_to_be_named(struct state *s, const char *folder, const char *name, const char *id)
{
	char temporary[72], *record;
	uint64_t bytes;
	snprintf(temporary, sizeof temporary, "%s.tmp", name);
	bool whole = !check_file(s, folder, temporary, &record, &bytes);
	free(record);
	return whole;
}

static void expect(struct state *s, int table, const char *id, const char *kind)
{
	char name[64];
	snprintf(name, sizeof name, "%s.%s", id, kind);
	char *path = path_of(s, folders[table], name);
	struct stat st;
	if (path && lstat(path, &st)) {
		if (table != SL_DB_GRAPHS || !only_to_be_named(s, folders[table], name, id))
			problem(s, folders[table], name, "The file is missing.");
	} else if (path && !S_ISREG(st.st_mode)) {
		problem(s, folders[table], name, S_ISLNK(st.st_mode) ? "It is a symbolic link; put the file itself there." :
			"It is not a regular file.");
	}
	free(path);
}

/* The values that the graph's columns name; a damaged list of columns is a problem of its own. */
static void expect_columns(struct state *s, const char *id, const json_t *document)
{
	char name[64], kind[16];
	struct sl_columns *columns = NULL;
	struct sl_error err;
	snprintf(name, sizeof name, "%s.sll", id);
	char *path = path_of(s, folders[SL_DB_GRAPHS], name);
	uint32_t nodes = (uint32_t)json_integer_value(json_object_get(document, "nodes"));
	int rc = path ? sl_columns_describe(path, nodes, &columns, &err) : SL_NOMEM;
	for (int i = 0; !rc && i < columns->count; i++) {
		int place = sl_column_place(&columns->column[i]);
		snprintf(kind, sizeof kind, "c%02d", place < SL_COLUMNS_PLACES ? place : 0);
		if (place >= 0)
			expect(s, SL_DB_GRAPHS, id, kind);
	}
	sl_columns_free(columns);
	free(path);
}

static void expect_graph(struct state *s, const char *id, const json_t *document)
{
	const char *kind = json_string_value(json_object_get(document, "kind"));
	bool graph = !kind || !strcmp(kind, "graph");
	expect(s, SL_DB_GRAPHS, id, graph ? "slg" : "slp");
	if (!graph && !strcmp(kind, "neighbours"))
		expect(s, SL_DB_GRAPHS, id, "sln");
	expect_columns(s, id, document);
}

/* The files that the record of a job names. Those of a run are removed after its end. */
static void expect_job(struct state *s, const char *id, const json_t *document)
{
	const char *state = json_string_value(json_object_get(document, "state"));
	bool done = state && !strcmp(state, "done"), ended = done || !state || !strcmp(state, "failed") ||
								!strcmp(state, "cancelled");
	const json_t *results = json_object_get(document, "results");
	const char *name = json_string_value(json_object_get(document, "method"));
	const struct sl_method *method = name ? sl_method_find(name) : sl_methods[0];
	bool layout = method && method->layout && (done || json_is_true(json_object_get(document, "layout")));
	if (ended && layout)
		expect(s, SL_DB_JOBS, id, "npy");
	for (size_t i = 0; ended && i < json_array_size(results); i++)
		expect(s, SL_DB_JOBS, id, json_string_value(json_array_get(results, i)));
	if (done || (ended && (layout || json_array_size(results))))
		expect(s, SL_DB_JOBS, id, "trace");
	if (!ended && json_is_integer(json_object_get(document, "checkpoint")))
		expect(s, SL_DB_JOBS, id, "checkpoint");
	if (!ended && json_is_true(json_object_get(document, "still")))
		expect(s, SL_DB_JOBS, id, "still");
	if (!ended && json_is_true(json_object_get(document, "initial")))
		expect(s, SL_DB_JOBS, id, "initial");
	if (!ended && (json_object_get(document, "start_labels") || json_object_get(document, "start_means")))
		expect(s, SL_DB_JOBS, id, "start");
}

static void expect_all(struct state *s)
{
	const char *id;
	json_t *document;
	json_object_foreach(s->records[SL_DB_GRAPHS], id, document)
		expect_graph(s, id, document);
	json_object_foreach(s->records[SL_DB_JOBS], id, document)
		expect_job(s, id, document);
}

/* ---- people ----------------------------------------------------------------------------- */

static size_t count_tokens(const struct state *s)
{
	const char *id;
	json_t *user;
	size_t count = json_object_size(s->records[SL_DB_LINKS]);
	json_object_foreach(s->records[SL_DB_USERS], id, user)
		count += json_array_size(json_object_get(user, "tokens"));
	return count;
}

/* The key without which no token and no link is valid, and the copy of the records of people. */
static void verify_people(struct state *s)
{
	char path[4200], text[160];
	struct sl_error err;
	json_t *copy = NULL;
	size_t tokens = count_tokens(s);
	snprintf(path, sizeof path, "%s/users.key", s->dir);
	snprintf(text, sizeof text, "The file is missing, so the %zu tokens and links are void. Restore it from a "
		 "backup.", tokens);
	if (tokens && access(path, F_OK))
		problem(s, "", "users.key", text);
	int rc = sl_spare_read(s->dir, SL_SPARE_FILE, &copy, &err);
	if (rc && rc != SL_NOTFOUND)
		problem(s, "", SL_SPARE_FILE, err.detail);
	json_decref(copy);
}

/* ---- the data base -------------------------------------------------------------------- */

/* SL_BADDATA: the data base is damaged or does not exist. */
static int open_db(struct state *s, bool make)
{
	char *path;
	if (asprintf(&path, "%s/spacelandd.db", s->dir) < 0)
		return sl_error_memory(&s->err, "a path");
	int rc = 0;
	if (!make && access(path, F_OK))
		rc = sl_error_set(&s->err, SL_BADDATA, "The data base is missing.");
	if (!rc)
		rc = sl_db_open(&s->db, s->loop, path, &s->err);
	if (!rc)
		rc = sl_db_check(s->db, &s->err);
	free(path);
	return rc;
}

static void close_db(struct state *s)
{
	if (s->db)
		sl_db_close(s->db, NULL, NULL);
	s->db = NULL;
	uv_run(s->loop, UV_RUN_DEFAULT);
}

/* Renames the data base and its log to names that are free. */
static int set_aside(struct state *s)
{
	static const char *const endings[] = {"", "-wal", "-shm"};
	char from[4096], to[4096];
	int number = 0;
	do
		snprintf(to, sizeof to, "%s/spacelandd.db.damaged.%d", s->dir, ++number);
	while (access(to, F_OK) == 0);
	for (int i = 0; i < 3; i++) {
		snprintf(from, sizeof from, "%s/spacelandd.db%s", s->dir, endings[i]);
		snprintf(to, sizeof to, "%s/spacelandd.db.damaged.%d%s", s->dir, number, endings[i]);
		if (rename(from, to) && errno != ENOENT)
			return sl_atomic_error(from, "renamed", errno, &s->err);
	}
	fprintf(s->out, "spacelandd.db: set aside as spacelandd.db.damaged.%d\n", number);
	return 0;
}

static int begin(struct state *s, uv_loop_t *loop, const char *dir, FILE *out)
{
	bool ok = true;
	*s = (struct state){.loop = loop, .dir = dir, .out = out};
	for (int t = 0; t < SL_DB_TABLES; t++)
		ok &= (s->records[t] = json_object()) != NULL;
	return ok ? 0 : sl_error_memory(&s->err, "the records");
}

static int end(struct state *s, int rc, struct sl_error *err)
{
	close_db(s);
	for (int t = 0; t < SL_DB_TABLES; t++)
		json_decref(s->records[t]);
	json_decref(s->made);
	if (rc < 0 && err)
		*err = s->err;
	return rc < 0 ? rc : s->problems;
}

/* ---- verify --------------------------------------------------------------------------- */

static const char *const *kinds_of(int table)
{
	return table == SL_DB_GRAPHS ? sl_graph_file_kinds : sl_job_file_kinds();
}

/* An initial layout is written before its job's record. If the server is killed in between, no client knows the job, so
 * the file without a record is no problem. */
static bool needs_record(const char *name)
{
	return strcmp(name + SL_ULID_BYTES, "initial") != 0 && strcmp(name + SL_ULID_BYTES, "start") != 0;
}

static void verify_file(void *arg, const char *folder, const char *name, const char *id)
{
	struct state *s = arg;
	char *record;
	uint64_t bytes;
	bool recorded = json_object_get(s->records[!strcmp(folder, folders[SL_DB_JOBS])], id);
	if (check_file(s, folder, name, &record, &bytes))
		problem(s, folder, name, s->err.detail);
	else if (!recorded && needs_record(name))
		problem(s, folder, name, "No record names the file.");
	free(record);
}

/* An uploaded layout has its record only in its seal. */
static void verify_uploaded(void *arg, const char *folder, const char *name, const char *id)
{
	struct state *s = arg;
	char *record = NULL;
	uint64_t bytes;
	if (check_file(s, folder, name, &record, &bytes))
		problem(s, folder, name, s->err.detail);
	else if (!record)
		problem(s, folder, name, "Its seal has no record, so the server does not serve it.");
	free(record);
}

int sl_state_verify(uv_loop_t *loop, const char *dir, FILE *out, struct sl_error *err)
{
	struct state s;
	bool damaged = false;
	int rc = begin(&s, loop, dir, out);
	if (!rc)
		rc = open_db(&s, false);
	if (rc == SL_BADDATA)
		problem(&s, "", "spacelandd.db", s.err.detail);
	else if (rc)
		return end(&s, rc, err);
	if (s.db)
		load_records(&s);
	if (!rc && sl_db_compare_generation(s.db, &damaged, &s.err))
		problem(&s, "", "spacelandd.db", s.err.detail);
	if (damaged)
		problem(&s, "", "spacelandd.db.generation", "None of its lines is whole, so it does not tell whether "
			"records are missing. The next start writes it anew.");
	expect_all(&s);
	verify_people(&s);
	for (int t = SL_DB_GRAPHS; t <= SL_DB_JOBS; t++)
		sl_sweep_each(dir, folders[t], kinds_of(t), SL_NAME_WHOLE, verify_file, &s);
	sl_sweep_each(dir, "layouts", (const char *const[]){"npy", NULL}, SL_NAME_WHOLE, verify_uploaded, &s);
	return end(&s, 0, err);
}

/* ---- repair --------------------------------------------------------------------------- */

static int table_of(const char *name)
{
	return sl_word_in(sl_graph_file_kinds, name + SL_ULID_BYTES) ? SL_DB_GRAPHS : SL_DB_JOBS;
}

/* Returns true if the record in this file's seal is needed: there is none yet, or one made from a checkpoint, and this
 * file is the job's result, whose record is newer. */
static bool wanted(const struct state *s, int table, const char *id, const char *name)
{
	bool result = sl_job_file_is_result(name + SL_ULID_BYTES);
	return !json_object_get(s->records[table], id) || (result && json_object_get(s->made, id));
}

static void make_record(struct state *s, const char *folder, const char *name, const char *id, const char *record,
			uint64_t bytes)
{
	int table = table_of(name);
	json_t *document = json_loads(record, 0, NULL), *sizes = json_object_get(document, "bytes");
	if (sizes)
		json_object_set_new(sizes, "disk", json_integer((json_int_t)bytes));
	if (!document || json_object_set(s->records[table], id, document) ||
	    json_object_set_new(s->made, id, json_true()) ||
	    sl_db_put(s->db, (enum sl_db_table)table, id, document, NULL, NULL))
		problem(s, folder, name, SL_NO_MEMORY "the record.");
	else
		fprintf(s->out, "%s/%s: its record is made anew\n", folder, name);
	json_decref(document);
}

static void repair_file(void *arg, const char *folder, const char *name, const char *id)
{
	struct state *s = arg;
	char *record;
	uint64_t bytes;
	if (!check_file(s, folder, name, &record, &bytes) && record && wanted(s, table_of(name), id, name))
		make_record(s, folder, name, id, record, bytes);
	free(record);
}

/* Moves a file with a record from lost+found/ back to its folder. */
static void bring_back(void *arg, const char *folder, const char *name, const char *id)
{
	struct state *s = arg;
	int table = table_of(name);
	if (!json_object_get(s->records[table], id))
		return;
	char *from = path_of(s, folder, name), *to = path_of(s, folders[table], name);
	if (from && to && access(to, F_OK) && !rename(from, to))
		fprintf(s->out, "%s/%s: back in %s/\n", folder, name, folders[table]);
	free(from);
	free(to);
}

static void salvage(struct state *s)
{
	for (int t = 0; t < SL_DB_TABLES; t++)
		sl_db_load(s->db, (enum sl_db_table)t, keep, s->records[t], &s->err);
	close_db(s);
}

static void put_back(struct state *s)
{
	for (int t = 0; t < SL_DB_TABLES; t++) {
		const char *id;
		json_t *document;
		json_object_foreach(s->records[t], id, document)
			sl_db_put(s->db, (enum sl_db_table)t, id, document, NULL, NULL);
	}
}

static const char *name_in(const json_t *document)
{
	const char *name = json_string_value(json_object_get(document, "name"));
	return name ? name : "";
}

/* True if a record of this table has that name: names of users and projects are unique. */
static bool has_name(const struct state *s, int table, const char *name)
{
	const char *id;
	json_t *document;
	json_object_foreach(s->records[table], id, document)
		if (name && !strcmp(name_in(document), name))
			return true;
	return false;
}

/* Puts the records of one table of the copy. newer: they replace those of the data base, and what they lack is
 * removed. */
static size_t restore_table(struct state *s, enum sl_db_table t, const json_t *rows, bool newer)
{
	size_t count = 0;
	const char *id;
	json_t *document;
	bool named = t == SL_DB_USERS || t == SL_DB_PROJECTS;
	json_object_foreach(s->records[t], id, document)
		if (newer && !json_object_get(rows, id))
			sl_db_remove(s->db, t, id, NULL, NULL);
	if (newer)
		json_object_clear(s->records[t]);
	json_object_foreach((json_t *)rows, id, document) {
		if (json_object_get(s->records[t], id) || (named && has_name(s, t, name_in(document))))
			continue;
		if (json_object_set(s->records[t], id, document) || sl_db_put(s->db, t, id, document, NULL, NULL))
			problem(s, "", SL_SPARE_FILE, SL_NO_MEMORY "a record.");
		count++;
	}
	return count;
}

/* Restores the records of people from a copy. newer: the copy is newer than the data base. False: there is none. */
static bool restore_people(struct state *s, const char *name, bool newer)
{
	json_t *copy;
	char when[SL_TIME_BYTES];
	struct sl_error err;
	size_t count = 0;
	if (sl_spare_read(s->dir, name, &copy, &err)) {
		if (err.code != SL_NOTFOUND)
			fprintf(s->out, "%s: %s\n", name, err.detail);
		return false;
	}
	newer = newer && (uint64_t)json_integer_value(json_object_get(copy, "generation")) > sl_db_generation(s->db);
	for (const enum sl_db_table *t = sl_spare_tables; *t != SL_DB_TABLES; t++)
		count += restore_table(s, *t, json_object_get(json_object_get(copy, "tables"), sl_db_table_name(*t)), newer);
	sl_time_text((uint64_t)json_integer_value(json_object_get(copy, "saved")), when);
	if (count)
		fprintf(s->out, "%s: %zu users, projects, rights, links, batches, settings and days of accounting are "
			"restored as of %s; changes after that are gone\n", name, count, when);
	if (!s->kept)
		s->kept = json_incref(json_object_get(copy, "kept"));
	json_decref(copy);
	return true;
}

/* The records of jobs that were made from their files do not know that they were kept since. */
static void keep_jobs(struct state *s)
{
	size_t i;
	json_t *id;
	json_array_foreach(s->kept, i, id) {
		json_t *job = json_object_get(s->records[SL_DB_JOBS], json_string_value(id));
		if (!job || json_is_true(json_object_get(job, "keep")))
			continue;
		if (json_object_set_new(job, "keep", json_true()) ||
		    sl_db_put(s->db, SL_DB_JOBS, json_string_value(id), job, NULL, NULL))
			problem(s, "", SL_SPARE_FILE, SL_NO_MEMORY "a record.");
	}
}

/* lost: the data base was lost, damaged or is an older copy. newer: what is in the copy counts, not what is in it. */
static void repair_people(struct state *s, bool lost, bool newer)
{
	bool restored = restore_people(s, SL_SPARE_BEFORE, false);
	if (!lost)
		return;
	restored = restore_people(s, SL_SPARE_FILE, newer) || restored;
	fprintf(s->out, "gone for ever: changes that came after a file was written (names of graphs and jobs), and "
		"jobs that had no checkpoint yet\n");
	if (restored)
		return;
	fprintf(s->out, "gone for ever: users and their tokens, projects, owners and rights, public links, batches, device "
		"time used, accounting, settings, and which jobs are kept. Graphs and jobs belong to the administrators "
		"now.\n");
	s->gone = true;
}

static int repair_db(struct state *s, bool *lost)
{
	int rc = open_db(s, true);
	*lost = rc == SL_BADDATA || (!rc && sl_db_is_new(s->db));
	if (!rc) {
		load_records(s);
		s->problems = 0;  /* damaged records are made again from their files */
	}
	if (rc != SL_BADDATA)
		return rc;
	fprintf(s->out, "spacelandd.db: %s\n", s->err.detail);
	if (s->db)
		salvage(s);
	rc = set_aside(s);
	if (!rc)
		rc = open_db(s, true);
	if (!rc)
		put_back(s);
	return rc;
}

static bool any_file(const char *dir)
{
	return sl_sweep_each(dir, "graphs", sl_graph_file_kinds, SL_NAME_WHOLE, NULL, NULL) ||
	       sl_sweep_each(dir, "jobs", sl_job_file_kinds(), SL_NAME_WHOLE, NULL, NULL);
}

int sl_state_repair(uv_loop_t *loop, const char *dir, FILE *out, bool *gone, struct sl_error *err)
{
	struct state s;
	bool lost = false, damaged, used = any_file(dir);
	int rc = begin(&s, loop, dir, out);
	if (!rc && !(s.made = json_object()))
		rc = sl_error_memory(&s.err, "the records");
	if (!rc)
		rc = repair_db(&s, &lost);
	if (!rc) {
		bool older = sl_db_compare_generation(s.db, &damaged, &s.err) != 0;
		lost = older || (lost && used);
		repair_people(&s, lost, older && !sl_db_is_new(s.db));
	}
	if (!rc)
		rc = sl_db_check_generation(s.db, true, &s.err);
	for (int t = SL_DB_GRAPHS; t <= SL_DB_JOBS && !rc; t++) {
		sl_sweep_each(dir, folders[t], kinds_of(t), SL_NAME_WHOLE, repair_file, &s);
		sl_sweep_each(dir, "lost+found", kinds_of(t), SL_NAME_WHOLE, repair_file, &s);
		sl_sweep_each(dir, "lost+found", kinds_of(t), SL_NAME_WHOLE, bring_back, &s);
	}
	if (!rc)
		keep_jobs(&s);
	json_decref(s.kept);
	*gone = s.gone;
	rc = end(&s, rc, err);
	return rc < 0 ? rc : sl_state_verify(loop, dir, out, err);
}
