/* Lays out the device memory of a search in one block. If all columns and rows do not fit, it takes fewer rows at a
 * time; if that does not suffice, the columns come in blocks, too. More rows at a time mean fewer uploads of the blocks
 * of columns; larger blocks mean that the lists of a row are started less often. A block of columns gets a third of the
 * memory. */
#include "gpu/neighbours/exact/exact.h"

#define ROWS_LEAST (16 * SL_ROWS)
#define BLOCK_SHARE 3         /* a third of the memory is for a block of columns: raw and in two precisions */

void sl__carve_side(char **at, struct sl_side *side, uint32_t count, uint64_t row_bytes)
{
	side->count = count;
	side->value = sl__carve(at, count * row_bytes);
	side->index = sl__carve(at, count * 4ull);
	side->bias = sl__carve(at, count * 4ull);
	side->norm = sl__carve(at, count * 8ull);
}

uint64_t sl__side_row(const struct sl_search *s, enum sl_precision precision)
{
	return (uint64_t)sl__search_width(s->points->d, precision) * (precision == SL_FULL ? 4 : 2);
}

#define CODED_ROW 128  /* bytes: coded columns are scanned 64 half-precision numbers at a time */

/* The largest bytes of a row of a side, over all precisions that a search may use. */
static uint64_t finest_row(const struct sl_search *s)
{
	uint64_t split = sl__side_row(s, SL_SPLIT), full = sl__side_row(s, SL_FULL);
	uint64_t most = s->precision == SL_FULL || full > split ? full : split;
	return most > CODED_ROW ? most : CODED_ROW;
}

uint64_t sl__search_lay_out(struct sl_search *s, char *memory)
{
	char *at = memory;
	uint64_t d = s->points->d, k = s->k;
	bool apart = s->block < s->points->n;
	s->frame.sum = sl__carve(&at, d * 8);
	s->frame.mean = sl__carve(&at, d * 4);
	s->frame.largest = sl__carve(&at, 4);
	s->frame.scale = sl__carve(&at, 4);
	s->frame.worst = sl__carve(&at, 16);
	s->note = sl__carve(&at, 8);
	s->part = sl__carve(&at, SL_FRAME_PARTS * d * 8);
	s->raw = sl__carve(&at, s->block * s->row_bytes);
	s->inverse = sl__carve(&at, s->block * 4ull);
	sl__carve_side(&at, &s->side, sl__round_up(s->block, SL_TILE), sl__side_row(s, s->precision));
	s->raw_rows = sl__carve(&at, apart ? s->batch * s->row_bytes : 0);
	s->inverse_rows = sl__carve(&at, apart ? s->batch * 4ull : 0);
	sl__carve_side(&at, &s->rows, s->batch, finest_row(s));
	s->lists.entry = sl__carve(&at, (uint64_t)s->batch * s->capacity * sizeof *s->lists.entry);
	s->lists.count = sl__carve(&at, s->batch * 4ull);
	s->lists.bound = sl__carve(&at, s->batch * sizeof *s->lists.bound);
	s->lists.again = sl__carve(&at, s->batch * 4ull);
	for (int i = 0; i < 2; i++) {
		s->index[i] = sl__carve(&at, s->batch * k * 4);
		s->distance[i] = sl__carve(&at, s->batch * k * 4);
	}
	s->doubtful = sl__carve(&at, s->batch * 4ull);
	return (uint64_t)(at - memory);
}

static bool fits(const struct sl_search *s)
{
	struct sl_search trial = *s;
	uint64_t fine = s->precision == SL_HALF ? finest_row(s) + 20 : 0;
	return sl__search_lay_out(&trial, NULL) + sl__round_up(s->block, SL_TILE) * fine <= s->budget;
}

/* Takes as many rows at a time as memory allows. False if even the least number does not fit. */
static bool most_rows(struct sl_search *s)
{
	s->batch = sl__round_up(s->points->n < SL_BATCH ? s->points->n : SL_BATCH, SL_ROWS);
	while (!fits(s)) {
		if (s->batch <= ROWS_LEAST)
			return false;
		s->batch = sl__round_up(s->batch / 2, SL_ROWS);
	}
	return true;
}

int sl__search_plan(struct sl_search *s, struct sl_error *err)
{
	s->block = s->points->n;
	if (most_rows(s))
		return 0;
	uint64_t column = s->row_bytes + sl__side_row(s, s->precision) + finest_row(s) + 44;
	uint64_t block = s->budget / BLOCK_SHARE / column;
	if (block < s->block)
		s->block = block < 16 * SL_TILE ? 16 * SL_TILE : (uint32_t)(block / SL_TILE * SL_TILE);
	while (!most_rows(s)) {
		if (s->block <= 16 * SL_TILE)
			return sl_error_set(err, SL_DEVMEM, "Neighbours of points of %u columns need at least %llu bytes of GPU "
					    "memory; %llu are free.", s->points->d,
					    (unsigned long long)sl__search_lay_out(s, NULL), (unsigned long long)s->budget);
		s->block = sl__round_up(s->block / 2, SL_TILE);
	}
	return 0;
}

int sl__search_reserve(struct sl_search *s, struct sl_error *err)
{
	int code = 0;
	SL_CUDA(cudaMallocAsync((void **)&s->memory, sl__search_lay_out(s, NULL), s->stream));
	sl__search_lay_out(s, s->memory);
	s->lists.any = s->note + 1;
out:
	return code;
}

void sl__search_release(struct sl_search *s)
{
	if (s->fine)
		cudaFreeAsync(s->fine, s->stream);
	if (s->memory)
		cudaFreeAsync(s->memory, s->stream);
	s->fine = s->memory = NULL;
}

void sl__search_free(struct sl_search *s, struct sl_held *held)
{
	while (held->count)
		cudaFreeAsync(held->block[--held->count], s->stream);
}

int sl__search_take(struct sl_search *s, struct sl_held *held, const struct sl_array *arrays, size_t count,
		    struct sl_error *err)
{
	int code = 0;
	for (size_t i = 0; i < count; i++) {
		void *memory = NULL;
		SL_CUDA(cudaMallocAsync(&memory, arrays[i].bytes ? arrays[i].bytes : 1, s->stream));
		*(void **)arrays[i].at = held->block[held->count++] = memory;
	}
out:
	return code;
}

/* A list has room for four times the entries that it keeps, since the number of new entries of a round varies. */
void sl__search_size_lists(struct sl_search *s, uint32_t columns)
{
	uint32_t positions = sl__round_up(columns, SL_TILE), slack = s->k / 4 > 24 ? s->k / 4 : 24;
	s->lists.keep = s->k + slack < positions ? s->k + slack : positions;
	s->lists.capacity = sl__round_up(4 * s->lists.keep < 384 ? 384 : 4 * s->lists.keep, SL_TILE);
	if (s->lists.capacity > s->list_most)
		s->lists.capacity = s->list_most;
	if (s->lists.capacity > positions)
		s->lists.capacity = positions;
}
