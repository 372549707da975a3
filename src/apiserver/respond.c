/* Answers. */
#include "apiserver/respond.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/meta.h"
#include "api/yaml.h"
#include "base/clock.h"
#include "base/mem.h"

static int add_text(const char *p, size_t n, void *ctx)
{
	strbuf_add(ctx, p, n);
	return 0;
}

static void add_json(struct strbuf *out, const json_t *v, size_t flags)
{
	IGNORE(json_dump_callback(v, add_text, out, flags)); /* the callback cannot fail */
}

/* YAML comes with its keys in order, as from the server. */
static void add_yaml(struct strbuf *out, const json_t *v)
{
	CLEANUP(freep) char *text = json_dumps(v, JSON_COMPACT | JSON_SORT_KEYS);
	json_t *sorted = json_loads(text, 0, NULL);
	api_yaml_write(out, sorted != NULL ? sorted : v);
	json_decref(sorted);
}

static void finish(struct apiserver_request *q, unsigned status, const json_t *o)
{
	struct apiserver_answer *a = q->answer;
	a->status = status;
	a->content_type =
		q->accept.form == APISERVER_FORM_YAML ? "application/yaml" : "application/json";
	strbuf_reset(&a->body);
	if (q->accept.form == APISERVER_FORM_YAML) {
		add_yaml(&a->body, o);
		return;
	}
	add_json(&a->body, o, q->accept.pretty ? JSON_INDENT(2) : JSON_COMPACT);
	strbuf_addc(&a->body, '\n');
}

/* The body is a text of JSON that was put together by hand; other forms need its tree. */
static void finish_text(struct apiserver_request *q)
{
	struct apiserver_answer *a = q->answer;
	a->status = 200;
	a->content_type = "application/json";
	strbuf_addc(&a->body, '\n');
	if (q->accept.form == APISERVER_FORM_JSON && !q->accept.pretty)
		return;
	json_t *o = json_loadb(a->body.s, a->body.n, 0, NULL);
	if (o != NULL)
		finish(q, 200, o);
	json_decref(o);
}

int apiserver_respond_begin(struct apiserver_request *q, enum apiserver_accept_for what)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	const char *pretty = apiserver_arg(q->c, "pretty");
	if (apiserver_accept_parse(q->c->accept, what, &q->accept, &err) < 0)
		return apiserver_refuse(q->st, 406, "NotAcceptable", "%s", err.s);
	if (pretty != NULL)
		q->accept.pretty = strcmp(pretty, "0") != 0 && strcasecmp(pretty, "false") != 0;
	if (apiserver_table_include(apiserver_arg(q->c, "includeObject"), &q->include, &err) < 0)
		return apiserver_bad_request(q->st, "%s", err.s);
	return 0;
}

static void set_table(const struct apiserver_request *q, struct apiserver_table *t)
{
	*t = (struct apiserver_table){
		.r = q->r,
		.meta_version = q->accept.meta_version,
		.include = q->include,
		.now_s = clock_wall_ns() / NS_PER_S,
	};
}

void apiserver_respond_event(const struct apiserver_accept *accept, struct apiserver_table *t,
			     const json_t *o, bool first, struct strbuf *out)
{
	switch (accept->as) {
	case APISERVER_AS_TABLE:
		t->now_s = clock_wall_ns() / NS_PER_S;
		apiserver_table_object(out, t, o, first);
		break;
	case APISERVER_AS_PARTIAL:
	case APISERVER_AS_PARTIAL_LIST:
		apiserver_partial(out, accept->meta_version, o);
		break;
	case APISERVER_AS_OBJECT:
		add_json(out, o, JSON_COMPACT);
		break;
	}
}

int apiserver_respond_object(struct apiserver_request *q, unsigned status, json_t *o)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	struct apiserver_table t;
	int e = 0;
	set_table(q, &t);
	if (q->accept.as == APISERVER_AS_OBJECT) {
		finish(q, status, o);
	} else if (apiserver_accept_check(&q->accept, false, q->r->kind->kind, &err) < 0) {
		e = apiserver_refuse(q->st, 406, "NotAcceptable", "%s", err.s);
	} else {
		apiserver_respond_event(&q->accept, &t, o, true, &q->answer->body);
		finish_text(q);
		q->answer->status = status;
	}
	json_decref(o);
	return e;
}

void apiserver_respond_tree(struct apiserver_request *q, unsigned status, json_t *o)
{
	finish(q, status, o);
	json_decref(o);
}

void apiserver_respond_refusal(struct apiserver_request *q)
{
	q->answer->retry_after_s = q->st->retry_after_s;
	apiserver_respond_tree(q, q->st->code, apiserver_status_tree(q->st));
}

/* ---- lists ---- */

int apiserver_listing_begin(struct apiserver_request *q, struct apiserver_listing *l)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	if (apiserver_accept_check(&q->accept, true, q->r->list_kind, &err) < 0)
		return apiserver_refuse(q->st, 406, "NotAcceptable", "%s", err.s);
	*l = (struct apiserver_listing){ .r = q->r, .accept = q->accept, .items = STRBUF_INIT };
	set_table(q, &l->table);
	l->raw = q->accept.as == APISERVER_AS_OBJECT && apiserver_object_raw(q->r);
	return 0;
}

static void separate(struct apiserver_listing *l)
{
	if (l->items.n != 0)
		strbuf_addc(&l->items, ',');
}

void apiserver_listing_raw(struct apiserver_listing *l, struct slice text)
{
	separate(l);
	strbuf_addc(&l->items, '{');
	strbuf_add_slice(&l->items, apiserver_text_inner(l->r, text));
}

/* Items of built-in kinds do not say again what they are. */
static void add_item(struct apiserver_listing *l, const json_t *o)
{
	json_t *copy = json_copy((json_t *)(uintptr_t)o);
	if (l->r->built_in) {
		json_object_del(copy, "kind");
		json_object_del(copy, "apiVersion");
	}
	add_json(&l->items, copy, JSON_COMPACT);
	json_decref(copy);
}

void apiserver_listing_tree(struct apiserver_listing *l, const json_t *o)
{
	if (l->accept.as == APISERVER_AS_TABLE) {
		apiserver_table_row(&l->items, &l->table, o);
		return;
	}
	separate(l);
	if (l->accept.as == APISERVER_AS_OBJECT)
		add_item(l, o);
	else
		apiserver_partial(&l->items, l->accept.meta_version, o);
}

static json_t *list_meta(const struct apiserver_listing *l, uint64_t revision, const char *token,
			 int64_t left)
{
	char text[24];
	json_t *meta = json_object();
	snprintf(text, sizeof(text), "%llu", (unsigned long long)revision);
	json_object_set_new(meta, "resourceVersion", json_string(text));
	if (token[0] != '\0' || (!l->r->built_in && l->accept.as == APISERVER_AS_OBJECT))
		json_object_set_new(meta, "continue", json_string(token));
	if (left >= 0)
		json_object_set_new(meta, "remainingItemCount", json_integer(left));
	return meta;
}

static void add_head(const struct apiserver_listing *l, const json_t *meta, struct strbuf *out)
{
	const struct apiserver_resource *r = l->r;
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT;
	if (l->accept.as == APISERVER_AS_TABLE) {
		apiserver_table_begin(out, &l->table, meta, true);
		return;
	}
	bool whole = l->accept.as == APISERVER_AS_OBJECT;
	if (whole)
		strbuf_addf(&version, "%s%s%s", r->kind->group,
			    r->kind->group[0] != '\0' ? "/" : "", r->version);
	else
		strbuf_addf(&version, "meta.k8s.io/%s", l->accept.meta_version);
	strbuf_addf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":",
		    whole ? r->list_kind : "PartialObjectMetadataList", version.s);
	add_json(out, meta, JSON_COMPACT);
	strbuf_adds(out, ",\"items\":[");
}

const char apiserver_listing_close[] = "]}\n";

/* Other forms need the tree of the whole. */
bool apiserver_listing_flows(const struct apiserver_request *q)
{
	return q->c->method == HTTP_GET && q->accept.form == APISERVER_FORM_JSON &&
	       !q->accept.pretty;
}

static void begin_body(struct apiserver_request *q, struct apiserver_listing *l, json_t *meta)
{
	struct strbuf *out = &q->answer->body;
	add_head(l, meta, out);
	json_decref(meta);
	strbuf_add(out, l->items.s, l->items.n);
	l->any = l->items.n != 0;
	strbuf_reset(&l->items);
}

int apiserver_listing_end(struct apiserver_request *q, struct apiserver_listing *l,
			  uint64_t revision, const char *token, int64_t left)
{
	begin_body(q, l, list_meta(l, revision, token, left));
	strbuf_adds(&q->answer->body, "]}");
	finish_text(q);
	return 0;
}

void apiserver_listing_open(struct apiserver_request *q, struct apiserver_listing *l,
			    uint64_t revision)
{
	begin_body(q, l, list_meta(l, revision, "", -1));
	q->answer->status = 200;
	q->answer->content_type = "application/json";
}

void apiserver_listing_more(struct apiserver_listing *l, struct strbuf *out)
{
	if (l->items.n == 0)
		return;
	if (l->any)
		strbuf_addc(out, ',');
	l->any = true;
	strbuf_add(out, l->items.s, l->items.n);
	strbuf_reset(&l->items);
}

void apiserver_listing_done(struct apiserver_listing *l)
{
	strbuf_done(&l->items);
}
