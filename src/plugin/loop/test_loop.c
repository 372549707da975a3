/* SPDX-License-Identifier: GPL-3.0-or-later */
/* loop: the third meeting ends the program with CoreDNS's words; others are no concern. */
#include "plugin/loop/loop_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "server/generation.h"
#include "server/server_state.h"
#include "server/setup.h"
#include "testing/fake_server.h"

static const char *name_in(struct fake *f)
{
	return loop_name(block_find(&fake_server(f)->gen->block[0], "loop"));
}

static void ask(struct fake *f, const char *name, const char *type)
{
	const char *got = fake_ask(
		f, &(struct fake_ask){ .name = name, .type = type, .client = "192.0.2.9:40000" });
	assert_memory_equal(got, "NOERROR", 7);
}

static void passes_queries_on(void **state)
{
	(void)state;
	struct fake *f = fake_new("example.org {\n loop\n whoami\n}\n");
	assert_non_null(f);
	char *name = strdup(name_in(f));
	assert_non_null(strstr(name, ".example.org."));
	ask(f, name, "HINFO");
	ask(f, name, "HINFO");
	for (int i = 0; i < 4; i++) {
		ask(f, name, "A");
		ask(f, "1.2.example.org.", "HINFO");
		ask(f, "example.org.", "HINFO");
	}
	/* Another configuration has another name. */
	assert_true(fake_reload(f, "example.org {\n loop\n whoami\n}\n"));
	assert_string_not_equal(name_in(f), name);
	for (int i = 0; i < 4; i++)
		ask(f, name, "HINFO");
	free(name);
	fake_free(f);
}

static void end_of_chain_names_it(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n errors\n loop\n}\n");
	assert_memory_equal(fake_ask(f, &(struct fake_ask){ .name = "a." }), "SERVFAIL", 8);
	assert_non_null(strstr(fake_log(f), "plugin/loop: no next plugin found"));
	fake_free(f);
}

/* In a process of its own: what is logged goes to `fd`. */
static void meet_three_times(const char *corefile, int fd)
{
	struct fake *f = fake_new(corefile);
	char mixed[300];
	log_set_fd(fd);
	snprintf(mixed, sizeof(mixed), "%s", name_in(f));
	ask(f, mixed, "HINFO");
	ask(f, mixed, "HINFO");
	for (char *p = mixed; *p != '\0'; p++)
		*p = (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p);
	dprintf(fd, "%s|", name_in(f));
	ask(f, mixed, "HINFO");
	_exit(0);
}

static void check_end(const char *corefile, const char *address, const char *zone)
{
	int out[2], status;
	char got[1024] = "", want[1024];
	assert_int_equal(pipe(out), 0);
	pid_t pid = fork();
	if (pid == 0)
		meet_three_times(corefile, out[1]);
	assert_true(pid > 0);
	close(out[1]);
	assert_true(read(out[0], got, sizeof(got) - 1) > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	size_t n = strlen(got);
	while (n < sizeof(got) - 1) {
		ssize_t more = read(out[0], got + n, sizeof(got) - 1 - n);
		if (more <= 0)
			break;
		n += (size_t)more;
	}
	close(out[0]);
	char *name = got;
	char *line = strchr(got, '|');
	assert_non_null(line);
	*line++ = '\0';
	snprintf(want, sizeof(want),
		 "[FATAL] plugin/loop: Loop (192.0.2.9:40000 -> %s) detected for zone \"%s\", see "
		 "https://coredns.io/plugins/loop#troubleshooting. Query: \"HINFO %s\"\n",
		 address, zone, name);
	assert_string_equal(line, want);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

static void third_meeting_is_the_end(void **state)
{
	(void)state;
	check_end(". {\n loop\n whoami\n}\n", ":53", ".");
	check_end("example.org:54 net {\n bind 127.0.0.1 ::1\n loop\n whoami\n}\n", "127.0.0.1:54",
		  "example.org.");
	check_end("10.0.0.0/15 {\n bind ::1\n loop\n whoami\n}\n", "[::1]:53",
		  "0.10.in-addr.arpa.");
}

static void refuses(void **state)
{
	static const struct {
		const char *corefile, *error;
	} rows[] = {
		{ ". {\n loop x\n}\n", "Corefile:2:7: loop takes no arguments" },
		{ ". {\n loop {\n }\n}\n", "Corefile:2:2: loop takes no options" },
		{ ". {\n loop\n loop\n}\n", NULL },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_null(fake_new(rows[i].corefile));
		if (rows[i].error != NULL)
			assert_string_equal(fake_error(), rows[i].error);
		else
			assert_non_null(strstr(fake_error(), "Corefile:3:2: "));
	}
}

/* No room for two more labels: nothing can be asked, and nothing counts. */
static void longest_zone(void **state)
{
	(void)state;
	char corefile[400] = "";
	for (int i = 0; i < 3; i++)
		snprintf(corefile + strlen(corefile), sizeof(corefile) - strlen(corefile), "%063d.",
			 0);
	snprintf(corefile + strlen(corefile), sizeof(corefile) - strlen(corefile),
		 "%030d {\n loop\n whoami\n}\n", 0);
	struct fake *f = fake_new(corefile);
	assert_non_null(f);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes_queries_on),
		cmocka_unit_test(end_of_chain_names_it),
		cmocka_unit_test(third_meeting_is_the_end),
		cmocka_unit_test(refuses),
		cmocka_unit_test(longest_zone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
