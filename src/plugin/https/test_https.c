/* SPDX-License-Identifier: GPL-3.0-or-later */
/* https: limits, and blocks that share a listener. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "server/generation.h"
#include "server/route.h"
#include "server/server_state.h"
#include "testing/fake_server.h"

static void limits(const char *text, uint32_t connections, uint32_t streams)
{
	struct fake *f = fake_new(text);
	if (f == NULL)
		fail_msg("%s", fake_error());
	const struct route *r = fake_server(f)->gen->route[0];
	assert_int_equal(r->https.max_connections, connections);
	assert_int_equal(r->https.max_streams, streams);
	fake_free(f);
}

static void what_is_read(void **state)
{
	(void)state;
	limits("https://. {\n https\n}\n", 0, 0);
	limits("https://. {\n https {\n }\n}\n", 0, 0);
	limits("https://. {\n https {\n  max_connections 100\n }\n}\n", 100, 0);
	limits("https://. {\n https {\n  max_connections 0\n  max_streams 0\n }\n}\n", 0, 0);
	limits("https://. {\n https {\n  max_streams 4294967295\n }\n}\n", 0, UINT32_MAX);
	limits(". {\n https {\n  max_connections 5\n }\n}\n", 0, 0); /* of no use, but allowed */
}

static void refuses(const char *body, const char *why)
{
	char text[256];
	snprintf(text, sizeof(text), "https://. {\n https %s\n}\n", body);
	assert_null(fake_new(text));
	assert_string_equal(fake_error(), why);
}

static void what_is_refused(void **state)
{
	(void)state;
	refuses("x", "Corefile:2:8: https: unexpected argument 'x'");
	refuses("{\n  max_connections\n }", "Corefile:3:3: max_connections: expected an argument");
	refuses("{\n  max_connections 1 2\n }",
		"Corefile:3:21: max_connections: expected at most 1 argument, got 2");
	refuses("{\n  max_connections -1\n }",
		"Corefile:3:19: max_connections: expected a number from 0 to 4294967295, got '-1'");
	refuses("{\n  max_streams 4294967296\n }", "Corefile:3:15: max_streams: expected a number "
						   "from 0 to 4294967295, got '4294967296'");
	refuses("{\n  max_streams many\n }",
		"Corefile:3:15: max_streams: expected a number from 0 to 4294967295, got 'many'");
	refuses("{\n  max_streams 1\n  max_streams 1\n }",
		"Corefile:4:3: max_streams: given twice");
	refuses("{\n  other 1\n }", "Corefile:3:3: unknown option 'other', expected one of: "
				    "max_connections, max_streams");
	refuses("{\n }\n https",
		"Corefile:4:2: 'https' may be used only once in a server block, first at line 2");
}

/* The first block decides about connections; streams must be agreed on. */
static void shared_listeners(void **state)
{
	(void)state;
	limits("https://a. {\n https {\n  max_connections 7\n }\n}\nhttps://b. {\n https {\n  "
	       "max_connections 9\n  max_streams 3\n }\n}\n",
	       7, 3);
	limits("https://a. {\n whoami\n}\nhttps://b. {\n https {\n  max_connections 9\n }\n}\n", 0,
	       0);
	limits("https://a. {\n https {\n  max_streams 3\n }\n}\nhttps://b. {\n https {\n  "
	       "max_streams 3\n }\n}\n",
	       0, 3);
	assert_null(fake_new("https://a. {\n https {\n  max_streams 3\n }\n}\nhttps://b. {\n https "
			     "{\n  max_streams 4\n }\n}\n"));
	assert_string_equal(fake_error(), "Corefile:6:1: conflicting max_streams values for shared "
					  "HTTPS listener https://:443: 3 and 4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(shared_listeners),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
