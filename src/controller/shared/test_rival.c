/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A Deployment without replicas wants one; pods that end may still write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "controller/shared/rival.h"

static void states(void **state)
{
	static const struct {
		const char *deployment;
		enum rival_state wanted;
	} rows[] = {
		{ "{}", RIVAL_RUNS },
		{ "{\"spec\": {\"replicas\": 1}}", RIVAL_RUNS },
		{ "{\"spec\": {\"replicas\": 0}}", RIVAL_NONE },
		{ "{\"spec\": {\"replicas\": 0}, \"status\": {\"replicas\": 1}}", RIVAL_ENDING },
		{ "{\"spec\": {\"replicas\": 0}, \"status\": {\"terminatingReplicas\": 1}}",
		  RIVAL_ENDING },
		{ "{\"spec\": {\"replicas\": 0}, \"status\": {\"replicas\": 0}}", RIVAL_NONE },
	};
	(void)state;
	assert_int_equal(rival_state_of(NULL), RIVAL_NONE);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *deployment = json_loads(rows[i].deployment, 0, NULL);
		assert_non_null(deployment);
		assert_int_equal(rival_state_of(deployment), rows[i].wanted);
		json_decref(deployment);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(states) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
