/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints JSON values as Go does. */
#include "api/fields/go_value.h"

#include "api/fielderr.h"
#include "api/fields/element.h"
#include "api/tree.h"

/* An object's members by name: each is written by `member`. */
static void sorted_members(struct strbuf *out, const json_t *value, const char *between,
			   void (*member)(struct strbuf *out, const char *key, const json_t *value))
{
	bool first = true;
	const char *k;
	json_t *item;
	struct fieldset_el *e = fieldset_el_key(value);
	json_object_foreach (e->value, k, item) {
		strbuf_adds(out, first ? "" : between);
		member(out, k, item);
		first = false;
	}
	fieldset_el_unref(e);
}

static void value_member(struct strbuf *out, const char *key, const json_t *value)
{
	strbuf_addf(out, "%s:", key);
	fieldset_go_value(out, value);
}

void fieldset_go_value(struct strbuf *out, const json_t *value)
{
	json_t *item;
	size_t i;
	if (value == NULL) {
		strbuf_adds(out, "[]");
	} else if (json_is_string(value)) {
		strbuf_adds(out, api_text(value));
	} else if (json_is_integer(value)) {
		strbuf_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	} else if (json_is_real(value)) {
		api_fielderr_float(out, json_real_value(value));
	} else if (json_is_array(value)) {
		strbuf_addc(out, '[');
		json_array_foreach (value, i, item) {
			strbuf_adds(out, i > 0 ? " " : "");
			fieldset_go_value(out, item);
		}
		strbuf_addc(out, ']');
	} else if (json_is_object(value)) {
		strbuf_adds(out, "map[");
		sorted_members(out, value, " ", value_member);
		strbuf_addc(out, ']');
	} else {
		strbuf_adds(out, json_is_null(value)   ? "<nil>"
				 : json_is_true(value) ? "true"
						       : "false");
	}
}

static void syntax_member(struct strbuf *out, const char *key, const json_t *value)
{
	strbuf_add_quoted(out, slice_of(key));
	strbuf_addc(out, ':');
	fieldset_go_syntax(out, value);
}

void fieldset_go_syntax(struct strbuf *out, const json_t *value)
{
	json_t *item;
	size_t i;
	if (json_is_string(value)) {
		strbuf_add_quoted(out, slice_of(api_text(value)));
	} else if (json_is_array(value)) {
		strbuf_adds(out, "[]interface {}{");
		json_array_foreach (value, i, item) {
			strbuf_adds(out, i > 0 ? ", " : "");
			fieldset_go_syntax(out, item);
		}
		strbuf_addc(out, '}');
	} else if (json_is_object(value)) {
		strbuf_adds(out, "map[string]interface {}{");
		sorted_members(out, value, ", ", syntax_member);
		strbuf_addc(out, '}');
	} else if (json_is_null(value)) {
		strbuf_adds(out, "interface {}(nil)");
	} else {
		fieldset_go_value(out, value);
	}
}

const char *fieldset_go_type(const json_t *value, const char *nil)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "map[string]interface {}",
		[JSON_ARRAY] = "[]interface {}",
		[JSON_STRING] = "string",
		[JSON_INTEGER] = "int64",
		[JSON_REAL] = "float64",
		[JSON_TRUE] = "bool",
		[JSON_FALSE] = "bool",
		[JSON_NULL] = NULL,
	};
	const char *name = names[value != NULL ? json_typeof(value) : JSON_NULL];
	return name != NULL ? name : nil;
}
