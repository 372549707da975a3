/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees are built by the codec of trees and written out at once: what is kept and what is refused is
 * decided there. */
#include "kube/decode/packed.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "kube/decode/tree.h"

/* Followed by namespace, name and version, each terminated, and the JSON text. */
struct packed {
	struct kube_obj o;
	uint32_t json_at, json_bytes;
	char text[];
};

struct packed_codec {
	struct kube_codec codec;
	struct kube_codec *trees;
	struct strbuf text; /* of the object at hand */
};

static int append_text(const char *bytes, size_t n, void *ctx)
{
	strbuf_add(ctx, bytes, n);
	return 0;
}

static void packed_free(struct kube_obj *obj)
{
	free(obj);
}

static uint32_t append_word(struct strbuf *out, const char *word)
{
	size_t at = out->n;
	strbuf_add(out, word, strlen(word) + 1);
	return (uint32_t)at;
}

/* ERR_LIMIT: its size is not for the members that hold it. */
static int pack_tree(struct strbuf *text, const struct kube_obj *tree, struct kube_obj **ret)
{
	uint32_t ns = append_word(text, tree->ns), name = append_word(text, tree->name),
		 version = append_word(text, tree->rv);
	size_t json_at = text->n;
	if (json_dump_callback(kube_tree_of(tree), append_text, text, JSON_COMPACT) != 0)
		return ERR_PARSE; /* text that jansson does not take */
	if (text->n > UINT32_MAX)
		return ERR_LIMIT;
	struct packed *packed = xmalloc(sizeof(*packed) + text->n);
	*packed = (struct packed){ .json_at = (uint32_t)json_at,
				   .json_bytes = (uint32_t)(text->n - json_at) };
	memcpy(packed->text, text->s, text->n);
	packed->o.ns = packed->text + ns;
	packed->o.name = packed->text + name;
	packed->o.rv = packed->text + version;
	packed->o.free = packed_free;
	atomic_init(&packed->o.refs, 1);
	*ret = &packed->o;
	return 0;
}

static int packed_decode(struct kube_codec *codec, struct slice json, struct kube_obj **ret)
{
	struct packed_codec *own = (struct packed_codec *)codec;
	struct kube_obj *tree = NULL;
	int r = own->trees->decode(own->trees, json, &tree);
	if (r < 0)
		return r;
	strbuf_reset(&own->text);
	r = pack_tree(&own->text, tree, ret);
	kube_obj_unref(tree);
	return r;
}

static void packed_codec_free(struct kube_codec *codec)
{
	struct packed_codec *own = (struct packed_codec *)codec;
	kube_codec_free(own->trees);
	strbuf_done(&own->text);
	free(own);
}

struct kube_codec *kube_packed_codec(const struct api_kind *kind, const char *const *paths,
				     size_t len)
{
	struct packed_codec *own = xcalloc(1, sizeof(*own));
	own->codec = (struct kube_codec){ .decode = packed_decode, .free = packed_codec_free };
	own->trees = kube_tree_codec(kind, paths, len);
	strbuf_init(&own->text);
	return &own->codec;
}

json_t *kube_packed_unpack(const struct kube_obj *obj)
{
	const struct packed *packed = (const struct packed *)obj;
	json_t *tree = json_loadb(packed->text + packed->json_at, packed->json_bytes,
				  JSON_ALLOW_NUL, NULL);
	assert(tree != NULL); /* jansson's own text */
	return tree;
}
