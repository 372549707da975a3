/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The age of what is known: from the start, and per kind that is asked for. */
#include "plugin/kubernetes/objects/informer_age.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/kind.h"
#include "base/metrics/metrics.h"
#include "base/strbuf.h"
#include "kube/decode/tree.h"

#define METRIC "fairlead_kubernetes_unheard_seconds"

static bool shows(const char *text)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	metrics_render(&b);
	return strstr(b.s, text) != NULL;
}

static void ages(void **state)
{
	const struct api_kind *kind = api_kind_find("", "Service");
	struct kube_informer_conf c = { .kind = kind, .codec = kube_tree_codec(kind, NULL, 0) };
	struct kube_informer *v[KUBERNETES_KINDS] = { NULL };
	(void)state;
	v[KUBERNETES_SERVICES] = kube_informer_new(&c); /* never started, never heard */
	struct kubernetes_informer_age *h = kubernetes_informer_age_new("https://api:6443", v);
	assert_true(shows(METRIC "{host=\"https://api:6443\",kind=\"Service\"} "));
	assert_false(shows("kind=\"Pod\""));
	kubernetes_informer_age_free(h);
	assert_false(shows(METRIC "{"));
	kubernetes_informer_age_free(NULL);
	kube_informer_free(v[KUBERNETES_SERVICES]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(ages) };
	metrics_init(1);
	return cmocka_run_group_tests_name("plugin/kubernetes/informer_age", tests, NULL, NULL);
}
