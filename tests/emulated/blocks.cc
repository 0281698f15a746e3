/* Blocks of threads on the CPU.
 *
 * Each thread of a block is a fiber with its own stack. A system thread runs one block after the other. A fiber runs
 * until it waits; then the next fiber that can continue runs, first those of the same warp. So the last fiber that
 * arrives at a barrier opens it. If no fiber can continue, the kernel has a deadlock, which is an error.
 *
 * Each block of a cluster has its own system thread, since the blocks wait for each other.
 *
 * SPACELAND_EMULATED_BACKWARD: the last blocks and threads run first. A missing barrier shows in one of the two orders,
 * unless the same thread runs the code before and after it. */
#include "tests/emulated/blocks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#ifndef __x86_64__
#error "the emulated GPU needs an x86-64 processor"
#endif

#define THREADS_MAX 1024
#define STACK_BYTES (256 << 10)
#define BARRIERS 16

namespace emulated {

thread_local struct thread *self;

/* Marks a place in each thread's storage; shared memory has the same distance from it in all threads. */
static thread_local char anchor;

static const bool backward = getenv("SPACELAND_EMULATED_BACKWARD");

/* ---- fibers ------------------------------------------------------------------------------- */

/* Saves the registers that a function must preserve, and continues where `to` was saved. */
extern "C" void emulated_switch(void **from, void *to);
asm(".text\n"
    ".globl emulated_switch\n"
    ".hidden emulated_switch\n"
    ".type emulated_switch, @function\n"
    "emulated_switch:\n"
    "	pushq %rbp\n	pushq %rbx\n	pushq %r12\n	pushq %r13\n	pushq %r14\n	pushq %r15\n"
    "	movq %rsp, (%rdi)\n	movq %rsi, %rsp\n"
    "	popq %r15\n	popq %r14\n	popq %r13\n	popq %r12\n	popq %rbx\n	popq %rbp\n"
    "	ret\n"
    ".size emulated_switch, . - emulated_switch\n");

struct barrier {
	uint32_t generation;
	unsigned arrived, wanted;
	int any[2];
};

struct cluster;

/* The state of one system thread that runs blocks. */
struct stage {
	struct block block;
	std::vector<struct thread> threads;
	std::vector<struct warp> warps;
	struct barrier barriers[BARRIERS];
	uint32_t cluster_generation;
	unsigned cluster_arrived;
	unsigned alive;
	struct cluster *cluster;
	const std::function<void()> *body;
	void *home;      /* where the stage continues */
	char *stacks;
	std::vector<char> memory;
};

struct cluster {
	pthread_barrier_t barrier;
	std::vector<struct stage *> member;
	std::vector<char *> anchor;
};

static thread_local struct stage *stage;

static const char *name_of(operation what)
{
	static const char *const names[] = {"nothing", "__syncwarp", "a shuffle", "a vote", "a reduction", "ldmatrix",
					    "mma"};
	return names[what];
}

/* Reports a bug of the kernel; a debugger shows where each thread is. */
[[noreturn]] static void astray(const char *what)
{
	const struct block *b = &stage->block;
	fprintf(stderr, "emulated GPU: block %u,%u,%u: %s\n", b->index.x, b->index.y, b->index.z, what);
	abort();
}

static bool can_go_on(const struct thread *t)
{
	return !t->done && (!t->wait || *t->wait != t->value);
}

static struct thread *first_of(struct thread *from, struct thread *to)
{
	for (; !backward && from < to; from++)
		if (can_go_on(from))
			return from;
	while (backward && to > from)
		if (can_go_on(--to))
			return to;
	return NULL;
}

/* The next thread that can continue, of its own warp or of another. */
static struct thread *next_thread(struct thread *mine)
{
	struct thread *all = stage->threads.data(), *end = all + stage->threads.size(), *next;
	struct thread *warp = all + (mine->number & ~31u), *warp_end = end - warp < 32 ? end : warp + 32;
	struct thread *ahead = mine + !backward;  /* in this warp or after it */
	if ((next = backward ? first_of(warp, ahead) : first_of(ahead, warp_end)) ||
	    (next = backward ? first_of(ahead, warp_end) : first_of(warp, ahead)) ||
	    (next = backward ? first_of(all, warp) : first_of(warp_end, end)))
		return next;
	return backward ? first_of(warp_end, end) : first_of(all, warp);
}

static void give_way(void)
{
	struct thread *mine = self, *next = next_thread(mine);
	if (!next && stage->alive)
		astray("its threads wait for threads that do not come");
	if (next == mine)
		return;
	self = next;
	emulated_switch(&mine->stack, next ? next->stack : stage->home);
}

static void wait_for(const uint32_t *generation, uint32_t value)
{
	self->wait = generation;
	self->value = value;
	give_way();
	self->wait = NULL;
}

/* ---- barriers ------------------------------------------------------------------------------- */

static void open_if_all_came(struct barrier *b)
{
	if (!b->arrived || b->arrived < (b->wanted ? b->wanted : stage->alive))
		return;
	b->arrived = 0;
	b->any[(b->generation + 1) % 2] = 0;
	b->generation++;
}

static struct barrier *arrive(int id, unsigned threads, int x)
{
	struct barrier *b = &stage->barriers[id];
	if (b->arrived && b->wanted != threads)
		astray("threads at one barrier wait for different numbers of them");
	b->wanted = threads;
	b->arrived++;
	b->any[b->generation % 2] |= x;
	open_if_all_came(b);
	return b;
}

void block_arrive(int id, unsigned threads)
{
	arrive(id, threads, 0);
}

int block_barrier(int id, unsigned threads, int x)
{
	uint32_t generation = stage->barriers[id].generation;
	struct barrier *b = arrive(id, threads, x);
	if (b->generation == generation)
		wait_for(&b->generation, generation);
	return b->any[generation % 2];
}

static void warp_open_if_all_came(struct warp *w)
{
	uint32_t needed = w->mask & w->alive;
	if (!w->arrived || (w->arrived & needed) != needed)
		return;
	w->came[w->generation % 2] = w->arrived;
	w->arrived = 0;
	w->generation++;
}

const char *warp_exchange(operation what, unsigned mask, const void *mine, size_t bytes, uint32_t *came)
{
	struct thread *t = self;
	struct warp *w = t->warp;
	uint32_t generation = w->generation, bit = 1u << t->number % 32;
	char *slots = w->slot[generation % 2];
	if (w->arrived && (w->what != what || w->mask != mask)) {
		char text[160];
		snprintf(text, sizeof text, "lanes of warp %u meet at %s (mask %08x) and %s (%08x)", t->number / 32,
			 name_of(w->what), w->mask, name_of(what), mask);
		astray(text);
	}
	if (!(mask & bit))
		astray("a lane is not in the mask of what it calls");
	if (!w->arrived && ~w->alive & mask)
		memset(slots, 0xff, sizeof w->slot[0]);  /* ended lanes have no number */
	w->what = what;
	w->mask = mask;
	w->arrived |= bit;
	if (bytes)
		memcpy(slots + LANE_BYTES * (t->number % 32), mine, bytes);
	warp_open_if_all_came(w);
	if (w->generation == generation)
		wait_for(&w->generation, generation);
	if (came)
		*came = w->came[generation % 2];
	return slots;
}

void cluster_barrier()
{
	struct stage *s = stage;
	uint32_t generation = s->cluster_generation;
	if (++s->cluster_arrived < s->alive) {
		wait_for(&s->cluster_generation, generation);
		return;
	}
	s->cluster_arrived = 0;
	pthread_barrier_wait(&s->cluster->barrier);
	s->cluster_generation++;
}

void *cluster_memory(void *mine, unsigned rank)
{
	const struct stage *s = stage, *other = s->cluster->member[rank];
	char *at = (char *)mine, *memory = s->block.memory;
	if (at >= memory && at < memory + s->memory.size())
		return other->block.memory + (at - memory);
	return s->cluster->anchor[rank] + (at - &anchor);
}

/* ---- blocks ----------------------------------------------------------------------------------- */

/* The function of a fiber: runs the body, then gives control to others for ever. */
static void begin(void)
{
	(*stage->body)();
	struct stage *s = stage;
	struct thread *t = self;
	t->done = true;
	s->alive--;
	t->warp->alive &= ~(1u << t->number % 32);
	warp_open_if_all_came(t->warp);
	for (int i = 0; i < BARRIERS; i++)
		if (!s->barriers[i].wanted)
			open_if_all_came(&s->barriers[i]);
	give_way();
	abort();
}

static void stage_open(struct stage *s)
{
	if (s->stacks)
		return;
	void *stacks = mmap(NULL, (size_t)THREADS_MAX * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stacks == MAP_FAILED) {
		perror("emulated GPU: stacks");
		abort();
	}
	s->stacks = (char *)stacks;
}

static uint3 place_of(uint64_t number, dim3 size)
{
	return {(unsigned)(number % size.x), (unsigned)(number / size.x % size.y), (unsigned)(number / size.x / size.y)};
}

/* The calling thread's stage, set up for block `number`. */
static void stage_set(struct stage *s, const struct shape &shape, uint64_t number, const std::function<void()> &body)
{
	unsigned count = shape.threads.x * shape.threads.y * shape.threads.z;
	stage_open(s);
	s->body = &body;
	s->memory.resize(shape.shared + 256);
	s->block = {place_of(number, shape.blocks), shape.threads, shape.blocks,
		    (char *)(((uintptr_t)s->memory.data() + 127) / 128 * 128), (unsigned)(number % shape.cluster),
		    shape.cluster};
	memset(s->block.memory, 0xff, shape.shared);
	memset(s->barriers, 0, sizeof s->barriers);
	s->cluster_arrived = 0;
	s->threads.assign(count, {});
	s->warps.resize((count + 31) / 32);
	s->alive = count;
	for (unsigned w = 0; w < s->warps.size(); w++) {
		unsigned lanes = count - 32 * w < 32 ? count - 32 * w : 32;
		s->warps[w].arrived = 0;
		s->warps[w].alive = lanes == 32 ? ~0u : (1u << lanes) - 1;
	}
	for (unsigned i = 0; i < count; i++) {
		struct thread *t = &s->threads[i];
		t->number = i;
		t->index = place_of(i, shape.threads);
		t->block = &s->block;
		t->warp = &s->warps[i / 32];
		void **top = (void **)(s->stacks + (size_t)(i + 1) * STACK_BYTES);
		top[-2] = (void *)begin;  /* entered as by a call, so the stack is 8 bytes off a multiple of 16 */
		t->stack = top - 8;
	}
}

static void stage_run(struct stage *s)
{
	stage = s;
	self = backward ? &s->threads.back() : &s->threads.front();
	emulated_switch(&s->home, self->stack);
	stage = NULL;
}

/* ---- threads of the system -------------------------------------------------------------------- */

struct crew {
	std::mutex lock;
	std::condition_variable more, less;
	std::vector<std::thread> hands;
	const std::function<void(unsigned)> *job = NULL;
	uint64_t turn = 0;
	unsigned wanted = 0, busy = 0;

	void work(unsigned number, uint64_t seen)
	{
		std::unique_lock<std::mutex> l(lock);
		for (;;) {
			more.wait(l, [&] { return turn != seen; });
			seen = turn;
			if (number >= wanted)
				continue;
			const std::function<void(unsigned)> *mine = job;
			l.unlock();
			(*mine)(number);
			l.lock();
			if (!--busy)
				less.notify_all();
		}
	}

	/* Runs what(0 .. count - 1) in parallel, the first by the caller. */
	void together(unsigned count, const std::function<void(unsigned)> &what)
	{
		std::unique_lock<std::mutex> l(lock);
		while (hands.size() + 1 < count) {
			unsigned number = (unsigned)hands.size() + 1;
			hands.emplace_back([this, number, seen = turn] { work(number, seen); });
			hands.back().detach();
		}
		job = &what;
		wanted = count;
		busy = count - 1;
		turn++;
		if (busy)
			more.notify_all();
		l.unlock();
		what(0);
		l.lock();
		less.wait(l, [&] { return !busy; });
	}
};

static struct stage *own_stage(void)
{
	static thread_local struct stage *own;
	if (!own)
		own = new struct stage();
	return own;
}

static void
run_clusters(struct crew *crew, const struct shape &shape, uint64_t blocks, const std::function<void()> &body)
{
	for (uint64_t first = 0; first < blocks; first += shape.cluster) {
		struct cluster c;
		pthread_barrier_init(&c.barrier, NULL, shape.cluster);
		c.member.resize(shape.cluster);
		c.anchor.resize(shape.cluster);
		crew->together(shape.cluster, [&](unsigned rank) {
			struct stage *s = own_stage();
			stage_set(s, shape, first + rank, body);
			s->cluster = &c;
			c.member[rank] = s;
			c.anchor[rank] = &anchor;
			pthread_barrier_wait(&c.barrier);
			stage_run(s);
		});
		pthread_barrier_destroy(&c.barrier);
	}
}

void run(const struct shape &shape, const std::function<void()> &body)
{
	static std::mutex one;  /* one kernel at a time */
	static struct crew *crew = new struct crew();
	std::lock_guard<std::mutex> l(one);
	uint64_t blocks = (uint64_t)shape.blocks.x * shape.blocks.y * shape.blocks.z;
	unsigned cores = std::thread::hardware_concurrency();
	if (shape.cluster > 1) {
		run_clusters(crew, shape, blocks, body);
		return;
	}
	std::atomic<uint64_t> next{0};
	crew->together(blocks < cores ? (unsigned)blocks : cores, [&](unsigned) {
		struct stage *s = own_stage();
		struct cluster alone;
		alone.member = {s};
		alone.anchor = {&anchor};
		pthread_barrier_init(&alone.barrier, NULL, 1);
		for (uint64_t i; (i = next.fetch_add(1)) < blocks;) {
			stage_set(s, shape, backward ? blocks - 1 - i : i, body);
			s->cluster = &alone;
			stage_run(s);
		}
		pthread_barrier_destroy(&alone.barrier);
	});
}

} // namespace emulated
