/* The records of a zone from a file or another server, for `transfer` (struct zone_copy of
 * server/handler.h). */
#pragma once

struct dns_zone;
struct zone_copy;

/* Takes a reference of its own. */
struct zone_copy *zonecopy_new(struct dns_zone *zone);
