/* SPDX-License-Identifier: GPL-3.0-or-later */
/* poddns: DNS settings of pods by the policy of their namespace, when they are created.
 *
 *   admission.c      the web hooks: change a pod, check it
 *   policy.c         a namespace's policy; entries.c: the ConfigMap's part of it
 *   entries_cache.c  that part as it was parsed last
 *   cluster.c        addresses of DNS servers and the cluster domain
 *   view.c           both for one namespace, from the stores
 *   change.c         applies a policy to a pod; apply.c: as far as the profile accepts it
 *   check.c          what is refused of a pod's settings
 *   search_lists.c   the lists behind virtual suffixes
 *   spec_lists.c     the lists that pods need by their specs
 *   publish.c        those lists for DNS servers, as an annotation of the Namespace
 *   reconcile.c      invalid policies, namespaces
 *   pods.c           pods that the hook missed
 *   report.c         Events */
#include <stdlib.h>

#include "base/err_text.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/poddns/admission.h"
#include "controller/poddns/policy.h"
#include "controller/poddns/reconcile.h"
#include "controller/poddns/state.h"
#include "controller/poddns/watches.h"

static int start_poddns(void **ret, struct err_text err)
{
	struct poddns_state *state = xcalloc(1, sizeof(*state));
	(void)err;
	poddns_entries_cache_init(&state->entries);
	pthread_mutex_init(&state->corefiles_lock, NULL);
	pthread_mutex_init(&state->reported_lock, NULL);
	map_init(&state->reported);
	map_init(&state->pod_events);
	map_init(&state->seen_namespaces);
	map_init(&state->list_memory);
	*ret = state;
	return 0;
}

static void free_values(struct map *map)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(map, &pos)) != NULL)
		free(entry->value);
	map_done(map);
}

static void stop_poddns(void *ptr)
{
	struct poddns_state *state = ptr;
	free_values(&state->reported);
	free_values(&state->list_memory);
	free_values(&state->pod_events);
	map_done(&state->seen_namespaces);
	poddns_entries_cache_done(&state->entries);
	pthread_mutex_destroy(&state->reported_lock);
	pthread_mutex_destroy(&state->corefiles_lock);
	free(state);
}

const struct controller poddns_controller = {
	.name = "poddns",
	.help = "applies the DNS policies of namespaces to their pods",
	.watch = poddns_watches,
	.n_watch = PODDNS_WATCH_COUNT,
	.reconcile = poddns_reconcile,
	.start = start_poddns,
	.stop = stop_poddns,
	.hooks = poddns_admission_hooks,
	.n_hooks = PODDNS_ADMISSION_HOOKS,
};
