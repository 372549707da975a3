/* Paths become a tree of nodes; while we read, a stack holds the nodes of the containers we are in.
 * A counter stands for the containers below a deep row; unwanted ones are skipped whole. */
#include "kube/decode/sax.h"

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

struct kube_sax {
	VEC(struct node) nodes; /* the first one is the whole object */
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

static int node_add(struct kube_sax *sax, const char *key, size_t len)
{
	vec_push(&sax->nodes, (struct node){ .key = key != NULL ? xstrndup(key, len) : NULL,
					     .key_n = len,
					     .head = head_of(key, len),
					     .id = -1,
					     .child = NONE,
					     .sibling = NONE });
	return (int)sax->nodes.n - 1;
}

static int child_get(struct kube_sax *sax, int parent, const char *key, size_t len)
{
	int *link = &sax->nodes.v[parent].child;
	for (int i = *link; i != NONE; i = sax->nodes.v[i].sibling) {
		const struct node *c = &sax->nodes.v[i];
		if ((key == NULL) == (c->key == NULL) && c->key_n == len &&
		    (len == 0 || memcmp(c->key, key, len) == 0))
			return i;
	}
	int added = node_add(sax, key, len);
	sax->nodes.v[added].sibling = sax->nodes.v[parent].child;
	sax->nodes.v[parent].child = added;
	return added;
}

static void path_add(struct kube_sax *sax, const struct kube_sax_row *row)
{
	const char *p = row->path;
	int at = 0;
	size_t depth = 0;
	while (*p != '\0') {
		const char *end;
		if (*p == '[') {
			end = strchr(p, ']');
			assert(end != NULL);
			at = end == p + 1 ? child_get(sax, at, NULL, 0)
					  : child_get(sax, at, p + 1, (size_t)(end - p - 1));
			end++;
		} else {
			end = p + strcspn(p, ".[");
			at = child_get(sax, at, p, (size_t)(end - p));
		}
		p = *end == '.' ? end + 1 : end;
		depth++;
		sax->nodes.v[at].wanted |= (row->flags & KUBE_SAX_DROP) == 0;
	}
	assert(depth < STACK_MAX);
	sax->nodes.v[at].id = row->id;
	sax->nodes.v[at].flags = row->flags;
}

struct kube_sax *kube_sax_new(const struct kube_sax_row *rows, size_t count)
{
	struct kube_sax *s = xcalloc(1, sizeof(*s));
	int root = node_add(s, NULL, 0);
	s->nodes.v[root].wanted = true;
	for (size_t i = 0; i < count; i++)
		path_add(s, &rows[i]);
	return s;
}

void kube_sax_free(struct kube_sax *sax)
{
	if (sax == NULL)
		return;
	for (size_t i = 0; i < sax->nodes.n; i++)
		free(sax->nodes.v[i].key);
	vec_done(&sax->nodes);
	free(sax);
}

/* ---- reading ---- */

struct run {
	const struct kube_sax *sax;
	kube_sax_fn fn;
	void *ctx;
	struct kube_json json;
	int next; /* the node of the value that comes: NONE (unwanted), BELOW (of a deep row) */
	int deep_id;
	unsigned below; /* containers of a deep row we are in */
	struct {
		int node, deep_id;
		int element; /* what its elements are, if it is an array */
	} stack[STACK_MAX];
	unsigned n;
};

static int emit(struct run *run, int node, enum kube_sax_type type, struct slice text)
{
	int id = node == BELOW ? run->deep_id : run->sax->nodes.v[node].id;
	if (id < 0 && node != BELOW && run->deep_id >= 0)
		id = run->deep_id; /* an inner node of a path below a deep row */
	int code = run->fn(run->ctx, id, type, text);
	return MIN(code, 0);
}

/* A node that the paths lead to: itself, or what stands for it. */
static int admit(const struct run *run, int node)
{
	bool deep = run->deep_id >= 0;
	if (node == NONE)
		return deep ? BELOW : NONE;
	const struct node *v = &run->sax->nodes.v[node];
	return (v->flags & KUBE_SAX_DROP) != 0 || (!deep && !v->wanted) ? NONE : node;
}

/* What the elements of an array are. */
static int element_of(const struct run *run, int array)
{
	const struct node *nodes = run->sax->nodes.v;
	int i = nodes[array].child;
	while (i != NONE && nodes[i].key != NULL)
		i = nodes[i].sibling;
	return admit(run, i);
}

static int match(const struct run *run, struct slice key)
{
	const struct node *nodes = run->sax->nodes.v;
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
		run->next = admit(run, match(run, key));
	if (run->next == NONE)
		return kube_json_skip(&run->json, run->json.depth);
	return emit(run, run->next, KUBE_SAX_KEY, key);
}

static int on_open(struct run *run, enum kube_sax_type type)
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
		if ((run->sax->nodes.v[node].flags & KUBE_SAX_DEEP) != 0)
			run->deep_id = run->sax->nodes.v[node].id;
		/* In a map each key says what comes. */
		run->next = type == KUBE_SAX_ARRAY ? element_of(run, node) : NONE;
		run->stack[run->n++].element = run->next;
	}
	return emit(run, node, type, (struct slice){ 0 });
}

static int on_close(struct run *run)
{
	int node = BELOW;
	if (run->below != 0)
		run->below--;
	else
		node = run->stack[--run->n].node;
	int code = emit(run, node, KUBE_SAX_END, (struct slice){ 0 });
	if (node != BELOW)
		run->deep_id = run->stack[run->n].deep_id;
	/* On with the elements of an array, if we are back in one. */
	if (run->below == 0 && run->n != 0)
		run->next = run->stack[run->n - 1].element;
	return code;
}

static int on_token(struct run *run, enum kube_sax_type type)
{
	switch (type) {
	case KUBE_SAX_KEY:
		return on_key(run, run->json.text);
	case KUBE_SAX_MAP:
	case KUBE_SAX_ARRAY:
		return on_open(run, type);
	case KUBE_SAX_END:
		return on_close(run);
	case KUBE_SAX_STRING:
	case KUBE_SAX_NUMBER:
		return run->next == NONE ? 0 : emit(run, run->next, type, run->json.text);
	case KUBE_SAX_TRUE:
	case KUBE_SAX_FALSE:
	case KUBE_SAX_NULL:
		break;
	}
	return run->next == NONE ? 0 : emit(run, run->next, type, (struct slice){ 0 });
}

int kube_sax_parse(const struct kube_sax *sax, struct slice json, kube_sax_fn fn, void *ctx)
{
	struct run r;
	r.sax = sax;
	r.fn = fn;
	r.ctx = ctx;
	r.next = 0;
	r.deep_id = -1;
	r.below = r.n = 0;
	kube_json_init(&r.json, json);
	int code = 0, t = 0;
	while (code == 0 && (t = kube_json_next(&r.json)) >= 0 && t != KUBE_JSON_DONE)
		code = on_token(&r, (enum kube_sax_type)t);
	kube_json_done(&r.json);
	return code < 0 ? code : MIN(t, 0);
}
