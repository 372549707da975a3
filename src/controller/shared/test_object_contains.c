/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What counts as a change of what was applied. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "controller/shared/object_contains.h"

static const struct {
	const char *now, *wanted;
	bool same;
} rows[] = {
	{ "{\"a\":1,\"b\":{\"c\":\"x\"}}", "{\"a\":1,\"b\":{\"c\":\"x\"}}", true },
	{ "{\"a\":1,\"theirs\":2,\"b\":{\"c\":\"x\",\"d\":1}}", "{\"b\":{\"c\":\"x\"}}", true },
	{ "{\"b\":{\"c\":\"y\"}}", "{\"b\":{\"c\":\"x\"}}", false },
	{ "{\"b\":{}}", "{\"b\":{\"c\":\"x\"}}", false },
	{ "{}", "{\"emptyDir\":{}}", false },
	{ "{\"emptyDir\":{}}", "{\"emptyDir\":{}}", true },
	/* one value */
	{ "{\"rules\":[{\"verbs\":[\"get\"]}]}", "{\"rules\":[{\"verbs\":[\"get\"]}]}", true },
	{ "{\"rules\":[{\"verbs\":[\"get\",\"*\"]}]}", "{\"rules\":[{\"verbs\":[\"get\"]}]}",
	  false },
	{ "{\"rules\":[{\"verbs\":[\"get\"]},{}]}", "{\"rules\":[{\"verbs\":[\"get\"]}]}", false },
	{ "{\"tolerations\":[{\"operator\":\"Exists\"}]}", "{\"tolerations\":[]}", false },
	{ "{}", "{\"tolerations\":[]}", true },
	{ "{\"nodeSelector\":{\"a\":\"b\",\"c\":\"d\"}}", "{\"nodeSelector\":{\"a\":\"b\"}}",
	  false },
	{ "{\"selector\":{\"a\":\"b\"}}", "{\"selector\":{\"a\":\"b\"}}", true },
	{ "{\"podSelector\":{\"matchLabels\":{}}}", "{\"podSelector\":{}}", false },
	{ "{\"spec\":{\"matchLabels\":{\"a\":\"b\",\"c\":\"d\"}}}",
	  "{\"spec\":{\"matchLabels\":{\"a\":\"b\"}}}", false },
	/* lists with keys: others may have items of their own, in any order */
	{ "{\"containers\":[{\"name\":\"y\"},{\"name\":\"x\",\"image\":\"i\",\"tty\":true}]}",
	  "{\"containers\":[{\"name\":\"x\",\"image\":\"i\"}]}", true },
	{ "{\"containers\":[{\"name\":\"x\",\"image\":\"j\"}]}",
	  "{\"containers\":[{\"name\":\"x\",\"image\":\"i\"}]}", false },
	{ "{\"containers\":[{\"name\":\"y\"}]}", "{\"containers\":[{\"name\":\"x\"}]}", false },
	{ "{}", "{\"volumes\":[{\"name\":\"x\"}]}", false },
	{ "{\"volumeMounts\":[{\"mountPath\":\"/a\",\"name\":\"n\"}]}",
	  "{\"volumeMounts\":[{\"mountPath\":\"/a\",\"name\":\"m\"}]}", false },
	{ "{\"ports\":[{\"name\":\"x\",\"port\":1,\"nodePort\":2}]}",
	  "{\"ports\":[{\"name\":\"x\",\"port\":1}]}", true },
	/* a NetworkPolicy's have none */
	{ "{\"ports\":[{\"port\":1},{\"port\":2}]}", "{\"ports\":[{\"port\":1}]}", false },
	{ "{\"ownerReferences\":[{\"uid\":\"1\"},{\"uid\":\"2\",\"controller\":true}]}",
	  "{\"ownerReferences\":[{\"uid\":\"2\"}]}", true },
};

static void drift(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *now = json_loads(rows[i].now, 0, NULL);
		json_t *wanted = json_loads(rows[i].wanted, 0, NULL);
		assert_non_null(now);
		assert_non_null(wanted);
		if (object_contains(now, wanted) != rows[i].same)
			fail_msg("%s and %s", rows[i].now, rows[i].wanted);
		json_decref(now);
		json_decref(wanted);
	}
	json_t *wanted = json_object();
	assert_false(object_contains(NULL, wanted));
	json_decref(wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drift),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
