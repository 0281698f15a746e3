/* A table is immutable, so nothing here takes a lock. Values are float32 or uint8; rows are widened to float when
 * they are read. */
#include "core/points/points.h"
#include "core/taken/taken.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void free_texts(char **text, uint32_t count)
{
	for (uint32_t k = 0; text && k < count; k++)
		free(text[k]);
	free(text);
}

void sl_more_labels_free(struct sl_more_labels *more, uint32_t count)
{
	for (uint32_t i = 0; more && i < count; i++) {
		free_texts(more[i].label_name, more[i].labels);
		free(more[i].label);
	}
	free(more);
}

void sl_points_destroy(struct sl_points *p)
{
	if (!p)
		return;
	free_texts(p->label_name, p->labels);
	sl_more_labels_free(p->more, p->more_count);
	free(p->label);
	free(p->name_bytes);
	free(p->name_at);
	free(p->user);
	free(p->value);
	free(p->center);
	sl_taken_destroy(p->taken);
	sl_pca_destroy(p->pca);
	free(p);
}

uint64_t sl_points_bytes(const struct sl_points *p)
{
	uint64_t bytes = sizeof *p + (uint64_t)p->n * p->d * (p->type == SL_POINTS_U8 ? 1 : sizeof(float));
	if (p->user)
		bytes += (uint64_t)p->n * sizeof *p->user;
	if (p->name_bytes)
		bytes += p->name_at[p->n_user] + ((uint64_t)p->n_user + 1) * sizeof *p->name_at;
	if (p->label)
		bytes += (uint64_t)p->n_user * sizeof *p->label;
	for (uint32_t k = 0; p->label_name && k < p->labels; k++)
		bytes += sizeof *p->label_name + strlen(p->label_name[k]) + 1;
	if (p->center)
		bytes += p->center_columns * sizeof *p->center;
	if (p->pca)
		bytes += sl_pca_bytes(p->pca);
	return bytes;
}

void sl_points_rows(const struct sl_points *p, uint32_t from, uint32_t count, float *out)
{
	size_t at = (size_t)from * p->d, values = (size_t)count * p->d;
	if (p->type == SL_POINTS_F32) {
		memcpy(out, (const float *)p->value + at, values * sizeof *out);
		return;
	}
	const uint8_t *bytes = (const uint8_t *)p->value + at;
	for (size_t i = 0; i < values; i++)
		out[i] = bytes[i];
}

double sl_square_scale(const float *x, size_t count)
{
	float most = 0;
	int exponent;
#pragma omp parallel for reduction(max : most) schedule(static)
	for (size_t at = 0; at < count; at++) {
		float now = fabsf(x[at]);
		most = now > most ? now : most;
	}
	if (most == 0 || (most > 0x1p-20f && most < 0x1p40f))
		return 1;
	frexpf(most, &exponent);
	return ldexp(1, -exponent);
}

/* The last row moves first, so no row is overwritten before it is read. */
void sl_points_spread(const struct sl_points *p, void *rows, size_t row_bytes, int fill)
{
	char *at = rows;
	for (uint32_t i = p->n, row = p->n_user; row-- > 0;) {
		if (i == 0 || (p->user ? p->user[i - 1] : i - 1) != row)
			memset(at + row * row_bytes, fill, row_bytes);
		else if (--i != row)
			memcpy(at + row * row_bytes, at + i * row_bytes, row_bytes);
	}
}
