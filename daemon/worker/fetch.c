/* A file that is wanted goes through these steps: asked (who is it?), then found, or got piece by piece into a file
 * beside its place, which is renamed at the end. One piece of a file is on its way at a time. Several workers may share
 * a cache: each writes to names of its own, and what is renamed is whole. */
#include "daemon/worker/fetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "daemon/util/list.h"
#include "daemon/util/log.h"

#define FILES "files"
#define OLD_S 86400    /* what another worker has left half done for so long is removed */

struct wanted {
	struct sl_link link;
	char *path;
	sl_fetch_fn done;
	void *arg;
	struct wanted *also;           /* another one who wants this file; or NULL */
	char digest[SL_FETCH_DIGEST];
	char local[PATH_MAX], part[PATH_MAX + 32];
	int fd;
	uint64_t size, have;
};

struct sl_fetch {
	struct sl_wire *wire;
	char folder[PATH_MAX - 128];
	uint64_t most;
	struct sl_list wanted;
};

/* ---- the identity of a file --------------------------------------------------------------------------- */

static int identify(int fd, uint64_t *size, char digest[SL_FETCH_DIGEST])
{
	unsigned char header[SL_FETCH_HEADER], hash[32];
	struct stat st;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || pread(fd, header, sizeof header, 0) != sizeof header)
		return SL_IO;
	*size = (uint64_t)st.st_size;
	crypto_generichash(hash, sizeof hash, header, sizeof header, NULL, 0);
	sodium_bin2hex(digest, SL_FETCH_DIGEST, hash, sizeof hash);
	return 0;
}

static bool is_the_file(const char *path, uint64_t size, const char *digest)
{
	char found[SL_FETCH_DIGEST];
	uint64_t bytes;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool same = fd >= 0 && !identify(fd, &bytes, found) && bytes == size && !strcmp(found, digest);
	if (fd >= 0)
		close(fd);
	return same;
}

/* ---- the daemon's side ---------------------------------------------------------------------------------- */

struct sl_wire_message *sl_fetch_answer(const char *path, uint64_t offset, uint64_t bytes)
{
	struct sl_wire_message *m = sl_wire_message_create("file");
	char digest[SL_FETCH_DIGEST];
	struct sl_error err = {0};
	uint64_t size = 0;
	int fd = m ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (!m)
		return NULL;
	if (fd < 0 || identify(fd, &size, digest))
		sl_error_at(&err, SL_IO, path, 0, "the daemon cannot read it: %s",
			    fd < 0 ? strerror(errno) : "it is too short");
	uint64_t left = offset < size ? size - offset : 0;
	bytes = bytes < SL_FETCH_PIECE ? bytes : SL_FETCH_PIECE;
	bytes = bytes < left ? bytes : left;
	void *piece = !err.code && bytes ? malloc(bytes) : NULL;
	if (!err.code && bytes && (!piece || pread(fd, piece, bytes, (off_t)offset) != (ssize_t)bytes))
		sl_error_at(&err, SL_IO, path, 0, "the daemon cannot read it");
	if (fd >= 0)
		close(fd);
	json_object_update_new(m->head, json_pack("{s:s, s:I, s:I}", "file", path, "offset", (json_int_t)offset, "size",
						  (json_int_t)size));
	if (err.code) {
		free(piece);
		json_object_set_new(m->head, "problem", json_string(err.detail));
		return m;
	}
	json_object_set_new(m->head, "digest", json_string(digest));
	sl_wire_put(m, "blob", piece, bytes);
	return m;
}

/* ---- the cache ------------------------------------------------------------------------------------------- */

struct cached {
	char path[PATH_MAX];
	uint64_t bytes;
	struct timespec used;
};

static bool is_older(const struct cached *a, const struct timespec *used)
{
	return used->tv_sec < a->used.tv_sec || (used->tv_sec == a->used.tv_sec && used->tv_nsec < a->used.tv_nsec);
}

/* Sums up the files, and finds the one that was used least recently. */
static uint64_t look(const struct sl_fetch *f, const char *but, struct cached *oldest)
{
	uint64_t sum = 0;
	DIR *dir = opendir(f->folder);
	struct dirent *entry;
	oldest->path[0] = 0;
	while (dir && (entry = readdir(dir))) {
		char path[PATH_MAX];
		struct stat st;
		if (entry->d_name[0] == '.' ||
		    snprintf(path, sizeof path, "%s/%s", f->folder, entry->d_name) >= (int)sizeof path || lstat(path, &st) ||
		    !S_ISREG(st.st_mode))
			continue;
		sum += (uint64_t)st.st_size;
		bool half = strstr(entry->d_name, ".part-");
		if (!strcmp(path, but) || (half && time(NULL) - st.st_mtime < OLD_S) ||
		    (oldest->path[0] && !is_older(oldest, &st.st_mtim)))
			continue;
		snprintf(oldest->path, sizeof oldest->path, "%s", path);
		oldest->used = st.st_mtim;
	}
	if (dir)
		closedir(dir);
	return sum;
}

static void make_room(const struct sl_fetch *f, uint64_t bytes, const char *but)
{
	struct cached oldest;
	while (look(f, but, &oldest) + bytes > f->most && oldest.path[0])
		if (unlink(oldest.path))
			return;
}

bool sl_fetch_forget(struct sl_fetch *f, const char *local)
{
	if (!local || strncmp(local, f->folder, strlen(f->folder)))
		return false;
	sl_log_warning("worker", "%s is damaged; it is got anew", local);
	unlink(local);
	return true;
}

/* ---- the worker's side -------------------------------------------------------------------------------------- */

static void finish(struct sl_fetch *f, struct wanted *w, const char *local, const struct sl_error *err)
{
	sl_list_unlink(&w->link);
	if (w->fd >= 0) {
		close(w->fd);
		unlink(w->part);
	}
	for (struct wanted *next; w; w = next) {
		next = w->also;
		w->done(w->arg, local, err);
		free(w->path);
		free(w);
	}
}

static void fail(struct sl_fetch *f, struct wanted *w, const char *why)
{
	struct sl_error err;
	sl_error_set(&err, SL_IO, "The worker cannot get %s from the daemon: %.300s.", w->path, why);
	finish(f, w, NULL, &err);
}

static void ask(struct sl_fetch *f, const struct wanted *w, uint64_t bytes)
{
	struct sl_wire_message *m = sl_wire_message_create("fetch");
	if (m)
		json_object_update_new(m->head, json_pack("{s:s, s:I, s:I}", "file", w->path, "offset", (json_int_t)w->have,
							  "bytes", (json_int_t)bytes));
	sl_wire_send(f->wire, m);
}

void sl_fetch_get(struct sl_fetch *f, const char *path, sl_fetch_fn done, void *arg)
{
	struct wanted *w = calloc(1, sizeof *w);
	struct sl_error err;
	if (!w || !(w->path = strdup(path))) {
		free(w);
		sl_error_memory(&err, "a file");
		done(arg, NULL, &err);
		return;
	}
	w->fd = -1;
	w->done = done;
	w->arg = arg;
	struct wanted *first = SL_LIST_FIND(struct wanted, o, &f->wanted, link, !strcmp(o->path, path));
	if (first) {
		w->also = first->also;
		first->also = w;
		return;
	}
	sl_list_append(&f->wanted, &w->link);
	ask(f, w, 0);
}

/* The daemon has said which file it is. */
static void begin(struct sl_fetch *f, struct wanted *w)
{
	const char *slash = strrchr(w->path, '/');
	if (is_the_file(w->path, w->size, w->digest)) {
		finish(f, w, w->path, NULL);
		return;
	}
	/* a sealed file is known by its name up to the second dot */
	snprintf(w->local, sizeof w->local, "%s/%s.%.16s", f->folder, slash ? slash + 1 : w->path, w->digest);
	if (is_the_file(w->local, w->size, w->digest)) {
		utimensat(AT_FDCWD, w->local, NULL, 0);
		finish(f, w, w->local, NULL);
		return;
	}
	make_room(f, w->size, w->local);
	snprintf(w->part, sizeof w->part, "%s.part-%ld", w->local, (long)getpid());
	w->fd = open(w->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (w->fd < 0)
		fail(f, w, strerror(errno));
	else
		ask(f, w, SL_FETCH_PIECE);
}

static void take_piece(struct sl_fetch *f, struct wanted *w, struct sl_wire_message *m)
{
	uint64_t bytes = sl_wire_bytes(m, "blob");
	char *piece = sl_wire_take(m, "blob", bytes);
	if (!piece || bytes > w->size - w->have) {
		free(piece);
		fail(f, w, "it has sent another file");
		return;
	}
	bool written = pwrite(w->fd, piece, bytes, (off_t)w->have) == (ssize_t)bytes;
	int why = errno;
	free(piece);
	w->have += bytes;
	if (!written) {
		fail(f, w, strerror(why));
	} else if (w->have < w->size) {
		ask(f, w, SL_FETCH_PIECE);
	} else if (!is_the_file(w->part, w->size, w->digest)) {
		fail(f, w, "it has changed meanwhile");
	} else if (rename(w->part, w->local)) {
		fail(f, w, strerror(errno));
	} else {
		close(w->fd);
		w->fd = -1;
		finish(f, w, w->local, NULL);
	}
}

void sl_fetch_arrived(struct sl_fetch *f, struct sl_wire_message *m)
{
	const char *path = json_string_value(json_object_get(m->head, "file"));
	const char *digest = json_string_value(json_object_get(m->head, "digest"));
	const char *problem = json_string_value(json_object_get(m->head, "problem"));
	uint64_t offset = (uint64_t)json_integer_value(json_object_get(m->head, "offset"));
	json_int_t size = json_integer_value(json_object_get(m->head, "size"));
	struct wanted *w = path ? SL_LIST_FIND(struct wanted, w, &f->wanted, link, !strcmp(w->path, path)) : NULL;
	if (!w)
		return;
	bool first = !w->digest[0];
	if (problem || !digest || strlen(digest) != SL_FETCH_DIGEST - 1 || size < SL_FETCH_HEADER) {
		fail(f, w, problem ? problem : "its answer cannot be used");
	} else if (first) {
		memcpy(w->digest, digest, sizeof w->digest);
		w->size = (uint64_t)size;
		begin(f, w);
	} else if (strcmp(digest, w->digest) || (uint64_t)size != w->size || offset != w->have) {
		fail(f, w, "it has changed meanwhile");
	} else {
		take_piece(f, w, m);
	}
}

struct sl_fetch *sl_fetch_create(struct sl_wire *wire, const char *cache, uint64_t cache_bytes)
{
	struct sl_fetch *f = calloc(1, sizeof *f);
	if (!f)
		return NULL;
	f->wire = wire;
	f->most = cache_bytes;
	snprintf(f->folder, sizeof f->folder, "%s/" FILES, cache);
	if (mkdir(f->folder, 0700) && errno != EEXIST)
		sl_log_warning("worker", "%s: %s", f->folder, strerror(errno));
	return f;
}
