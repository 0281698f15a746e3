/* Prints sl_params_table as JSON, for the tests that compare it with proto/openapi.yaml. */
#include <stdio.h>

#include "core/params.h"

static void text(const char *s)
{
	if (!s) {
		printf("null");
		return;
	}
	putchar('"');
	for (; *s; s++)
		printf(*s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
	putchar('"');
}

static void one(const struct sl_params *defaults, const struct sl_param_info *info)
{
	static const char *const types[] = {"bool", "int", "uint64", "double", "enum", "list"};
	char value[SL_PARAM_TEXT_BYTES];
	sl_params_text(defaults, info, value);
	double number;
	bool automatic = sl_params_number(defaults, info, &number);
	printf("{\"name\": \"%s\", \"type\": \"%s\", \"min\": %.17g, \"max\": %.17g, \"steerable\": %s, ", info->name,
	       types[info->type], info->min, info->max, info->steerable ? "true" : "false");
	printf("\"automatic\": ");
	text(info->automatic);
	printf(", \"automatic_value\": %.17g, \"default\": ", info->automatic_value);
	if (automatic || info->words)
		text(value);
	else
		printf("%s", value);
	printf(", \"doc\": ");
	text(info->doc);
	printf(", \"words\": ");
	if (info->words) {
		for (int i = 0; info->words[i]; i++) {
			printf(i ? ", " : "[");
			text(info->words[i]);
		}
		printf("]}");
	} else {
		printf("null}");
	}
}

int main(void)
{
	struct sl_params defaults;
	sl_params_preset(&defaults, SL_PRESET_DEFAULT);
	for (int i = 0; i < sl_params_count; i++) {
		printf(i ? ",\n " : "[");
		one(&defaults, &sl_params_table[i]);
	}
	printf("]\n");
	return 0;
}
