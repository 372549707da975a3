/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads rules one member at a time. Errors are worded as kube-apiserver words them, so that the
 * admission hook, the controller and `fairlead check` agree with the schema. */
#include "api/egress/rules.h"

#include <stdio.h>
#include <string.h>

#include "api/egress/node_selector.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/strbuf.h"

#define DEPTH_FIELD "metadata.annotations[" EGRESS_DEPTH_ANNOTATION "]"

struct reader {
	struct arena *arena;
	struct egress_rules *rules;
	struct api_errors *errors;
	bool has_depth; /* the annotation says how deep wildcards are */
};

/* Of "spec.egress[1]", of its members, and of theirs. */
enum { RULE_FIELD_MAX = 48, MEMBER_FIELD_MAX = 96, FIELD_MAX = 128 };

/* ---- errors and warnings ---- */

static void add_error(struct reader *reader, enum api_fielderr_type type, const char *field,
		      const json_t *value, const char *detail)
{
	CLEANUP(strbuf_done) struct strbuf shown = STRBUF_INIT;
	if (value != NULL)
		api_fielderr_value(&shown, value);
	api_errors_add(reader->errors, type, field, value != NULL ? shown.s : NULL, detail);
}

static void add_warning(struct reader *reader, enum egress_warning_kind kind, const char *field,
			const char *message)
{
	struct egress_rules *rules = reader->rules;
	if (rules->n_warnings == EGRESS_WARNINGS_MAX) {
		rules->n_warnings_more++;
		return;
	}
	if (rules->warning == NULL)
		rules->warning =
			arena_alloc(reader->arena, EGRESS_WARNINGS_MAX * sizeof(*rules->warning));
	rules->warning[rules->n_warnings++] =
		(struct egress_warning){ kind, arena_strdup(reader->arena, field),
					 arena_strdup(reader->arena, message) };
}

/* ---- words ---- */

struct word_list {
	const char *const *words;
	size_t n;
	const char *supported; /* as the API server lists them */
};

/* The word's place in the list; -1 with an error for another. */
static int read_word(struct reader *reader, const json_t *object, const char *key,
		     const char *parent, const struct word_list *list)
{
	const json_t *value = json_object_get(object, key);
	char field[FIELD_MAX];
	snprintf(field, sizeof(field), "%s.%s", parent, key);
	if (value == NULL || json_is_null(value)) {
		add_error(reader, API_FIELD_REQUIRED, field, NULL, "");
		return -1;
	}
	for (size_t i = 0; i < list->n; i++) {
		if (slice_is(api_text_slice(value), list->words[i]))
			return (int)i;
	}
	add_error(reader, API_FIELD_UNSUPPORTED, field, value, list->supported);
	return -1;
}

/* ---- ports ---- */

static bool read_port(struct reader *reader, const json_t *item, const char *parent,
		      struct egress_port *ret)
{
	static const char *const words[] = {
		[EGRESS_TCP] = "TCP", [EGRESS_UDP] = "UDP", [EGRESS_SCTP] = "SCTP"
	};
	static const struct word_list protocols = {
		words, ARRAY_LEN(words), "supported values: \"TCP\", \"UDP\", \"SCTP\""
	};
	const json_t *number = json_object_get(item, "port");
	char field[FIELD_MAX];
	int protocol = read_word(reader, item, "protocol", parent, &protocols);
	json_int_t value = json_integer_value(number);
	snprintf(field, sizeof(field), "%s.port", parent);
	if (number == NULL || json_is_null(number)) {
		add_error(reader, API_FIELD_REQUIRED, field, NULL, "");
		return false;
	}
	if (!json_is_integer(number) || value < 1 || value > UINT16_MAX) {
		add_error(reader, API_FIELD_INVALID, field, number,
			  "must be a number between 1 and 65535");
		return false;
	}
	if (protocol < 0)
		return false;
	*ret = (struct egress_port){ (enum egress_protocol)protocol, (uint16_t)value };
	return true;
}

static bool read_ports(struct reader *reader, const json_t *item, const char *parent,
		       struct egress_rule *rule)
{
	const json_t *list = json_object_get(item, "ports");
	size_t n = json_array_size(list);
	char field[MEMBER_FIELD_MAX];
	snprintf(field, sizeof(field), "%s.ports", parent);
	if (list == NULL || json_is_null(list))
		return true;
	if (!json_is_array(list) || n > EGRESS_PORTS_MAX) {
		char detail[64];
		snprintf(detail, sizeof(detail), "must be a list of at most %d ports",
			 EGRESS_PORTS_MAX);
		add_error(reader, API_FIELD_INVALID, field, NULL, detail);
		return false;
	}
	struct egress_port *ports = arena_calloc(reader->arena, n * sizeof(*ports));
	bool valid = true;
	for (size_t i = 0; i < n; i++) {
		snprintf(field, sizeof(field), "%s.ports[%zu]", parent, i);
		valid = read_port(reader, json_array_get(list, i), field, &ports[i]) && valid;
	}
	rule->ports = ports;
	rule->n_ports = n;
	return valid;
}

/* ---- destinations ---- */

static bool read_range(struct reader *reader, const json_t *value, const char *field,
		       struct egress_rule *rule)
{
	bool has_host_bits;
	const char *wrong = egress_range_parse(api_text_slice(value), &rule->range, &has_host_bits);
	if (!json_is_string(value))
		wrong = "must be a text";
	if (wrong != NULL) {
		add_error(reader, API_FIELD_INVALID, field, value, wrong);
		return false;
	}
	if (has_host_bits) {
		char text[EGRESS_RANGE_TEXT_MAX], message[EGRESS_RANGE_TEXT_MAX + 64];
		egress_range_text(&rule->range, text);
		snprintf(message, sizeof(message), "has bits behind its prefix: it means %s", text);
		add_warning(reader, EGRESS_RANGE_HOST_BITS, field, message);
	}
	return true;
}

static bool read_name(struct reader *reader, const json_t *value, const char *field,
		      struct egress_rule *rule)
{
	struct egress_name name;
	const char *wrong = json_is_string(value) ? egress_name_parse(api_text_slice(value), &name)
						  : "must be a text";
	if (wrong != NULL) {
		add_error(reader, API_FIELD_INVALID, field, value, wrong);
		return false;
	}
	rule->name = arena_strdup(reader->arena, name.text);
	rule->is_wildcard = name.is_wildcard;
	return true;
}

static bool read_nodes(struct reader *reader, const json_t *value, const char *field,
		       struct egress_rule *rule)
{
	return egress_node_selector_read(value, field, reader->arena, &rule->nodes, reader->errors);
}

static const struct {
	const char *key;
	bool (*read)(struct reader *reader, const json_t *value, const char *field,
		     struct egress_rule *rule);
} targets[] = {
	[EGRESS_TO_RANGE] = { "cidrSelector", read_range },
	[EGRESS_TO_NAME] = { "dnsName", read_name },
	[EGRESS_TO_NODES] = { "nodeSelector", read_nodes },
};

static bool read_target(struct reader *reader, const json_t *item, const char *parent,
			struct egress_rule *rule)
{
	const json_t *to = json_object_get(item, "to");
	char field[MEMBER_FIELD_MAX];
	size_t found = 0;
	snprintf(field, sizeof(field), "%s.to", parent);
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		const json_t *value = json_object_get(to, targets[i].key);
		if (value == NULL || json_is_null(value))
			continue;
		rule->target = (enum egress_target)i;
		found++;
	}
	if (found != 1) {
		add_error(reader, API_FIELD_INVALID, field, NULL,
			  "exactly one of cidrSelector, dnsName and nodeSelector must be set");
		return false;
	}
	const char *key = targets[rule->target].key;
	snprintf(field, sizeof(field), "%s.to.%s", parent, key);
	return targets[rule->target].read(reader, json_object_get(to, key), field, rule);
}

/* ---- rules ---- */

static void warn_of_name(struct reader *reader, const struct egress_rule *rule, const char *parent)
{
	char field[MEMBER_FIELD_MAX];
	if (rule->target != EGRESS_TO_NAME)
		return;
	snprintf(field, sizeof(field), "%s.to.dnsName", parent);
	if (rule->action == EGRESS_DENY)
		add_warning(reader, EGRESS_DENY_BY_NAME, field,
			    "a client can evade Deny by name with an address from elsewhere; allow "
			    "what is "
			    "needed "
			    "and deny the rest by cidrSelector");
	if (!rule->is_wildcard || reader->has_depth)
		return;
	add_warning(
		reader, EGRESS_ONE_LABEL, field,
		rule->action == EGRESS_DENY
			? "a wildcard covers one label: names further below are not denied; "
			  "see the annotation " EGRESS_DEPTH_ANNOTATION
			: "a wildcard covers one label: names further below are not allowed; set "
			  "the annotation " EGRESS_DEPTH_ANNOTATION " to " EGRESS_DEPTH_ANY
			  " to allow them, or to " EGRESS_DEPTH_ONE " if this is meant");
}

static void read_rule(struct reader *reader, const json_t *item, size_t index)
{
	static const char *const words[] = { [EGRESS_ALLOW] = "Allow", [EGRESS_DENY] = "Deny" };
	static const struct word_list actions = { words, ARRAY_LEN(words),
						  "supported values: \"Allow\", \"Deny\"" };
	struct egress_rule rule = { .index = index };
	char field[RULE_FIELD_MAX];
	snprintf(field, sizeof(field), "spec.egress[%zu]", index);
	if (!json_is_object(item)) {
		add_error(reader, API_FIELD_INVALID, field, item, "must be an object");
		return;
	}
	int action = read_word(reader, item, "type", field, &actions);
	bool has_target = read_target(reader, item, field, &rule);
	bool has_ports = read_ports(reader, item, field, &rule);
	if (action < 0 || !has_target || !has_ports)
		return;
	rule.action = (enum egress_action)action;
	warn_of_name(reader, &rule, field);
	reader->rules->rule[reader->rules->n++] = rule;
}

bool egress_rules_any_depth(const json_t *firewall)
{
	const char *depth = api_annotation(firewall, EGRESS_DEPTH_ANNOTATION);
	return depth != NULL && strcmp(depth, EGRESS_DEPTH_ANY) == 0;
}

static void read_depth(struct reader *reader, const json_t *firewall)
{
	const char *depth = api_annotation(firewall, EGRESS_DEPTH_ANNOTATION);
	reader->rules->any_depth = egress_rules_any_depth(firewall);
	reader->has_depth = depth != NULL;
	if (depth == NULL || reader->rules->any_depth || strcmp(depth, EGRESS_DEPTH_ONE) == 0)
		return;
	json_t *value = json_string(depth);
	add_error(reader, API_FIELD_UNSUPPORTED, DEPTH_FIELD, value,
		  "supported values: \"" EGRESS_DEPTH_ANY "\", \"" EGRESS_DEPTH_ONE "\"");
	json_decref(value);
}

void egress_rules_read(const json_t *firewall, struct arena *arena, struct egress_rules *ret,
		       struct api_errors *errors)
{
	struct reader reader = { .arena = arena, .rules = ret, .errors = errors };
	const json_t *list = api_get(firewall, "spec.egress");
	size_t n = json_array_size(list);
	*ret = (struct egress_rules){ 0 };
	if (strcmp(api_name(firewall), EGRESS_FIREWALL_NAME) != 0)
		add_error(&reader, API_FIELD_INVALID, "metadata.name",
			  api_get(firewall, "metadata.name"),
			  "must be \"" EGRESS_FIREWALL_NAME "\": a namespace has one firewall");
	read_depth(&reader, firewall);
	if (!json_is_array(list)) {
		add_error(&reader, API_FIELD_REQUIRED, "spec.egress", NULL,
			  "must be a list of rules");
		return;
	}
	if (n > EGRESS_RULES_MAX) {
		char count[24], detail[48];
		snprintf(count, sizeof(count), "%zu", n);
		snprintf(detail, sizeof(detail), "must have at most %d items", EGRESS_RULES_MAX);
		api_errors_add(errors, API_FIELD_TOO_MANY, "spec.egress", count, detail);
		return;
	}
	ret->rule = arena_alloc(arena, n * sizeof(*ret->rule));
	for (size_t i = 0; i < n; i++)
		read_rule(&reader, json_array_get(list, i), i);
}

void egress_rules_each_name(const json_t *firewall,
			    void (*fn)(void *ctx, const struct egress_name *name), void *ctx)
{
	const json_t *list = api_get(firewall, "spec.egress");
	size_t n = json_array_size(list);
	for (size_t i = 0; i < n && i < EGRESS_RULES_MAX; i++) {
		const json_t *to = json_object_get(json_array_get(list, i), "to");
		const json_t *value = json_object_get(to, "dnsName");
		struct egress_name name;
		if (json_is_string(value) &&
		    egress_name_parse(api_text_slice(value), &name) == NULL)
			fn(ctx, &name);
	}
}
