/* The table has no content of its own (content=''): texts are in the columns, which rows read. Column cK of the table
 * is the K-th column of kind text. It is written without a journal under a temporary name, and renamed when it is
 * whole. */
#include "daemon/graphs/rows/text_index.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/files/values_file.h"
#include "daemon/graphs/graphs_internal.h"
#include "daemon/graphs/rows/rows_internal.h"
#include "daemon/store/atomic.h"

#define TEXTS SL_COLUMNS_PLACES
#define BLOCK 1024              /* nodes whose places are read at once */
#define STEPS 10000             /* of SQLite's machine between two looks at the clock */
#define WORDS_MOST 64
#define QUERY_BYTES 4096
#define KEY_BYTES (TEXTS * SL_VALUES_DIGEST_BYTES + 1)

/* ---- its columns ---------------------------------------------------------------------------- */

/* The columns of kind text, in their order; returns their number. */
static int texts_of(const struct sl_columns *c, const struct sl_column *out[TEXTS])
{
	int count = 0;
	for (int i = 0; i < c->count && count < TEXTS; i++)
		if (!strcmp(sl_column_kind(&c->column[i]), "text"))
			out[count++] = &c->column[i];
	return count;
}

static const char *digest_of(const struct sl_column *c)
{
	const char *digest = json_string_value(json_object_get(c->description, "digest"));
	return digest ? digest : "";
}

static void key_of(const struct sl_column *const *text, int count, char key[KEY_BYTES])
{
	char *at = key;
	*at = '\0';
	for (int k = 0; k < count; k++)
		at = stpcpy(stpcpy(at, digest_of(text[k])), " ");
}

static int failed(sqlite3 *db, const char *path, struct sl_error *err)
{
	int code = sqlite3_errcode(db);
	const char *slash = strrchr(path, '/');
	return sl_error_at(err, code == SQLITE_FULL ? SL_DISKFULL : code == SQLITE_NOMEM ? SL_NOMEM : SL_IO,
			   slash ? slash + 1 : path, 0, "The index of texts: %s.", sqlite3_errmsg(db));
}

/* ---- making it ------------------------------------------------------------------------------ */

/* One index is made at a time. */
static pthread_mutex_t making_one = PTHREAD_MUTEX_INITIALIZER;

struct making {
	sqlite3 *db;
	sqlite3_stmt *insert;
	const char *path;
	const struct sl_column *text[TEXTS];
	struct sl_values values[TEXTS];
	struct sl_value_place *place[TEXTS];
	char *bytes[TEXTS];
	uint64_t room[TEXTS];
	int count;
	const int *cancel;
	struct sl_error *err;
};

static int run(struct making *m, const char *sql)
{
	return sqlite3_exec(m->db, sql, NULL, NULL, NULL) ? failed(m->db, m->path, m->err) : 0;
}

static int make_table(struct making *m, const char *key)
{
	char sql[TEXTS * 6 + 200], insert[TEXTS * 8 + 80], *at = stpcpy(sql, "CREATE VIRTUAL TABLE t USING fts5("), *to;
	for (int k = 0; k < m->count; k++)
		at += snprintf(at, 8, "c%d, ", k);
	stpcpy(at, "content='', tokenize='unicode61 remove_diacritics 2')");
	to = stpcpy(insert, "INSERT INTO t(rowid");
	for (int k = 0; k < m->count; k++)
		to += snprintf(to, 8, ",c%d", k);
	to = stpcpy(to, ") VALUES (?");
	for (int k = 0; k < m->count; k++)
		to = stpcpy(to, ",?");
	stpcpy(to, ")");
	int rc = run(m, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; CREATE TABLE made_of(key TEXT)");
	if (!rc)
		rc = run(m, sql);
	char *note = rc ? NULL : sqlite3_mprintf("INSERT INTO made_of VALUES (%Q); BEGIN", key);
	if (!rc)
		rc = note ? run(m, note) : sl_error_memory(m->err, "the index of texts");
	sqlite3_free(note);
	if (!rc && sqlite3_prepare_v2(m->db, insert, -1, &m->insert, NULL))
		rc = failed(m->db, m->path, m->err);
	return rc;
}

static int bind_text(struct making *m, int k, const struct sl_value_place *p)
{
	if (p->bytes > m->room[k]) {
		char *grown = realloc(m->bytes[k], p->bytes + 1);
		if (!grown)
			return sl_error_memory(m->err, "a text of %llu bytes", (unsigned long long)p->bytes);
		m->bytes[k] = grown;
		m->room[k] = p->bytes;
	}
	int rc = sl_values_read(&m->values[k], p->from, m->bytes[k], p->bytes, m->err);
	if (!rc && sqlite3_bind_text64(m->insert, k + 2, m->bytes[k], p->bytes, SQLITE_STATIC, SQLITE_UTF8))
		rc = failed(m->db, m->path, m->err);
	return rc;
}

static int add_node(struct making *m, uint32_t node, uint32_t at)
{
	bool any = false;
	int rc = 0;
	sqlite3_reset(m->insert);
	sqlite3_clear_bindings(m->insert);
	for (int k = 0; k < m->count && !rc; k++) {
		const struct sl_value_place *p = &m->place[k][at];
		if (p->bytes == SL_NO_VALUE)
			continue;
		any = true;
		rc = bind_text(m, k, p);
	}
	if (rc || !any)
		return rc;
	sqlite3_bind_int64(m->insert, 1, node);
	return sqlite3_step(m->insert) == SQLITE_DONE ? 0 : failed(m->db, m->path, m->err);
}

static int add_all(struct making *m, uint32_t n)
{
	int rc = 0;
	for (uint32_t from = 0; from < n && !rc; from += BLOCK) {
		uint32_t count = n - from < BLOCK ? n - from : BLOCK;
		if (m->cancel && __atomic_load_n(m->cancel, __ATOMIC_RELAXED))
			return sl_error_set(m->err, SL_CANCELLED, "The server is stopping.");
		for (int k = 0; k < m->count && !rc; k++)
			rc = sl_values_places(&m->values[k], from, count, m->place[k], m->err);
		for (uint32_t i = 0; i < count && !rc; i++)
			rc = add_node(m, from + i, i);
	}
	return rc;
}

static int open_values(struct making *m, const char *columns_path, uint32_t n)
{
	char path[SL_COLUMNS_PATH];
	int rc = 0;
	for (int k = 0; k < m->count; k++)
		m->values[k].fd = -1;
	for (int k = 0; k < m->count && !rc; k++) {
		sl_columns_place_path(columns_path, sl_column_place(m->text[k]), path);
		rc = sl_values_open(&m->values[k], path, digest_of(m->text[k]), n, m->err);
		if (!rc && !(m->place[k] = malloc(BLOCK * sizeof *m->place[k])))
			rc = sl_error_memory(m->err, "the index of texts");
	}
	return rc;
}

static void making_finish(struct making *m)
{
	sqlite3_finalize(m->insert);
	sqlite3_close(m->db);
	for (int k = 0; k < m->count; k++) {
		sl_values_close(&m->values[k]);
		free(m->place[k]);
		free(m->bytes[k]);
	}
}

/* Gives the finished file its name. */
static int name_it(const char *temporary, const char *path, struct sl_error *err)
{
	int fd = sl_file_open(temporary);
	bool failed = fd < 0 || fchmod(fd, 0600) || fsync(fd) || rename(temporary, path);
	int rc = failed ? sl_atomic_error(path, "written", errno, err) : 0;
	if (fd >= 0)
		close(fd);
	return rc;
}

static int make(const char *path, const char *columns_path, const struct sl_columns *columns, const int *cancel,
		   struct sl_error *err)
{
	struct making *m = calloc(1, sizeof *m);
	char *key = malloc(KEY_BYTES), *temporary = NULL;
	int rc = 0;
	if (!m || !key || asprintf(&temporary, "%s.tmp", path) < 0) {
		free(m);
		free(key);
		return sl_error_memory(err, "the index of texts");
	}
	*m = (struct making){.path = path, .cancel = cancel, .err = err};
	m->count = texts_of(columns, m->text);
	if (!m->count) {
		unlink(path);
	} else {
		key_of(m->text, m->count, key);
		rc = open_values(m, columns_path, columns->n);
		if (!rc && sqlite3_open_v2(temporary, &m->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
				NULL))
			rc = failed(m->db, path, err);
		if (!rc)
			rc = make_table(m, key);
		if (!rc)
			rc = add_all(m, columns->n);
		if (!rc)
			rc = run(m, "COMMIT");
	}
	bool made = m->count > 0;
	making_finish(m);
	if (!rc && made)
		rc = name_it(temporary, path, err);
	if (rc)
		unlink(temporary);
	free(temporary);
	free(key);
	free(m);
	return rc;
}

/* ---- searching it --------------------------------------------------------------------------- */

static sqlite3 *open_index(const char *path)
{
	sqlite3 *db = NULL;
	char *uri = sqlite3_mprintf("file:%s?immutable=1", path);
	if (!uri || access(path, R_OK) ||
	    sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL)) {
		sqlite3_close(db);
		db = NULL;
	}
	sqlite3_free(uri);
	return db;
}

static bool is_made_of(const char *path, const char *key)
{
	sqlite3 *db = open_index(path);
	sqlite3_stmt *q = NULL;
	bool same = db && !sqlite3_prepare_v2(db, "SELECT key FROM made_of", -1, &q, NULL) && sqlite3_step(q) == SQLITE_ROW
			&&
		    !strcmp((const char *)sqlite3_column_text(q, 0), key);
	sqlite3_finalize(q);
	sqlite3_close(db);
	return same;
}

int sl__index_settle(const char *path, const char *columns_path, const struct sl_columns *columns, const int *cancel,
		     struct sl_error *err)
{
	const struct sl_column *text[TEXTS];
	int count = texts_of(columns, text);
	char *key = malloc(KEY_BYTES);
	if (!key)
		return sl_error_memory(err, "the index of texts");
	key_of(text, count, key);
	int rc = 0;
	if (!count)
		unlink(path);
	if (count && !is_made_of(path, key)) {
		pthread_mutex_lock(&making_one);
		if (!is_made_of(path, key))   /* another thread has not made it meanwhile */
			rc = make(path, columns_path, columns, cancel, err);
		pthread_mutex_unlock(&making_one);
	}
	free(key);
	return rc;
}

/* Copies a word in quotes, so that FTS5 takes it as it is. */
static char *put_quoted(char *to, const char *end, const char *from, size_t length, bool begins)
{
	if (to + 2 * length + 8 > end)
		return NULL;
	*to++ = '"';
	for (size_t i = 0; i < length; i++) {
		if (from[i] == '"')
			*to++ = '"';
		*to++ = from[i];
	}
	*to++ = '"';
	if (begins)
		*to++ = '*';
	*to++ = ' ';
	*to = '\0';
	return to;
}

static bool has_letters(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (isalnum((unsigned char)text[i]) || (text[i] & 0x80))
			return true;
	return false;
}

/* Writes a search of users as a query of FTS5. */
static int translate(const char *text, const char *filter, char out[QUERY_BYTES], struct sl_error *err)
{
	char *to = stpcpy(out, filter), *end = out + QUERY_BYTES - 2;
	int words = 0;
	while (to && *text) {
		text += strspn(text, " \t\r\n");
		bool quoted = *text == '"';
		size_t length = quoted ? strcspn(text + 1, "\"") : strcspn(text, " \t\r\n\"");
		const char *word = text + quoted;
		text = word + length + (quoted && word[length] == '"');
		bool begins = quoted ? *text == '*' : length && word[length - 1] == '*';
		text += quoted && begins;
		length -= !quoted && begins;
		if (!has_letters(word, length))
			continue;
		if (++words > WORDS_MOST)
			break;
		to = put_quoted(to, end, word, length, begins);
	}
	if (!to || words > WORDS_MOST)
		return sl_error_field(err, SL_BADPARAM, "?search", "search is too long; it may have %d words", WORDS_MOST);
	if (!words)
		return sl_error_field(err, SL_BADPARAM, "?search", "search must have words, such as neural, \"neural network\" "
				      "or neur*");
	if (*filter)
		strcpy(to, ")");
	return 0;
}

static int too_late(void *arg)
{
	return sl__rows_now_ns() > *(const int64_t *)arg;
}

static int no_texts(const struct sl_columns *columns, const char *only, struct sl_error *err)
{
	if (only)
		return sl_error_field(err, SL_BADPARAM, "?in", "the graph has no column of texts named \"%.60s\"", only);
	return sl_error_field(err, SL_BADPARAM, "?search", "the graph has no column of kind text to search; names are "
			      "searched by /v1/graphs/ID/nodes");
}

int sl__index_search(const char *path, const struct sl_columns *columns, const char *text, const char *only, bool
		ranked,
		     int64_t deadline_ns, void (*found)(void *arg, uint32_t node, double rank), void *arg,
		     struct sl_error *err)
{
	const struct sl_column *list[TEXTS];
	char query[QUERY_BYTES], filter[24] = "";
	int count = texts_of(columns, list), rc = count ? 0 : no_texts(columns, NULL, err), at = -1;
	for (int k = 0; k < count && only; k++)
		if (!strcmp(sl_column_name(list[k]), only))
			at = k;
	if (!rc && only && at < 0)
		rc = no_texts(columns, only, err);
	if (at >= 0)
		snprintf(filter, sizeof filter, "c%d : (", at);
	if (!rc)
		rc = translate(text, filter, query, err);
	if (rc)
		return rc;
	sqlite3 *db = open_index(path);
	sqlite3_stmt *q = NULL;
	if (!db)
		return sl_error_at(err, SL_IO, path, 0, "The index of texts cannot be opened.");
	sqlite3_progress_handler(db, STEPS, too_late, &deadline_ns);
	const char *sql = ranked ? "SELECT rowid, rank FROM t WHERE t MATCH ?" : "SELECT rowid FROM t WHERE t MATCH ?";
	int step = sqlite3_prepare_v2(db, sql, -1, &q, NULL) || sqlite3_bind_text(q, 1, query, -1, SQLITE_STATIC) ?
			SQLITE_ERROR :
		   SQLITE_ROW;
	while (step == SQLITE_ROW && (step = sqlite3_step(q)) == SQLITE_ROW) {
		int64_t node = sqlite3_column_int64(q, 0);
		if (node >= 0 && node < columns->n)
			found(arg, (uint32_t)node, ranked ? sqlite3_column_double(q, 1) : 0);
	}
	if (step == SQLITE_INTERRUPT)
		rc = sl_error_set(err, SL_CANCELLED, "The search took too long; use longer words.");
	else if (step != SQLITE_DONE)
		rc = failed(db, path, err);
	sqlite3_finalize(q);
	sqlite3_close(db);
	return rc;
}

/* ---- its words ------------------------------------------------------------------------------ */

#define WORD_BYTES 512          /* longer ones are no words */
#define LOOK 65536              /* occurrences between two looks at `cancel` */

struct words {
	sqlite3_stmt *q;
	const bool *texts;
	uint32_t n;
	const int *cancel;
	void (*found)(void *arg, uint32_t node);
	int (*end)(void *arg, const char *word);
	void *arg;
	char word[WORD_BYTES];
	int64_t last;           /* node of this word that was found last */
};

/* The occurrence in the present row: of another word, or in another node? */
static int take_occurrence(struct words *w, const char *term)
{
	int64_t node = sqlite3_column_int64(w->q, 1);
	const char *column = (const char *)sqlite3_column_text(w->q, 2);   /* "c0" */
	int k = column ? atoi(column + 1) : -1, rc = 0;
	if (strcmp(term, w->word)) {
		rc = w->word[0] ? w->end(w->arg, w->word) : 0;
		snprintf(w->word, sizeof w->word, "%s", term);
		w->last = -1;
	}
	if (rc || k < 0 || k >= TEXTS || !w->texts[k] || node == w->last || node < 0 || node >= w->n)
		return rc;
	w->last = node;
	w->found(w->arg, (uint32_t)node);
	return 0;
}

int sl__index_words(const char *path, const struct sl_columns *columns, const bool *texts, const int *cancel,
		    void (*found)(void *arg, uint32_t node), int (*end)(void *arg, const char *word), void *arg,
		    struct sl_error *err)
{
	struct words w = {.texts = texts, .n = columns->n, .cancel = cancel, .found = found, .end = end, .arg = arg,
			  .last = -1};
	sqlite3 *db = open_index(path);
	int step = SQLITE_ROW, rc = 0;
	if (!db)
		return sl_error_at(err, SL_IO, path, 0, "The index of texts cannot be opened.");
	if (sqlite3_exec(db, "CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, t, 'instance')", NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(db, "SELECT term, doc, col FROM temp.words", -1, &w.q, NULL))
		step = SQLITE_ERROR;
	for (uint64_t k = 1; !rc && step == SQLITE_ROW && (step = sqlite3_step(w.q)) == SQLITE_ROW; k++) {
		const char *term = (const char *)sqlite3_column_text(w.q, 0);
		if (term && strlen(term) < WORD_BYTES)
			rc = take_occurrence(&w, term);
		if (!rc && k % LOOK == 0 && cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))
			rc = sl_error_set(err, SL_CANCELLED, "The server is stopping.");
	}
	if (!rc && step != SQLITE_DONE)
		rc = failed(db, path, err);
	if (!rc && w.word[0])
		rc = end(arg, w.word);
	sqlite3_finalize(w.q);
	sqlite3_close(db);
	return rc;
}

void sl__index_remove(const struct sl_graphs *s, const char *id)
{
	char *path = sl__graphs_path(s, id, "index");
	if (path)
		unlink(path);
	free(path);
}

uint64_t sl__index_bytes(const char *path)
{
	struct stat st;
	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}
