/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records: objects of kinds with very many of them, decoded into a struct of the consumer's without a
 * tree. A table says which path becomes which member; an object is one block of memory.
 *
 *	struct claim {
 *		struct kube_record head;	(first)
 *		const char *pool;
 *		const char *address;
 *	};
 *	static const struct kube_record_field fields[] = {
 *		{ "spec.poolRef.name", KUBE_RECORD_SHARED, offsetof(struct claim, pool) },
 *		{ "status.addressRef.name", KUBE_RECORD_TEXT, offsetof(struct claim, address) },
 *	};
 *	static const struct kube_record_kind claim_kind = { "ipam.cluster.x-k8s.io", "IPAddressClaim",
 *		sizeof(struct claim), fields, ARRAY_LEN(fields) };
 *
 * Records are read-only and may outlive their codec; the table must outlive them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/compiler.h"
#include "kube/decode/obj.h"

struct kube_string_pool;

enum kube_record_type {
	KUBE_RECORD_TEXT,    /* const char *, never NULL */
	KUBE_RECORD_SHARED,  /* the same, for texts that many objects have: stored once */
	KUBE_RECORD_INTEGER, /* int64_t */
	KUBE_RECORD_BOOL,    /* bool */
	KUBE_RECORD_TIME,    /* uint64_t: nanoseconds since 1970 */
	KUBE_RECORD_TEXTS,   /* struct kube_record_texts: all strings that the path leads to */
};

struct kube_record_texts {
	const char *const *v;
	uint32_t n;
};

/* What is missing, null or of another type is "", 0, false or no texts. */
struct kube_record_field {
	const char *path; /* as in kube/decode/filter.h: "spec.names[]", "metadata.labels[a.b/c]" */
	enum kube_record_type type;
	size_t offset; /* of the member */
};

struct kube_record_kind {
	const char *group, *kind; /* must be in api/kind.c */
	size_t size;		  /* of the consumer's struct, whose first member is its head */
	const struct kube_record_field *fields;
	size_t n_fields;
};

/* The head of each record; namespace, name and resourceVersion are in `o`. */
struct kube_record {
	struct kube_obj o;
	const struct kube_record_kind *kind;
	const char *uid;
	int64_t generation;
	uint64_t deleted_ns; /* metadata.deletionTimestamp; 0: it is not being deleted */
};

enum {
	KUBE_RECORD_FIELDS_MAX = 32,	    /* of a kind; asserted */
	KUBE_RECORD_TEXTS_MAX = 4096,	    /* of an object, all its lists together: ERR_LIMIT */
	KUBE_RECORD_BYTES_MAX = 256 * 1024, /* of an object's texts: ERR_LIMIT */
};

/* Never NULL. Its objects are structs of the kind's size. Besides the errors of all codecs: ERR_PARSE
 * for a time that is none and for a text with NUL, ERR_RANGE for a number that is no int64_t. */
struct kube_codec *kube_record_codec(const struct kube_record_kind *kind,
				     struct kube_string_pool *pool);

static inline const struct kube_record *kube_record_of(const struct kube_obj *obj)
{
	return (const struct kube_record *)obj;
}

/* What identifies the object, as a tree of the caller's: for Events about it, and for
 * ownerReferences. */
json_t *kube_record_identity(const struct kube_record *record) MUST_CHECK;
