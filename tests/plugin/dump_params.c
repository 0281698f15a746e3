/* Prints the tables of parameters as JSON, for the tests that compare them with proto/openapi.yaml. */
#include <stdio.h>

#include "core/embedding/transform.h"
#include "core/formats/input_params.h"
#include "core/params.h"
#include "core/signal/signal.h"

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

static void one(const struct sl_param_info *info)
{
	static const char *const types[] = {"bool", "int", "uint64", "double", "enum", "list", "text"};
	char value[SL_PARAM_TEXT_BYTES];
	bool automatic = info->automatic && info->normal == info->automatic_value;
	sl_param_normal_text(info, value);
	printf("{\"name\": \"%s\", \"type\": \"%s\", \"min\": %.17g, \"max\": %.17g, \"steerable\": %s, ", info->name,
	       types[info->type], info->min, info->max, info->steerable ? "true" : "false");
	printf("\"automatic\": ");
	text(info->automatic);
	printf(", \"automatic_value\": %.17g, \"default\": ", info->automatic_value);
	if (automatic || info->words || !*value)
		text(*value ? value : NULL);
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

static void all(const char *name, const struct sl_param_info *param, int count)
{
	printf("\"%s\": [", name);
	for (int i = 0; i < count; i++) {
		printf(i ? ",\n " : "\n ");
		one(&param[i]);
	}
	printf("]");
}

int main(void)
{
	printf("{");
	all("jobs", sl_params_table, sl_params_count);
	printf(",\n");
	all("uploads", sl_input_params_table.param, sl_input_params_table.count);
	printf(",\n");
	all("columns", sl_columns_params_table.param, sl_columns_params_table.count);
	printf(",\n");
	all("transforms", sl_transform_table.param, sl_transform_table.count);
	printf(",\n");
	all("signal", sl_signal_table.param, sl_signal_table.count);
	printf("}\n");
	return 0;
}
