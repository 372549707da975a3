/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is our reader of JSON of one mind with jansson's strict decoder? For unit tests and fuzzing. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "kube/decode/json_priv.h"

struct oracle {
	json_t *stack[KUBE_FRAME_DEPTH_MAX];
	unsigned n;
	json_t *root;
	struct strbuf key;
	bool odd; /* something jansson's trees cannot hold: whoever reads it is right */
};

static inline json_t *oracle_number(struct oracle *o, struct slice text)
{
	struct strbuf b = STRBUF_INIT;
	strbuf_add_slice(&b, text);
	errno = 0;
	json_t *v;
	if (strpbrk(b.s, ".eE") == NULL) {
		v = json_integer(strtoll(b.s, NULL, 10));
		o->odd |= errno != 0;
	} else {
		v = json_real(strtod(b.s, NULL));
		o->odd |= v == NULL;
		v = v != NULL ? v : json_null();
	}
	strbuf_done(&b);
	return v;
}

static inline void oracle_attach(struct oracle *o, json_t *v)
{
	json_t *top = o->n != 0 ? o->stack[o->n - 1] : NULL;
	if (top == NULL)
		o->root = v;
	else if (json_is_array(top))
		json_array_append_new(top, v);
	else
		json_object_set_new_nocheck(top, o->key.s, v);
}

static inline void oracle_token(struct oracle *o, enum kube_json_type type, struct slice text)
{
	json_t *v = NULL;
	switch (type) {
	case KUBE_JSON_STRING:
		v = json_stringn_nocheck(text.p, text.n);
		break;
	case KUBE_JSON_NUMBER:
		v = oracle_number(o, text);
		break;
	case KUBE_JSON_TRUE:
	case KUBE_JSON_FALSE:
		v = json_boolean(type == KUBE_JSON_TRUE);
		break;
	case KUBE_JSON_NULL:
		v = json_null();
		break;
	case KUBE_JSON_KEY:
		o->odd |= text.n != 0 && memchr(text.p, 0, text.n) != NULL;
		strbuf_reset(&o->key);
		strbuf_add_slice(&o->key, text);
		return;
	case KUBE_JSON_MAP:
	case KUBE_JSON_ARRAY:
		v = type == KUBE_JSON_MAP ? json_object() : json_array();
		break;
	case KUBE_JSON_END:
		o->n--;
		return;
	}
	oracle_attach(o, v);
	if (type == KUBE_JSON_MAP || type == KUBE_JSON_ARRAY)
		o->stack[o->n++] = v;
}

/* Token by token; 0 or the reader's error. */
static inline int oracle_read(struct oracle *o, struct slice text)
{
	struct kube_json j;
	int t;
	kube_json_init(&j, text);
	while ((t = kube_json_next(&j)) >= 0 && t != KUBE_JSON_DONE)
		oracle_token(o, (enum kube_json_type)t, j.text);
	kube_json_done(&j);
	return MIN(t, 0);
}

/* All of it skipped, as subtrees that nobody wants are. */
static inline int oracle_skip(struct slice text)
{
	struct kube_json j;
	kube_json_init(&j, text);
	int r = kube_json_skip(&j, 0);
	if (r == 0)
		r = kube_json_next(&j);
	kube_json_done(&j);
	return r == KUBE_JSON_DONE ? 0 : r;
}

/* NULL, or how they differ. */
static inline const char *oracle_compare(struct slice text)
{
	struct oracle o = { .key = STRBUF_INIT };
	json_error_t e;
	const char *why = NULL;
	int ours = oracle_read(&o, text);
	json_t *theirs = json_loadb(text.p != NULL ? text.p : "", text.n,
				    JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
	if (ours != oracle_skip(text))
		why = "skipping is of another opinion than reading";
	else if (text.n != 0 && memchr(text.p, 0, text.n) != NULL)
		/* jansson 2.14 overlooks one behind a number or a name */
		why = ours == 0 ? "accepted a byte of zero" : NULL;
	else if (o.odd || ours == ERR_LIMIT)
		why = NULL;
	else if (ours == 0 && theirs == NULL)
		why = "accepted what jansson refuses";
	else if (ours != 0 && theirs != NULL)
		why = "refused what jansson accepts";
	else if (ours == 0 && !json_equal(o.root, theirs))
		why = "read something else";
	json_decref(o.root);
	json_decref(theirs);
	strbuf_done(&o.key);
	return why;
}
