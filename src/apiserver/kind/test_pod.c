/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where Pods are validated otherwise than by kube-apiserver, whose answers test_kinds.json has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "apiserver/kind/strategy.h"

static json_t *make_pod(const char *label, const char *option_value)
{
	json_t *container =
		json_pack("{ssssss}", "name", "c", "image", "i", "imagePullPolicy", "Always");
	json_t *option = json_pack("{ssss}", "name", "ndots", "value", option_value);
	json_t *spec =
		json_pack("{sssss[o]s{s[o]}}", "restartPolicy", "Always", "dnsPolicy", "Default",
			  "containers", container, "dnsConfig", "options", option);
	return json_pack("{s{s{ss}}so}", "metadata", "labels", "a", label, "spec", spec);
}

/* The refused field, or "". */
static void assert_refused(json_t *object, json_t *old, const char *field)
{
	struct api_errors errors = { 0 };
	apiserver_pod_strategy.validate(NULL, object, old, &errors);
	if (errors.n != (field[0] != '\0') ||
	    (errors.n > 0 && strcmp(errors.v[0].field, field) != 0))
		fail_msg("%zu errors, the first: %s: %s", errors.n,
			 errors.n > 0 ? errors.v[0].field : "",
			 errors.n > 0 ? errors.v[0].body : "");
	api_errors_done(&errors);
	json_decref(object);
	json_decref(old);
}

/* PD-29: an option that adds a line is refused in a new Pod. One that is stored can be changed
 * otherwise, so that it can be labelled and deleted. */
static void option_injection(void **state)
{
	static const char injected[] = "2\nnameserver 192.0.2.66";
	static const char field[] = "spec.dnsConfig.options[0].value";
	(void)state;
	assert_refused(make_pod("x", "2"), NULL, "");
	assert_refused(make_pod("x", injected), NULL, field);
	assert_refused(make_pod("y", injected), make_pod("x", injected), "");
	assert_refused(make_pod("y", "3"), make_pod("x", injected), "spec");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(option_injection) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
