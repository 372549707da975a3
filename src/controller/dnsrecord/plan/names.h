/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names that DNSRecords have in a cluster: Gardener's, and our own. */
#pragma once

#define DNSRECORD_FINALIZER "extensions.gardener.cloud/dnsrecord"

/* Gardener's annotations. */
#define DNSRECORD_OPERATION "gardener.cloud/operation" /* what gardenlet asks for */
#define DNSRECORD_TIMESTAMP "gardener.cloud/timestamp" /* and when it did */

/* Ours, on a DNSRecord: */
#define DNSRECORD_ADOPT	  "dnsrecord.fairlead.dev/adopt"   /* "true": overwrite what is there */
#define DNSRECORD_DRY_RUN "dnsrecord.fairlead.dev/dry-run" /* "true": only say what would change */
#define DNSRECORD_NO_PROBE \
	"dnsrecord.fairlead.dev/no-probe" /* "true": DNS is not asked for its name */
#define DNSRECORD_ORPHAN \
	"dnsrecord.fairlead.dev/orphan" /* "true": its deletion leaves the record set */
/* On a Secret: namespaces whose DNSRecords may use it, with commas between; "*": all. */
#define DNSRECORD_ALLOW_FROM "dnsrecord.fairlead.dev/allow-from"
/* Its finalizer while DNSRecords of its namespace have record sets at a provider. */
#define DNSRECORD_SECRET_FINALIZER "dnsrecord.fairlead.dev/in-use"
