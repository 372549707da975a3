/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which characters and lengths names, labels and keys may have. */
#include "apiserver/rules/name_rules.h"

#include <stdio.h>
#include <string.h>

#include "api/selector.h"
#include "api/tree.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "base/text/charset.h"

#define LABEL	  "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN LABEL "(\\." LABEL ")*"
#define KEY	  "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

static const char label_words[] =
	"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
	"must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
	"used for validation is '" LABEL "')";
static const char subdomain_words[] =
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
	"'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex "
	"used "
	"for validation is '" SUBDOMAIN "')";
static const char wildcard_words[] =
	"a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
	"which must consist of lower case alphanumeric characters, '-' or '.' and end with an "
	"alphanumeric character (e.g. '*.example.com', regex used for validation is "
	"'\\*\\." SUBDOMAIN "')";
#define KEY_WORDS                                                                           \
	"must consist of alphanumeric characters, '-', '_' or '.', and must start and end " \
	"with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "     \
	"regex used for validation is '" KEY "')"
static const char value_words[] =
	"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
	"'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
	"'my_value',  or '12345', regex used for validation is '(" KEY ")?')";
static const char config_key_words[] =
	"a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
	"'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
	"'[-._a-zA-Z0-9]+')";

enum { LABEL_MAX = 63, SUBDOMAIN_MAX = 253, PORT_NAME_MAX = 15 };

static void add_error(const struct apiserver_field *at, const char *text, const char *detail)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
	strbuf_add_quoted(&value, slice_of(at->shown != NULL ? at->shown : text));
	api_errors_add(at->errs, API_FIELD_INVALID, at->field, value.s, detail);
}

static void add_too_long(const struct apiserver_field *at, const char *string, const char *prefix,
			 size_t max, const char *units)
{
	char text[80];
	snprintf(text, sizeof(text), "%smust be no more than %zu %s", prefix, max, units);
	add_error(at, string, text);
}

static bool is_lower_or_digit(char ch)
{
	return ascii_isdigit(ch) || (ch >= 'a' && ch <= 'z');
}

static bool is_label(struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (!is_lower_or_digit(text.p[i]) && text.p[i] != '-')
			return false;
	}
	return text.n != 0 && text.p[0] != '-' && text.p[text.n - 1] != '-';
}

static bool is_subdomain(struct slice text)
{
	do {
		if (!is_label(slice_cut(&text, '.')))
			return false;
	} while (text.p != NULL);
	return true;
}

void apiserver_check_label(const struct apiserver_field *at, const char *text)
{
	if (strlen(text) > LABEL_MAX)
		add_too_long(at, text, "", LABEL_MAX, "characters");
	if (is_label(slice_of(text)))
		return;
	add_error(at, text, is_subdomain(slice_of(text)) ? "must not contain dots" : label_words);
}

void apiserver_check_subdomain(const struct apiserver_field *at, const char *text)
{
	if (strlen(text) > SUBDOMAIN_MAX)
		add_too_long(at, text, "", SUBDOMAIN_MAX, "characters");
	if (!is_subdomain(slice_of(text)))
		add_error(at, text, subdomain_words);
}

void apiserver_check_wildcard(const struct apiserver_field *at, const char *text)
{
	if (strlen(text) > SUBDOMAIN_MAX)
		add_too_long(at, text, "", SUBDOMAIN_MAX, "characters");
	if (strncmp(text, "*.", 2) != 0 || !is_subdomain(slice_of(text + 2)))
		add_error(at, text, wildcard_words);
}

void apiserver_check_path_segment(const struct apiserver_field *at, const char *text)
{
	if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0) {
		add_error(at, text, text[1] == '\0' ? "may not be '.'" : "may not be '..'");
		return;
	}
	if (strchr(text, '/') != NULL)
		add_error(at, text, "may not contain '/'");
	if (strchr(text, '%') != NULL)
		add_error(at, text, "may not contain '%'");
}

static bool is_key_name(struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		if (!ascii_isalpha(c) && !ascii_isdigit(c) &&
		    (i == 0 || i == text.n - 1 || !charset_has("-_.", c)))
			return false;
	}
	return text.n != 0;
}

static void check_prefix(const struct apiserver_field *at, const char *string, struct slice prefix)
{
	if (prefix.n == 0) {
		add_error(at, string, "prefix part must be non-empty");
		return;
	}
	if (prefix.n > SUBDOMAIN_MAX)
		add_too_long(at, string, "prefix part ", SUBDOMAIN_MAX, "bytes");
	if (is_subdomain(prefix))
		return;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "prefix part %s", subdomain_words);
	add_error(at, string, text.s);
}

void apiserver_check_label_key(const struct apiserver_field *at, const char *text)
{
	struct slice name = slice_of(text), prefix = { NULL, 0 };
	if (slice_find(name, '/') >= 0)
		prefix = slice_cut(&name, '/');
	if (slice_find(name, '/') >= 0) {
		add_error(at, text,
			  "a valid label key " KEY_WORDS
			  " with an optional DNS subdomain prefix and "
			  "'/' (e.g. 'example.com/MyName')");
		return;
	}
	if (prefix.p != NULL)
		check_prefix(at, text, prefix);
	if (name.n == 0)
		add_error(at, text, "name part must be non-empty");
	else if (name.n > LABEL_MAX)
		add_too_long(at, text, "name part ", LABEL_MAX, "bytes");
	if (!is_key_name(name))
		add_error(at, text, "name part " KEY_WORDS);
}

void apiserver_check_label_value(const struct apiserver_field *at, const char *text)
{
	if (strlen(text) > LABEL_MAX)
		add_too_long(at, text, "", LABEL_MAX, "bytes");
	if (text[0] != '\0' && !is_key_name(slice_of(text)))
		add_error(at, text, value_words);
}

static bool is_config_key(const char *text)
{
	const char *p = text;
	while (ascii_isalpha(*p) || ascii_isdigit(*p) || charset_has("-._", *p))
		p++;
	return *p == '\0' && p != text;
}

void apiserver_check_config_key(const struct apiserver_field *at, const char *text)
{
	if (strlen(text) > SUBDOMAIN_MAX)
		add_too_long(at, text, "", SUBDOMAIN_MAX, "characters");
	if (!is_config_key(text))
		add_error(at, text, config_key_words);
	if (strcmp(text, ".") == 0)
		add_error(at, text, "must not be '.'");
	else if (strcmp(text, "..") == 0)
		add_error(at, text, "must not be '..'");
	else if (strncmp(text, "..", 2) == 0)
		add_error(at, text, "must not start with '..'");
}

void apiserver_check_port_name(const struct apiserver_field *at, const char *text)
{
	size_t n = strlen(text), letters = 0, known = 0;
	for (size_t i = 0; i < n; i++) {
		letters += text[i] >= 'a' && text[i] <= 'z';
		known += is_lower_or_digit(text[i]) || text[i] == '-';
	}
	if (n > PORT_NAME_MAX)
		add_too_long(at, text, "", PORT_NAME_MAX, "characters");
	if (known != n || n == 0)
		add_error(at, text,
			  "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
	if (letters == 0)
		add_error(at, text, "must contain at least one letter (a-z)");
	if (strstr(text, "--") != NULL)
		add_error(at, text, "must not contain consecutive hyphens");
	if (n > 0 && (text[0] == '-' || text[n - 1] == '-'))
		add_error(at, text, "must not begin or end with a hyphen");
}

void apiserver_check_labels(struct api_errors *errs, const char *field, const json_t *labels)
{
	const char *key;
	json_t *value;
	const struct apiserver_field at = { .errs = errs, .field = field };
	json_object_foreach (api_tree(labels), key, value) {
		apiserver_check_label_key(&at, key);
		if (json_is_string(value))
			apiserver_check_label_value(&at, api_text(value));
	}
}
