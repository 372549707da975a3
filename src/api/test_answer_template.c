/* SPDX-License-Identifier: GPL-3.0-or-later */
/* answerTemplate: what is accepted and what becomes of it (OP-8, OP-15, OP-T10, OP-T11). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/answer_template.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/err_text.h"

static const struct {
	const char *text, *want; /* "TTL ADDRESS", or a part of the refusal after "! " */
} rows[] = {
	{ "{{ .Name }} 3600 IN AAAA 2001:db8::100", "3600 2001:db8::100" },
	{ "{{.Name}} 0 IN AAAA ::1", "0 ::1" },
	{ "{{ .Name }} 2147483647 IN AAAA ::1", "2147483647 ::1" },
	{ "{{ .Name }} 60 {{ .Class }} {{ .Type }} 2001:DB8::A", "60 2001:db8::a" },
	{ "{{ .Name }} IN AAAA 2001:db8::1", "3600 2001:db8::1" },
	{ "{{ .Name }} AAAA 2001:db8::1", "3600 2001:db8::1" },
	{ "{{ .Name }} 1h IN AAAA 2001:db8::1", "3600 2001:db8::1" },
	{ "{{ .Name }} 60 IN AAAA ::ffff:192.0.2.1", "60 ::ffff:192.0.2.1" },
	{ "{{ .Name }} 60 IN AAAA 2001:db8::1\n", "60 2001:db8::1" },
	{ "{{- .Name -}} {{- \t", "! control" },
	{ "", "! is empty" },
	{ "\n", "! is empty" },
	{ "{{ .Name }} 60 IN AAAA ::1\n{{ .Name }} 60 IN AAAA ::2", "60 ::1 ::2" },
	{ "{{.Name}} 60 AAAA ::3\n{{.Name}} 1m IN AAAA ::1\n{{.Name}} 60 AAAA ::2\n",
	  "60 ::3 ::1 ::2" },
	{ "{{ .Name }} 60 IN AAAA 2001:db8::1\n\n", "! in line 2 is empty" },
	{ "{{ .Name }} 60 IN AAAA ::1\r\n{{ .Name }} 60 IN AAAA ::2", "! in line 1 has a control" },
	{ "{{ .Name }} 60 IN AAAA ::1\n}", "! in line 2 does not make a record" },
	{ "{{ .Name }} 60 IN AAAA ::1\n{{ .Name }} 61 IN AAAA ::2", "! in line 2 has another TTL" },
	{ "{{ .Name }} 60 IN AAAA ::1\n{{ .Name }} 60 IN AAAA 0::1",
	  "! in line 2 has the address of" },
	{ "{{ .Name\n}} 60 IN AAAA ::1", "! in line 1 has an unclosed {{ at column 1" },
	{ "{{ .Name }} 60 IN AAAA ::1\x7f", "! control" },
	{ "{{ .Name }} 60 IN AAAA ::1\xc2\xa0", "! ASCII" },
	{ "{{ .Name }} 60 IN TXT \"x\"", "! quote" },
	{ "{{ .Name }} 60 IN TXT 'x'", "! quote" },
	{ "{{ printf `x` }} 60 IN AAAA ::1", "! quote" },
	{ "{{ .Name }} 60 IN AAAA ::1\\", "! backslash" },
	{ "{$HOME} 60 IN AAAA ::1", "! environment" },
	{ "{%HOME%} 60 IN AAAA ::1", "! environment" },
	{ "{{ .Name 60 IN AAAA ::1", "! has an unclosed {{ at column 1" },
	{ "{{ .Name }} 60 IN {{ AAAA ::1 }", "! has an unclosed {{ at column 19" },
	{ "{{ .Name }} 60 {{ .Nmae }} AAAA ::1",
	  "! is not a template (can't evaluate field Nmae in type query at column 19)" },
	{ "{{ .Remote }} 60 IN AAAA ::1", "! is not a template" },
	{ "{{ .Message.Id }} 60 IN AAAA ::1", "! is not a template" },
	{ "{{ nofunc }} 60 IN AAAA ::1", "! is not a template" },
	{ "{{ end }}", "! is not a template" },
	{ "{{ print .Name }} 60 IN AAAA ::1", "! uses more than plain text" },
	{ "{{ .Name | print }} 60 IN AAAA ::1", "! uses more than plain text" },
	{ "{{ len .Name }} 60 IN AAAA ::1", "! uses more than plain text" },
	{ "{{ if .Name }}{{ .Name }}{{ end }} 60 IN AAAA ::1", "! uses more than plain text" },
	{ "{{ $x := .Name }}{{ $x }} 60 IN AAAA ::1", "! uses more than plain text" },
	{ "example.org. 60 IN AAAA ::1", "! another name" },
	{ "a. 60 IN AAAA ::1", "! another name" },
	{ "x.{{ .Name }} 60 IN AAAA ::1", "! " },
	{ "{{ .Name }}{{ .Name }} 60 IN AAAA ::1", "! " },
	{ "{{ .Name }} 60 IN A 192.0.2.1", "! type AAAA" },
	{ "{{ .Name }} 60 IN CNAME example.org.", "! type AAAA" },
	{ "{{ .Name }} 60 CH AAAA ::1", "! " },
	{ "{{ .Name }} 60 IN AAAA 192.0.2.1", "! does not make a record" },
	{ "{{ .Name }} 60 IN AAAA 2001:db8::g", "! (bad IPv6 address at column 24)" },
	{ "{{.Name}} 60 {{.Class}} {{/* x */}} AAAA ::1 ::2", "! (too many fields at column 46)" },
	{ "{{ .Name -}}  60 IN AAAA 2001:db8::g", "! does not make a record (" },
	{ "{{ .Name }} 60 IN AAAA", "! does not make a record" },
	{ "{{ .Name }} 2147483648 IN AAAA ::1", "! " },
	{ "{{ .Name }} -1 IN AAAA ::1", "! does not make a record" },
	{ "{{ .Name }} 4294967296 IN AAAA ::1", "! does not make a record" },
	{ "$TTL 5", "! does not make a record" },
	{ "; {{ .Name }} 60 IN AAAA ::1", "! does not make a record" },
	{ "   ", "! does not make a record" },
};

static void join_addresses(const struct api_answer *answer, char *out, size_t size)
{
	int n = snprintf(out, size, "%u", answer->ttl_s);
	for (size_t i = 0; i < answer->n; i++)
		n += snprintf(out + n, size - (size_t)n, " %s", answer->address[i]);
}

static void each_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct api_answer got = { 0 };
		char err[512] = "", text[700];
		int r = api_answer_template_parse(slice_of(rows[i].text), &got, ERR_TEXT(err));
		if (r == 0)
			join_addresses(&got, text, sizeof(text));
		else
			snprintf(text, sizeof(text), "! %s", err);
		bool ok = rows[i].want[0] == '!' ? r == ERR_CONFIG && err[0] != '\0' &&
							   strstr(err, rows[i].want + 2) != NULL
						 : r == 0 && strcmp(text, rows[i].want) == 0;
		if (!ok)
			fail_msg("'%s': got '%s', want '%s'", rows[i].text, text, rows[i].want);
	}
}

/* As many records as the longest template has room for. */
static void as_many_as_fit(void **state)
{
	(void)state;
	char text[API_ANSWER_TEMPLATE_CHARS_MAX + 1], err[512];
	struct api_answer got;
	size_t n = 0, records = 0;
	while (n + strlen("{{.Name}} AAAA ::ff\n") <= API_ANSWER_TEMPLATE_CHARS_MAX)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "{{.Name}} AAAA ::%zx\n",
				      ++records);
	assert_int_equal(api_answer_template_parse(slice_of(text), &got, ERR_TEXT(err)), 0);
	assert_int_equal(got.n, records);
	assert_in_range(got.n, 50, API_ANSWER_RECORDS_MAX - 1);
}

static void a_nul_is_no_end(void **state)
{
	(void)state;
	static const char text[] = "{{ .Name }} 60 IN AAAA ::1\0x";
	struct api_answer got;
	char err[512];
	assert_int_equal(api_answer_template_parse((struct slice){ text, sizeof(text) - 1 }, &got,
						   ERR_TEXT(err)),
			 ERR_CONFIG);
}

/* The longest template that is allowed, and one that is longer by one. */
static void as_long_as_allowed(void **state)
{
	(void)state;
	char text[API_ANSWER_TEMPLATE_CHARS_MAX + 2], err[512];
	struct api_answer got;
	memset(text, ' ', sizeof(text));
	memcpy(text, "{{ .Name }} 60 IN AAAA", 22);
	memcpy(text + API_ANSWER_TEMPLATE_CHARS_MAX - 3, "::1", 3);
	assert_int_equal(
		api_answer_template_parse((struct slice){ text, API_ANSWER_TEMPLATE_CHARS_MAX },
					  &got, ERR_TEXT(err)),
		0);
	assert_int_equal(
		api_answer_template_parse((struct slice){ text, API_ANSWER_TEMPLATE_CHARS_MAX + 1 },
					  &got, ERR_TEXT(err)),
		ERR_CONFIG);
	assert_non_null(strstr(err, "1024"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_text),
		cmocka_unit_test(as_many_as_fit),
		cmocka_unit_test(a_nul_is_no_end),
		cmocka_unit_test(as_long_as_allowed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
