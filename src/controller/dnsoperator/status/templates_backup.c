/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The backup of spec.templates in an annotation of the DNS object. */
#include "controller/dnsoperator/status/templates_backup.h"
#include "controller/dnsoperator/status/templates_backup_test.h"

#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "controller/dnsoperator/status/write_delay.h"
#include "kube/decode/tree.h"

enum { BACKUP_MAX = 128 << 10, ANNOTATIONS_MAX = 256 << 10 };

/* Is there room among all annotations, whose limit is the API's? One that would be refused each
 * time is not tried. */
static bool has_room(const json_t *dns, const char *backup)
{
	size_t n = strlen(DNSOPERATOR_BACKUP) + strlen(backup);
	const char *key;
	json_t *v;
	json_object_foreach (api_get(dns, "metadata.annotations"), key, v) {
		if (strcmp(key, DNSOPERATOR_BACKUP) != 0)
			n += strlen(key) + json_string_length(v);
	}
	return strlen(backup) <= BACKUP_MAX && n <= ANNOTATIONS_MAX;
}

json_t *dnsoperator_backup_patch(const json_t *dns, const struct dnsoperator_plan *plan,
				 const struct dnsoperator_facts *facts)
{
	const char *now = api_annotation(dns, DNSOPERATOR_BACKUP);
	json_t *patch = NULL;
	/* A list that is gone may have been taken by a CRD: its copy stays, or is still to be made. */
	if (json_array_size(plan->backup) == 0 || facts->gate == DNSOPERATOR_GATE_OFF)
		return NULL;
	char *want = json_dumps(plan->backup, JSON_COMPACT | JSON_SORT_KEYS);
	if (has_room(dns, want) && (now == NULL || strcmp(now, want) != 0))
		patch = json_pack("{s{s{ss}}}", "metadata", "annotations", DNSOPERATOR_BACKUP,
				  want);
	else if (!has_room(dns, want) && now != NULL) /* of another list than the one in force */
		patch = json_pack("{s{s{sn}}}", "metadata", "annotations", DNSOPERATOR_BACKUP);
	free(want);
	return patch;
}

int dnsoperator_backup_write(struct dnsoperator_pass *pass)
{
	struct kube_ref ref = { .kind = api_kind_find("operator.openshift.io", "DNS"),
				.name = DNSOPERATOR_DNS_NAME };
	struct kube_status st = { 0 };
	struct dnsoperator_state *state = pass->ctx->state;
	struct own_write *write = own_write_of(&state->own_writes, "DNS", "", DNSOPERATOR_DNS_NAME);
	json_t *now = NULL;
	json_t *patch =
		dnsoperator_backup_patch(kube_tree_of(pass->dns), &pass->plan, &pass->facts);
	if (patch == NULL || (write->known && !own_write_shown(write, pass->dns->rv))) {
		json_decref(patch);
		return 0;
	}
	uint64_t wait = dnsoperator_write_delay_backup(&state->delay, clock_mono_ns());
	int r = wait == 0 ? kube_merge(pass->ctx->conn, &ref, NULL, patch, &now, &st) : 0;
	if (wait != 0)
		dnsoperator_requeue_after(pass->ctx, wait);
	else if (r == ERR_NOTFOUND)
		r = 0;
	else if (r < 0)
		r = dnsoperator_set_error(pass->ctx, r, "backup of the templates", &st);
	else
		own_write_note(write, api_resource_version(now), NULL);
	kube_status_done(&st);
	json_decref(patch);
	json_decref(now);
	return r;
}
