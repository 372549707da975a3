/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks for the versions of a group, then for the resources of each: kinds of one group may be served in
 * different versions. */
#include "kube/client/discovery.h"

#include <assert.h>
#include <string.h>

#include "api/kind.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/mem.h"
#include "kube/client/client.h"

/* *ret is NULL if the server does not have the document. */
static int read_document(struct kube_conn *conn, const char *path, json_t **ret,
			 struct kube_status *reterr)
{
	struct kube_status status = { 0 };
	*ret = NULL;
	int r = kube_call(conn, &(struct kube_request){ .method = "GET", .path = path }, ret,
			  &status);
	if (r < 0 && r != ERR_NOTFOUND && reterr != NULL)
		*reterr = status;
	else
		kube_status_done(&status);
	return r == ERR_NOTFOUND ? 0 : MIN(r, 0);
}

static bool has_resource(const json_t *document, const char *plural)
{
	size_t i;
	const json_t *resource;
	json_array_foreach (json_object_get(document, "resources"), i, resource) {
		if (strcmp(api_text(json_object_get(resource, "name")), plural) == 0)
			return true;
	}
	return false;
}

/* 1: this version has the resource; 0: it does not. */
static int check_version(struct kube_conn *conn, const char *group, const char *version,
			 const char *plural, struct kube_status *reterr)
{
	json_t *document;
	if (!api_name_is_path_segment(version))
		return 0;
	CLEANUP(freep) char *path = xasprintf("/apis/%s/%s", group, version);
	int r = read_document(conn, path, &document, reterr);
	if (r == 0)
		r = has_resource(document, plural);
	json_decref(document);
	return r;
}

int kube_find_version(struct kube_conn *conn, const char *group, const char *plural, char **ret,
		      struct kube_status *reterr)
{
	assert(plural != NULL);
	CLEANUP(freep) char *path = xasprintf("/apis/%s", group);
	const json_t *entry;
	const char *found = "";
	json_t *document = NULL;
	size_t i;
	int r = api_name_is_path_segment(group) ? read_document(conn, path, &document, reterr) : 0;
	json_array_foreach (json_object_get(document, "versions"), i, entry) {
		const char *version = api_text(json_object_get(entry, "version"));
		r = check_version(conn, group, version, plural, reterr);
		if (r > 0)
			found = version;
		if (r != 0)
			break;
	}
	if (r >= 0)
		*ret = xstrdup(found);
	json_decref(document);
	return MIN(r, 0);
}
