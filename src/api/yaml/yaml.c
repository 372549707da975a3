/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads YAML: builds trees from the events of libyaml. */
#include "api/yaml/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "api/tree.h"
#include "api/yaml/yaml_scalar_priv.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

struct frame {
	json_t *value; /* owned until it is put into its parent */
	char *key;     /* mapping: the key whose value comes next; NULL: a key comes next */
	char *anchor;
	bool merge; /* the value that comes next is merged into the mapping */
	json_t *merged; /* mapping: values from merge keys, for keys that the mapping itself does not have */
};

struct builder {
	yaml_parser_t parser;
	const char *file;
	struct slice text;
	struct srcerr *err;
	VEC(struct frame) stack;
	struct map anchors; /* name → json_t */
	size_t n_nodes;
	json_t *root;
};

static struct srcpos pos_of(const struct builder *builder, const yaml_mark_t *mark)
{
	return (struct srcpos){ builder->file, (uint32_t)mark->line + 1,
				(uint32_t)mark->column + 1 };
}

static int fail_at(struct builder *builder, const yaml_event_t *event, const char *text)
{
	return srcerr_set(builder->err, pos_of(builder, &event->start_mark), "%s", text);
}

/* ---- scalars ---- */

static bool has_tag(const yaml_char_t *tag, const char *name)
{
	static const char prefix[] = "tag:yaml.org,2002:";
	return tag != NULL && strncmp((const char *)tag, prefix, sizeof(prefix) - 1) == 0 &&
	       strcmp((const char *)tag + sizeof(prefix) - 1, name) == 0;
}

static struct slice scalar_text(const yaml_event_t *event)
{
	return (struct slice){ (const char *)event->data.scalar.value, event->data.scalar.length };
}

static enum yaml_kind scalar_kind(const yaml_event_t *event, struct yaml_number *num)
{
	const yaml_char_t *tag = event->data.scalar.tag;
	if (has_tag(tag, "str") || has_tag(tag, "binary"))
		return YAML_STRING;
	if (tag == NULL && event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return YAML_STRING;
	return yaml_scalar_resolve(scalar_text(event), num);
}

static int scalar_value(struct builder *builder, const yaml_event_t *event, json_t **ret)
{
	struct yaml_number num = { 0 };
	struct slice s = scalar_text(event);
	json_t *v = NULL;
	switch (scalar_kind(event, &num)) {
	case YAML_STRING:
		v = json_stringn(s.p, s.n);
		if (v == NULL || memchr(s.p, '\0', s.n) != NULL) {
			json_decref(v);
			return fail_at(builder, event, "a string holds a NUL byte");
		}
		break;
	case YAML_NULL:
		v = json_null();
		break;
	case YAML_TRUE:
		v = json_true();
		break;
	case YAML_FALSE:
		v = json_false();
		break;
	case YAML_INT:
		v = json_integer(num.integer);
		break;
	case YAML_FLOAT:
		v = json_real(num.real);
		break;
	case YAML_NOT_JSON:
		return fail_at(builder, event, "infinity and NaN cannot be written in JSON");
	}
	*ret = v;
	return 0;
}

/* Keys are strings in JSON: other scalars are written out as Go would. */
static int key_text(struct builder *builder, const yaml_event_t *event, char **ret)
{
	struct yaml_number num = { 0 };
	struct slice s = scalar_text(event);
	if (memchr(s.p, '\0', s.n) != NULL)
		return fail_at(builder, event, "a key holds a NUL byte");
	switch (scalar_kind(event, &num)) {
	case YAML_TRUE:
		*ret = xstrdup("true");
		return 0;
	case YAML_FALSE:
		*ret = xstrdup("false");
		return 0;
	case YAML_INT:
		*ret = xasprintf("%lld", (long long)num.integer);
		return 0;
	case YAML_NULL:
		if (s.n == 0 && event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
			break;
		*ret = xstrdup("null");
		return 0;
	case YAML_STRING:
	case YAML_FLOAT:
	case YAML_NOT_JSON:
		break;
	}
	*ret = xstrndup(s.p, s.n);
	return 0;
}

/* ---- the tree ---- */

static size_t count_nodes(const json_t *value)
{
	size_t n = 1, i;
	const char *k;
	json_t *c;
	if (json_is_object(value)) {
		json_object_foreach (api_tree(value), k, c)
			n += count_nodes(c);
	} else if (json_is_array(value)) {
		json_array_foreach (value, i, c)
			n += count_nodes(c);
	}
	return n;
}

/* Merges what `<<` names: a mapping, or a list of mappings, of which the first with a key wins. */
static int add_merged(struct builder *builder, struct frame *frame, const yaml_event_t *event,
		      json_t *value)
{
	json_t *c;
	size_t i;
	int r = 0;
	if (frame->merged == NULL)
		frame->merged = json_object();
	if (json_is_object(value)) {
		r = json_object_update_missing(frame->merged, value);
	} else if (json_is_array(value)) {
		json_array_foreach (value, i, c) {
			if (!json_is_object(c))
				r = -1;
			else if (r == 0)
				r = json_object_update_missing(frame->merged, c);
		}
	} else {
		r = -1;
	}
	json_decref(value);
	return r == 0 ? 0
		      : fail_at(builder, event,
				"a merge key needs a mapping or a list of mappings");
}

/* Puts a finished value (a reference of ours) where it belongs. */
static int put_value(struct builder *builder, const yaml_event_t *event, json_t *value)
{
	if (builder->stack.n == 0) {
		builder->root = value;
		return 0;
	}
	struct frame *f = &builder->stack.v[builder->stack.n - 1];
	if (json_is_array(f->value)) {
		json_array_append_new(f->value, value);
		return 0;
	}
	if (f->merge) {
		f->merge = false;
		return add_merged(builder, f, event, value);
	}
	if (f->key == NULL) {
		json_decref(value);
		return fail_at(builder, event, "a key must be a scalar");
	}
	int r = json_object_set_new(f->value, f->key, value);
	free(f->key);
	f->key = NULL;
	return r == 0 ? 0 : fail_at(builder, event, "text is not valid UTF-8");
}

static int count_value(struct builder *builder, const yaml_event_t *event, size_t count)
{
	builder->n_nodes += count;
	if (builder->n_nodes <= API_YAML_NODES_MAX)
		return 0;
	IGNORE(fail_at(builder, event, "the document is too large") <
	       0); /* another code is returned */
	return ERR_LIMIT;
}

static void remember_anchor(struct builder *builder, const char *anchor, json_t *value)
{
	if (anchor != NULL)
		json_decref(map_set(&builder->anchors, slice_of(anchor), json_incref(value)));
}

static bool wants_key(const struct builder *builder)
{
	const struct frame *f =
		builder->stack.n != 0 ? &builder->stack.v[builder->stack.n - 1] : NULL;
	return f != NULL && json_is_object(f->value) && f->key == NULL && !f->merge;
}

static int on_key(struct builder *builder, const yaml_event_t *event)
{
	struct frame *f = &builder->stack.v[builder->stack.n - 1];
	if (slice_is(scalar_text(event), "<<") &&
	    event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
		f->merge = true;
		return 0;
	}
	int r = key_text(builder, event, &f->key);
	if (r < 0)
		return r;
	if (json_object_get(f->value, f->key) != NULL)
		return srcerr_set(builder->err, pos_of(builder, &event->start_mark),
				  "duplicate key '%s'", f->key);
	return 0;
}

static int on_scalar(struct builder *builder, const yaml_event_t *event)
{
	json_t *v = NULL;
	if (wants_key(builder))
		return on_key(builder, event);
	int r = scalar_value(builder, event, &v);
	if (r < 0)
		return r;
	remember_anchor(builder, (const char *)event->data.scalar.anchor, v);
	return put_value(builder, event, v);
}

static int on_alias(struct builder *builder, const yaml_event_t *event)
{
	const char *name = (const char *)event->data.alias.anchor;
	json_t *v = map_get(&builder->anchors, slice_of(name));
	if (v == NULL)
		return srcerr_set(builder->err, pos_of(builder, &event->start_mark),
				  "unknown anchor '%s'", name);
	int r = count_value(builder, event, count_nodes(v));
	return r < 0 ? r : put_value(builder, event, json_deep_copy(v));
}

static int on_collection_start(struct builder *builder, const yaml_event_t *event, json_t *value,
			       const yaml_char_t *anchor)
{
	if (builder->stack.n >= API_YAML_DEPTH_MAX) {
		json_decref(value);
		IGNORE(fail_at(builder, event, "nested too deeply") <
		       0); /* another code is returned */
		return ERR_LIMIT;
	}
	struct frame f = { .value = value };
	if (anchor != NULL)
		f.anchor = xstrdup((const char *)anchor);
	vec_push(&builder->stack, f);
	return 0;
}

static int on_collection_end(struct builder *builder, const yaml_event_t *event)
{
	struct frame f = builder->stack.v[--builder->stack.n];
	if (f.merged != NULL)
		json_object_update_missing(f.value, f.merged);
	json_decref(f.merged);
	remember_anchor(builder, f.anchor, f.value);
	free(f.anchor);
	return put_value(builder, event, f.value);
}

static int on_event(struct builder *builder, const yaml_event_t *event)
{
	int r = count_value(builder, event, 1);
	if (r < 0)
		return r;
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return on_scalar(builder, event);
	case YAML_ALIAS_EVENT:
		if (wants_key(builder))
			return fail_at(builder, event, "a key must be a scalar");
		return on_alias(builder, event);
	case YAML_MAPPING_START_EVENT:
		if (wants_key(builder))
			return fail_at(builder, event, "a key must be a scalar");
		return on_collection_start(builder, event, json_object(),
					   event->data.mapping_start.anchor);
	case YAML_SEQUENCE_START_EVENT:
		if (wants_key(builder))
			return fail_at(builder, event, "a key must be a scalar");
		return on_collection_start(builder, event, json_array(),
					   event->data.sequence_start.anchor);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		return on_collection_end(builder, event);
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_START_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		break;
	}
	return 0;
}

/* ---- documents ---- */

static void document_reset(struct builder *builder)
{
	size_t pos = 0;
	const struct map_entry *m;
	while ((m = map_next(&builder->anchors, &pos)) != NULL)
		json_decref(m->value);
	map_done(&builder->anchors);
	map_init(&builder->anchors);
	for (; builder->stack.n > 0; builder->stack.n--) {
		struct frame *f = &builder->stack.v[builder->stack.n - 1];
		json_decref(f->value);
		json_decref(f->merged);
		free(f->key);
		free(f->anchor);
	}
	json_decref(builder->root);
	builder->root = NULL;
	builder->n_nodes = 0;
}

/* The reader's errors (bad UTF-8) have a byte offset only, and the scanner may be far behind. */
static struct srcpos pos_of_byte(const struct builder *builder, size_t offset)
{
	struct srcpos pos = { builder->file, 1, 1 };
	for (size_t i = 0; i < offset && i < builder->text.n; i++) {
		bool is_end = builder->text.p[i] == '\n';
		pos.line += is_end;
		pos.col = is_end ? 1 : pos.col + ((builder->text.p[i] & 0xc0) != 0x80);
	}
	return pos;
}

static int parser_error(struct builder *builder)
{
	const yaml_parser_t *p = &builder->parser;
	struct srcpos pos = p->error == YAML_READER_ERROR ? pos_of_byte(builder, p->problem_offset)
							  : pos_of(builder, &p->problem_mark);
	return srcerr_set(builder->err, pos, "%s%s%s", p->context != NULL ? p->context : "",
			  p->context != NULL ? ", " : "",
			  p->problem != NULL ? p->problem : "not YAML");
}

/* At its start, so that the error has its place. */
static int check_documents(struct builder *builder, const struct api_docs *docs,
			   const yaml_event_t *event)
{
	if (docs->n < API_YAML_DOCS_MAX)
		return 0;
	IGNORE(srcerr_set(builder->err, pos_of(builder, &event->start_mark),
			  "more than %d documents: split the file",
			  API_YAML_DOCS_MAX) < 0); /* another code is returned */
	return ERR_LIMIT;
}

static void add_document(struct builder *builder, struct api_docs *docs, unsigned index)
{
	if (builder->root != NULL && !json_is_null(builder->root)) {
		docs->v = xreallocarray(docs->v, docs->n + 1, sizeof(*docs->v));
		docs->index = xreallocarray(docs->index, docs->n + 1, sizeof(*docs->index));
		docs->v[docs->n] = TAKE_PTR(builder->root);
		docs->index[docs->n++] = index;
	}
	document_reset(builder);
}

static int read_all(struct builder *builder, struct api_docs *docs)
{
	unsigned index = 0;
	for (;;) {
		yaml_event_t e;
		if (yaml_parser_parse(&builder->parser, &e) == 0)
			return parser_error(builder);
		yaml_event_type_t type = e.type;
		int r = on_event(builder, &e);
		if (r == 0 && type == YAML_DOCUMENT_START_EVENT)
			r = check_documents(builder, docs, &e);
		if (r == 0 && type == YAML_DOCUMENT_END_EVENT)
			add_document(builder, docs, index++);
		yaml_event_delete(&e);
		if (r < 0 || type == YAML_STREAM_END_EVENT)
			return r;
	}
}

static void builder_init(struct builder *builder, const char *file, struct slice text)
{
	*builder = (struct builder){ .file = file, .text = text };
	if (yaml_parser_initialize(&builder->parser) == 0)
		abort(); /* no memory */
	yaml_parser_set_input_string(&builder->parser, (const unsigned char *)text.p, text.n);
	yaml_parser_set_encoding(&builder->parser, YAML_UTF8_ENCODING);
	map_init(&builder->anchors);
}

static void builder_done(struct builder *builder)
{
	document_reset(builder);
	map_done(&builder->anchors);
	vec_done(&builder->stack);
	yaml_parser_delete(&builder->parser);
}

void api_docs_done(struct api_docs *docs)
{
	for (size_t i = 0; i < docs->n; i++)
		json_decref(docs->v[i]);
	free(docs->v);
	free(docs->index);
	*docs = (struct api_docs){ 0 };
}

struct slice api_yaml_strip_bom(struct slice text)
{
	const struct slice mark = SLICE("\xef\xbb\xbf");
	while (slice_starts(text, mark))
		text = slice_from(text, mark.n);
	return text;
}

int api_yaml_parse(const char *file, struct slice text, struct api_docs *ret, struct srcerr *err)
{
	struct builder b;
	struct api_docs d = { 0 };
	if (text.n > API_YAML_BYTES_MAX) {
		IGNORE(srcerr_set(err, (struct srcpos){ file, 1, 1 }, "more than %d MB of text",
				  API_YAML_BYTES_MAX >> 20) < 0); /* another code is returned */
		return ERR_LIMIT;
	}
	builder_init(&b, file, api_yaml_strip_bom(text));
	b.err = err;
	int r = read_all(&b, &d);
	builder_done(&b);
	if (r < 0) {
		api_docs_done(&d);
		return r;
	}
	*ret = d;
	return 0;
}

int api_yaml_parse_one(const char *file, struct slice text, json_t **ret, struct srcerr *err)
{
	CLEANUP(api_docs_done) struct api_docs d = { 0 };
	int r = api_yaml_parse(file, text, &d, err);
	if (r < 0)
		return r;
	if (d.n != 1)
		return srcerr_set(err, (struct srcpos){ file, 1, 1 },
				  d.n == 0 ? "no document" : "more than one document");
	*ret = json_incref(d.v[0]);
	return 0;
}
