/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A DNSRecord as its controller sees it: the record set that it asks for, and what its status says
 * about the provider. Everything that a pass must know is in the object: a killed controller goes on
 * where it ended.
 *
 * status.state has up to three record sets:
 *   attempt   is being written; nobody knows whether the provider has it
 *   applied   the provider has it
 *   leftover  the provider has it, too, in the zone of before; it is to be removed */
#pragma once

#include <stdbool.h>

#include "api/dnsrecord.h"
#include "api/tree.h"
#include "base/arena.h"
#include "provider/provider.h"

/* A record set in a zone. */
struct dnsrecord_set {
	const char *zone; /* its id; NULL: not known */
	struct provider_rrset set;
	bool is_taken_over; /* another controller wrote it: it has no mark of ours */
};

struct dnsrecord {
	const json_t *object;
	struct api_dnsrecord spec;
	const char *problem; /* why the spec cannot be used, with field paths; NULL: it can */
	struct dnsrecord_set wanted; /* what the spec asks for, if there is no problem */
	bool is_zone_given;	     /* by the spec */
	const struct dnsrecord_set *attempt, *applied, *leftover; /* NULL: none */
	const char *request; /* the annotation gardener.cloud/operation; "": none */
	const char *owner;   /* mark of this object's record sets */
	/* status.state.secret: the Secret, of the object's namespace, that may have our finalizer for it; "": none */
	const char *held_secret;
	bool adopts, is_dry_run, skips_probe, is_orphan;
};

/* Everything is borrowed from the object and the (growing) arena. */
void dnsrecord_read(const json_t *object, struct arena *arena, struct dnsrecord *ret);

/* Same name, type and zone; a zone that is not known is as good as any. */
bool dnsrecord_is_same_place(const struct dnsrecord_set *left, const struct dnsrecord_set *right);
/* And the same TTL and values. */
bool dnsrecord_is_same_set(const struct dnsrecord_set *left, const struct dnsrecord_set *right);

/* A set as status.state has it; json_null() for NULL. A new reference. */
json_t *dnsrecord_set_to_json(const struct dnsrecord_set *set);
