/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds and removes finalizers by read, change and write, so that those of others stay. */
#include "controller/shared/finalizer.h"

#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "base/err.h"
#include "kube/client/client.h"

struct change {
	const char *finalizer;
};

static int add_to_list(void *ctx, json_t *copy)
{
	const struct change *change = ctx;
	if (api_has_finalizer(copy, change->finalizer))
		return 0;
	if (api_is_deleting(copy))
		return ERR_GONE;
	json_t *meta = json_object_get(copy, "metadata");
	json_t *list = json_object_get(meta, "finalizers");
	if (list == NULL) {
		list = json_array();
		json_object_set_new(meta, "finalizers", list);
	}
	json_array_append_new(list, json_string(change->finalizer));
	return 1;
}

static int remove_from_list(void *ctx, json_t *copy)
{
	const struct change *change = ctx;
	json_t *list = json_object_get(json_object_get(copy, "metadata"), "finalizers");
	int changed = 0;
	for (size_t i = json_array_size(list); i-- > 0;) {
		if (strcmp(api_text(json_array_get(list, i)), change->finalizer) != 0)
			continue;
		json_array_remove(list, i);
		changed = 1;
	}
	return changed;
}

int finalizer_add(struct kube_conn *conn, const struct kube_ref *ref, const char *finalizer,
		  struct kube_status *reterr)
{
	struct change change = { finalizer };
	int r = kube_edit(conn, ref, NULL, add_to_list, &change, reterr);
	return r < 0 ? r : 0;
}

int finalizer_remove(struct kube_conn *conn, const struct kube_ref *ref, const char *finalizer,
		     struct kube_status *reterr)
{
	struct change change = { finalizer };
	int r = kube_edit(conn, ref, NULL, remove_from_list, &change, reterr);
	return r < 0 && r != ERR_NOTFOUND && r != ERR_GONE ? r : 0;
}
