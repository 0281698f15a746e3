/* Counts and shortens labels by characters. Their middle is left out, since names of files or cells differ at the
 * ends. */
#include <string.h>

#include "core/picture/picture_text.h"

int sl__text_next(const char *text)
{
	unsigned char first = (unsigned char)text[0];
	int bytes = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
	if (first >= 0xf5)
		return 1;
	for (int k = 1; k < bytes; k++)
		if (((unsigned char)text[k] & 0xc0) != 0x80)
			return 1;
	return bytes;
}

uint32_t sl__text_code(const char *text)
{
	int bytes = sl__text_next(text);
	unsigned char first = (unsigned char)text[0];
	if (bytes == 1)
		return first < 0x80 ? first : '?';
	uint32_t code = first & (0xffu >> (bytes + 1));
	for (int k = 1; k < bytes; k++)
		code = code << 6 | ((unsigned char)text[k] & 0x3f);
	return code;
}

int sl__text_length(const char *text)
{
	int length = 0;
	for (; *text; text += sl__text_next(text))
		length++;
	return length;
}

static const char *skip(const char *text, int count)
{
	while (count-- > 0 && *text)
		text += sl__text_next(text);
	return text;
}

char *sl__text_fit(const char *text, int max_letters, const char *gap, char out[SL__TEXT_BYTES])
{
	int length = sl__text_length(text), gaps = sl__text_length(gap);
	max_letters = max_letters < 100 ? max_letters : 100;  /* of 4 bytes each */
	int kept = length <= max_letters ? length : max_letters > gaps ? max_letters - gaps : 0, head = (kept + 1) / 2;
	if (length <= max_letters)
		head = length;
	const char *end = skip(text, head), *tail = skip(text, length - (kept - head));
	size_t at = (size_t)(end - text);
	memcpy(out, text, at);
	out[at] = '\0';
	if (length > max_letters && kept)
		strcat(out, gap);
	return strcat(out, length > max_letters ? tail : "");
}
