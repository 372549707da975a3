/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks for pages until the server has no more. */
#include "cmd/objects/list_objects.h"

#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/strbuf.h"

enum { PAGE = 500 };

/* Large objects may make a page longer than an answer may be: then a shorter one. */
static int get_page(const struct kubecli *cli, const char *path, const char *next, unsigned *limit,
		    json_t **ret, struct kube_status *status)
{
	int r;
	do {
		CLEANUP(strbuf_done) struct strbuf query = STRBUF_INIT;
		strbuf_addf(&query, "%s?limit=%u", path, *limit);
		if (next[0] != '\0') {
			strbuf_adds(&query, "&continue=");
			strbuf_add_url(&query, slice_of(next));
		}
		kube_status_done(status);
		r = kube_call(cli->conn, &(struct kube_request){ .method = "GET", .path = query.s },
			      ret, status);
		*limit /= r == ERR_LIMIT ? 4 : 1;
	} while (r == ERR_LIMIT && *limit > 0);
	return r;
}

/* Whether the command can go on. */
static bool report_failure(const struct kubecli *cli, const struct api_kind *kind, int code,
			   enum list_objects_need need, const struct kube_status *status)
{
	if (need == LIST_OBJECTS_OPTIONAL && code == ERR_NOTFOUND)
		return true;
	if (need == LIST_OBJECTS_OPTIONAL && code == ERR_DENIED) {
		kubecli_say(cli, "warning: %s are left out: %s", kind->plural, status->message);
		return true;
	}
	kubecli_say_status(cli, kind->plural, status);
	return false;
}

bool list_objects(const struct kubecli *cli, const struct api_kind *kind, const char *ns,
		  enum list_objects_need need, json_t **ret)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf next = STRBUF_INIT;
	unsigned limit = PAGE;
	json_t *found = json_array();
	api_kind_path(&path, kind, ns, NULL, NULL);
	strbuf_adds(&next, "");
	do {
		struct kube_status status = { 0 };
		json_t *page = NULL;
		int r = get_page(cli, path.s, next.s, &limit, &page, &status);
		bool ok = r >= 0 || report_failure(cli, kind, r, need, &status);
		kube_status_done(&status);
		if (!ok) {
			json_decref(found);
			return false;
		}
		json_array_extend(found, json_object_get(page, "items"));
		strbuf_reset(&next);
		strbuf_adds(&next, api_get_string(page, "metadata.continue"));
		json_decref(page);
	} while (next.n != 0);
	*ret = found;
	return true;
}
