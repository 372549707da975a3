/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The type of an unquoted scalar of YAML 1.1, by the rules of the reader that kubectl uses. */
#include "api/yaml/yaml_scalar_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/charset.h"

static const struct {
	const char *text;
	enum yaml_kind kind;
} words[] = {
	/* clang-format off */
	{ "", YAML_NULL }, { "~", YAML_NULL }, { "null", YAML_NULL }, { "Null", YAML_NULL },
	{ "NULL", YAML_NULL },
	{ "y", YAML_TRUE }, { "Y", YAML_TRUE }, { "yes", YAML_TRUE }, { "Yes", YAML_TRUE },
	{ "YES", YAML_TRUE }, { "true", YAML_TRUE }, { "True", YAML_TRUE }, { "TRUE", YAML_TRUE },
	{ "on", YAML_TRUE }, { "On", YAML_TRUE }, { "ON", YAML_TRUE },
	{ "n", YAML_FALSE }, { "N", YAML_FALSE }, { "no", YAML_FALSE }, { "No", YAML_FALSE },
	{ "NO", YAML_FALSE }, { "false", YAML_FALSE }, { "False", YAML_FALSE },
	{ "FALSE", YAML_FALSE }, { "off", YAML_FALSE }, { "Off", YAML_FALSE }, { "OFF", YAML_FALSE },
	{ ".nan", YAML_NOT_JSON }, { ".NaN", YAML_NOT_JSON }, { ".NAN", YAML_NOT_JSON },
	{ ".inf", YAML_NOT_JSON }, { ".Inf", YAML_NOT_JSON }, { ".INF", YAML_NOT_JSON },
	{ "+.inf", YAML_NOT_JSON }, { "+.Inf", YAML_NOT_JSON }, { "+.INF", YAML_NOT_JSON },
	{ "-.inf", YAML_NOT_JSON }, { "-.Inf", YAML_NOT_JSON }, { "-.INF", YAML_NOT_JSON },
	/* clang-format on */
};

enum { NUMBER_TEXT_MAX = 128 };

/* The digits without underscores; false when it cannot be a number at all. */
static bool strip_underscores(struct slice text, char out[NUMBER_TEXT_MAX])
{
	size_t n = 0;
	if (text.n == 0 || text.n >= NUMBER_TEXT_MAX)
		return false;
	if (!ascii_isdigit(text.p[0]) && !charset_has("+-.", text.p[0]))
		return false;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] != '_')
			out[n++] = text.p[i];
	}
	out[n] = '\0';
	return n != 0;
}

/* Prefixes of whole numbers: 0b, 0o, 0x, and a bare 0 for octal as in C. */
static int skip_base_prefix(const char **pos)
{
	if ((*pos)[0] != '0' || (*pos)[1] == '\0')
		return 10;
	static const struct {
		char c;
		int base;
	} prefix[] = { { 'b', 2 }, { 'o', 8 }, { 'x', 16 }, { 'X', 16 } };
	for (size_t i = 0; i < ARRAY_LEN(prefix); i++) {
		if ((*pos)[1] == prefix[i].c) {
			*pos += 2;
			return prefix[i].base;
		}
	}
	*pos += 1;
	return 8;
}

static bool parse_int(const char *text, json_int_t *ret)
{
	bool minus = text[0] == '-';
	const char *p = text + (text[0] == '-' || text[0] == '+');
	int base = skip_base_prefix(&p);
	if (p[0] == '\0' || p[0] == '-' || p[0] == '+' || ascii_isspace(p[0]))
		return false;
	char *end;
	errno = 0;
	unsigned long long v = strtoull(p, &end, base);
	if (*end != '\0' || errno != 0 || v > (unsigned long long)INT64_MAX + minus)
		return false;
	*ret = minus ? (json_int_t)(0 - v) : (json_int_t)v;
	return true;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool is_float(const char *pos)
{
	size_t digits = 0;
	pos += *pos == '-' || *pos == '+';
	for (; ascii_isdigit(*pos); pos++)
		digits++;
	if (*pos == '.') {
		for (pos++; ascii_isdigit(*pos); pos++)
			digits++;
	}
	if (digits == 0)
		return false;
	if (*pos == 'e' || *pos == 'E') {
		pos++;
		pos += *pos == '-' || *pos == '+';
		if (!ascii_isdigit(*pos))
			return false;
		while (ascii_isdigit(*pos))
			pos++;
	}
	return *pos == '\0';
}

enum yaml_kind yaml_scalar_resolve(struct slice word, struct yaml_number *ret)
{
	char text[NUMBER_TEXT_MAX];
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (slice_is(word, words[i].text))
			return words[i].kind;
	}
	if (!strip_underscores(word, text))
		return YAML_STRING;
	if (parse_int(text, &ret->integer))
		return YAML_INT;
	if (!is_float(text))
		return YAML_STRING;
	ret->real = strtod(text, NULL);
	return isfinite(ret->real) ? YAML_FLOAT : YAML_NOT_JSON;
}
