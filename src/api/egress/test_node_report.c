/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports of nodes: what was written is read back, other lines are left out, and there is an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/egress/node_report.h"
#include "base/compiler.h"

static void lines_come_back(void **state UNUSED)
{
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
	struct egress_report_line line;
	assert_true(egress_report_add_line(&lines, "web", "uid-1", 7));
	strbuf_adds(&lines, "no line\nweb x\nweb x -1\nweb x 99999999999999999999\n\n  \n");
	assert_true(egress_report_add_line(&lines, "db", "uid-2", INT64_MAX));
	struct slice rest = strbuf_slice(&lines);
	assert_true(egress_report_next_line(&rest, &line));
	assert_true(slice_eq(line.ns, SLICE("web")) && slice_eq(line.uid, SLICE("uid-1")));
	assert_int_equal(line.generation, 7);
	assert_true(egress_report_next_line(&rest, &line));
	assert_true(slice_eq(line.ns, SLICE("db")));
	assert_int_equal(line.generation, INT64_MAX);
	assert_false(egress_report_next_line(&rest, &line));
}

static void too_many_lines(void **state UNUSED)
{
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
	size_t n = 0;
	while (egress_report_add_line(&lines, "a-namespace", "0123456789abcdef", 1))
		assert_true(++n < EGRESS_REPORT_LINES_BYTES);
	assert_true(n > 10000 && lines.n <= EGRESS_REPORT_LINES_BYTES);
}

static void problems_come_back(void **state UNUSED)
{
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
	struct egress_report_problem problem;
	char longer[EGRESS_REPORT_MESSAGE_MAX + 10];
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_true(
		egress_report_add_problem(&lines, "web", "TargetMissing", "no\nuser \xc3\xa4."));
	strbuf_adds(&lines, "web\nweb Reason\nweb  x\nweb A \x01\n\n");
	assert_true(egress_report_add_problem(&lines, "db", "NothingNamed", longer));
	struct slice rest = strbuf_slice(&lines);
	assert_true(egress_report_next_problem(&rest, &problem));
	assert_true(slice_eq(problem.ns, SLICE("web")));
	assert_true(slice_eq(problem.reason, SLICE("TargetMissing")));
	assert_true(slice_eq(problem.message, SLICE("no?user ??.")));
	assert_true(egress_report_next_problem(&rest, &problem));
	assert_true(slice_eq(problem.ns, SLICE("db")));
	assert_int_equal(problem.message.n, EGRESS_REPORT_MESSAGE_MAX);
	assert_false(egress_report_next_problem(&rest, &problem));
	while (egress_report_add_problem(&lines, "web", "TargetMissing", "x"))
		assert_true(lines.n <= EGRESS_REPORT_PROBLEMS_BYTES);
}

static void released_names_come_back(void **state UNUSED)
{
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
	assert_true(egress_report_add_released(&lines, "www.example", "1,regular"));
	strbuf_adds(&lines, "\n\n");
	assert_true(egress_report_add_released(&lines, "db.example", "2,regular"));
	struct slice rest = strbuf_slice(&lines);
	assert_true(slice_eq(egress_report_next_released(&rest), SLICE("www.example 1,regular")));
	assert_true(slice_eq(egress_report_next_released(&rest), SLICE("db.example 2,regular")));
	assert_int_equal(egress_report_next_released(&rest).n, 0);
	while (egress_report_add_released(&lines, "www.example", "1,regular"))
		assert_true(lines.n <= EGRESS_REPORT_RELEASED_BYTES);
}

static void clients_come_back(void **state UNUSED)
{
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
	struct egress_report_client client;
	assert_true(egress_report_add_client(&lines, "net", "10.9.0.2"));
	strbuf_adds(&lines, "net\n\n 10.9.0.3\nnet \n");
	assert_true(egress_report_add_client(&lines, "shop", "2001:db8::1"));
	struct slice rest = strbuf_slice(&lines);
	assert_true(egress_report_next_client(&rest, &client));
	assert_true(slice_eq(client.ns, SLICE("net")));
	assert_true(slice_eq(client.address, SLICE("10.9.0.2")));
	assert_true(egress_report_next_client(&rest, &client));
	assert_true(slice_eq(client.address, SLICE("2001:db8::1")));
	assert_false(egress_report_next_client(&rest, &client));
	while (egress_report_add_client(&lines, "web", "192.0.2.1"))
		assert_true(lines.n <= EGRESS_REPORT_CLIENTS_BYTES);
}

static void names_of_objects(void **state UNUSED)
{
	char name[EGRESS_REPORT_NAME_MAX + 1], node[EGRESS_REPORT_NAME_MAX + 1];
	egress_report_name("node-1", name);
	assert_string_equal(name, "fairlead-node-node-1");
	memset(node, 'n', sizeof(node) - 1);
	node[sizeof(node) - 1] = '\0';
	egress_report_name(node, name);
	assert_int_equal(strlen(name), strlen(EGRESS_REPORT_NAME) + 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_back),    cmocka_unit_test(too_many_lines),
		cmocka_unit_test(problems_come_back), cmocka_unit_test(released_names_come_back),
		cmocka_unit_test(names_of_objects),   cmocka_unit_test(clients_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
