/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the suffixes of search lists in the specs of a namespace's pods. */
#include "controller/poddns/spec_lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "controller/controller.h"
#include "controller/poddns/names.h"
#include "controller/poddns/search_lists.h"
#include "kube/client/client.h"

/* Of pods, which may have tens of kilobytes each. */
#define PAGE "100"

/* The id of a suffix ID.search.ZONE; "" if it is none. The zone may have been another one. */
static void read_id(const char *search, char ret[DNS_SEARCH_LIST_ID + 1])
{
	static const char behind[] = ".search.";
	memset(ret, 0, DNS_SEARCH_LIST_ID + 1);
	if (strlen(search) > DNS_SEARCH_LIST_ID &&
	    strncmp(search + DNS_SEARCH_LIST_ID, behind, strlen(behind)) == 0)
		memcpy(ret, search, DNS_SEARCH_LIST_ID);
}

static void use_lists_of_pod(const json_t *pod, struct poddns_lists *lists)
{
	const char *text = api_annotation(pod, PODDNS_LIST_TEXT_KEY);
	size_t i;
	json_t *search;
	json_array_foreach (api_get(pod, "spec.dnsConfig.searches"), i, search) {
		char id[DNS_SEARCH_LIST_ID + 1];
		read_id(api_text(search), id);
		if (id[0] != '\0')
			poddns_lists_use(lists, id, text);
	}
}

static bool is_all_used(const struct poddns_lists *lists)
{
	for (size_t i = 0; i < lists->n_published; i++) {
		if (!lists->is_used[i])
			return false;
	}
	return true;
}

/* *token is where the page begins (NULL: at the start), then where the next one does; owned. */
static int use_page(struct controller_ctx *ctx, const char *ns, struct poddns_lists *lists,
		    char **token)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	struct kube_status status = { 0 };
	json_t *list = NULL, *pod;
	size_t i;
	strbuf_addf(&path,
		    "/api/v1/namespaces/%s/pods?fieldSelector=status.phase!%%3DSucceeded,"
		    "status.phase!%%3DFailed&limit=" PAGE,
		    ns);
	if (*token != NULL) {
		strbuf_adds(&path, "&continue=");
		strbuf_add_url(&path, slice_of(*token));
	}
	int r = kube_call(ctx->conn, &(struct kube_request){ .method = "GET", .path = path.s },
			  &list, &status);
	if (r < 0)
		snprintf(ctx->err, sizeof(ctx->err),
			 "cannot list the pods of %s for their search lists: %.300s", ns,
			 status.message[0] != '\0' ? status.message : err_str(r));
	json_array_foreach (json_object_get(list, "items"), i, pod)
		use_lists_of_pod(pod, lists);
	const char *next = api_get_string(list, "metadata.continue");
	free(*token);
	*token = next[0] != '\0' ? xstrdup(next) : NULL;
	kube_status_done(&status);
	json_decref(list);
	return r;
}

int poddns_spec_lists_find(struct controller_ctx *ctx, const char *ns, struct poddns_lists *lists)
{
	CLEANUP(freep) char *token = NULL;
	int r = 0;
	do
		r = use_page(ctx, ns, lists, &token);
	while (r == 0 && token != NULL && !is_all_used(lists));
	if (r != ERR_LIMIT)
		return r;
	log_info(PODDNS_LOG_AREA, "the pods of %s are too large to look at them: all lists stay",
		 ns);
	memset(lists->is_used, true, sizeof(lists->is_used));
	return 0;
}
