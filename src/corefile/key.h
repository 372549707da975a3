/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a block serves, `[scheme://]zone[:port]`, and the zones a plugin names in its arguments. A
 * zone may be written as a network, `10.0.0.0/24`: it then means the reverse zone of that network,
 * or all of them where the mask does not end at a label. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/srcpos.h"

struct corefile_scheme {
	const char *name;
	uint16_t port; /* of keys without one */
};

enum { COREFILE_N_SCHEMES = 6 };

extern const struct corefile_scheme corefile_schemes[COREFILE_N_SCHEMES];

struct corefile_key {
	const struct corefile_scheme *how; /* a row of corefile_schemes */
	const char *scheme;		   /* its name: "dns", "tls", ... */
	const char *const *zones;	   /* lower case, with the final dot; ascending */
	size_t n_zones; /* more than one only for a network off a label boundary */
	bool has_port;
	uint16_t port; /* as given (0: any free port), or 0 without has_port: the scheme's */
};

/* Memory from `arena`. ERR_PARSE with `reterr` filled. A scheme that is not in the table is part of
 * the zone, as in CoreDNS. */
MUST_CHECK int corefile_key_parse(struct arena *arena, const struct word *word,
				  struct corefile_key *ret, struct srcerr *reterr);

/* The zones of a plugin's argument: like a key's; scheme and port may be there and are dropped.
 * ERR_PARSE with `reterr` filled (CoreDNS passes over such an argument without a word). */
MUST_CHECK int corefile_zones_expand(struct arena *arena, const struct word *word,
				     const char *const **ret, size_t *ret_n, struct srcerr *reterr);
