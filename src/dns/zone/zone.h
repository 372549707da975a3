/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A zone as it is served: an immutable snapshot, compact, found by hash and kept in canonical
 * order. Nothing in it changes after it was built, so any thread may read it; knows no plugin.
 *
 * Glossary
 *   node      a name of the zone: one that owns records, or an empty non-terminal above one
 *   set       the records of one type at a node, in the order they were added; signatures make a
 *             set for each type they cover
 *   cut       a node below the apex with NS records: what lies at or below it belongs to others
 *   covered   a node is covered by the topmost cut at or above it, or DNAME above it
 *   encloser  the deepest node at or above a name (RFC 4592 §3.3.1)
 *
 * Owner names are kept in lower case, as CoreDNS serves them (but for SRV, which keep theirs); so
 * are the names in NS, SOA, CNAME, MX, SVCB and HTTPS data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "dns/request.h"
#include "dns/resp.h"

#define DNS_ZONE_NONE UINT32_MAX /* no node */
enum {
	DNS_ZONE_RECORDS_MAX = 64 << 20, /* of a zone */
	DNS_ZONE_SET_MAX = UINT16_MAX,	 /* records of one type at a name */
	DNS_ZONE_RR_HEAD = 12,		 /* a record in its set: 0xc00c, type, class, TTL, length */
};

struct dns_zone_node {
	uint32_t name;	 /* where its name is */
	uint32_t set;	 /* index of the first set */
	uint32_t parent; /* index of the node one label up; DNS_ZONE_NONE: the apex */
	uint32_t cover;	 /* index of what covers it, or DNS_ZONE_NONE */
	uint16_t n_set;
	uint8_t name_len;
	uint8_t flags;
};

enum dns_zone_node_flag {
	DNS_ZONE_WILD = 1,  /* has a child "*" */
	DNS_ZONE_DNAME = 2, /* has a DNAME */
	DNS_ZONE_BELOW = 4, /* has names below it */
	DNS_ZONE_ALIAS = 8, /* has a CNAME */
};

struct dns_zone_set {
	uint32_t at;	/* its first record */
	uint32_t bytes; /* of all of them */
	uint16_t type;
	uint16_t covered; /* of RRSIG: the type signed; else 0 */
	uint16_t n;
	uint16_t flags;
};

enum dns_zone_set_flag {
	DNS_ZONE_FLAT =
		1, /* data holds no name that a reply could compress or that asks for more */
	DNS_ZONE_CASED = 2, /* its owner as written has upper-case letters */
};

struct dns_zone;

/* ---- life ---- */

struct dns_zone *dns_zone_ref(struct dns_zone *zone);
/* NULL is fine. */
void dns_zone_unref(struct dns_zone *zone);
/* Gives a reference back once no reader of now can see the zone any more (base/rcu/rcu.h). */
void dns_zone_retire(struct dns_zone *zone);

/* ---- what it is ---- */

const uint8_t *dns_zone_origin(const struct dns_zone *zone);
uint32_t dns_zone_serial(const struct dns_zone *zone);
bool dns_zone_signed(const struct dns_zone *zone);   /* the apex has NSEC and a signed SOA */
bool dns_zone_has_sigs(const struct dns_zone *zone); /* there is any RRSIG record */
size_t dns_zone_n_nodes(const struct dns_zone *zone);
size_t dns_zone_bytes(const struct dns_zone *zone); /* of memory */

/* ---- nodes and sets ---- */

/* In canonical order (RFC 4034 §6.1), the apex first. */
const struct dns_zone_node *dns_zone_node(const struct dns_zone *zone, size_t index);
const uint8_t *dns_zone_name(const struct dns_zone *zone, const struct dns_zone_node *node);
/* The same for the whole of another name, in any case. */
const struct dns_zone_node *dns_zone_find_name(const struct dns_zone *zone, const uint8_t *name);
/* The last node at or before the name that has an NSEC record; NULL: none. */
const struct dns_zone_node *dns_zone_nsec_before(const struct dns_zone *zone, const uint8_t *name);

/* NULL: the node has none. */
const struct dns_zone_set *dns_zone_set(const struct dns_zone *zone,
					const struct dns_zone_node *node, uint16_t type);
const struct dns_zone_set *dns_zone_sigs(const struct dns_zone *zone,
					 const struct dns_zone_node *node, uint16_t covered);
/* All sets of a node, signatures included. */
const struct dns_zone_set *dns_zone_sets(const struct dns_zone *zone,
					 const struct dns_zone_node *node);
/* The owner as it is served. */
const uint8_t *dns_zone_owner(const struct dns_zone *zone, const struct dns_zone_node *node,
			      const struct dns_zone_set *set);

/* The records of a set, each as it would stand in a reply behind a question of its owner's name
 * (with the data uncompressed). */
const uint8_t *dns_zone_data(const struct dns_zone *zone, const struct dns_zone_set *set);
static inline size_t dns_zone_rr_bytes(const uint8_t *rr)
{
	return DNS_ZONE_RR_HEAD + (size_t)dns_get16(rr + 10);
}
static inline uint32_t dns_zone_rr_ttl(const uint8_t *rr)
{
	return dns_get32(rr + 6);
}

/* Whether look-ups of random names wait for memory. */
bool dns_zone_is_large(const struct dns_zone *zone);
/* Brings what a look-up of a name with this hash reads nearer, in steps 0, 1, ...: each needs what
 * the one before has loaded, so other work should lie between. */
enum { DNS_ZONE_PREFETCH_STEPS = 3 };
void dns_zone_prefetch(const struct dns_zone *zone, uint32_t hash, unsigned step);

/* The apex's NS or SOA set as it stands in replies: names compressed against the zone's own name,
 * which lies in the question, and against each other. */
enum dns_zone_apex_set { DNS_ZONE_APEX_NS, DNS_ZONE_APEX_SOA };
enum { DNS_ZONE_APEX_SETS = 2, DNS_ZONE_APEX_WIRE_MAX = 480, DNS_ZONE_POINTERS_MAX = 32 };

/* A compression pointer to be written at `at`: to an offset in the zone's name, or in these bytes. */
struct dns_zone_pointer {
	uint16_t at;
	uint16_t to;
	bool in_apex_wire;
};

struct dns_zone_apex_wire {
	uint16_t n; /* records */
	uint16_t len;
	uint16_t n_pointers;
	uint16_t full_size; /* uncompressed */
	struct dns_zone_pointer pointers[DNS_ZONE_POINTERS_MAX];
	uint8_t bytes[DNS_ZONE_APEX_WIRE_MAX];
};

/* NULL: there is none, or it is too large, or the zone is the root. */
const struct dns_zone_apex_wire *dns_zone_apex_wire(const struct dns_zone *zone,
						    enum dns_zone_apex_set kind);

/* ---- looking up ---- */

enum dns_zone_kind {
	DNS_ZONE_FOUND,	     /* node: the name itself, with records */
	DNS_ZONE_EMPTY,	     /* node: the name itself, an empty non-terminal */
	DNS_ZONE_WILDCARD,   /* node: the wildcard that stands for the name; it may be empty */
	DNS_ZONE_NXNAME,     /* no such name; node: its encloser */
	DNS_ZONE_DELEGATED,  /* node: the cut; `at_cut` when it is the name itself */
	DNS_ZONE_REDIRECTED, /* node: owner of the DNAME above the name */
};

struct dns_zone_hit {
	enum dns_zone_kind kind;
	bool at_cut;
	unsigned label; /* of the name, where the encloser starts */
	const struct dns_zone_node *node;
	const struct dns_zone_node *encloser; /* of WILDCARD and NXNAME */
};

/* The name must lie in the zone. */
void dns_zone_lookup(const struct dns_zone *zone, const struct dns_qname *qname,
		     struct dns_zone_hit *ret);
