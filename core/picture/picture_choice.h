/* picture_choice.h -- chooses the column of labels that colours a layout, unless the user names one. */
#ifndef SL_PICTURE_CHOICE_H
#define SL_PICTURE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

struct sl_picture_column {
	const char *name;
	bool number;           /* numbers, drawn as a scale; else words */
	uint32_t categories;   /* words: number of different ones */
	bool ids;              /* numbers: all different and whole, or all equal */
	bool main;             /* the main labels of an upload: the first of label_column, or as the reader chose */
};

/* Returns the index of the column, or -1 if none colours usefully. Columns that fit: words with 2 to SL_PICTURE_FEW
 * different ones, each for two nodes on average; and numbers, unless they are ids. Of these it takes the main labels of
 * the upload; without those the first with
 * `label`, `class`, `cluster`, `type`, `category`, `target` or `group` in its name, in this order, such as cell_type;
 * else the first of words; else the first of numbers. Words named so may have more than SL_PICTURE_FEW. */
#define SL_PICTURE_FEW 100
int sl_picture_choose(const struct sl_picture_column *column, int count, uint32_t nodes);

#endif
