#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/method/method.h"
#include "daemon/json/param_json.h"
#include "daemon/routes/routes.h"
#include "daemon/util/buffer.h"

#include "openapi_yaml.h"  /* made from proto/openapi.yaml by scripts/embed.py, with a zero behind it */

/* A line of the contract that is only this comment and a word says what may be added there for methods that the
 * contract does not describe: their tables tell all of it. */
#define MARK "# methods: "

static const char *const contract = (const char *)openapi_yaml;

/* One place of the contract where lines are added. */
struct place {
	FILE *out;
	const char *line;  /* the comment's, in the contract */
	int indent;
};

/* ---- what the contract has ---------------------------------------------------------------- */

static const char *line_before(const char *line)
{
	const char *at = line - 1;
	while (at > contract && at[-1] != '\n')
		at--;
	return at;
}

/* True if one of the neighbours above the comment is the member or the item `entry`. */
static bool has(const struct place *p, const char *entry)
{
	size_t bytes = strlen(entry);
	for (const char *at = p->line; at > contract;) {
		at = line_before(at);
		int indent = (int)strspn(at, " ");
		if (indent < p->indent)
			return false;
		if (indent == p->indent && !strncmp(at + indent, entry, bytes) && strchr(":\n", at[indent + (int)bytes]))
			return true;
	}
	return false;
}

static bool is_described(const struct sl_method *m)
{
	char item[64];
	const char *names = strstr(contract, MARK "names");
	struct place p = {.line = names};
	for (; p.line && p.line > contract && p.line[-1] != '\n'; p.line--)
		p.indent++;
	snprintf(item, sizeof item, "- %s", m->name);
	return p.line && has(&p, item);
}

/* ---- what is added for a method ------------------------------------------------------------ */

/* name: of a member, or "-" of an item. Takes the value. */
static void put(const struct place *p, const char *name, json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	const char *colon = strcmp(name, "-") ? ":" : "";
	if (text)
		fprintf(p->out, "%*s%s%s %s\n", p->indent, "", name, colon, text);
	free(text);
	json_decref(value);
}

/* "DegreeParameters" */
static const char *schema_name(const struct sl_method *m, char out[64])
{
	snprintf(out, 64, "%sParameters", m->name);
	out[0] = (char)toupper((unsigned char)out[0]);
	return out;
}

/* A member of requests that a method listed before has, too, is described by that one. */
static bool is_of_another(const struct sl_method *m, const char *parameter)
{
	for (int i = 0; sl_methods[i] != m; i++)
		if (sl_param_find(sl_methods[i]->params, parameter))
			return true;
	return false;
}

/* The schemas of all parameters, by name. */
static json_t *schemas_of(const struct sl_method *m)
{
	struct sl_method_params record;
	sl_param_defaults(m->params, &record);
	json_t *all = json_object(), *normal = sl_param_json(m->params, &record);
	for (int i = 0; i < m->params->count; i++) {
		const struct sl_param_info *info = &m->params->param[i];
		json_object_set_new(all, info->name, sl_param_schema_json(info, json_object_get(normal, info->name)));
	}
	json_decref(normal);
	return all;
}

static void put_parameters(const struct place *p, const struct sl_method *m)
{
	const char *name;
	json_t *schema, *all = schemas_of(m);
	json_object_foreach(all, name, schema)
		if (!has(p, name) && !is_of_another(m, name))
			put(p, name, json_incref(schema));
	json_decref(all);
}

static void put_name(const struct place *p, const struct sl_method *m)
{
	put(p, "-", json_string(m->name));
}

static void put_results(const struct place *p, const struct sl_method *m)
{
	for (const struct sl_method_output *o = m->results; o->name; o++) {
		char item[64];
		snprintf(item, sizeof item, "- %s", o->name);
		if (!has(p, item))
			put(p, "-", json_string(o->name));
	}
}

static void put_reference(const struct place *p, const struct sl_method *m)
{
	char name[64];
	put(p, "-", json_pack("{s: s+}", "$ref", "#/components/schemas/", schema_name(m, name)));
}

static void put_schema(const struct place *p, const struct sl_method *m)
{
	char name[64];
	json_t *names = json_array();
	for (int i = 0; i < m->params->count; i++)
		json_array_append_new(names, json_string(m->params->param[i].name));
	put(p, schema_name(m, name), json_pack("{s: s++, s: s, s: o, s: o, s: b}", "description", "Parameters of method ",
		m->name, ", with their values in force.", "type", "object", "required", names, "properties", schemas_of(m),
		"additionalProperties", 0));
}

static json_t *measure_json(const struct sl_method *m)
{
	return json_pack("{s: [s, s], s: s++}", "type", "number", "null", "description", "Method ", m->name, ".");
}

static void put_measure(const struct place *p, const struct sl_method *m)
{
	if (!has(p, m->measure))
		put(p, m->measure, measure_json(m));
}

static void put_table(const struct place *p, const struct sl_method *m)
{
	static const char *const types[] = {
		[SL_TABLE_NUMBER] = "number", [SL_TABLE_WHOLE] = "integer", [SL_TABLE_BOOL] = "boolean"};
	if (!m->table || has(p, m->table))
		return;
	json_t *columns = json_object();
	for (const struct sl_method_column *c = m->columns; c->name; c++)
		json_object_set_new(columns, c->name, json_pack("{s: [s, s]}", "type", types[c->type], "null"));
	json_t *row = json_pack("{s: s, s: o, s: b}", "type", "object", "properties", columns, "additionalProperties", 0);
	put(p, m->table, json_pack("{s: s, s: s++, s: o}", "type", "array", "description", "Method ", m->name,
				   "; empty before the end.", "items", row));
}

static void put_point(const struct place *p, const struct sl_method *m)
{
	put(p, "-", json_pack("{s: s, s: s++, s: [s, s, s], s: {s: {s: s, s: i}, s: {s: s, s: i}, s: o}, s: b}", "type",
		"object", "description", "Method ", m->name, ".", "required", "iteration", "seconds", m->measure, "properties",
		"iteration", "type", "integer", "minimum", 1, "seconds", "type", "number", "minimum", 0, m->measure,
		measure_json(m), "additionalProperties", 0));
}

static const struct {
	const char *word;
	void (*put)(const struct place *p, const struct sl_method *m);
} marks[] = {
	{"parameters", put_parameters}, {"names", put_name}, {"results", put_results}, {"references", put_reference},
	{"schemas", put_schema}, {"measures", put_measure}, {"tables", put_table},
	{"points", put_point},
};

static void put_all(const struct place *p, const char *word, size_t bytes)
{
	for (size_t k = 0; k < sizeof marks / sizeof *marks; k++)
		for (int i = 0; strlen(marks[k].word) == bytes && !memcmp(marks[k].word, word, bytes) && sl_methods[i]; i++)
			if (!is_described(sl_methods[i]))
				marks[k].put(p, sl_methods[i]);
}

static void put_contract(FILE *out)
{
	const char *at = contract, *mark;
	while ((mark = strstr(at, MARK))) {
		const char *word = mark + strlen(MARK), *end = word + strcspn(word, "\n"), *line = mark;
		while (line > contract && line[-1] == ' ')
			line--;
		fwrite(at, 1, (size_t)(end + 1 - at), out);
		const struct place p = {.out = out, .line = line, .indent = (int)(mark - line)};
		put_all(&p, word, (size_t)(end - word));
		at = end + 1;
	}
	fputs(at, out);
}

/* GET /v1/openapi.yaml: the contract, with the methods that this program has beside those that it describes. */
void sl_route_openapi(struct sl_request *r)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (out)
		put_contract(out);
	struct sl_buffer *b = out && !fclose(out) ? sl_buffer_create(bytes) : NULL;
	if (b)
		memcpy(b->data, text, bytes);
	free(text);
	if (!b) {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the document.");
		return;
	}
	sl_reply_buffer(r, "application/yaml", "openapi-" SL_VERSION, b);
}
