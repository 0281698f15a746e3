/* Each kind of file has a magic number, or the header of .npy, and a seal. Files are written under another name and
 * renamed (store/atomic.h); a job's record is in the seals of those from which --repair-state can make it again. */
#include "daemon/files/job_files.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/formats/numpy/npy.h"
#include "daemon/store/atomic.h"
#include "daemon/store/seal.h"

#define MAGIC_TRACE 0x31637274534c5053ull       /* "SPLStrc1" */
#define MAGIC_CHECKPOINT 0x31706b63534c5053ull  /* "SPLSckp1" */

struct header {
	uint64_t magic;
	uint64_t bytes;              /* that follow */
	uint64_t item_bytes;         /* size of one trace point, so that another version's is recognised */
};

static const char *const own_kinds[] = {"npy", "trace", "initial", "start", "checkpoint", "still", "png"};
#define OWN_KINDS (int)(sizeof own_kinds / sizeof *own_kinds)
#define KINDS_MOST 64

static const char *kinds[KINDS_MOST + 1];
static pthread_once_t kinds_once = PTHREAD_ONCE_INIT;

static void list_kinds(void)
{
	const struct sl_method_output *output[KINDS_MOST - OWN_KINDS];
	int count = sl_method_outputs(output, KINDS_MOST - OWN_KINDS);
	memcpy(kinds, own_kinds, sizeof own_kinds);
	for (int i = 0; i < count; i++)
		kinds[OWN_KINDS + i] = output[i]->name;
}

const char *const *sl_job_file_kinds(void)
{
	pthread_once(&kinds_once, list_kinds);
	return kinds;
}

bool sl_job_file_is_result(const char *kind)
{
	int i = 0;
	while (sl_methods[i] && !(sl_methods[i]->results[0].name && !strcmp(sl_methods[i]->results[0].name, kind)))
		i++;
	return sl_methods[i] || !strcmp(kind, "npy");
}

const char *const sl_job_file_transient[] = {"initial", "start", "checkpoint", "still", NULL};

char *sl_job_file_path(const char *folder, const char *id, const char *kind)
{
	char *path;
	return asprintf(&path, "%s/%s.%s", folder, id, kind) < 0 ? NULL : path;
}

static int no_path(struct sl_error *err)
{
	return sl_error_memory(err, "a file name");
}

/* ---- writing -------------------------------------------------------------------------- */

int sl_job_file_write(const char *folder, const char *id, const char *kind, const void *head, size_t head_bytes,
		      const void *body, size_t body_bytes, const char *record, bool safe, struct sl_error *err)
{
	struct sl_array parts[4] = {{(void *)head, head_bytes}, {(void *)body, body_bytes}};
	struct sl_seal seal;
	char *path = sl_job_file_path(folder, id, kind);
	if (!path)
		return no_path(err);
	sl_seal_parts(&seal, path, parts, 2, record);
	int rc = sl_atomic_replace(path, parts, 4, 0640, safe, err);
	free(path);
	return rc;
}

static struct header header_of(uint64_t magic, uint64_t item_bytes, size_t bytes)
{
	return (struct header){.magic = magic, .bytes = bytes, .item_bytes = item_bytes};
}

int sl_job_file_write_layout(const char *folder, const char *id, const char *kind, const float *y, uint32_t n,
			     int dims, const char *record, struct sl_error *err)
{
	char npy[SL_NPY_HEADER_BYTES];
	sl_npy_header(npy, n, (uint64_t)dims);
	return sl_job_file_write(folder, id, kind, npy, sizeof npy, y, (size_t)n * (size_t)dims * sizeof *y, record, true,
				 err);
}

static int write_trace(const char *folder, const char *id, const struct sl_trace_point *trace, int count,
		       struct sl_error *err)
{
	size_t bytes = (size_t)count * sizeof *trace;
	struct header h = header_of(MAGIC_TRACE, sizeof *trace, bytes);
	return sl_job_file_write(folder, id, "trace", &h, sizeof h, trace, bytes, NULL, true, err);
}

int sl_job_file_write_result(const char *folder, const char *id, const float *y, uint32_t n, int dims,
			     const struct sl_trace_point *trace, int count, const char *record, struct sl_error *err)
{
	int code = write_trace(folder, id, trace, count, err);
	return code ? code : sl_job_file_write_layout(folder, id, "npy", y, n, dims, record, err);
}

/* Writes the first array last: its seal contains the record, so all other files exist if the record does. */
int sl_job_file_write_arrays(const char *folder, const char *id, const struct sl_method_result *result,
			     const struct sl_trace_point *trace, int count, const char *record, struct sl_error *err)
{
	int code = write_trace(folder, id, trace, count, err);
	for (int i = result->count - 1; i >= 0 && !code; i--) {
		const struct sl_method_array *a = &result->array[i];
		static const char *const types[] = {"<f4", "<i4", "<f8"};
		char npy[SL_NPY_HEADER_BYTES];
		sl_npy_header_of(npy, types[a->type], a->shape);
		code = sl_job_file_write(folder, id, a->name, npy, sizeof npy, a->data, sl_method_array_bytes(a),
					 i ? NULL : record, true, err);
	}
	return code;
}

int sl_job_file_write_checkpoint(const char *folder, const char *id, const void *blob, uint64_t bytes,
				 const char *record, struct sl_error *err)
{
	struct header h = header_of(MAGIC_CHECKPOINT, 1, bytes);
	return sl_job_file_write(folder, id, "checkpoint", &h, sizeof h, blob, bytes, record, true, err);
}

/* ---- reading -------------------------------------------------------------------------- */

/* Reads a file without its seal, [*bytes + 1], malloc'd. */
static int read_file(const char *path, unsigned char **out, size_t *bytes, struct sl_error *err)
{
	struct sl_seal seal;
	unsigned char *data = NULL, digest[SL_DIGEST_BYTES];
	int fd = sl_file_open(path);
	int code = fd < 0 ? sl_atomic_error(path, "read", errno, err) : sl_seal_read(fd, path, &seal, NULL, err);
	if (code)
		goto out;
	size_t size = (size_t)seal.content_bytes;
	if (!(data = malloc(size + 1)))
		code = sl_error_memory(err, "%s", path);
	else if (sl__read_at(fd, data, size, 0))
		code = sl_seal_damaged(path, "it cannot be read to its end", err);
	if (!code) {
		sl_digest_arrays(&(struct sl_array){data, size}, 1, digest);
		if (memcmp(digest, seal.content, sizeof digest))
			code = sl_seal_damaged(path, "its content does not match the digest", err);
	}
	if (code)
		goto out;
	*out = data;
	*bytes = size;
	data = NULL;
out:
	free(data);
	if (fd >= 0)
		close(fd);
	return code;
}

int sl_job_file_read(const char *folder, const char *id, const char *kind, void **out, size_t *bytes,
		     struct sl_error *err)
{
	char *path = sl_job_file_path(folder, id, kind);
	unsigned char *data = NULL;
	int code = path ? read_file(path, &data, bytes, err) : no_path(err);
	if (!code)
		*out = data;
	free(path);
	return code;
}

int sl_job_file_bytes(const char *folder, const char *id, const char *kind, size_t *bytes, struct sl_error *err)
{
	char *path = sl_job_file_path(folder, id, kind);
	struct stat st;
	int code = !path ? no_path(err) : stat(path, &st) ? sl_atomic_error(path, "read", errno, err) : 0;
	if (!code)
		*bytes = (size_t)st.st_size;
	free(path);
	return code;
}

int sl_job_file_open(const char *folder, const char *id, const char *kind, int *fd, uint64_t *bytes,
		     struct sl_error *err)
{
	char *path = sl_job_file_path(folder, id, kind);
	struct sl_seal seal;
	int code = path ? 0 : no_path(err);
	*fd = path ? sl_file_open(path) : -1;
	if (!code && *fd < 0)
		code = sl_atomic_error(path, "read", errno, err);
	if (!code)
		code = sl_seal_read(*fd, path, &seal, NULL, err);
	if (!code)
		code = sl_seal_check(*fd, path, &seal, err);
	if (!code)
		*bytes = seal.content_bytes;
	if (code && *fd >= 0) {
		close(*fd);
		*fd = -1;
	}
	free(path);
	return code;
}

/* Returns true if the file begins with the header of a layout of n points. */
static bool layout_header(const void *data, uint32_t n, int dims)
{
	char npy[SL_NPY_HEADER_BYTES];
	sl_npy_header(npy, n, (uint64_t)dims);
	return !memcmp(data, npy, sizeof npy);
}

static int not_the_layout(const char *path, uint32_t n, int dims, struct sl_error *err)
{
	char how[96];
	snprintf(how, sizeof how, "it is not a layout of %u nodes in %d dimensions", n, dims);
	return sl_seal_damaged(path, how, err);
}

int sl_job_file_read_layout(const char *folder, const char *id, const char *kind, uint32_t n, int dims, float **y,
			    struct sl_error *err)
{
	char *path = sl_job_file_path(folder, id, kind);
	unsigned char *data = NULL;
	size_t bytes, due = (size_t)n * (size_t)dims * sizeof **y;
	if (!path)
		return no_path(err);
	int code = read_file(path, &data, &bytes, err);
	if (!code && (bytes != SL_NPY_HEADER_BYTES + due || !layout_header(data, n, dims))) {
		code = not_the_layout(path, n, dims, err);
		free(data);
	}
	free(path);
	if (code)
		return code;
	memmove(data, data + SL_NPY_HEADER_BYTES, due);
	*y = (float *)(void *)data;
	return 0;
}

int sl_job_file_check_layout(int fd, const char *path, uint32_t n, int dims, struct sl_error *err)
{
	uint64_t due = SL_NPY_HEADER_BYTES + (uint64_t)n * (uint64_t)dims * sizeof(float);
	char head[SL_NPY_HEADER_BYTES];
	struct sl_seal seal;
	int rc = sl_seal_read(fd, path, &seal, NULL, err);
	if (rc)
		return rc;
	if (seal.content_bytes != due || sl__read_at(fd, head, sizeof head, 0) || !layout_header(head, n, dims))
		return not_the_layout(path, n, dims, err);
	return sl_seal_check(fd, path, &seal, err);
}

/* Reads and checks a file with a header; moves the content after the header to the start. */
static int read_checked(const char *folder, const char *id, const char *kind, uint64_t magic, uint64_t item_bytes,
			unsigned char **out, size_t *bytes, struct sl_error *err)
{
	char *path = sl_job_file_path(folder, id, kind);
	struct header h;
	unsigned char *data = NULL;
	if (!path)
		return no_path(err);
	int code = read_file(path, &data, bytes, err);
	if (code)
		goto out;
	bool fine = *bytes >= sizeof h;
	if (fine) {
		memcpy(&h, data, sizeof h);
		*bytes -= sizeof h;
		fine = h.magic == magic && h.item_bytes == item_bytes && h.bytes == *bytes;
	}
	if (fine) {
		memmove(data, data + sizeof h, *bytes);
		*out = data;
	} else {
		free(data);
		code = sl_seal_damaged(path, "its header does not match its content, or is of another version", err);
	}
out:
	free(path);
	return code;
}

int sl_job_file_read_trace(const char *folder, const char *id, struct sl_trace_point **trace, int *count,
			   struct sl_error *err)
{
	unsigned char *data = NULL;
	size_t bytes;
	int code = read_checked(folder, id, "trace", MAGIC_TRACE, sizeof **trace, &data, &bytes, err);
	if (code)
		return code;
	*trace = (struct sl_trace_point *)(void *)data;
	*count = (int)(bytes / sizeof **trace);
	return 0;
}

int sl_job_file_read_checkpoint(const char *folder, const char *id, void **blob, uint64_t *bytes, struct sl_error *err)
{
	unsigned char *data = NULL;
	size_t size;
	int code = read_checked(folder, id, "checkpoint", MAGIC_CHECKPOINT, 1, &data, &size, err);
	if (code)
		return code;
	*blob = data;
	*bytes = size;
	return 0;
}

int sl_job_file_write_start(const char *folder, const char *id, const double *value, uint32_t n, int d,
			    struct sl_error *err)
{
	char head[SL_NPY_HEADER_BYTES];
	sl_npy_header_of(head, "<f8", (const uint32_t[3]){n, (uint32_t)d});
	return sl_job_file_write(folder, id, "start", head, sizeof head, value, (size_t)n * (size_t)d * sizeof *value, NULL,
				 true, err);
}

int sl_job_file_read_start(const char *folder, const char *id, uint32_t n, int d, double **value, struct sl_error *err)
{
	size_t values = (size_t)n * (size_t)d, bytes;
	uint32_t shape[3];
	char type[4] = "";
	void *file;
	int code = sl_job_file_read(folder, id, "start", &file, &bytes, err);
	if (code)
		return code;
	bool fine = bytes == SL_NPY_HEADER_BYTES + values * sizeof **value && sl_npy_header_read(file, type, shape) &&
		    !strcmp(type, "<f8");
	*value = fine ? malloc((values + 1) * sizeof **value) : NULL;
	if (*value)
		memcpy(*value, (const char *)file + SL_NPY_HEADER_BYTES, values * sizeof **value);
	free(file);
	if (!fine)
		return sl_error_set(err, SL_IO, "The start of job %s does not have %u rows of %d numbers.", id, n, d);
	return *value ? 0 : sl_error_memory(err, "a start of %u rows", n);
}

void sl_job_file_remove(const char *folder, const char *id, const char *const *kinds)
{
	for (; *kinds; kinds++) {
		char *path = sl_job_file_path(folder, id, *kinds);
		if (path)
			unlink(path);
		free(path);
	}
}
