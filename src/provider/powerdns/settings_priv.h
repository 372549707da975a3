/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the server is and how to speak to it, from the keys of a Secret. */
#pragma once

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/secret.h"
#include "http/client/call.h"
#include "http/client/memfile.h"
#include "provider/provider.h"

struct powerdns_settings {
	char *url; /* "https://host:port/api/v1/servers/localhost" */
	char *server_id;
	struct secret api_key;
	struct http_memfile ca;
	struct http_client_tls tls;
};

/* Keys whose values are no secrets; ends with NULL. */
extern const char *const powerdns_settings_public_keys[];

/* ERR_CONFIG with a sentence that names keys, never values. `ret` is to be ended in any case. */
MUST_CHECK int powerdns_settings_read(const struct provider_account_conf *conf,
				      struct powerdns_settings *ret, struct err_text err);
void powerdns_settings_done(struct powerdns_settings *settings);
