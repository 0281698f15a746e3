/* Finds and opens the plug-in. Only the first file that exists is tried: if it cannot be opened, this is an error. */
#include "core/engine/load.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/engine/fault.h"

#define PLUGIN "spaceland-cuda.so"

#ifndef SL_PLUGIN_DIR
#define SL_PLUGIN_DIR "/usr/lib/spaceland"
#endif

#define WORD(name, place, function) name,

const char *const sl_engine_words[] = {SL_ENGINE_AUTO, SL_ENGINES(WORD, WORD) NULL};

#define DECLARE_HERE(function) const struct sl_engine *function(void);
#define DECLARE_IN_PLUGIN(function)
#define DECLARE_ON_SERVERS(function)
#define DECLARE(name, place, function) DECLARE_##place(function)
SL_ENGINES(DECLARE, DECLARE)

#define HERE(function) .here = function
#define IN_PLUGIN(function) .symbol = #function
#define ON_SERVERS(function) .on_servers = true
#define SOURCE(name, place, function) {place(function)},

/* Where the engines of sl_engine_words + 1 come from. */
static const struct source {
	const struct sl_engine *(*here)(void);
	const char *symbol;  /* of the same function in the plug-in */
	bool on_servers;     /* it has no functions of its own */
} sources[] = {SL_ENGINES(SOURCE, SOURCE)};

const char *sl_engine_word(const char *text)
{
	for (const char *const *w = sl_engine_words; text && *w; w++)
		if (!strcmp(*w, text))
			return *w;
	return NULL;
}

struct search {
	char found[PATH_MAX];
	char tried[512];  /* the folders tried so far, for the error */
};

static bool try_folder(struct search *s, const char *folder, size_t length)
{
	if (!length || snprintf(s->found, sizeof s->found, "%.*s/%s", (int)length, folder, PLUGIN) >= (int)sizeof s->found)
		return false;
	if (!access(s->found, R_OK))
		return true;
	size_t used = strlen(s->tried);
	snprintf(s->tried + used, sizeof s->tried - used, "%s%.*s", used ? ", " : "", (int)length < 200 ? (int)length : 200,
		 folder);
	return false;
}

/* Relative to the folder of the program itself. */
static bool try_beside(struct search *s, const char *relative)
{
	char program[PATH_MAX], folder[PATH_MAX + 64], *slash;
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	if (length <= 0)
		return false;
	program[length] = 0;
	slash = strrchr(program, '/');
	if (!slash)
		return false;
	*slash = 0;
	for (; !strncmp(relative, "../", 3) && (slash = strrchr(program, '/')); relative += 3)
		*slash = 0;  /* if nothing is found, the error names the folder */
	int written = snprintf(folder, sizeof folder, "%s/%s", program, relative);
	return written < (int)sizeof folder && try_folder(s, folder, (size_t)written);
}

static bool find_plugin(struct search *s)
{
	const char *list = getenv("SPACELAND_PLUGINS");
	while (list && *list) {
		size_t length = strcspn(list, ":");
		if (try_folder(s, list, length))
			return true;
		list += length + (list[length] == ':');
	}
	return try_beside(s, "../lib/spaceland") || try_beside(s, "../gpu") || try_beside(s, "../../gpu") ||
	       try_folder(s, SL_PLUGIN_DIR, strlen(SL_PLUGIN_DIR));
}

static int load_plugin(struct search *search, void **plugin, struct sl_error *reason)
{
	search->tried[0] = 0;
	if (!find_plugin(search))
		return sl_error_set(reason, SL_NODEVICE, "The CUDA engine's plug-in, %s, is not installed; looked in %s.",
				    PLUGIN, search->tried);
	*plugin = dlopen(search->found, RTLD_NOW | RTLD_LOCAL);
	if (!*plugin)
		return sl_error_set(reason, SL_NODEVICE, "The CUDA engine's plug-in does not open: %s.", dlerror());
	return 0;
}

/* A plug-in of another version lacks the function of an engine. */
static bool is_complete(void *plugin)
{
	for (int i = 0; i < SL_ENGINES_COUNT; i++)
		if (sources[i].symbol && !dlsym(plugin, sources[i].symbol))
			return false;
	return true;
}

/* now: requires a usable device now */
static int open_plugin(const char *symbol, bool now, const struct sl_engine **out, struct sl_error *reason)
{
	struct search search;
	void *plugin;
	const struct sl_engine *(*engine)(void);
	int (*check)(struct sl_error *err);
	int code = load_plugin(&search, &plugin, reason);
	if (code)
		return code;
	*(void **)&engine = dlsym(plugin, symbol);
	*(void **)&check = dlsym(plugin, "sl_engine_cuda_check");
	if (!engine || !check || !is_complete(plugin)) {
		dlclose(plugin);
		return sl_error_set(reason, SL_NODEVICE, "%.400s is not a plug-in of this program.", search.found);
	}
	code = now ? check(reason) : 0;
	if (!code)
		*out = engine();
	return code;
}

/* NULL: there is no such engine; "auto" is that of a GPU. */
static const struct source *source_of(const char *name)
{
	for (int i = 0; i < SL_ENGINES_COUNT; i++)
		if (!strcmp(sl_engine_words[i + 1], strcmp(name, SL_ENGINE_AUTO) ? name : "cuda"))
			return &sources[i];
	return NULL;
}

static int open_by_name(const char *name, bool now, const struct sl_engine **out, struct sl_error *reason)
{
	struct sl_error mine;
	struct sl_error *err = reason ? reason : &mine;
	const struct source *source = source_of(name);
	memset(err, 0, sizeof *err);
	if (!source)
		return sl_error_field(err, SL_BADPARAM, "/engine", "There is no engine \"%.40s\"; it must be "
				      SL_ENGINES_TEXT ".", name);
	if (source->on_servers)
		return sl_error_field(err, SL_NODEVICE, "/engine", "Engine %s computes on a cluster, and only a server has it. "
				      "Submit the job to a server that offers it, or use another engine.", name);
	int code = 0;
	if (source->here)
		*out = source->here();
	else
		code = open_plugin(source->symbol, now, out, err);
	if (!code || strcmp(name, SL_ENGINE_AUTO))
		return code;
	*out = sl_engine_cpu();
	return 0;
}

int sl_engine_open(const char *name, const struct sl_engine **out, struct sl_error *reason)
{
	int code = open_by_name(name, true, out, reason);
	if (!code)
		*out = sl__engine_with_faults(*out, false);
	return code;
}

int sl_engine_load(const char *name, const struct sl_engine **out, struct sl_error *reason)
{
	int code = open_by_name(name, false, out, reason);
	if (!code)
		*out = sl__engine_with_faults(*out, true);
	return code;
}

int sl_engine_devices(const char *name)
{
	struct search search;
	struct sl_error ignored;
	void *plugin;
	int (*count)(void);
	const struct source *source = source_of(name);
	if (source && source->here)
		return 1;
	if (source && source->on_servers)
		return 0;
	if (load_plugin(&search, &plugin, &ignored))
		return 0;
	*(void **)&count = dlsym(plugin, "sl_engine_cuda_count");
	return count ? count() : 1;
}
