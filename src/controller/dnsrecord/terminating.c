/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a Namespace by a list with a field selector: the controller has the right to list them. */
#include "controller/dnsrecord/terminating.h"

#include "api/kind.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/strbuf.h"
#include "kube/client/client.h"

json_t *dnsrecord_terminating_namespace(struct kube_conn *conn, const char *ns)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	struct kube_status status = { 0 };
	json_t *list = NULL;
	api_kind_path(&path, api_kind_find("", "Namespace"), NULL, NULL, NULL);
	strbuf_addf(&path, "?fieldSelector=metadata.name%%3D%s", ns);
	int r = kube_call(conn, &(struct kube_request){ .method = "GET", .path = path.s }, &list,
			  &status);
	json_t *found = json_array_get(json_object_get(list, "items"), 0);
	if (r >= 0 && found != NULL && api_is_deleting(found)) {
		/* Items of a list do not say what they are. */
		json_object_set_new(found, "apiVersion", json_string("v1"));
		json_object_set_new(found, "kind", json_string("Namespace"));
		json_incref(found);
	} else {
		found = NULL;
	}
	kube_status_done(&status);
	json_decref(list);
	return found;
}
