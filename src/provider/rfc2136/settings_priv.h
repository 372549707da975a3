/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a Secret of type rfc2136 says: servers, zone, TSIG key. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "dns/name.h"
#include "dns/tsig/key.h"
#include "net/addr.h"
#include "provider/provider.h"

enum {
	RFC2136_SERVERS_MAX = 8,
	RFC2136_SERVER_TEXT_MAX = 1024, /* of the whole list */
	RFC2136_PORT = 53,
};

struct rfc2136_server {
	bool is_name;
	union net_addr addr;	      /* with the port; of a name the port only */
	uint8_t name[DNS_NAME_MAX];   /* wire form */
	char text[NET_ADDR_TEXT_MAX]; /* the name and the port, for people; may be cut */
};

struct rfc2136_settings {
	struct rfc2136_server servers[RFC2136_SERVERS_MAX];
	size_t n_servers;
	bool has_names;		 /* some are names */
	char *zone;		 /* lower case, without the final dot; NULL: found by queries */
	struct dns_tsig_key key; /* algorithm NULL: nothing is signed */
	bool has_owner_records;
	bool drops_owner_records; /* the key says `false`: there may be some of before */
};

/* Keys whose values are no secrets; ends with NULL. */
extern const char *const rfc2136_settings_public_keys[];

/* Fills `ret`. ERR_CONFIG with a sentence that names keys, never values of secrets. */
MUST_CHECK int rfc2136_settings_read(const struct provider_account_conf *conf,
				     struct rfc2136_settings *ret, struct err_text err);
void rfc2136_settings_done(struct rfc2136_settings *settings);
