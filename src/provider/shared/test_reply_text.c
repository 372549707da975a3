/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "provider/shared/reply_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const others[] = { "errors", NULL };
static const struct provider_reply_form form = { "error", others };

static void only_known_replies_are_repeated(void **state)
{
	static const struct {
		const char *body, *message;
	} rows[] = {
		{ "{\"error\": \"Record is bad\"}", "Record is bad" },
		{ " {\"errors\": [\"secret\"], \"error\": \"Record is bad\"}\n", "Record is bad" },
		{ "{\"error\": \"two\\nlines\\r\\n and\\ttabs\"}", "two lines   and tabs" },
		{ "{\"error\": \"\\u001b[31mred\\u0000\\u202eold\\u009b\"}", "?[31mred??old?" },
		{ "{\"error\": \"M\xc3\xbcller \xff\"}", "M\xc3\xbcller \xef\xbf\xbd" },
		/* Those of other servers. */
		{ "secret", "" },
		{ "<html>secret", "" },
		{ "", "" },
		{ "[\"secret\"]", "" },
		{ "\"secret\"", "" },
		{ "{\"error\": {\"a\": \"secret\"}}", "" },
		{ "{\"message\": \"secret\"}", "" },
		{ "{\"error\": \"secret\", \"code\": 7}", "" },
		{ "{\"error\": \"secret\"} more", "" },
		{ "{\"error\": \"sec", "" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[400] = "before";
		provider_reply_message(slice_of(rows[i].body), &form, ERR_TEXT(text));
		assert_string_equal(text, rows[i].message);
	}
}

static void long_messages_are_cut(void **state)
{
	char body[2000], text[400];
	(void)state;
	memset(body, 'x', sizeof(body));
	memcpy(body, "{\"error\": \"", 11);
	memcpy(body + sizeof(body) - 2, "\"}", 2);
	provider_reply_message((struct slice){ body, sizeof(body) }, &form, ERR_TEXT(text));
	assert_int_equal(strlen(text), PROVIDER_REPLY_TEXT_BYTES + 3);
	/* Not inside a character. */
	for (size_t i = 12; i + 3 < sizeof(body); i += 2)
		memcpy(body + i, "\xc3\xbc", 2);
	provider_reply_message((struct slice){ body, sizeof(body) }, &form, ERR_TEXT(text));
	assert_memory_equal(text, "x\xc3\xbc", 3);
	assert_memory_equal(text + strlen(text) - 5, "\xc3\xbc...", 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_known_replies_are_repeated),
		cmocka_unit_test(long_messages_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
