/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Profiles and ciphers. */
#include "controller/dnsoperator/operands/tls_profile.h"

#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "base/compiler.h"

enum { OLD = 1, INTERMEDIATE = 2, MODERN = 4 };

/* By OpenSSL's name, as objects have it, in the order of the profiles that have it. */
static const struct {
	const char *openssl, *name;
	unsigned profiles;
} ciphers[] = {
	{ "TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", OLD | INTERMEDIATE | MODERN },
	{ "TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", OLD | INTERMEDIATE | MODERN },
	{ "TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256",
	  OLD | INTERMEDIATE | MODERN },
	{ "ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
	  OLD | INTERMEDIATE },
	{ "ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
	  OLD | INTERMEDIATE },
	{ "ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
	  OLD | INTERMEDIATE },
	{ "ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	  OLD | INTERMEDIATE },
	{ "ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
	  OLD | INTERMEDIATE },
	{ "ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
	  OLD | INTERMEDIATE },
	{ "ECDHE-ECDSA-AES128-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", OLD },
	{ "ECDHE-RSA-AES128-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", OLD },
	{ "ECDHE-ECDSA-AES128-SHA", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", OLD },
	{ "ECDHE-RSA-AES128-SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", OLD },
	{ "ECDHE-ECDSA-AES256-SHA", "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", OLD },
	{ "ECDHE-RSA-AES256-SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", OLD },
	{ "AES128-GCM-SHA256", "TLS_RSA_WITH_AES_128_GCM_SHA256", OLD },
	{ "AES256-GCM-SHA384", "TLS_RSA_WITH_AES_256_GCM_SHA384", OLD },
	{ "AES128-SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA256", OLD },
	{ "AES128-SHA", "TLS_RSA_WITH_AES_128_CBC_SHA", OLD },
	{ "AES256-SHA", "TLS_RSA_WITH_AES_256_CBC_SHA", OLD },
	{ "DES-CBC3-SHA", "TLS_RSA_WITH_3DES_EDE_CBC_SHA", OLD },
	{ "ECDHE-RSA-DES-CBC3-SHA", "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", 0 },
};

static const struct {
	const char *type;
	unsigned profile;
	const char *least;
} profiles[] = {
	{ "Old", OLD, "VersionTLS10" },
	{ "Intermediate", INTERMEDIATE, "VersionTLS12" },
	{ "Modern", MODERN, "VersionTLS13" },
};

static void add_cipher(struct strbuf *out, const char *name)
{
	strbuf_addf(out, "%s%s", out->n != 0 ? "," : "", name);
}

static void add_profile(struct strbuf *out, unsigned profile)
{
	for (size_t i = 0; i < ARRAY_LEN(ciphers); i++) {
		if ((ciphers[i].profiles & profile) != 0)
			add_cipher(out, ciphers[i].name);
	}
}

static void add_custom(struct strbuf *out, const json_t *list)
{
	size_t k;
	json_t *v;
	json_array_foreach (list, k, v) {
		for (size_t i = 0; json_is_string(v) && i < ARRAY_LEN(ciphers); i++) {
			if (strcmp(api_text(v), ciphers[i].openssl) == 0)
				add_cipher(out, ciphers[i].name);
		}
	}
}

static const char *least_of(const char *version)
{
	static const char *const known[] = { "VersionTLS10", "VersionTLS11", "VersionTLS12",
					     "VersionTLS13" };
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strcmp(version, known[i]) == 0)
			return known[i];
	}
	return "VersionTLS12";
}

const char *dnsoperator_tls_profile(const json_t *apiserver, struct strbuf *out)
{
	const json_t *p = api_get(apiserver, "spec.tlsSecurityProfile");
	const char *type = api_get_string(p, "type");
	for (size_t i = 0; i < ARRAY_LEN(profiles); i++) {
		if (strcmp(type, profiles[i].type) == 0) {
			add_profile(out, profiles[i].profile);
			return profiles[i].least;
		}
	}
	if (strcmp(type, "Custom") == 0)
		add_custom(out, api_get(p, "custom.ciphers"));
	if (out->n != 0)
		return least_of(api_get_string(p, "custom.minTLSVersion"));
	add_profile(out, INTERMEDIATE);
	return "VersionTLS12";
}
