/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Claims and addresses as the watches keep them. There may be hundreds of thousands of each, so they
 * have only what the controller reads, in few bytes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kube/decode/obj.h"
#include "controller/ipam/allocation/block.h"

#define IPAM_GROUP		     "ipam.cluster.x-k8s.io"
#define IPAM_POOL_KIND		     "InClusterIPPool"
#define IPAM_GLOBAL_POOL_KIND	     "GlobalInClusterIPPool"
#define IPAM_PREFIX_POOL_KIND	     "InClusterPrefixPool"
#define IPAM_GLOBAL_PREFIX_POOL_KIND "GlobalInClusterPrefixPool"
#define IPAM_RELEASE_FINALIZER	     "ipam.cluster.x-k8s.io/ReleaseAddress" /* on claims */
#define IPAM_ADDRESS_FINALIZER	     "ipam.cluster.x-k8s.io/ProtectAddress" /* on addresses */
#define IPAM_POOL_FINALIZER	     "ipam.cluster.x-k8s.io/ProtectPool"    /* on pools */
#define IPAM_CLUSTER_LABEL	     "cluster.x-k8s.io/cluster-name"
#define IPAM_PAUSED_ANNOTATION	     "cluster.x-k8s.io/paused"
/* On a claim: the uid of an IPAddress of its name that is never bound to it (conflict.h). */
#define IPAM_REJECTED_ANNOTATION "ipam.fairlead.dev/rejected-address"
/* On a pool: the network of its addresses; pools of one network never use an address twice. */
#define IPAM_NETWORK_ANNOTATION "ipam.fairlead.dev/network"

/* Reasons of the condition Ready of claims. All but the first mean that it is False. */
#define IPAM_ALLOCATED	       "Allocated"
#define IPAM_ALLOCATION_FAILED "AllocationFailed"
#define IPAM_POOL_NOT_READY    "PoolNotReady"
#define IPAM_POOL_EXHAUSTED    "PoolExhausted"

enum ipam_reason {
	IPAM_REASON_OTHER, /* none, or one that we do not write */
	IPAM_REASON_ALLOCATED,
	IPAM_REASON_ALLOCATION_FAILED,
	IPAM_REASON_POOL_NOT_READY,
	IPAM_REASON_POOL_EXHAUSTED,
};

/* Which pool a claim or an address names. */
enum ipam_pool_kind {
	IPAM_FOREIGN_POOL,
	IPAM_NAMESPACED_POOL,
	IPAM_GLOBAL_POOL,
	IPAM_PREFIX_POOL,
	IPAM_GLOBAL_PREFIX_POOL,
};

/* A uid of the usual form (UUID in lower case) as its 16 bytes; any other as a text in the object's
 * memory, which bytes[8] == 0 stands for: no UUID has a zero there. */
struct ipam_uid {
	union {
		uint8_t bytes[16];
		const char *text;
	};
};

enum { IPAM_UID_TEXT_MAX = 37 };

struct ipam_claim_rare;

/* Texts that are missing are "". All versions of an object have the same size, apart from rare texts,
 * so that the memory of the last one fits the next. Times are seconds since 1970. */
struct ipam_claim {
	struct kube_obj o;
	struct ipam_uid uid;
	const char *pool_name;
	const char *cluster;		    /* spec.clusterName, or else the label */
	const struct ipam_claim_rare *rare; /* NULL for most */
	int64_t generation;
	uint32_t created_s;
	uint32_t deleted_s;    /* 0: it is not being deleted */
	uint8_t pool_kind : 3; /* enum ipam_pool_kind */
	uint8_t reason : 4;    /* enum ipam_reason */
	bool is_paused : 1;
	bool has_finalizer : 1; /* ours */
	bool has_other_finalizers : 1;
	bool has_conditions : 1;
	bool has_cluster_label : 1;
	bool is_bound : 1; /* status.addressRef */
	char texts[];
};

struct ipam_address {
	struct kube_obj o;
	struct ipam_uid uid;
	const char *pool_name;
	uint32_t created_s, deleted_s;
	uint32_t owners[2]; /* hashes of uids: of its pool, of its claim; others are not kept */
	uint32_t claim_at;  /* where its claim's name begins, from the start of the struct */
	uint8_t pool_kind;
	uint8_t prefix;	    /* 0: none, or one that no address has */
	bool has_finalizer; /* ours */
	bool has_cluster_label;
	char address[];
};

struct kube_string_pool;

struct kube_codec *ipam_claim_codec(struct kube_string_pool *pool);
struct kube_codec *ipam_address_codec(struct kube_string_pool *pool);

static inline const struct ipam_claim *ipam_claim_of(const struct kube_obj *obj)
{
	return (const struct ipam_claim *)obj;
}

static inline const struct ipam_address *ipam_address_of(const struct kube_obj *obj)
{
	return (const struct ipam_address *)obj;
}

/* The uid as a text, which is in `buf` or in the object. */
const char *ipam_uid_text(const struct ipam_uid *uid, char buf[IPAM_UID_TEXT_MAX]);
bool ipam_uid_is(const struct ipam_uid *uid, const char *text);

/* The name of the address that the claim is bound to. */
const char *ipam_address_ref_of(const struct ipam_claim *claim);
const char *ipam_cluster_label_of(const struct ipam_claim *claim);
/* Does the annotation reject the address? */
bool ipam_is_rejected(const struct ipam_claim *claim, const struct ipam_address *address);
/* The name of the address's claim. */
const char *ipam_claim_name_of(const struct ipam_address *address);

enum ipam_reason ipam_reason_of(const char *text);
/* "InClusterIPPool"; "" for pools that are not ours. */
const char *ipam_pool_kind_text(uint8_t kind);
/* Is the pool or the claim with this uid an owner of the address? The last one of each counts. */
bool ipam_is_owned_by(const struct ipam_address *address, const char *uid);
/* Does it claim a prefix? */
bool ipam_is_prefix_claim(const struct ipam_claim *claim);
/* Does the kind of a reference, in our group, name a pool that this controller serves? */
bool ipam_is_pool_kind(const char *kind);
/* Is it a claim of a kind of pool that this controller serves? */
bool ipam_is_our_claim(const struct ipam_claim *claim);
bool ipam_is_our_address(const struct ipam_address *address);
/* What it keeps from being allocated again: of a pool of prefixes all addresses of the prefix. False: the text is no
 * address, or the prefix is not one. */
bool ipam_block_of(const struct ipam_address *address, struct ipam_block *ret);
