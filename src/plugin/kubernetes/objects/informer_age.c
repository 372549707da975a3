/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The metric of how old each informer's last event is; computed when metrics are collected. */
#include "plugin/kubernetes/objects/informer_age.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"

struct kubernetes_informer_age {
	char *host;
	uint64_t since_ns; /* for those that had no event yet */
	struct kube_informer *v[KUBERNETES_KINDS];
};

static const struct metrics_family age_family = {
	.name = "fairlead_kubernetes_unheard_seconds",
	.help = "Seconds since the last message of the API server about objects of the kind.",
	.kind = METRICS_GAUGE,
	.labels = { "host", "kind" },
};

static const char *const kinds[KUBERNETES_KINDS] = {
	[KUBERNETES_SERVICES] = "Service",
	[KUBERNETES_SLICES] = "EndpointSlice",
	[KUBERNETES_NAMESPACES] = "Namespace",
	[KUBERNETES_PODS] = "Pod",
	[KUBERNETES_IMPORTS] = "ServiceImport",
	[KUBERNETES_IMPORTED_SLICES] = "imported EndpointSlice",
};

static struct metrics_series *series_of(const struct kubernetes_informer_age *age, int index)
{
	const char *values[] = { age->host, kinds[index] };
	return metrics_get(&age_family, values);
}

static void show_ages(void *ctx)
{
	const struct kubernetes_informer_age *h = ctx;
	uint64_t now = clock_mono_ns();
	for (int i = 0; i < KUBERNETES_KINDS; i++) {
		struct kube_informer_stats st;
		if (h->v[i] == NULL)
			continue;
		kube_informer_stats(h->v[i], &st);
		uint64_t last = MAX(st.last_event_ns, h->since_ns);
		metrics_set(series_of(h, i),
			    now > last ? (double)(now - last) / (double)NS_PER_S : 0);
	}
}

struct kubernetes_informer_age *kubernetes_informer_age_new(
	const char *host, struct kube_informer *const informers[KUBERNETES_KINDS])
{
	struct kubernetes_informer_age *h = xcalloc(1, sizeof(*h));
	h->host = xstrdup(host);
	h->since_ns = clock_mono_ns();
	for (int i = 0; i < KUBERNETES_KINDS; i++)
		h->v[i] = informers[i];
	metrics_on_collect(show_ages, h);
	return h;
}

void kubernetes_informer_age_free(struct kubernetes_informer_age *age)
{
	if (age == NULL)
		return;
	metrics_off_collect(show_ages, age);
	for (int i = 0; i < KUBERNETES_KINDS; i++) {
		if (age->v[i] != NULL)
			metrics_drop(series_of(age, i));
	}
	free(age->host);
	free(age);
}
