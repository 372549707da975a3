/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads /version, where the API of `fairlead up` names the controllers of its process. */
#include "cmd/up/up_check.h"

#include "api/meta.h"
#include "base/err.h"
#include "base/slice.h"
#include "controller/controller.h"
#include "kube/client/client.h"
#include "kube/client/conn.h"

/* Is the name in the list, which has commas between names? */
static bool has_name(struct slice list, const char *name)
{
	while (list.n != 0) {
		if (slice_is(slice_cut(&list, ','), name))
			return true;
	}
	return false;
}

int up_check(struct kube_client *client, const struct controller *controller, struct err_text err)
{
	struct kube_conn *conn = kube_conn_new(client, err);
	struct kube_status status;
	json_t *version = NULL;
	if (conn == NULL)
		return ERR_INTERNAL;
	int r = kube_call(conn, &(struct kube_request){ .method = "GET", .path = "/version" },
			  &version, &status);
	bool runs_there =
		r >= 0 && has_name(slice_of(api_get_string(version, "fairleadControllers")),
				   controller->name);
	if (runs_there)
		err_text_set(
			err,
			"`fairlead up` serves %s and runs this controller already; to run it here, "
			"start that with --controllers '*,-%s'",
			kube_client_text(client), controller->name);
	kube_status_done(&status);
	json_decref(version);
	kube_conn_free(conn);
	return runs_there ? ERR_CONFIG : 0;
}
