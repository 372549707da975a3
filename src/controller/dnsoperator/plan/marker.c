/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Name and hash of the marker block. */
#include "controller/dnsoperator/plan/marker.h"

#include <stdint.h>
#include <stdio.h>

#include "dns/name.h"
#include "base/crypto/digest.h"

void dnsoperator_marker_name(const char *domain, char ret[DNSOPERATOR_MARKER_NAME_MAX])
{
	uint8_t wire[DNS_NAME_MAX];
	int n = snprintf(ret, DNSOPERATOR_MARKER_NAME_MAX, DNSOPERATOR_MARKER_LABEL ".%s", domain);
	if (n >= DNSOPERATOR_MARKER_NAME_MAX || dns_name_from_text(slice_of(ret), wire) < 0)
		snprintf(ret, DNSOPERATOR_MARKER_NAME_MAX, DNSOPERATOR_MARKER_NAME);
}

void dnsoperator_marker_hash(const void *text, size_t len, char ret[DNSOPERATOR_MARKER_HASH_MAX])
{
	uint8_t digest[DIGEST_SHA512_BYTES];
	digest_sha512(text, len, digest);
	for (size_t i = 0; i < DNSOPERATOR_MARKER_HASH_MAX / 2; i++)
		snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}
