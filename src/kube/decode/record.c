/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decodes records: while an object is read, values are collected by the number of their field, texts
 * as offsets; then one block is allocated for the struct, the arrays of its lists and its texts. */
#include "kube/decode/record.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/time.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "kube/decode/compact_priv.h"

enum { TIME_BYTES_MAX = 64 };

/* Of each record; the kind's own fields come behind them. */
static const struct kube_record_field head_fields[] = {
	{ "metadata.uid", KUBE_RECORD_TEXT, offsetof(struct kube_record, uid) },
	{ "metadata.generation", KUBE_RECORD_INTEGER, offsetof(struct kube_record, generation) },
	{ "metadata.deletionTimestamp", KUBE_RECORD_TIME,
	  offsetof(struct kube_record, deleted_ns) },
};

enum {
	HEAD_FIELDS = ARRAY_LEN(head_fields),
	FIELDS_MAX = HEAD_FIELDS + KUBE_RECORD_FIELDS_MAX,
};

union value {
	uint32_t text; /* offset in `kept` or `shared` */
	int64_t integer;
	uint64_t time_ns;
	bool truth;
	uint32_t n_texts;
};

struct text {
	size_t field;
	uint32_t at;
};

struct record_codec {
	struct compact compact;
	const struct kube_record_kind *kind;
	size_t n_fields; /* of the head and the kind */
	/* Of the object at hand: */
	union value values[FIELDS_MAX];
	VEC(struct text) texts; /* of all lists, in their order */
};

static const struct kube_record_field *field_at(const struct kube_record_kind *kind, size_t index)
{
	return index < HEAD_FIELDS ? &head_fields[index] : &kind->fields[index - HEAD_FIELDS];
}

/* ---- reading ---- */

static int keep_text(struct record_codec *codec, struct strbuf *out, struct slice text,
		     uint32_t *ret_at)
{
	if (codec->compact.kept.n + codec->compact.shared.n + text.n > KUBE_RECORD_BYTES_MAX)
		return ERR_LIMIT;
	if (text.n != 0 && memchr(text.p, 0, text.n) != NULL)
		return ERR_PARSE;
	*ret_at = compact_text(out, text);
	return 0;
}

static int keep_element(struct record_codec *codec, size_t index, struct slice text)
{
	uint32_t at = 0;
	if (codec->texts.n == KUBE_RECORD_TEXTS_MAX)
		return ERR_LIMIT;
	int r = keep_text(codec, &codec->compact.kept, text, &at);
	if (r == 0) {
		vec_push(&codec->texts, (struct text){ index, at });
		codec->values[index].n_texts++;
	}
	return r;
}

static int read_integer(struct slice text, int64_t *ret)
{
	bool negative = text.n != 0 && text.p[0] == '-';
	uint64_t value, most = (uint64_t)INT64_MAX + negative;
	if (negative)
		text = slice_from(text, 1);
	if (slice_u64(text, &value) < 0 || value > most)
		return ERR_RANGE; /* exact, or not at all */
	*ret = negative ? (int64_t)(0 - value) : (int64_t)value;
	return 0;
}

static int read_time(struct slice text, uint64_t *ret)
{
	char buf[TIME_BYTES_MAX];
	if (text.n >= sizeof(buf))
		return ERR_PARSE;
	memcpy(buf, text.p, text.n);
	buf[text.n] = '\0';
	return api_time_parse(buf, ret);
}

static int on_value(void *ctx, int id, enum kube_json_type type, struct slice text)
{
	struct record_codec *c = ctx;
	if (id < COMPACT_OWN)
		return compact_value(&c->compact, id, type, text);
	size_t index = (size_t)(id - COMPACT_OWN);
	assert(index < c->n_fields);
	union value *value = &c->values[index];
	switch (field_at(c->kind, index)->type) {
	case KUBE_RECORD_TEXT:
		return type == KUBE_JSON_STRING ? keep_text(c, &c->compact.kept, text, &value->text)
						: 0;
	case KUBE_RECORD_SHARED:
		return type == KUBE_JSON_STRING
			       ? keep_text(c, &c->compact.shared, text, &value->text)
			       : 0;
	case KUBE_RECORD_INTEGER:
		return type == KUBE_JSON_NUMBER ? read_integer(text, &value->integer) : 0;
	case KUBE_RECORD_BOOL:
		if (type == KUBE_JSON_TRUE || type == KUBE_JSON_FALSE)
			value->truth = type == KUBE_JSON_TRUE;
		return 0;
	case KUBE_RECORD_TIME:
		return type == KUBE_JSON_STRING ? read_time(text, &value->time_ns) : 0;
	case KUBE_RECORD_TEXTS:
		return type == KUBE_JSON_STRING ? keep_element(c, index, text) : 0;
	}
	return 0;
}

/* ---- building ---- */

static void record_free(struct kube_obj *obj)
{
	const struct kube_record_kind *kind = kube_record_of(obj)->kind;
	for (size_t i = 0; i < kind->n_fields; i++) {
		if (kind->fields[i].type == KUBE_RECORD_SHARED)
			kube_string_pool_drop(
				*(const char *const *)((const char *)obj + kind->fields[i].offset));
	}
	kube_string_pool_drop(obj->ns);
	free(obj);
}

/* The texts of one list; returns the place behind its array. */
static const char **fill_texts(const struct record_codec *codec, size_t index, const char *text,
			       const char **array, struct kube_record_texts *out)
{
	*out = (struct kube_record_texts){ .v = array, .n = codec->values[index].n_texts };
	for (size_t i = 0; out->n != 0 && i < codec->texts.n; i++) {
		if (codec->texts.v[i].field == index)
			*array++ = text + codec->texts.v[i].at;
	}
	return array;
}

static const char **fill_member(const struct record_codec *codec, size_t index, const char *text,
				const char **array, char *record)
{
	const struct kube_record_field *field = field_at(codec->kind, index);
	const union value *value = &codec->values[index];
	void *member = record + field->offset;
	switch (field->type) {
	case KUBE_RECORD_TEXT:
		*(const char **)member = text + value->text;
		break;
	case KUBE_RECORD_SHARED:
		*(const char **)member = compact_share(&codec->compact, value->text);
		break;
	case KUBE_RECORD_INTEGER:
		*(int64_t *)member = value->integer;
		break;
	case KUBE_RECORD_BOOL:
		*(bool *)member = value->truth;
		break;
	case KUBE_RECORD_TIME:
		*(uint64_t *)member = value->time_ns;
		break;
	case KUBE_RECORD_TEXTS:
		return fill_texts(codec, index, text, array, member);
	}
	return array;
}

static struct kube_obj *build_record(const struct record_codec *codec)
{
	size_t size = codec->kind->size, arrays = codec->texts.n * sizeof(const char *);
	char *block = xmalloc(size + arrays + codec->compact.kept.n);
	struct kube_record *record = (struct kube_record *)(void *)block;
	const char **array = (const char **)(void *)(block + size);
	char *text = block + size + arrays;
	memset(block, 0, size);
	record->kind = codec->kind;
	compact_head(&codec->compact, &record->o, text, record_free);
	for (size_t i = 0; i < codec->n_fields; i++)
		array = fill_member(codec, i, text, array, block);
	assert((const char *)array == text);
	return &record->o;
}

/* ---- the codec ---- */

static int record_decode(struct kube_codec *codec, struct slice json, struct kube_obj **ret)
{
	struct record_codec *c = (struct record_codec *)codec;
	compact_begin(&c->compact);
	memset(c->values, 0, c->n_fields * sizeof(c->values[0]));
	c->texts.n = 0;
	int r = compact_read(&c->compact, json, on_value, c);
	if (r == 0)
		*ret = build_record(c);
	return r;
}

static void record_codec_free(struct kube_codec *codec)
{
	struct record_codec *c = (struct record_codec *)codec;
	compact_done(&c->compact);
	vec_done(&c->texts);
	free(c);
}

struct kube_codec *kube_record_codec(const struct kube_record_kind *kind,
				     struct kube_string_pool *pool)
{
	static const struct kube_filter_row common[] = { COMPACT_ROWS };
	struct kube_filter_row rows[ARRAY_LEN(common) + FIELDS_MAX];
	struct record_codec *c = xcalloc(1, sizeof(*c));
	assert(kind->n_fields <= KUBE_RECORD_FIELDS_MAX);
	assert(kind->size >= sizeof(struct kube_record) && kind->size % sizeof(void *) == 0);
	c->kind = kind;
	c->n_fields = HEAD_FIELDS + kind->n_fields;
	memcpy(rows, common, sizeof(common));
	for (size_t i = 0; i < c->n_fields; i++)
		rows[ARRAY_LEN(common) + i] =
			(struct kube_filter_row){ .path = field_at(kind, i)->path,
						  .id = COMPACT_OWN + (int)i };
	compact_init(&c->compact, kind->kind, pool, rows, ARRAY_LEN(common) + c->n_fields);
	kube_filter_only_scalars(c->compact.filter);
	c->compact.codec =
		(struct kube_codec){ .decode = record_decode, .free = record_codec_free };
	return &c->compact.codec;
}

json_t *kube_record_identity(const struct kube_record *record)
{
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT;
	const struct api_kind *kind = api_kind_find(record->kind->group, record->kind->kind);
	assert(kind != NULL);
	api_kind_api_version(&version, kind);
	json_t *tree = json_pack("{s:s, s:s, s:{s:s, s:s, s:s}}", "apiVersion", version.s, "kind",
				 kind->kind, "metadata", "name", record->o.name, "uid", record->uid,
				 "resourceVersion", record->o.rv);
	if (record->o.ns[0] != '\0')
		json_object_set_new(json_object_get(tree, "metadata"), "namespace",
				    json_string(record->o.ns));
	return tree;
}
