/* update.h -- the optimisers' update rules, which engines on host and device share.
 *
 * `gradient` is a quarter of the gradient of the KL divergence by a coordinate. All arithmetic is float. */
#ifndef SL_UPDATE_H
#define SL_UPDATE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/both.h"
#include "core/engine/engine.h"

/* A node's learning rate: `learning_rate`, reduced if learning rate * exaggeration * mass would exceed `limit`
 * (INFINITY: never reduced). Gradient descent on a spring of that stiffness diverges above 2. mass: sum_j p_ij. */
#define SL_RATE_LIMIT 2.0f

SL_BOTH float sl_update_rate(float learning_rate, float exaggeration, float mass, float limit)
{
	float most = limit / fmaxf(exaggeration, 1e-3f);
	return learning_rate * mass < most ? learning_rate : most / mass;
}

/* The new gain (Jacobs, Neural Networks 1, 1988; constants of van der Maaten and Hinton, JMLR 9, 2008): it grows by 0.2
 * if the last move went downhill; otherwise it falls by a factor of 0.8, plus `added`, but not below `least`. */
#define SL_GAIN_LEAST 0.01f

SL_BOTH float sl_update_gain(float gain, bool downhill, float least, float added)
{
	float up = gain + 0.2f, down = gain * 0.8f + added;
	return fmaxf(downhill ? up : down, least);
}

/* Whether the last move went downhill: of one coordinate, by signs, as published; or of a node, by the inner product of
 * gradient and velocity, which does not depend on the axes. */
SL_BOTH bool sl_update_downhill(float gradient, float velocity)
{
	return (gradient > 0) != (velocity > 0) || velocity == 0;
}

SL_BOTH bool sl_update_node_downhill(float product)
{
	return product <= 0;  /* from rest, too */
}

SL_BOTH float sl_update_velocity(float rate, float momentum, float gain, float gradient, float velocity)
{
	return momentum * velocity - rate * gain * gradient;
}

/* The factor for a node's velocity that makes no step longer than `longest` (INFINITY: no limit); square: the squared
 * length of the velocity. */
SL_BOTH float sl_update_clip(float square, float longest)
{
	return square > longest * longest ? longest / sqrtf(square) : 1;
}

/* Adam (Kingma and Ba, ICLR 2015). gradient: n times the gradient above, so that its size does not depend on n.
 * correct_mean and correct_square: sl_update_adam_correction(iteration, 0 and 1). Returns the new coordinate. */
SL_BOTH float sl_update_adam(float rate, float correct_mean, float correct_square, float gradient, float y, float *mean,
			     float *square)
{
	float m = 0.9f * *mean + 0.1f * gradient, s = 0.999f * *square + 0.001f * gradient * gradient;
	*mean = m;
	*square = s;
	return y - rate * (m * correct_mean) / (sqrtf(s * correct_square) + 1e-8f);
}

/* The bias correction of Adam's means in step `iteration`, counted from 1; which: 0 the first, 1 the second moment. */
SL_BOTH float sl_update_adam_correction(uint64_t iteration, int which)
{
	return (float)(1 / (1 - pow(which ? 0.999 : 0.9, (double)iteration)));
}

/* The step with the values that zeros stand for. */
static inline struct sl_step sl_step_filled(const struct sl_step *s)
{
	struct sl_step filled = *s;
	if (filled.gain_least == 0)
		filled.gain_least = SL_GAIN_LEAST;
	if (filled.rate_limit == 0)
		filled.rate_limit = SL_RATE_LIMIT;
	if (filled.max_step == 0)
		filled.max_step = INFINITY;
	return filled;
}

#endif
