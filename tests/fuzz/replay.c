/* replay.c -- a main() for the fuzzers without libFuzzer: runs every file of the given folders, then mutations of them,
 * which are always the same.
 *
 *   fuzz_mtx ROUNDS FOLDER... */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define FILES_MAX 1024
#define SIZE_MAX_ 65536

static struct {
	uint8_t *bytes;
	size_t size;
} files[FILES_MAX];
static int count;
static uint64_t seed = 20161121;

static uint32_t below(uint32_t bound)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % (bound ? bound : 1));
}

static void load(const char *folder, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	f = fopen(path, "rb");
	if (!f || count == FILES_MAX) {
		fprintf(stderr, "%s cannot be read, or there are too many files\n", path);
		exit(1);
	}
	files[count].bytes = malloc(SIZE_MAX_);
	files[count].size = fread(files[count].bytes, 1, SIZE_MAX_, f);
	count++;
	fclose(f);
}

static int visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* In alphabetical order, so that a run can be repeated. */
static void load_folder(const char *folder)
{
	struct dirent **entry;
	int n = scandir(folder, &entry, visible, alphasort);

	if (n <= 0) {
		fprintf(stderr, "%s holds no file\n", folder);
		exit(1);
	}
	for (int k = 0; k < n; k++) {
		load(folder, entry[k]->d_name);
		free(entry[k]);
	}
	free(entry);
}

/* Copies the input to a block of exactly its size, so that the sanitizer detects every access beyond it. */
static void run(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	memcpy(copy, bytes, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static size_t insert(uint8_t *bytes, size_t size, size_t at, const void *text, size_t length)
{
	if (size + length > SIZE_MAX_)
		return size;
	memmove(bytes + at + length, bytes + at, size - at);
	memcpy(bytes + at, text, length);
	return size + length;
}

static size_t mutate(uint8_t *bytes, size_t size)
{
	static const char *const bits[] = {
		"0", "-1", "1", "\n", "\r\n", "\t", ",", " ", "\"", "\"\"", "%", "#", "nan", "inf", "1e39", "1e-46", "0.5", ".",
				"e",
		"4294967295", "4294967296", "18446744073709551615", "99999999999999999999", "symmetric", "pattern", "(", ")",
				"'",
		"<f8", ">i8", "True", "PK\3\4", "\x93NUMPY", "\x1f\x8b\x08", "\xff\xff\xff\xff", "\xc3\xa4",
	};
	size_t at = below((uint32_t)size + 1), length;
	const char *text;
	int other;

	switch (below(7)) {
	case 0:
		if (size)
			bytes[at % size] ^= (uint8_t)(1u << below(8));
		return size;
	case 1:
		if (size)
			bytes[at % size] = (uint8_t)below(256);
		return size;
	case 2:
		text = bits[below(sizeof bits / sizeof *bits)];
		return insert(bytes, size, at, text, strlen(text));
	case 3:
		length = below((uint32_t)(size - at < 64 ? size - at : 64) + 1);
		memmove(bytes + at, bytes + at + length, size - at - length);
		return size - length;
	case 4:
		return at;
	case 5:
		other = (int)below((uint32_t)count);
		length = below((uint32_t)(files[other].size < 256 ? files[other].size : 256) + 1);
		return insert(bytes, size, at, files[other].bytes + below((uint32_t)(files[other].size - length) + 1), length);
	default:
		text = bits[below(sizeof bits / sizeof *bits)];
		length = strlen(text);
		if (at + length <= size)
			memcpy(bytes + at, text, length);
		return size;
	}
}

int main(int argc, char **argv)
{
	static uint8_t bytes[SIZE_MAX_];
	long rounds = argc > 2 ? strtol(argv[1], NULL, 10) : 0;

	if (argc < 3) {
		fprintf(stderr, "usage: %s ROUNDS FOLDER...\n", argv[0]);
		return 2;
	}
	for (int k = 2; k < argc; k++)
		load_folder(argv[k]);
	for (int k = 0; k < count; k++)
		run(files[k].bytes, files[k].size);
	for (long round = 0; round < rounds; round++) {
		int from = (int)below((uint32_t)count);
		size_t size = files[from].size;

		memcpy(bytes, files[from].bytes, size);
		for (uint32_t k = 1 + below(6); k > 0; k--)
			size = mutate(bytes, size);
		run(bytes, size);
	}
	printf("%d files, %ld mutations\n", count, rounds);
	for (int k = 0; k < count; k++)
		free(files[k].bytes);
	return 0;
}
