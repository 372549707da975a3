/* Writes objects and lists into the answer, in the form that the client accepts: JSON or YAML, as
 * objects, Tables or metadata only. */
#include "apiserver/verb/respond.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "apiserver/verb/options.h"
#include "apiserver/verb/object.h"
#include "api/meta.h"
#include "api/yaml/yaml.h"
#include "base/clock.h"
#include "base/mem.h"

static int add_text(const char *pos, size_t len, void *ctx)
{
	strbuf_add(ctx, pos, len);
	return 0;
}

static void add_json(struct strbuf *out, const json_t *value, size_t flags)
{
	IGNORE(json_dump_callback(value, add_text, out, flags)); /* the callback cannot fail */
}

/* YAML has sorted keys, as kube-apiserver writes it. */
static void add_yaml(struct strbuf *out, const json_t *value)
{
	CLEANUP(freep) char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
	json_t *sorted = json_loads(text, 0, NULL);
	api_yaml_write(out, sorted != NULL ? sorted : value);
	json_decref(sorted);
}

static void write_body(struct apiserver_request *req, unsigned status, const json_t *object)
{
	struct apiserver_answer *a = req->answer;
	a->status = status;
	a->content_type =
		req->accept.form == APISERVER_FORM_YAML ? "application/yaml" : "application/json";
	strbuf_reset(&a->body);
	if (req->accept.form == APISERVER_FORM_YAML) {
		add_yaml(&a->body, object);
		return;
	}
	add_json(&a->body, object, req->accept.pretty ? JSON_INDENT(2) : JSON_COMPACT);
	strbuf_addc(&a->body, '\n');
}

/* Finishes a body that was written as JSON text; YAML and indented JSON are made from its tree. */
static void finish_text_body(struct apiserver_request *req)
{
	struct apiserver_answer *a = req->answer;
	a->status = 200;
	a->content_type = "application/json";
	strbuf_addc(&a->body, '\n');
	if (req->accept.form == APISERVER_FORM_JSON && !req->accept.pretty)
		return;
	json_t *o = json_loadb(a->body.s, a->body.n, 0, NULL);
	if (o != NULL)
		write_body(req, 200, o);
	json_decref(o);
}

int apiserver_respond_begin(struct apiserver_request *req, enum apiserver_accept_for what)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	const char *pretty = apiserver_options_arg(req->call, "pretty");
	if (apiserver_accept_parse(req->call->accept, what, &req->accept, &err) < 0)
		return apiserver_status_refuse(req->status, 406, "NotAcceptable", "%s", err.s);
	if (pretty != NULL)
		req->accept.pretty = strcmp(pretty, "0") != 0 && strcasecmp(pretty, "false") != 0;
	if (apiserver_table_include(apiserver_options_arg(req->call, "includeObject"),
				    &req->include, &err) < 0)
		return apiserver_status_bad_request(req->status, "%s", err.s);
	return 0;
}

static void init_table(const struct apiserver_request *req, struct apiserver_table *table)
{
	*table = (struct apiserver_table){
		.resource = req->resource,
		.meta_version = req->accept.meta_version,
		.include = req->include,
		.now_s = clock_wall_ns() / NS_PER_S,
	};
}

void apiserver_respond_event(const struct apiserver_accept *accept, struct apiserver_table *table,
			     const json_t *object, bool first, struct strbuf *out)
{
	switch (accept->as) {
	case APISERVER_AS_TABLE:
		table->now_s = clock_wall_ns() / NS_PER_S;
		apiserver_table_object(out, table, object, first);
		break;
	case APISERVER_AS_PARTIAL:
	case APISERVER_AS_PARTIAL_LIST:
		apiserver_table_partial(out, accept->meta_version, object);
		break;
	case APISERVER_AS_OBJECT:
		add_json(out, object, JSON_COMPACT);
		break;
	}
}

int apiserver_respond_object(struct apiserver_request *req, unsigned status, json_t *object)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	struct apiserver_table t;
	int e = 0;
	init_table(req, &t);
	if (req->accept.as == APISERVER_AS_OBJECT) {
		write_body(req, status, object);
	} else if (apiserver_accept_check(&req->accept, false, req->resource->kind->kind, &err) <
		   0) {
		e = apiserver_status_refuse(req->status, 406, "NotAcceptable", "%s", err.s);
	} else {
		apiserver_respond_event(&req->accept, &t, object, true, &req->answer->body);
		finish_text_body(req);
		req->answer->status = status;
	}
	json_decref(object);
	return e;
}

void apiserver_respond_tree(struct apiserver_request *req, unsigned status, json_t *object)
{
	write_body(req, status, object);
	json_decref(object);
}

void apiserver_respond_refusal(struct apiserver_request *req)
{
	req->answer->retry_after_s = req->status->retry_after_s;
	apiserver_respond_tree(req, req->status->code, apiserver_status_tree(req->status));
}

/* ---- lists ---- */

int apiserver_listing_begin(struct apiserver_request *req, struct apiserver_listing *listing)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	if (apiserver_accept_check(&req->accept, true, req->resource->list_kind, &err) < 0)
		return apiserver_status_refuse(req->status, 406, "NotAcceptable", "%s", err.s);
	*listing = (struct apiserver_listing){ .resource = req->resource,
					       .accept = req->accept,
					       .items = STRBUF_INIT };
	init_table(req, &listing->table);
	listing->raw = req->accept.as == APISERVER_AS_OBJECT &&
		       apiserver_object_is_stored_form(req->resource);
	return 0;
}

static void add_separator(struct apiserver_listing *listing)
{
	if (listing->items.n != 0)
		strbuf_addc(&listing->items, ',');
}

void apiserver_listing_raw(struct apiserver_listing *listing, struct slice text)
{
	add_separator(listing);
	strbuf_addc(&listing->items, '{');
	strbuf_add_slice(&listing->items, apiserver_object_text_inner(listing->resource, text));
}

/* Items of lists of built-in kinds have no kind and apiVersion. */
static void add_item(struct apiserver_listing *listing, const json_t *object)
{
	json_t *copy = json_copy((json_t *)(uintptr_t)object);
	if (listing->resource->built_in) {
		json_object_del(copy, "kind");
		json_object_del(copy, "apiVersion");
	}
	add_json(&listing->items, copy, JSON_COMPACT);
	json_decref(copy);
}

void apiserver_listing_tree(struct apiserver_listing *listing, const json_t *object)
{
	if (listing->accept.as == APISERVER_AS_TABLE) {
		apiserver_table_row(&listing->items, &listing->table, object);
		return;
	}
	add_separator(listing);
	if (listing->accept.as == APISERVER_AS_OBJECT)
		add_item(listing, object);
	else
		apiserver_table_partial(&listing->items, listing->accept.meta_version, object);
}

static json_t *make_list_meta(const struct apiserver_listing *listing, uint64_t revision,
			      const char *token, int64_t left)
{
	char text[24];
	json_t *meta = json_object();
	snprintf(text, sizeof(text), "%llu", (unsigned long long)revision);
	json_object_set_new(meta, "resourceVersion", json_string(text));
	if (token[0] != '\0' ||
	    (!listing->resource->built_in && listing->accept.as == APISERVER_AS_OBJECT))
		json_object_set_new(meta, "continue", json_string(token));
	if (left >= 0)
		json_object_set_new(meta, "remainingItemCount", json_integer(left));
	return meta;
}

static void add_head(const struct apiserver_listing *listing, const json_t *meta,
		     struct strbuf *out)
{
	const struct apiserver_resource *r = listing->resource;
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT;
	if (listing->accept.as == APISERVER_AS_TABLE) {
		apiserver_table_begin(out, &listing->table, meta, true);
		return;
	}
	bool whole = listing->accept.as == APISERVER_AS_OBJECT;
	if (whole)
		strbuf_addf(&version, "%s%s%s", r->kind->group,
			    r->kind->group[0] != '\0' ? "/" : "", r->version);
	else
		strbuf_addf(&version, "meta.k8s.io/%s", listing->accept.meta_version);
	strbuf_addf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":",
		    whole ? r->list_kind : "PartialObjectMetadataList", version.s);
	add_json(out, meta, JSON_COMPACT);
	strbuf_adds(out, ",\"items\":[");
}

const char apiserver_listing_close[] = "]}\n";

/* Other forms need the whole tree. */
bool apiserver_listing_flows(const struct apiserver_request *req)
{
	return req->call->method == HTTP_GET && req->accept.form == APISERVER_FORM_JSON &&
	       !req->accept.pretty;
}

static void begin_body(struct apiserver_request *req, struct apiserver_listing *listing,
		       json_t *meta)
{
	struct strbuf *out = &req->answer->body;
	add_head(listing, meta, out);
	json_decref(meta);
	strbuf_add(out, listing->items.s, listing->items.n);
	listing->any = listing->items.n != 0;
	strbuf_reset(&listing->items);
}

int apiserver_listing_end(struct apiserver_request *req, struct apiserver_listing *listing,
			  uint64_t revision, const char *token, int64_t left)
{
	begin_body(req, listing, make_list_meta(listing, revision, token, left));
	strbuf_adds(&req->answer->body, "]}");
	finish_text_body(req);
	return 0;
}

void apiserver_listing_open(struct apiserver_request *req, struct apiserver_listing *listing,
			    uint64_t revision)
{
	begin_body(req, listing, make_list_meta(listing, revision, "", -1));
	req->answer->status = 200;
	req->answer->content_type = "application/json";
}

void apiserver_listing_more(struct apiserver_listing *listing, struct strbuf *out)
{
	if (listing->items.n == 0)
		return;
	if (listing->any)
		strbuf_addc(out, ',');
	listing->any = true;
	strbuf_add(out, listing->items.s, listing->items.n);
	strbuf_reset(&listing->items);
}

void apiserver_listing_done(struct apiserver_listing *listing)
{
	strbuf_done(&listing->items);
}
