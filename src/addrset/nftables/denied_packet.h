/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whom a packet is from and to, from its first bytes. What a pod sends is anything. Pure: no I/O, any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addrset/nftables/conntrack.h"

/* An IPv4 or IPv6 packet, perhaps cut. False: not so much as its addresses is there. The port is 0 where there is
 * none, or it is behind the cut; the label is zero. */
bool nftables_denied_packet_read(const uint8_t *bytes, size_t n, struct nftables_connection *ret);
