/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and checks name servers and search domains. Guests check little themselves: netplan hands a
 * domain with blanks on to networkd, and refuses the whole file for one bad address. */
#include "api/machine/nameservers.h"

#include <stdio.h>
#include <string.h>

#include "api/machine/nameservers_test.h"
#include "api/tree.h"
#include "api/yaml/yaml.h"

enum { FIRST_ENTRIES = 4, LABEL_MAX = 63, FIELD_MAX = 256, ASCII_MAX = 0x7f };

void machine_list_add(struct machine_list *list, struct arena *arena, const char *text)
{
	if (list->n == list->cap) {
		size_t cap = list->cap == 0 ? FIRST_ENTRIES : 2 * list->cap;
		const char **grown = arena_alloc(arena, cap * sizeof(*grown));
		if (list->n != 0)
			memcpy(grown, list->v, list->n * sizeof(*grown));
		list->v = grown;
		list->cap = cap;
	}
	list->v[list->n++] = text;
}

bool machine_list_has(const struct machine_list *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->v[i], text) == 0)
			return true;
	}
	return false;
}

void machine_list_join(struct machine_list *list, struct arena *arena,
		       const struct machine_list *more)
{
	for (size_t i = 0; i < more->n; i++) {
		if (!machine_list_has(list, more->v[i]))
			machine_list_add(list, arena, more->v[i]);
	}
}

static bool is_alnum(char ch)
{
	return ascii_isdigit(ch) || (ch >= 'a' && ch <= 'z');
}

static const char *check_label(struct slice label)
{
	if (label.n == 0)
		return "it has an empty label";
	if (label.n > LABEL_MAX)
		return "it has a label of more than 63 characters";
	struct slice rest = label.p[0] == '_' ? slice_from(label, 1) : label;
	if (rest.n == 0 || !is_alnum(rest.p[0]) || !is_alnum(rest.p[rest.n - 1]))
		return "a label must begin and end with a letter or a digit";
	for (size_t i = 0; i < rest.n; i++) {
		if (!is_alnum(rest.p[i]) && rest.p[i] != '-' && rest.p[i] != '_')
			return "a label has letters, digits, '-' and '_' only";
	}
	return NULL;
}

const char *machine_domain_parse(struct slice text, char ret[MACHINE_DOMAIN_MAX + 1])
{
	if (slice_is(text, ".")) {
		memcpy(ret, ".", 2);
		return NULL;
	}
	if (text.n != 0 && text.p[text.n - 1] == '.')
		text.n--;
	if (text.n == 0)
		return "it is empty";
	if (text.n > MACHINE_DOMAIN_MAX)
		return "it has more than 253 characters";
	for (size_t i = 0; i < text.n; i++) {
		if ((unsigned char)text.p[i] > ASCII_MAX)
			return "letters beyond ASCII must be written in their xn-- form";
		ret[i] = ascii_lower(text.p[i]);
	}
	ret[text.n] = '\0';
	struct slice rest = { ret, text.n };
	const char *wrong = NULL;
	while (rest.p != NULL && wrong == NULL)
		wrong = check_label(slice_cut(&rest, '.'));
	return wrong;
}

/* The list at `value`, or NULL after a report; a missing one is no error. */
static const json_t *check_list(const json_t *value, const json_t *object, const char *field,
				struct machine_problems *problems)
{
	if (value == NULL || json_is_null(value))
		return NULL;
	if (!json_is_array(value)) {
		machine_report(problems, object, field, "must be a list");
		return NULL;
	}
	if (json_array_size(value) > MACHINE_LIST_MAX) {
		machine_report(problems, object, field, "has %zu entries, at most %d are allowed",
			       json_array_size(value), MACHINE_LIST_MAX);
		return NULL;
	}
	return value;
}

static void read_server(const json_t *entry, const json_t *object, const char *field,
			struct machine_problems *problems, struct machine_list *ret)
{
	char canonical[MACHINE_IP_TEXT_MAX];
	struct slice text = api_text_slice(entry);
	int family = json_is_string(entry) && strlen(text.p) == text.n
			     ? machine_ip_parse(text.p, canonical)
			     : 0;
	if (family == 0) {
		machine_report(problems, object, field, "'%s' %s",
			       machine_show(entry, problems->arena),
			       machine_ip_refusal(api_text(entry), "is not an IP address",
						  problems->arena));
		return;
	}
	const struct machine_ip_block *block = machine_ip_find_block(family, canonical);
	if (block != NULL && !block->is_loopback) {
		machine_report(problems, object, field, "'%s' %s: no name server can have it",
			       canonical, block->what);
		return;
	}
	if (block != NULL)
		machine_warn(problems, object, field,
			     "'%s' %s: it is a name server only if the guest runs one itself",
			     canonical, block->what);
	machine_list_add(ret, problems->arena, arena_strdup(problems->arena, canonical));
}

static void read_domain(const json_t *entry, const json_t *object, const char *field,
			struct machine_problems *problems, struct machine_list *ret)
{
	char canonical[MACHINE_DOMAIN_MAX + 1];
	const char *wrong = json_is_string(entry)
				    ? machine_domain_parse(api_text_slice(entry), canonical)
				    : "it is no string";
	if (wrong != NULL) {
		machine_report(problems, object, field, "'%s' is not a search domain: %s",
			       machine_show(entry, problems->arena), wrong);
		return;
	}
	machine_list_add(ret, problems->arena, arena_strdup(problems->arena, canonical));
}

static void read_list(const json_t *value, const json_t *object, const char *field,
		      struct machine_problems *problems, struct machine_list *ret,
		      void (*read_entry)(const json_t *entry, const json_t *object,
					 const char *field, struct machine_problems *problems,
					 struct machine_list *ret))
{
	const json_t *list = check_list(value, object, field, problems), *entry;
	size_t i;
	*ret = (struct machine_list){ 0 };
	json_array_foreach (api_tree(list), i, entry) {
		char at[FIELD_MAX];
		snprintf(at, sizeof(at), "%s[%zu]", field, i);
		read_entry(entry, object, at, problems, ret);
	}
}

void machine_read_servers(const json_t *value, const json_t *object, const char *field,
			  struct machine_problems *problems, struct machine_list *ret)
{
	read_list(value, object, field, problems, ret, read_server);
}

void machine_read_domains(const json_t *value, const json_t *object, const char *field,
			  struct machine_problems *problems, struct machine_list *ret)
{
	read_list(value, object, field, problems, ret, read_domain);
}

/* `address` for `addresses` would lose the server. */
static void report_other_members(const json_t *value, const json_t *object, const char *field,
				 struct machine_problems *problems)
{
	const char *key;
	json_t *member;
	json_object_foreach (api_tree(value), key, member) {
		if (strcmp(key, "search") != 0 && strcmp(key, "addresses") != 0)
			machine_report(problems, object, field,
				       "has the unknown member '%.100s': only search and addresses "
				       "are allowed",
				       key);
	}
}

bool machine_read_nameservers(const json_t *value, const json_t *object, const char *field,
			      struct machine_problems *problems, struct machine_nameservers *ret)
{
	const json_t *search = json_object_get(value, "search");
	const json_t *addresses = json_object_get(value, "addresses");
	*ret = (struct machine_nameservers){ 0 };
	if (value != NULL && !json_is_null(value) && !json_is_object(value)) {
		machine_report(problems, object, field,
			       "must be an object with the lists search and addresses");
		return false;
	}
	report_other_members(value, object, field, problems);
	char at[FIELD_MAX];
	snprintf(at, sizeof(at), "%s.search", field);
	machine_read_domains(search, object, at, problems, &ret->search);
	snprintf(at, sizeof(at), "%s.addresses", field);
	machine_read_servers(addresses, object, at, problems, &ret->addresses);
	return json_array_size(search) != 0 || json_array_size(addresses) != 0;
}

static bool is_too_long(struct slice text, const json_t *object, const char *field,
			struct machine_problems *problems)
{
	if (text.n <= MACHINE_NAMESERVERS_BYTES_MAX)
		return false;
	machine_report(problems, object, field, "has %zu bytes, at most %d are allowed", text.n,
		       MACHINE_NAMESERVERS_BYTES_MAX);
	return true;
}

/* Takes the value. */
static bool read_parsed(json_t *value, const json_t *object, const char *field,
			struct machine_problems *problems, struct machine_nameservers *ret)
{
	bool found = machine_read_nameservers(value, object, field, problems, ret);
	json_decref(value);
	return found;
}

bool machine_parse_nameservers(struct slice text, const json_t *object, const char *field,
			       struct machine_problems *problems, struct machine_nameservers *ret)
{
	json_error_t error;
	*ret = (struct machine_nameservers){ 0 };
	if (is_too_long(text, object, field, problems))
		return false;
	json_t *value =
		json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (value == NULL) {
		machine_report(problems, object, field, "is not JSON: line %d, column %d: %s",
			       error.line, error.column, error.text);
		return false;
	}
	return read_parsed(value, object, field, problems, ret);
}

bool machine_parse_default_nameservers(struct slice text, const json_t *object, const char *field,
				       struct machine_problems *problems,
				       struct machine_nameservers *ret)
{
	struct srcerr error;
	json_t *value = NULL;
	*ret = (struct machine_nameservers){ 0 };
	if (text.n == 0 || is_too_long(text, object, field, problems))
		return false;
	if (api_yaml_parse_one(field, text, &value, &error) < 0) {
		machine_report(problems, object, field, "is not YAML: line %u, column %u: %s",
			       (unsigned)error.pos.line, (unsigned)error.pos.col, error.text);
		return false;
	}
	return read_parsed(value, object, field, problems, ret);
}
