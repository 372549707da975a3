/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The members of IPAddressClaims and IPAddresses that the controller reads. Objects are decoded into
 * records (kube/decode/record.h) first; what is kept of these is much smaller. */
#include "controller/ipam/records.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "kube/decode/record.h"
#include "kube/decode/slab.h"
#include "kube/decode/string_pool.h"

/* ---- decoded ---- */

struct claim_record {
	struct kube_record head;
	const char *pool_group, *pool_kind, *pool_name;
	const char *cluster, *cluster_label;
	const char *address_ref, *rejected;
	uint64_t created_ns;
	struct kube_record_texts finalizers;
	struct kube_record_texts paused; /* one text: the annotation exists */
	/* Of its conditions, in the same order. */
	struct kube_record_texts condition_types, condition_reasons;
};

struct address_record {
	struct kube_record head;
	const char *claim;
	const char *pool_group, *pool_kind, *pool_name;
	const char *address, *cluster_label;
	int64_t prefix;
	uint64_t created_ns;
	struct kube_record_texts finalizers, owner_uids, owner_kinds;
};

#define CLAIM(member)	offsetof(struct claim_record, member)
#define ADDRESS(member) offsetof(struct address_record, member)

static const struct kube_record_field claim_fields[] = {
	{ "spec.poolRef.apiGroup", KUBE_RECORD_TEXT, CLAIM(pool_group) },
	{ "spec.poolRef.kind", KUBE_RECORD_TEXT, CLAIM(pool_kind) },
	{ "spec.poolRef.name", KUBE_RECORD_TEXT, CLAIM(pool_name) },
	{ "spec.clusterName", KUBE_RECORD_TEXT, CLAIM(cluster) },
	{ "metadata.labels[" IPAM_CLUSTER_LABEL "]", KUBE_RECORD_TEXT, CLAIM(cluster_label) },
	{ "status.addressRef.name", KUBE_RECORD_TEXT, CLAIM(address_ref) },
	{ "metadata.annotations[" IPAM_REJECTED_ANNOTATION "]", KUBE_RECORD_TEXT, CLAIM(rejected) },
	{ "metadata.creationTimestamp", KUBE_RECORD_TIME, CLAIM(created_ns) },
	{ "metadata.finalizers[]", KUBE_RECORD_TEXTS, CLAIM(finalizers) },
	{ "metadata.annotations[" IPAM_PAUSED_ANNOTATION "]", KUBE_RECORD_TEXTS, CLAIM(paused) },
	{ "status.conditions[].type", KUBE_RECORD_TEXTS, CLAIM(condition_types) },
	{ "status.conditions[].reason", KUBE_RECORD_TEXTS, CLAIM(condition_reasons) },
};

static const struct kube_record_kind claim_kind = { IPAM_GROUP, "IPAddressClaim",
						    sizeof(struct claim_record), claim_fields,
						    ARRAY_LEN(claim_fields) };

static const struct kube_record_field address_fields[] = {
	{ "spec.claimRef.name", KUBE_RECORD_TEXT, ADDRESS(claim) },
	{ "spec.poolRef.apiGroup", KUBE_RECORD_TEXT, ADDRESS(pool_group) },
	{ "spec.poolRef.kind", KUBE_RECORD_TEXT, ADDRESS(pool_kind) },
	{ "spec.poolRef.name", KUBE_RECORD_TEXT, ADDRESS(pool_name) },
	{ "spec.address", KUBE_RECORD_TEXT, ADDRESS(address) },
	{ "spec.prefix", KUBE_RECORD_INTEGER, ADDRESS(prefix) },
	{ "metadata.creationTimestamp", KUBE_RECORD_TIME, ADDRESS(created_ns) },
	{ "metadata.finalizers[]", KUBE_RECORD_TEXTS, ADDRESS(finalizers) },
	{ "metadata.labels[" IPAM_CLUSTER_LABEL "]", KUBE_RECORD_TEXT, ADDRESS(cluster_label) },
	{ "metadata.ownerReferences[].uid", KUBE_RECORD_TEXTS, ADDRESS(owner_uids) },
	{ "metadata.ownerReferences[].kind", KUBE_RECORD_TEXTS, ADDRESS(owner_kinds) },
};

static const struct kube_record_kind address_kind = { IPAM_GROUP, "IPAddress",
						      sizeof(struct address_record), address_fields,
						      ARRAY_LEN(address_fields) };

/* ---- names of kinds and reasons ---- */

static const char *const reasons[] = {
	[IPAM_REASON_ALLOCATED] = IPAM_ALLOCATED,
	[IPAM_REASON_ALLOCATION_FAILED] = IPAM_ALLOCATION_FAILED,
	[IPAM_REASON_POOL_NOT_READY] = IPAM_POOL_NOT_READY,
	[IPAM_REASON_POOL_EXHAUSTED] = IPAM_POOL_EXHAUSTED,
};

enum ipam_reason ipam_reason_of(const char *text)
{
	for (size_t i = IPAM_REASON_OTHER + 1; i < ARRAY_LEN(reasons); i++) {
		if (strcmp(reasons[i], text) == 0)
			return (enum ipam_reason)i;
	}
	return IPAM_REASON_OTHER;
}

static const struct {
	const char *name;
	enum ipam_pool_kind kind;
} pool_kinds[] = {
	{ IPAM_POOL_KIND, IPAM_NAMESPACED_POOL },
	{ IPAM_GLOBAL_POOL_KIND, IPAM_GLOBAL_POOL },
	{ IPAM_PREFIX_POOL_KIND, IPAM_PREFIX_POOL },
	{ IPAM_GLOBAL_PREFIX_POOL_KIND, IPAM_GLOBAL_PREFIX_POOL },
};

static enum ipam_pool_kind pool_kind_of(const char *group, const char *kind)
{
	for (size_t i = 0; strcmp(group, IPAM_GROUP) == 0 && i < ARRAY_LEN(pool_kinds); i++) {
		if (strcmp(pool_kinds[i].name, kind) == 0)
			return pool_kinds[i].kind;
	}
	return IPAM_FOREIGN_POOL;
}

const char *ipam_pool_kind_text(uint8_t kind)
{
	for (size_t i = 0; i < ARRAY_LEN(pool_kinds); i++) {
		if (pool_kinds[i].kind == kind)
			return pool_kinds[i].name;
	}
	return "";
}

bool ipam_is_pool_kind(const char *kind)
{
	return pool_kind_of(IPAM_GROUP, kind) != IPAM_FOREIGN_POOL;
}

/* ---- kept ---- */

/* Decodes by `records`, keeps what `keep` makes of it. */
struct keeping_codec {
	struct kube_codec codec;
	struct kube_codec *records;
	struct kube_string_pool *pool;
	struct kube_slab *slab;
	struct kube_obj *(*keep)(const struct keeping_codec *codec, const struct kube_obj *record);
};

static bool has_text(const struct kube_record_texts *texts, const char *text)
{
	for (uint32_t i = 0; i < texts->n; i++) {
		if (strcmp(texts->v[i], text) == 0)
			return true;
	}
	return false;
}

static const char *share_text(const struct keeping_codec *codec, const char *text)
{
	return kube_string_pool_get(codec->pool, slice_of(text));
}

/* Bytes of a text behind the struct. */
static size_t text_bytes(const char *text)
{
	return text[0] == '\0' ? 0 : strlen(text) + 1;
}

/* Copies a text to *at, and moves that behind it. */
static const char *put_text(char **at, const char *text)
{
	char *copy = *at;
	size_t n = strlen(text) + 1;
	memcpy(copy, text, n);
	*at += n;
	return copy;
}

static const char *put_rare_text(char **at, const char *text)
{
	return text[0] == '\0' ? "" : put_text(at, text);
}

static uint32_t seconds_of(uint64_t time_ns)
{
	return (uint32_t)MIN((time_ns + NS_PER_S - 1) / NS_PER_S, (uint64_t)UINT32_MAX);
}

/* False: it is not of the usual form. */
static bool pack_uid(const char *text, uint8_t bytes[16])
{
	static const char digits[] = "0123456789abcdef";
	size_t at = 0;
	for (size_t i = 0; i < 16; i++) {
		if ((i == 4 || i == 6 || i == 8 || i == 10) && text[at++] != '-')
			return false;
		const char *high = text[at] != '\0' ? strchr(digits, text[at]) : NULL;
		const char *low =
			high != NULL && text[at + 1] != '\0' ? strchr(digits, text[at + 1]) : NULL;
		if (low == NULL)
			return false;
		bytes[i] = (uint8_t)((high - digits) * 16 + (low - digits));
		at += 2;
	}
	return text[at] == '\0' && bytes[8] != 0;
}

static size_t uid_bytes(const char *text)
{
	uint8_t bytes[16];
	return pack_uid(text, bytes) ? 0 : text_bytes(text);
}

static void put_uid(struct ipam_uid *uid, char **at, const char *text)
{
	if (pack_uid(text, uid->bytes))
		return;
	*uid = (struct ipam_uid){ 0 };
	uid->text = put_rare_text(at, text);
}

/* Fills the head; texts are put at *at. */
static void put_head(const struct keeping_codec *codec, const struct kube_record *record,
		     struct kube_obj *obj, char **at)
{
	obj->ns = share_text(codec, record->o.ns);
	obj->name = put_text(at, record->o.name);
	obj->rv = put_text(at, record->o.rv);
	atomic_init(&obj->refs, 1);
}

static size_t head_bytes(const struct kube_record *record)
{
	return strlen(record->o.name) + strlen(record->o.rv) + 2 + uid_bytes(record->uid);
}

/* ---- claims ---- */

/* What few claims have. */
struct ipam_claim_rare {
	const char *address_ref; /* "": it is the claim's name, or none */
	const char *rejected;
	const char *cluster_label; /* "": it is the claim's `cluster`, or none */
};

static void free_claim(struct kube_obj *obj)
{
	struct ipam_claim *claim = (struct ipam_claim *)obj;
	kube_string_pool_drop(obj->ns);
	kube_string_pool_drop(claim->pool_name);
	kube_string_pool_drop(claim->cluster);
	kube_slab_put(claim);
}

/* The reason of the condition Ready. A condition without a reason would shift those behind it. */
static enum ipam_reason ready_reason(const struct claim_record *record)
{
	bool aligned = record->condition_types.n == record->condition_reasons.n;
	for (uint32_t i = 0; aligned && i < record->condition_types.n; i++) {
		if (strcmp(record->condition_types.v[i], "Ready") == 0)
			return ipam_reason_of(record->condition_reasons.v[i]);
	}
	return IPAM_REASON_OTHER;
}

static void fill_flags(struct ipam_claim *claim, const struct claim_record *record)
{
	claim->generation = record->head.generation;
	claim->created_s = (uint32_t)(record->created_ns / NS_PER_S);
	claim->deleted_s = seconds_of(record->head.deleted_ns);
	claim->pool_kind = pool_kind_of(record->pool_group, record->pool_kind) & 7;
	claim->reason = ready_reason(record) & 15;
	claim->is_paused = record->paused.n > 0;
	claim->has_finalizer = has_text(&record->finalizers, IPAM_RELEASE_FINALIZER);
	claim->has_other_finalizers = record->finalizers.n > claim->has_finalizer;
	claim->has_conditions = record->condition_types.n > 0;
	claim->has_cluster_label = record->cluster_label[0] != '\0';
	claim->is_bound = record->address_ref[0] != '\0';
}

/* CT-2: the label is the older form. */
static const char *cluster_of(const struct claim_record *record)
{
	return record->cluster[0] != '\0' ? record->cluster : record->cluster_label;
}

/* The texts that `claim` itself cannot hold, as they are in the record. */
static struct ipam_claim_rare rare_texts(const struct claim_record *record)
{
	bool own_name = strcmp(record->address_ref, record->head.o.name) == 0;
	bool same_label = strcmp(record->cluster_label, cluster_of(record)) == 0;
	return (struct ipam_claim_rare){ .address_ref = own_name ? "" : record->address_ref,
					 .rejected = record->rejected,
					 .cluster_label = same_label ? "" : record->cluster_label };
}

/* 0: there are none. */
static size_t rare_bytes(const struct ipam_claim_rare *rare)
{
	size_t n = text_bytes(rare->address_ref) + text_bytes(rare->rejected) +
		   text_bytes(rare->cluster_label);
	return n != 0 ? sizeof(*rare) + n : 0;
}

/* Directly behind the claim, which is aligned for it. Returns the place behind. */
static char *put_rare(struct ipam_claim *claim, const struct ipam_claim_rare *texts)
{
	struct ipam_claim_rare *rare = (struct ipam_claim_rare *)(claim + 1);
	char *at = (char *)(rare + 1);
	*rare = (struct ipam_claim_rare){ .address_ref = put_rare_text(&at, texts->address_ref),
					  .rejected = put_rare_text(&at, texts->rejected),
					  .cluster_label =
						  put_rare_text(&at, texts->cluster_label) };
	claim->rare = rare;
	return at;
}

static struct kube_obj *keep_claim(const struct keeping_codec *codec, const struct kube_obj *obj)
{
	const struct claim_record *record = (const struct claim_record *)obj;
	struct ipam_claim_rare rare = rare_texts(record);
	size_t n_rare = rare_bytes(&rare);
	size_t begin = n_rare != 0 ? sizeof(struct ipam_claim) + n_rare
				   : offsetof(struct ipam_claim, texts);
	struct ipam_claim *claim =
		kube_slab_get(codec->slab, MAX(begin + head_bytes(&record->head), sizeof(*claim)));
	*claim = (struct ipam_claim){ .o = { .free = free_claim } };
	char *at = n_rare != 0 ? put_rare(claim, &rare) : claim->texts;
	put_head(codec, &record->head, &claim->o, &at);
	put_uid(&claim->uid, &at, record->head.uid);
	claim->pool_name = share_text(codec, record->pool_name);
	claim->cluster = share_text(codec, cluster_of(record));
	fill_flags(claim, record);
	return &claim->o;
}

/* ---- addresses ---- */

static void free_address(struct kube_obj *obj)
{
	struct ipam_address *address = (struct ipam_address *)obj;
	kube_string_pool_drop(obj->ns);
	kube_string_pool_drop(address->pool_name);
	kube_slab_put(address);
}

/* Never 0, which stands for none. */
static uint32_t owner_hash(const char *uid)
{
	return (uint32_t)hash_bytes(hash_process_key(), uid, strlen(uid)) | 1;
}

static void fill_address(struct ipam_address *address, const struct address_record *record)
{
	address->created_s = (uint32_t)(record->created_ns / NS_PER_S);
	address->deleted_s = seconds_of(record->head.deleted_ns);
	address->pool_kind = (uint8_t)pool_kind_of(record->pool_group, record->pool_kind);
	address->prefix = record->prefix > 0 && record->prefix <= 128 ? (uint8_t)record->prefix : 0;
	address->has_finalizer = has_text(&record->finalizers, IPAM_ADDRESS_FINALIZER);
	address->has_cluster_label = record->cluster_label[0] != '\0';
	for (uint32_t i = 0; i < MIN(record->owner_uids.n, record->owner_kinds.n); i++) {
		bool is_claim = strcmp(record->owner_kinds.v[i], claim_kind.kind) == 0;
		if (is_claim || pool_kind_of(IPAM_GROUP, record->owner_kinds.v[i]) != 0)
			address->owners[is_claim] = owner_hash(record->owner_uids.v[i]);
	}
}

static struct kube_obj *keep_address(const struct keeping_codec *codec, const struct kube_obj *obj)
{
	const struct address_record *record = (const struct address_record *)obj;
	bool own_name = strcmp(record->claim, obj->name) == 0;
	size_t n = offsetof(struct ipam_address, address) + strlen(record->address) + 1 +
		   head_bytes(&record->head) + (own_name ? 0 : strlen(record->claim) + 1);
	struct ipam_address *address = kube_slab_get(codec->slab, MAX(n, sizeof(*address)));
	char *at = address->address;
	*address = (struct ipam_address){ .o = { .free = free_address } };
	put_text(&at, record->address);
	put_head(codec, &record->head, &address->o, &at);
	put_uid(&address->uid, &at, record->head.uid);
	const char *claim = own_name ? address->o.name : put_text(&at, record->claim);
	address->claim_at = (uint32_t)(claim - (const char *)address);
	address->pool_name = share_text(codec, record->pool_name);
	fill_address(address, record);
	return &address->o;
}

/* ---- the codecs ---- */

static int decode(struct kube_codec *codec, struct slice json, struct kube_obj **ret)
{
	struct keeping_codec *own = (struct keeping_codec *)codec;
	struct kube_obj *record;
	int r = own->records->decode(own->records, json, &record);
	if (r < 0)
		return r;
	*ret = own->keep(own, record);
	kube_obj_unref(record);
	return 0;
}

static void free_codec(struct kube_codec *codec)
{
	struct keeping_codec *own = (struct keeping_codec *)codec;
	kube_codec_free(own->records);
	kube_slab_free(own->slab);
	free(codec);
}

static struct kube_codec *new_codec(const struct keeping_codec *conf)
{
	struct keeping_codec *codec = xcalloc(1, sizeof(*codec));
	*codec = *conf;
	codec->slab = kube_slab_new();
	codec->codec = (struct kube_codec){ .decode = decode, .free = free_codec };
	return &codec->codec;
}

struct kube_codec *ipam_claim_codec(struct kube_string_pool *pool)
{
	return new_codec(&(struct keeping_codec){ .records = kube_record_codec(&claim_kind, pool),
						  .pool = pool,
						  .keep = keep_claim });
}

struct kube_codec *ipam_address_codec(struct kube_string_pool *pool)
{
	return new_codec(&(struct keeping_codec){ .records = kube_record_codec(&address_kind, pool),
						  .pool = pool,
						  .keep = keep_address });
}

/* ---- questions ---- */

bool ipam_is_owned_by(const struct ipam_address *address, const char *uid)
{
	uint32_t hash = owner_hash(uid);
	return address->owners[0] == hash || address->owners[1] == hash;
}

/* CT-1 */
bool ipam_is_our_claim(const struct ipam_claim *claim)
{
	return claim->pool_kind != IPAM_FOREIGN_POOL;
}

static bool is_of_prefixes(uint8_t kind)
{
	return kind == IPAM_PREFIX_POOL || kind == IPAM_GLOBAL_PREFIX_POOL;
}

bool ipam_is_prefix_claim(const struct ipam_claim *claim)
{
	return is_of_prefixes(claim->pool_kind);
}

bool ipam_is_our_address(const struct ipam_address *address)
{
	return address->pool_kind != IPAM_FOREIGN_POOL;
}

const char *ipam_uid_text(const struct ipam_uid *uid, char buf[IPAM_UID_TEXT_MAX])
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *bytes = uid->bytes;
	if (bytes[8] == 0)
		return uid->text;
	char *at = buf;
	for (size_t i = 0; i < sizeof(uid->bytes); i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*at++ = '-';
		*at++ = digits[bytes[i] >> 4];
		*at++ = digits[bytes[i] & 15];
	}
	*at = '\0';
	return buf;
}

bool ipam_uid_is(const struct ipam_uid *uid, const char *text)
{
	char buf[IPAM_UID_TEXT_MAX];
	return strcmp(ipam_uid_text(uid, buf), text) == 0;
}

const char *ipam_address_ref_of(const struct ipam_claim *claim)
{
	if (!claim->is_bound)
		return "";
	bool other = claim->rare != NULL && claim->rare->address_ref[0] != '\0';
	return other ? claim->rare->address_ref : claim->o.name;
}

const char *ipam_cluster_label_of(const struct ipam_claim *claim)
{
	if (!claim->has_cluster_label)
		return "";
	bool other = claim->rare != NULL && claim->rare->cluster_label[0] != '\0';
	return other ? claim->rare->cluster_label : claim->cluster;
}

bool ipam_is_rejected(const struct ipam_claim *claim, const struct ipam_address *address)
{
	return claim->rare != NULL && ipam_uid_is(&address->uid, claim->rare->rejected);
}

const char *ipam_claim_name_of(const struct ipam_address *address)
{
	return (const char *)address + address->claim_at;
}

bool ipam_block_of(const struct ipam_address *address, struct ipam_block *ret)
{
	union net_addr addr;
	if (net_addr_parse_ip(slice_of(address->address), &addr) < 0)
		return false;
	*ret = ipam_block_of_one(addr.family, net_ip_number_of(&addr));
	if (!is_of_prefixes(address->pool_kind))
		return true;
	if (addr.family != AF_INET6 || address->prefix == 0)
		return false;
	ret->bits = (uint8_t)(128 - address->prefix);
	ret->first &= ~ipam_block_mask(ret->bits);
	return true;
}
