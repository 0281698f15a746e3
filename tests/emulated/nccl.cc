/* Implements the functions of NCCL that the engine calls, for emulated GPUs: a communicator for each of them, and
 * threads of one process, which wait for each other on the host. Collectives are functions in a stream, so graphs
 * capture them. A rank that does not come makes the others wait, as on a GPU, until the communicators are aborted. */
#include "gpu/group/nccl.h"

#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/emulated/runtime.h"

namespace {

/* What the communicators of one call of CommInitAll share. */
struct clique {
	std::mutex lock;
	std::condition_variable changed;
	int ranks, left, arrived = 0;
	unsigned long turn = 0;
	bool aborted = false;
	std::vector<const void *> from;
	std::vector<size_t> bytes;

	/* False: aborted. */
	bool wait()
	{
		std::unique_lock<std::mutex> l(lock);
		unsigned long mine = turn;
		if (++arrived == ranks) {
			arrived = 0;
			turn++;
			changed.notify_all();
		}
		changed.wait(l, [&] { return aborted || turn != mine; });
		return !aborted;
	}
};

thread_local int depth;
thread_local std::vector<std::function<void()>> grouped;

void when_grouped(const std::function<void()> &what)
{
	if (depth)
		grouped.push_back(what);
	else
		what();
}

} // namespace

struct ncclComm {
	struct clique *clique;
	int rank;
};

static int get_version(int *version)
{
	*version = 22809;
	return SL_NCCL_SUCCESS;
}

static const char *error_string(int) { return "emulated error"; }

static int init_all(sl_nccl_comm *comm, int devices, const int *)
{
	struct clique *c = new clique();
	c->ranks = c->left = devices;
	c->from.resize((size_t)devices);
	c->bytes.resize((size_t)devices);
	for (int r = 0; r < devices; r++)
		comm[r] = new ncclComm{c, r};
	return SL_NCCL_SUCCESS;
}

static int destroy(sl_nccl_comm comm)
{
	bool last;
	{
		std::lock_guard<std::mutex> l(comm->clique->lock);
		last = --comm->clique->left == 0;
	}
	if (last)
		delete comm->clique;
	delete comm;
	return SL_NCCL_SUCCESS;
}

static int abort_all(sl_nccl_comm comm)
{
	std::lock_guard<std::mutex> l(comm->clique->lock);
	comm->clique->aborted = true;
	comm->clique->changed.notify_all();
	return SL_NCCL_SUCCESS;
}

/* Tells the others where this rank's array is, computes with theirs, and keeps the arrays until all have. */
static int together(sl_nccl_comm comm, const void *from, size_t bytes, cudaStream_t stream,
		    const std::function<void(const struct clique &)> &compute, const std::function<void()> &store)
{
	emulated::queue(stream, [=] {
		struct clique *c = comm->clique;
		c->from[(size_t)comm->rank] = from;
		c->bytes[(size_t)comm->rank] = bytes;
		if (!c->wait())
			return;
		for (size_t other : c->bytes)
			if (other != bytes)
				emulated::fail(cudaErrorInvalidValue);  /* the ranks do not do the same */
		compute(*c);
		if (c->wait())
			store();
		c->wait();
	});
	return SL_NCCL_SUCCESS;
}

static int all_reduce(const void *from, void *to, size_t count, int type, int operation, sl_nccl_comm comm,
		      cudaStream_t stream)
{
	if (type != SL_NCCL_UINT64 || operation != SL_NCCL_SUM)
		return 4;
	when_grouped([=] {
		auto sum = std::make_shared<std::vector<uint64_t>>();
		together(comm, from, count * sizeof(uint64_t), stream,
			 [=](const struct clique &c) {
				sum->assign(count, 0);
				for (const void *one : c.from)
					for (size_t i = 0; i < count; i++)
						(*sum)[i] += ((const uint64_t *)one)[i];
			 },
			 [=] { memcpy(to, sum->data(), count * sizeof(uint64_t)); });
	});
	return SL_NCCL_SUCCESS;
}

static int broadcast(const void *from, void *to, size_t count, int type, int root, sl_nccl_comm comm,
		     cudaStream_t stream)
{
	if (type != SL_NCCL_UINT8)
		return 4;
	when_grouped([=] {
		together(comm, from, count, stream,
			 [=](const struct clique &c) {
				if (comm->rank != root)
					memcpy(to, c.from[(size_t)root], count);
			 },
			 [] {});
	});
	return SL_NCCL_SUCCESS;
}

static int group_start(void)
{
	depth++;
	return SL_NCCL_SUCCESS;
}

static int group_end(void)
{
	if (--depth)
		return SL_NCCL_SUCCESS;
	std::vector<std::function<void()>> all;
	all.swap(grouped);
	for (auto &one : all)
		one();
	return SL_NCCL_SUCCESS;
}

int sl__nccl_open(struct sl_nccl *out, struct sl_error *)
{
	*out = {get_version, error_string, init_all, destroy, abort_all, all_reduce, broadcast, group_start, group_end};
	return 0;
}
