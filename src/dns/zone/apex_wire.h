/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copying the apex's NS or SOA records into a reply. */
#pragma once

#include "dns/zone/zone.h"

/* Copies a wire to msg[off], where the zone's name stands at `origin_off`; the bytes written. */
size_t dns_zone_apex_wire_put(const struct dns_zone_apex_wire *wire, uint8_t *msg, size_t off,
			      size_t origin_off);
