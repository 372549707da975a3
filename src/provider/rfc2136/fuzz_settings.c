/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as the keys of a Secret, a line each: accepted settings have servers with ports, and an
 * error never shows the secret. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "provider/rfc2136/settings_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "Server", "Zone", "TSIGKeyName", "TSIGSecretAlgorithm",
					     "OwnerRecords" };
	struct provider_credential credentials[ARRAY_LEN(names) + 1];
	struct slice rest = { (const char *)data, size };
	struct rfc2136_settings settings;
	char err[PROVIDER_ERROR_BYTES] = "";
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		credentials[i] = (struct provider_credential){ names[i], slice_cut(&rest, '\n') };
	credentials[ARRAY_LEN(names)] =
		(struct provider_credential){ "TSIGSecret", SLICE("c2VjcmV0LXdvcmQ=") };
	struct provider_account_conf conf = { .credentials = credentials,
					      .n_credentials = ARRAY_LEN(credentials) };
	if (rfc2136_settings_read(&conf, &settings, ERR_TEXT(err)) < 0) {
		static const char secret[] = "c2VjcmV0LXdvcmQ";
		bool is_elsewhere = memmem(data, size, secret, sizeof(secret) - 1) != NULL;
		if (err[0] == '\0' || (strstr(err, secret) != NULL && !is_elsewhere))
			abort();
		return 0;
	}
	if (settings.n_servers == 0)
		abort();
	for (size_t i = 0; i < settings.n_servers; i++) {
		if (net_addr_port(&settings.servers[i].addr) == 0)
			abort();
	}
	rfc2136_settings_done(&settings);
	return 0;
}
