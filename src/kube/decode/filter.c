/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passes the values of wanted paths to a callback. The paths become a tree of nodes; while a text is
 * read, a stack holds the nodes of the open containers. Containers below a deep row are only counted;
 * unwanted ones are skipped whole. */
#include "kube/decode/filter.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "kube/decode/json_priv.h"

enum { STACK_MAX = 16, NONE = -1, BELOW = -2 };

struct node {
	char *key; /* NULL: elements of an array; "*": any key */
	size_t key_n;
	uint64_t head; /* of the key, as head_of */
	int id;
	unsigned flags;
	bool wanted;	    /* something in or below it is; not so on the way to a dropped row */
	int child, sibling; /* first, next; NONE */
};

struct kube_filter {
	VEC(struct node) nodes; /* the first one is the whole object */
	bool only_scalars;
};

/* ---- building ---- */

/* A key's first eight bytes; all of a shorter one, if one knows its length. */
static ALWAYS_INLINE uint64_t head_of(const char *pos, size_t len)
{
	uint64_t head;
	uint32_t first, last;
	if (len >= 8) {
		memcpy(&head, pos, 8);
		return head;
	}
	if (len >= 4) {
		memcpy(&first, pos, 4);
		memcpy(&last, pos + len - 4, 4);
		return (uint64_t)last << 32 | first;
	}
	head = 0;
	for (size_t i = 0; i < len; i++)
		head = head << 8 | (unsigned char)pos[i];
	return head;
}

static int node_add(struct kube_filter *filter, const char *key, size_t len)
{
	vec_push(&filter->nodes, (struct node){ .key = key != NULL ? xstrndup(key, len) : NULL,
						.key_n = len,
						.head = head_of(key, len),
						.id = -1,
						.child = NONE,
						.sibling = NONE });
	return (int)filter->nodes.n - 1;
}

static int child_get(struct kube_filter *filter, int parent, const char *key, size_t len)
{
	int *link = &filter->nodes.v[parent].child;
	for (int i = *link; i != NONE; i = filter->nodes.v[i].sibling) {
		const struct node *c = &filter->nodes.v[i];
		if ((key == NULL) == (c->key == NULL) && c->key_n == len &&
		    (len == 0 || memcmp(c->key, key, len) == 0))
			return i;
	}
	int added = node_add(filter, key, len);
	filter->nodes.v[added].sibling = filter->nodes.v[parent].child;
	filter->nodes.v[parent].child = added;
	return added;
}

static void path_add(struct kube_filter *filter, const struct kube_filter_row *row)
{
	const char *p = row->path;
	int at = 0;
	size_t depth = 0;
	while (*p != '\0') {
		const char *end;
		if (*p == '[') {
			end = strchr(p, ']');
			assert(end != NULL);
			at = end == p + 1 ? child_get(filter, at, NULL, 0)
					  : child_get(filter, at, p + 1, (size_t)(end - p - 1));
			end++;
		} else {
			end = p + strcspn(p, ".[");
			at = child_get(filter, at, p, (size_t)(end - p));
		}
		p = *end == '.' ? end + 1 : end;
		depth++;
		filter->nodes.v[at].wanted |= (row->flags & KUBE_FILTER_DROP) == 0;
	}
	assert(depth < STACK_MAX);
	filter->nodes.v[at].id = row->id;
	filter->nodes.v[at].flags = row->flags;
}

struct kube_filter *kube_filter_new(const struct kube_filter_row *rows, size_t count)
{
	struct kube_filter *s = xcalloc(1, sizeof(*s));
	int root = node_add(s, NULL, 0);
	s->nodes.v[root].wanted = true;
	for (size_t i = 0; i < count; i++)
		path_add(s, &rows[i]);
	return s;
}

void kube_filter_free(struct kube_filter *filter)
{
	if (filter == NULL)
		return;
	for (size_t i = 0; i < filter->nodes.n; i++)
		free(filter->nodes.v[i].key);
	vec_done(&filter->nodes);
	free(filter);
}

void kube_filter_only_scalars(struct kube_filter *filter)
{
	filter->only_scalars = true;
}

/* ---- reading ---- */

struct run {
	const struct kube_filter *filter;
	kube_filter_fn fn;
	void *ctx;
	struct kube_json json;
	int next; /* the node of the value that comes: NONE (unwanted), BELOW (of a deep row) */
	int deep_id;
	unsigned below; /* containers of a deep row we are in */
	struct {
		int node, deep_id;
		int element; /* what its elements are, if it is an array */
	} stack[STACK_MAX];
	unsigned n; /* of the stack */
};

static int emit_event(struct run *run, int node, enum kube_json_type type, struct slice text)
{
	int id = node == BELOW ? run->deep_id : run->filter->nodes.v[node].id;
	if (id < 0 && node != BELOW && run->deep_id >= 0)
		id = run->deep_id; /* an inner node of a path below a deep row */
	int code = run->fn(run->ctx, id, type, text);
	return MIN(code, 0);
}

/* A key, or the begin or end of a container. */
static int emit_structure(struct run *run, int node, enum kube_json_type type, struct slice text)
{
	return run->filter->only_scalars ? 0 : emit_event(run, node, type, text);
}

/* A node that the paths lead to: itself, or what stands for it. */
static int admit_node(const struct run *run, int node)
{
	bool deep = run->deep_id >= 0;
	if (node == NONE)
		return deep ? BELOW : NONE;
	const struct node *v = &run->filter->nodes.v[node];
	return (v->flags & KUBE_FILTER_DROP) != 0 || (!deep && !v->wanted) ? NONE : node;
}

/* What the elements of an array are. */
static int element_of(const struct run *run, int array)
{
	const struct node *nodes = run->filter->nodes.v;
	int i = nodes[array].child;
	while (i != NONE && nodes[i].key != NULL)
		i = nodes[i].sibling;
	return admit_node(run, i);
}

static int match_key(const struct run *run, struct slice key)
{
	assert(run->n != 0);
	const struct node *nodes = run->filter->nodes.v;
	uint64_t head = head_of(key.p, key.n);
	int any = NONE;
	for (int i = nodes[run->stack[run->n - 1].node].child; i != NONE; i = nodes[i].sibling) {
		const struct node *v = &nodes[i];
		if (v->key == NULL)
			continue;
		if (v->head == head && v->key_n == key.n &&
		    (key.n <= 8 || memcmp(v->key + 8, key.p + 8, key.n - 8) == 0))
			return i;
		if (v->key_n == 1 && v->key[0] == '*')
			any = i;
	}
	return any;
}

static int on_key(struct run *run, struct slice key)
{
	if (run->below == 0)
		run->next = admit_node(run, match_key(run, key));
	if (run->next == NONE)
		return kube_json_skip(&run->json, run->json.depth);
	return emit_structure(run, run->next, KUBE_JSON_KEY, key);
}

static int on_open(struct run *run, enum kube_json_type type)
{
	int node = run->next;
	if (node == NONE)
		return kube_json_skip(&run->json, run->json.depth - 1);
	if (node == BELOW) {
		run->below++;
	} else {
		assert(run->n < STACK_MAX);
		run->stack[run->n].node = node;
		run->stack[run->n].deep_id = run->deep_id;
		if ((run->filter->nodes.v[node].flags & KUBE_FILTER_DEEP) != 0)
			run->deep_id = run->filter->nodes.v[node].id;
		/* In a map the key decides about the value. */
		run->next = type == KUBE_JSON_ARRAY ? element_of(run, node) : NONE;
		run->stack[run->n++].element = run->next;
	}
	return emit_structure(run, node, type, (struct slice){ 0 });
}

static int on_close(struct run *run)
{
	int node = BELOW;
	assert(run->below != 0 || run->n != 0);
	if (run->below != 0)
		run->below--;
	else
		node = run->stack[--run->n].node;
	int code = emit_structure(run, node, KUBE_JSON_END, (struct slice){ 0 });
	if (node != BELOW)
		run->deep_id = run->stack[run->n].deep_id;
	/* On with the elements of an array, if we are back in one. */
	if (run->below == 0 && run->n != 0)
		run->next = run->stack[run->n - 1].element;
	return code;
}

static int on_token(struct run *run, enum kube_json_type type)
{
	switch (type) {
	case KUBE_JSON_KEY:
		return on_key(run, run->json.text);
	case KUBE_JSON_MAP:
	case KUBE_JSON_ARRAY:
		return on_open(run, type);
	case KUBE_JSON_END:
		return on_close(run);
	case KUBE_JSON_STRING:
	case KUBE_JSON_NUMBER:
		return run->next == NONE ? 0 : emit_event(run, run->next, type, run->json.text);
	case KUBE_JSON_TRUE:
	case KUBE_JSON_FALSE:
	case KUBE_JSON_NULL:
		break;
	}
	return run->next == NONE ? 0 : emit_event(run, run->next, type, (struct slice){ 0 });
}

int kube_filter_parse(const struct kube_filter *filter, struct slice json, kube_filter_fn fn,
		      void *ctx)
{
	struct run r;
	r.filter = filter;
	r.fn = fn;
	r.ctx = ctx;
	r.next = 0;
	r.deep_id = -1;
	r.below = r.n = 0;
	kube_json_init(&r.json, json);
	int code = 0, t = 0;
	while (code == 0 && (t = kube_json_next(&r.json)) >= 0 && t != KUBE_JSON_DONE)
		code = on_token(&r, (enum kube_json_type)t);
	kube_json_done(&r.json);
	return code < 0 ? code : MIN(t, 0);
}
