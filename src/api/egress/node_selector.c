/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a LabelSelector and checks its keys and values as the API server does. */
#include "api/egress/node_selector.h"

#include <string.h>

#include "api/egress/rules.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/strbuf.h"

enum { KEY_NAME_MAX = 63, VALUES_MAX = 64 };

struct reader {
	struct arena *arena;
	struct api_selector *selector;
	struct api_errors *errors;
	const char *field;
	bool valid;
};

static void add_error(struct reader *reader, const char *field, const json_t *value,
		      const char *detail)
{
	CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;
	if (value != NULL)
		api_fielderr_value(&shown, value);
	api_errors_add(reader->errors, API_FIELD_INVALID, field, value != NULL ? shown.s : NULL,
		       detail);
	reader->valid = false;
}

static bool is_word(struct slice text)
{
	if (text.n == 0 || text.n > KEY_NAME_MAX)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		char ch = text.p[i];
		bool inner = i != 0 && i + 1 != text.n;
		bool plain = ascii_isalpha(ch) || ascii_isdigit(ch);
		if (!plain && !(inner && (ch == '-' || ch == '_' || ch == '.')))
			return false;
	}
	return true;
}

static bool is_key(const char *text)
{
	const char *slash = strchr(text, '/');
	char prefix[EGRESS_NAME_MAX + 1];
	if (slash == NULL)
		return is_word(slice_of(text));
	size_t n = (size_t)(slash - text);
	if (n > EGRESS_NAME_MAX)
		return false;
	memcpy(prefix, text, n);
	prefix[n] = '\0';
	return api_is_subdomain_name(prefix) && is_word(slice_of(slash + 1));
}

static void check_key(struct reader *reader, const char *field, const char *key)
{
	if (is_key(key))
		return;
	json_t *shown = json_string(key);
	add_error(reader, field, shown, "must be the key of a label");
	json_decref(shown);
}

/* The value's copy; "" where it is not valid. */
static const char *read_value(struct reader *reader, const char *field, const json_t *value)
{
	struct slice text = api_text_slice(value);
	if (!json_is_string(value) || (text.n != 0 && !is_word(text))) {
		add_error(reader, field, value, "must be the value of a label");
		return "";
	}
	return arena_strndup(reader->arena, text.p, text.n);
}

/* ---- matchLabels ---- */

static void read_labels(struct reader *reader, const json_t *labels)
{
	const char *field = arena_printf(reader->arena, "%s.matchLabels", reader->field);
	const char *key;
	json_t *value;
	json_object_foreach (api_tree(labels), key, value) {
		struct api_selector_term *term = &reader->selector->term[reader->selector->n++];
		check_key(reader, field, key);
		*term = (struct api_selector_term){ .key = arena_strdup(reader->arena, key),
						    .op = API_SEL_IN,
						    .value = arena_alloc(reader->arena,
									 sizeof(char *)),
						    .n_values = 1 };
		term->value[0] = read_value(reader, field, value);
	}
}

/* ---- matchExpressions ---- */

static const struct {
	const char *word;
	enum api_selector_op op;
	bool has_values;
} operators[] = {
	{ "In", API_SEL_IN, true },
	{ "NotIn", API_SEL_NOT_IN, true },
	{ "Exists", API_SEL_EXISTS, false },
	{ "DoesNotExist", API_SEL_MISSING, false },
};

static void read_values(struct reader *reader, const json_t *values, const char *field, bool wanted,
			struct api_selector_term *term)
{
	size_t n = json_array_size(values);
	if (values != NULL && !json_is_null(values) && !json_is_array(values))
		add_error(reader, field, NULL, "must be a list");
	else if (wanted && n == 0)
		add_error(reader, field, NULL, "must have a value for operator In or NotIn");
	else if (!wanted && n != 0)
		add_error(reader, field, NULL, "must be empty for operator Exists or DoesNotExist");
	else if (n > VALUES_MAX)
		add_error(reader, field, NULL, "must have at most 64 values");
	if (!reader->valid)
		return;
	term->value = arena_alloc(reader->arena, (n + 1) * sizeof(char *));
	for (size_t i = 0; i < n; i++)
		term->value[term->n_values++] =
			read_value(reader, field, json_array_get(values, i));
}

static void read_expression(struct reader *reader, const json_t *item, size_t index)
{
	const char *field =
		arena_printf(reader->arena, "%s.matchExpressions[%zu]", reader->field, index);
	const json_t *word = json_object_get(item, "operator");
	struct api_selector_term *term = &reader->selector->term[reader->selector->n++];
	const char *key = api_text(json_object_get(item, "key"));
	*term = (struct api_selector_term){ .key = arena_strdup(reader->arena, key) };
	check_key(reader, arena_printf(reader->arena, "%s.key", field), key);
	for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
		if (!slice_is(api_text_slice(word), operators[i].word))
			continue;
		term->op = operators[i].op;
		read_values(reader, json_object_get(item, "values"),
			    arena_printf(reader->arena, "%s.values", field),
			    operators[i].has_values, term);
		return;
	}
	add_error(reader, arena_printf(reader->arena, "%s.operator", field), word,
		  "must be In, NotIn, Exists or DoesNotExist");
}

bool egress_node_selector_read(const json_t *value, const char *field, struct arena *arena,
			       struct api_selector *ret, struct api_errors *errors)
{
	struct reader reader = { arena, ret, errors, field, true };
	const json_t *labels = json_object_get(value, "matchLabels");
	const json_t *expressions = json_object_get(value, "matchExpressions");
	*ret = (struct api_selector){ 0 };
	if (!json_is_object(value) ||
	    (labels != NULL && !json_is_null(labels) && !json_is_object(labels)) ||
	    (expressions != NULL && !json_is_null(expressions) && !json_is_array(expressions))) {
		add_error(&reader, field, NULL,
			  "must have matchLabels (a map) or matchExpressions (a list)");
		return false;
	}
	size_t n = json_object_size(labels) + json_array_size(expressions);
	if (n > EGRESS_SELECTOR_TERMS_MAX) {
		add_error(&reader, field, NULL, "must have at most 80 labels and expressions");
		return false;
	}
	ret->term = arena_alloc(arena, (n + 1) * sizeof(*ret->term));
	read_labels(&reader, labels);
	for (size_t i = 0; i < json_array_size(expressions); i++)
		read_expression(&reader, json_array_get(expressions, i), i);
	return reader.valid;
}
