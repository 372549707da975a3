/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The body of a list: its head with metadata, its items (stored texts, objects, Table rows or
 * metadata only) and its end, either as a whole or for a stream. */
#include "apiserver/request/list_answer.h"

#include <stdio.h>

#include "api/json_text.h"
#include "apiserver/request/object.h"
#include "apiserver/request/respond.h"

int apiserver_list_answer_begin(struct apiserver_request *req, struct apiserver_list_answer *list)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	if (apiserver_accept_check(&req->accept, true, req->resource->list_kind, &err) < 0)
		return apiserver_status_refuse(req->status, 406, "NotAcceptable", "%s", err.s);
	*list = (struct apiserver_list_answer){ .resource = req->resource,
						.accept = req->accept,
						.items = STRBUF_INIT };
	apiserver_respond_init_table(req, &list->table);
	list->raw = req->accept.as == APISERVER_AS_OBJECT &&
		    apiserver_object_is_stored_form(req->resource);
	return 0;
}

static void add_separator(struct apiserver_list_answer *list)
{
	if (list->items.n != 0)
		strbuf_addc(&list->items, ',');
}

void apiserver_list_answer_add_text(struct apiserver_list_answer *list, struct slice text)
{
	add_separator(list);
	strbuf_addc(&list->items, '{');
	struct slice inner = apiserver_object_text_inner(list->resource, text);
	struct slice omitted = list->accept.omit_managed ? apiserver_object_find_managed(text)
							 : (struct slice){ 0 };
	apiserver_object_add_without(&list->items, inner, omitted);
}

/* Items of lists of built-in kinds have no kind and apiVersion. */
static void add_item(struct apiserver_list_answer *list, json_t *object)
{
	json_t *copy = json_copy(object);
	if (list->resource->built_in) {
		json_object_del(copy, "kind");
		json_object_del(copy, "apiVersion");
	}
	api_json_add(&list->items, copy);
	json_decref(copy);
}

void apiserver_list_answer_add_object(struct apiserver_list_answer *list, const json_t *object)
{
	json_t *part = apiserver_respond_accepted(&list->accept, object);
	if (list->accept.as != APISERVER_AS_TABLE)
		add_separator(list);
	if (list->accept.as == APISERVER_AS_TABLE)
		apiserver_table_row(&list->items, &list->table, part);
	else if (list->accept.as == APISERVER_AS_OBJECT)
		add_item(list, part);
	else
		apiserver_table_partial(&list->items, list->accept.meta_version, part);
	json_decref(part);
}

static json_t *make_list_meta(const struct apiserver_list_answer *list, uint64_t revision,
			      const char *token, int64_t left)
{
	char text[24];
	json_t *meta = json_object();
	snprintf(text, sizeof(text), "%llu", (unsigned long long)revision);
	json_object_set_new(meta, "resourceVersion", json_string(text));
	if (token[0] != '\0' ||
	    (!list->resource->built_in && list->accept.as == APISERVER_AS_OBJECT))
		json_object_set_new(meta, "continue", json_string(token));
	if (left >= 0)
		json_object_set_new(meta, "remainingItemCount", json_integer(left));
	return meta;
}

static void add_head(const struct apiserver_list_answer *list, const json_t *meta, bool unset_items,
		     struct strbuf *out)
{
	const struct apiserver_resource *r = list->resource;
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT;
	if (list->accept.as == APISERVER_AS_TABLE) {
		apiserver_table_begin(out, &list->table, meta, true);
		return;
	}
	bool whole = list->accept.as == APISERVER_AS_OBJECT;
	if (whole)
		apiserver_object_add_version(&version, r);
	else
		strbuf_addf(&version, "meta.k8s.io/%s", list->accept.meta_version);
	strbuf_addf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":",
		    whole ? r->list_kind : "PartialObjectMetadataList", version.s);
	api_json_add(out, meta);
	strbuf_adds(out, unset_items ? ",\"items\":null" : ",\"items\":[");
}

const char apiserver_list_answer_close[] = "]}\n";

/* Other forms need the whole tree. */
bool apiserver_list_answer_can_stream(const struct apiserver_request *req)
{
	return req->call->method == HTTP_GET && req->accept.form == APISERVER_FORM_JSON &&
	       !req->accept.pretty;
}

static void begin_body(struct apiserver_request *req, struct apiserver_list_answer *list,
		       json_t *meta, bool unset_items)
{
	struct strbuf *out = &req->answer->body;
	add_head(list, meta, unset_items, out);
	json_decref(meta);
	strbuf_add(out, list->items.s, list->items.n);
	list->any = list->items.n != 0;
	strbuf_reset(&list->items);
}

int apiserver_list_answer_end(struct apiserver_request *req, struct apiserver_list_answer *list,
			      uint64_t revision, const char *token, int64_t left)
{
	/* kube-apiserver's list of metadata has an unset list where it is empty. */
	const bool unset = list->accept.as == APISERVER_AS_PARTIAL_LIST && list->items.n == 0;
	begin_body(req, list, make_list_meta(list, revision, token, left), unset);
	strbuf_adds(&req->answer->body, unset ? "}" : "]}");
	apiserver_respond_text(req);
	return 0;
}

void apiserver_list_answer_open(struct apiserver_request *req, struct apiserver_list_answer *list,
				uint64_t revision)
{
	begin_body(req, list, make_list_meta(list, revision, "", -1), false);
	req->answer->status = 200;
	req->answer->content_type = "application/json";
}

void apiserver_list_answer_take_items(struct apiserver_list_answer *list, struct strbuf *out)
{
	if (list->items.n == 0)
		return;
	if (list->any)
		strbuf_addc(out, ',');
	list->any = true;
	strbuf_add(out, list->items.s, list->items.n);
	strbuf_reset(&list->items);
}

void apiserver_list_answer_done(struct apiserver_list_answer *list)
{
	strbuf_done(&list->items);
}
