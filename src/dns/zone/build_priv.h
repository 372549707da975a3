/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which record types have names in their data that replies care about. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Where a type's data has names that matter to replies: so many after these bytes; whether they end
 * the data. NULL: none. */
struct zone_names {
	uint16_t type;
	uint8_t skip;
	uint8_t n;
	uint8_t after; /* bytes behind them; ZONE_ANY: any number */
	bool lowered;  /* kept in lower case, as CoreDNS does */
};
enum { ZONE_ANY = 255 };
const struct zone_names *dns_zone_names(uint16_t type);
