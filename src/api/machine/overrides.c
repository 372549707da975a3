/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings of DHCP clients: the names that CAPV has for them, and those of network-config. */
#include "api/machine/overrides_priv.h"

#include <string.h>

#include "api/tree.h"
#include "base/strbuf.h"

enum override_type { OVERRIDE_BOOL, OVERRIDE_NUMBER, OVERRIDE_TEXT, OVERRIDE_DOMAINS };

static const struct {
	const char *field, *key;
	enum override_type type;
} rows[] = {
	{ "hostname", "hostname", OVERRIDE_TEXT },
	{ "routeMetric", "route-metric", OVERRIDE_NUMBER },
	{ "sendHostname", "send-hostname", OVERRIDE_BOOL },
	{ "useDNS", "use-dns", OVERRIDE_BOOL },
	{ "useDomains", "use-domains", OVERRIDE_DOMAINS },
	{ "useHostname", "use-hostname", OVERRIDE_BOOL },
	{ "useMTU", "use-mtu", OVERRIDE_BOOL },
	{ "useNTP", "use-ntp", OVERRIDE_BOOL },
	{ "useRoutes", "use-routes", OVERRIDE_BOOL },
};

static const char *dump_text(struct arena *arena, const json_t *value)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	strbuf_add_json(&out, api_text_slice(value));
	return arena_strdup(arena, out.s);
}

/* The value as JSON, or NULL: it has the wrong type. */
static const char *format_value(enum override_type type, const json_t *value, struct arena *arena)
{
	const char *text = api_text(value);
	switch (type) {
	case OVERRIDE_DOMAINS:
		/* CAPV's field is a string: true, false or route. */
		if (strcmp(text, "route") == 0)
			return "\"route\"";
		if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
			return text;
		break;
	case OVERRIDE_BOOL:
		break;
	case OVERRIDE_NUMBER:
		return json_is_integer(value) && json_integer_value(value) >= 0
			       ? arena_printf(arena, "%lld", (long long)json_integer_value(value))
			       : NULL;
	case OVERRIDE_TEXT:
		return json_is_string(value) ? dump_text(arena, value) : NULL;
	}
	if (!json_is_boolean(value))
		return NULL;
	return json_is_true(value) ? "true" : "false";
}

void overrides_read(const json_t *value, const json_t *object, const char *field,
		    struct machine_problems *problems, struct machine_overrides *ret)
{
	*ret = (struct machine_overrides){ 0 };
	if (value == NULL || json_is_null(value))
		return;
	if (!json_is_object(value)) {
		machine_report(problems, object, field, "must be an object");
		return;
	}
	ret->v = arena_calloc(problems->arena, ARRAY_LEN(rows) * sizeof(*ret->v));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const json_t *member = json_object_get(value, rows[i].field);
		if (member == NULL || json_is_null(member))
			continue;
		const char *text = format_value(rows[i].type, member, problems->arena);
		if (text == NULL)
			machine_report(problems, object,
				       arena_printf(problems->arena, "%s.%s", field, rows[i].field),
				       "has the wrong type");
		else
			ret->v[ret->n++] = (struct machine_override){ rows[i].key, text };
	}
}
