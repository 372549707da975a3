/* Paths become a tree of nodes; while yajl reads, a stack holds the nodes of the containers we are
 * in. Two counters stand for the containers below: unwanted ones and those of a deep row. */
#include "kube/sax.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_parse.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "kube/cut.h"

enum { STACK_MAX = 16, NONE = -1, BELOW = -2 };

struct node {
	char *key; /* NULL: elements of an array; "*": any key */
	size_t key_n;
	int id;
	unsigned flags;
	bool wanted;	    /* something in or below it is; not so on the way to a dropped row */
	int child, sibling; /* first, next; NONE */
};

struct kube_sax {
	VEC(struct node) nodes; /* the first one is the whole object */
};

/* ---- building ---- */

static int node_add(struct kube_sax *s, const char *key, size_t n)
{
	vec_push(&s->nodes, (struct node){ .key = key != NULL ? xstrndup(key, n) : NULL,
					   .key_n = n,
					   .id = -1,
					   .child = NONE,
					   .sibling = NONE });
	return (int)s->nodes.n - 1;
}

static int child_get(struct kube_sax *s, int parent, const char *key, size_t n)
{
	int *link = &s->nodes.v[parent].child;
	for (int i = *link; i != NONE; i = s->nodes.v[i].sibling) {
		const struct node *c = &s->nodes.v[i];
		if ((key == NULL) == (c->key == NULL) && c->key_n == n &&
		    (n == 0 || memcmp(c->key, key, n) == 0))
			return i;
	}
	int added = node_add(s, key, n);
	s->nodes.v[added].sibling = s->nodes.v[parent].child;
	s->nodes.v[parent].child = added;
	return added;
}

static void path_add(struct kube_sax *s, const struct kube_sax_row *row)
{
	const char *p = row->path;
	int at = 0;
	size_t depth = 0;
	while (*p != '\0') {
		const char *end;
		if (*p == '[') {
			end = strchr(p, ']');
			assert(end != NULL);
			at = end == p + 1 ? child_get(s, at, NULL, 0)
					  : child_get(s, at, p + 1, (size_t)(end - p - 1));
			end++;
		} else {
			end = p + strcspn(p, ".[");
			at = child_get(s, at, p, (size_t)(end - p));
		}
		p = *end == '.' ? end + 1 : end;
		depth++;
		s->nodes.v[at].wanted |= (row->flags & KUBE_SAX_DROP) == 0;
	}
	assert(depth < STACK_MAX);
	s->nodes.v[at].id = row->id;
	s->nodes.v[at].flags = row->flags;
}

struct kube_sax *kube_sax_new(const struct kube_sax_row *rows, size_t n)
{
	struct kube_sax *s = xcalloc(1, sizeof(*s));
	int root = node_add(s, NULL, 0);
	s->nodes.v[root].wanted = true;
	for (size_t i = 0; i < n; i++)
		path_add(s, &rows[i]);
	return s;
}

void kube_sax_free(struct kube_sax *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->nodes.n; i++)
		free(s->nodes.v[i].key);
	vec_done(&s->nodes);
	free(s);
}

/* ---- reading ---- */

struct run {
	const struct kube_sax *sax;
	kube_sax_fn fn;
	void *ctx;
	int next; /* the node of the value that comes: NONE (unwanted), BELOW (of a deep row) */
	int deep_id;
	unsigned depth; /* of all containers */
	unsigned skip;	/* unwanted containers we are in */
	unsigned below; /* containers of a deep row we are in */
	struct {
		int node, deep_id;
		int element; /* what its elements are, if it is an array */
	} stack[STACK_MAX];
	unsigned n;
	int result;
};

static int emit(struct run *r, int node, enum kube_sax_type type, struct slice text)
{
	int id = node == BELOW ? r->deep_id : r->sax->nodes.v[node].id;
	if (id < 0 && node != BELOW && r->deep_id >= 0)
		id = r->deep_id; /* an inner node of a path below a deep row */
	r->result = r->fn(r->ctx, id, type, text);
	return r->result >= 0;
}

/* A node that the paths lead to: itself, or what stands for it. */
static int admit(const struct run *r, int node)
{
	bool deep = r->deep_id >= 0;
	if (node == NONE)
		return deep ? BELOW : NONE;
	const struct node *v = &r->sax->nodes.v[node];
	return (v->flags & KUBE_SAX_DROP) != 0 || (!deep && !v->wanted) ? NONE : node;
}

/* What the elements of an array are. */
static int element_of(const struct run *r, int array)
{
	const struct node *nodes = r->sax->nodes.v;
	int i = nodes[array].child;
	while (i != NONE && nodes[i].key != NULL)
		i = nodes[i].sibling;
	return admit(r, i);
}

static int scalar(struct run *r, enum kube_sax_type type, struct slice text)
{
	if (r->skip != 0 || r->next == NONE)
		return 1;
	return emit(r, r->next, type, text);
}

static int on_null(void *ctx)
{
	return scalar(ctx, KUBE_SAX_NULL, (struct slice){ 0 });
}

static int on_bool(void *ctx, int v)
{
	return scalar(ctx, v != 0 ? KUBE_SAX_TRUE : KUBE_SAX_FALSE, (struct slice){ 0 });
}

static int on_number(void *ctx, const char *p, size_t n)
{
	return scalar(ctx, KUBE_SAX_NUMBER, (struct slice){ p, n });
}

static int on_string(void *ctx, const unsigned char *p, size_t n)
{
	return scalar(ctx, KUBE_SAX_STRING, (struct slice){ (const char *)p, n });
}

static int match(const struct run *r, struct slice key)
{
	const struct node *nodes = r->sax->nodes.v;
	int any = NONE;
	for (int i = nodes[r->stack[r->n - 1].node].child; i != NONE; i = nodes[i].sibling) {
		if (nodes[i].key == NULL)
			continue;
		if (nodes[i].key_n == key.n && slice_eq(key, (struct slice){ nodes[i].key, key.n }))
			return i;
		if (nodes[i].key_n == 1 && nodes[i].key[0] == '*')
			any = i;
	}
	return any;
}

static int on_key(void *ctx, const unsigned char *p, size_t n)
{
	struct run *r = ctx;
	struct slice key = { (const char *)p, n };
	if (r->skip != 0)
		return 1;
	if (r->below == 0)
		r->next = admit(r, match(r, key));
	return r->next == NONE ? 1 : emit(r, r->next, KUBE_SAX_KEY, key);
}

static int open_container(struct run *r, enum kube_sax_type type)
{
	if (++r->depth > KUBE_CUT_DEPTH_MAX) {
		r->result = ERR_LIMIT;
		return 0;
	}
	if (r->skip != 0 || r->next == NONE) {
		r->skip++;
		return 1;
	}
	int node = r->next;
	if (node == BELOW) {
		r->below++;
	} else {
		assert(r->n < STACK_MAX);
		r->stack[r->n].node = node;
		r->stack[r->n].deep_id = r->deep_id;
		if ((r->sax->nodes.v[node].flags & KUBE_SAX_DEEP) != 0)
			r->deep_id = r->sax->nodes.v[node].id;
		/* In a map each key says what comes. */
		r->next = type == KUBE_SAX_ARRAY ? element_of(r, node) : NONE;
		r->stack[r->n++].element = r->next;
	}
	return emit(r, node, type, (struct slice){ 0 });
}

static int close_container(void *ctx)
{
	struct run *r = ctx;
	int node = BELOW, more = 1;
	r->depth--;
	if (r->skip != 0) {
		r->skip--;
	} else {
		if (r->below != 0)
			r->below--;
		else
			node = r->stack[--r->n].node;
		more = emit(r, node, KUBE_SAX_END, (struct slice){ 0 });
		if (node != BELOW)
			r->deep_id = r->stack[r->n].deep_id;
	}
	/* On with the elements of an array, if we are back in one. */
	if (r->skip == 0 && r->below == 0 && r->n != 0)
		r->next = r->stack[r->n - 1].element;
	return more;
}

static int on_map(void *ctx)
{
	return open_container(ctx, KUBE_SAX_MAP);
}

static int on_array(void *ctx)
{
	return open_container(ctx, KUBE_SAX_ARRAY);
}

int kube_sax_parse(const struct kube_sax *s, struct slice json, kube_sax_fn fn, void *ctx)
{
	static const yajl_callbacks callbacks = {
		.yajl_null = on_null,
		.yajl_boolean = on_bool,
		.yajl_number = on_number,
		.yajl_string = on_string,
		.yajl_start_map = on_map,
		.yajl_map_key = on_key,
		.yajl_end_map = close_container,
		.yajl_start_array = on_array,
		.yajl_end_array = close_container,
	};
	struct run r = { .sax = s, .fn = fn, .ctx = ctx, .deep_id = -1 };
	yajl_handle h = yajl_alloc(&callbacks, NULL, &r);
	yajl_status st = yajl_parse(h, (const unsigned char *)json.p, json.n);
	if (st == yajl_status_ok)
		st = yajl_complete_parse(h);
	yajl_free(h);
	if (r.result < 0)
		return r.result;
	return st == yajl_status_ok ? 0 : ERR_PARSE;
}
