/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which version is found, and what is asked for that. */
#include "kube/client/discovery.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "kube/test_rig.h"

#define GROUP \
	"{\"kind\":\"APIGroup\",\"versions\":[{\"version\":\"v1\"},{\"version\":\"v1beta1\"}]}"
#define WITH  "{\"resources\":[{\"name\":\"dogs/status\"},{\"name\":\"dogs\"}]}"
#define OTHER "{\"resources\":[{\"name\":\"cats\"},{\"name\":5},7]}"

static const struct {
	const char *group;
	struct fakeapi_reply replies[3];
	int code;
	const char *version;
	const char *asked[3]; /* NULL: nothing more */
} rows[] = {
	/* The first one that has it, in the server's order. */
	{ "a.example",
	  { { .body = GROUP }, { .body = WITH } },
	  0,
	  "v1",
	  { "/apis/a.example", "/apis/a.example/v1" } },
	{ "a.example",
	  { { .body = GROUP }, { .body = OTHER }, { .body = WITH } },
	  0,
	  "v1beta1",
	  { "/apis/a.example", "/apis/a.example/v1", "/apis/a.example/v1beta1" } },
	/* None has it; a version went away meanwhile. */
	{ "a.example",
	  { { .body = GROUP }, { .body = OTHER }, { .status = 404 } },
	  0,
	  "",
	  { "/apis/a.example", "/apis/a.example/v1", "/apis/a.example/v1beta1" } },
	{ "a.example", { { .status = 404 } }, 0, "", { "/apis/a.example" } },
	{ "a.example",
	  { { .body = "{\"versions\":[5,{},{\"version\":\"../x\"}]}" } },
	  0,
	  "",
	  { "/apis/a.example" } },
	{ "a.example", { { .body = "{\"versions\":5}" } }, 0, "", { "/apis/a.example" } },
	/* A path that leads elsewhere is never asked for. */
	{ "..", { { 0 } }, 0, "", { NULL } },
	{ "a/b", { { 0 } }, 0, "", { NULL } },
	/* Failures are not "it does not have it". */
	{ "a.example", { { .status = 403 } }, ERR_DENIED, NULL, { "/apis/a.example" } },
	{ "a.example",
	  { { .body = GROUP }, { .status = 403 } },
	  ERR_DENIED,
	  NULL,
	  { "/apis/a.example", "/apis/a.example/v1" } },
	{ "a.example", { { .body = "<html>" } }, ERR_PARSE, NULL, { "/apis/a.example" } },
};

static void check_row(size_t row)
{
	struct rig g;
	CLEANUP(freep) char *version = NULL;
	size_t n = 0;
	rig_up(&g);
	for (size_t i = 0; i < ARRAY_LEN(rows[row].replies); i++)
		fakeapi_push(g.f, &rows[row].replies[i]);
	assert_int_equal(kube_find_version(g.conn, rows[row].group, "dogs", &version, &g.st),
			 rows[row].code);
	assert_int_equal(version != NULL, rows[row].version != NULL);
	if (version != NULL)
		assert_string_equal(version, rows[row].version);
	else
		assert_string_not_equal(g.st.message, "");
	for (; n < ARRAY_LEN(rows[row].asked) && rows[row].asked[n] != NULL; n++) {
		CLEANUP(freep) char *line = xasprintf("GET %s HTTP", rows[row].asked[n]);
		assert_int_equal(strncmp(fakeapi_request(g.f, n), line, strlen(line)), 0);
	}
	assert_int_equal(fakeapi_requests(g.f), n);
	rig_down(&g);
}

static void versions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(versions) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
