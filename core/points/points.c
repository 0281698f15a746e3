#include "core/points/points.h"

#include <stdlib.h>
#include <string.h>

void sl_points_destroy(struct sl_points *p)
{
	if (!p)
		return;
	for (uint32_t k = 0; p->label_name && k < p->labels; k++)
		free(p->label_name[k]);
	free(p->label_name);
	free(p->label);
	free(p->name_bytes);
	free(p->name_at);
	free(p->user);
	free(p->value);
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
