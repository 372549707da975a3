/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which changes count, and as what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/metrics/metrics.h"
#include "plugin/kubernetes/programming_latency.h"
#include "plugin/kubernetes/test_world.h"

static const char *const objects[] = {
	"service n cluster ips=10.0.0.1",
	"service n head ips=None",
};

static bool shows(const char *line)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	metrics_render(&b);
	return strstr(b.s, line) != NULL;
}

static void observe(struct world *w, const char *line, uint64_t trigger_ns)
{
	struct kube_obj *o = world_add(w, line);
	struct kube_slice s = *kube_slice_of(o);
	s.trigger_ns = trigger_ns;
	kubernetes_programming_latency_observe(w->x, &s);
	kube_obj_unref(o);
}

#define METRIC "coredns_kubernetes_dns_programming_duration_seconds"

static void counted(void **state)
{
	struct world w;
	uint64_t now = clock_wall_ns();
	(void)state;
	world_init(&w, objects, ARRAY_LEN(objects));
	/* Without a time, and of a Service that is not there. */
	observe(&w, "slice n a of=cluster eps=10.1.0.1", 0);
	observe(&w, "slice n b of=gone eps=10.1.0.2", now);
	assert_false(shows(METRIC));
	observe(&w, "slice n c of=cluster eps=10.1.0.3", now - 100 * NS_PER_S);
	assert_true(shows(METRIC "_bucket{service_kind=\"cluster_ip\",le=\"65.536\"} 0\n"));
	assert_true(shows(METRIC "_bucket{service_kind=\"cluster_ip\",le=\"131.072\"} 1\n"));
	/* A clock that is ahead of ours. */
	observe(&w, "slice n d of=head eps=10.1.0.4", now + 100 * NS_PER_S);
	assert_true(
		shows(METRIC "_bucket{service_kind=\"headless_with_selector\",le=\"0.001\"} 1\n"));
	assert_true(shows(METRIC "_count{service_kind=\"headless_with_selector\"} 1\n"));
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(counted) };
	metrics_init(1);
	return cmocka_run_group_tests_name("plugin/kubernetes/latency", tests, NULL, NULL);
}
