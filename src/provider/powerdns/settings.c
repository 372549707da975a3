/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the keys of a Secret for PowerDNS (DR-24). */
#include "provider/powerdns/settings_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "http/client/url.h"
#include "provider/shared/credentials.h"

enum { SERVER_ID_MAX_BYTES = 255 };

static const struct provider_key server_key = { { "server", "Server" } };
static const struct provider_key api_key = { { "apiKey", "ApiKey" } };
static const struct provider_key host_key = { { "virtualHost", "VirtualHost" } };
static const struct provider_key insecure_key = { { "insecureSkipVerify", "InsecureSkipVerify" } };
static const struct provider_key ca_key = { { "trustedCaCert", "TrustedCaCert" } };

/* URLs with a user or a query are refused. */
const char *const powerdns_settings_public_keys[] = { "server", "Server", NULL };

/* A URL with or without its path "/api/v1", which others write differently. */
static int read_url(const struct provider_account_conf *conf, struct powerdns_settings *settings,
		    struct err_text err)
{
	struct slice server;
	struct http_url url;
	char unused[HTTP_ERROR_BYTES];
	int r = provider_credential_require(conf, &server_key, &server, err);
	if (r < 0)
		return r;
	while (server.n != 0 && server.p[server.n - 1] == '/')
		server.n--;
	if (slice_ends(server, SLICE("/api/v1")))
		server.n -= strlen("/api/v1");
	CLEANUP(freep) char *text = xstrndup(server.p, server.n);
	/* Its sentence quotes the URL, which may hold a password. */
	if (http_url_parse(text, &url, ERR_TEXT(unused)) < 0 || slice_find(url.rest, '?') >= 0 ||
	    slice_find(url.rest, '#') >= 0) {
		err_text_set(err, "the key 'server' or 'Server' is not a URL such as "
				  "https://pdns.example:8081 (no user, no query)");
		return ERR_CONFIG;
	}
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	strbuf_addf(&out, "%s/api/v1/servers/", text);
	strbuf_add_url(&out, slice_of(settings->server_id));
	settings->url = strbuf_take(&out);
	return 0;
}

static int read_server_id(const struct provider_account_conf *conf,
			  struct powerdns_settings *settings, struct err_text err)
{
	struct slice host = provider_credential_get(conf, &host_key);
	if (host.n > SERVER_ID_MAX_BYTES) {
		err_text_set(err, "the key 'virtualHost' or 'VirtualHost' is too long");
		return ERR_CONFIG;
	}
	settings->server_id = host.n != 0 ? xstrndup(host.p, host.n) : xstrdup("localhost");
	return 0;
}

/* The words of Go's strconv.ParseBool. */
static int read_insecure(const struct provider_account_conf *conf,
			 struct powerdns_settings *settings, struct err_text err)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = { { "true", true },	  { "t", true },  { "1", true },
		      { "false", false }, { "f", false }, { "0", false } };
	struct slice text = provider_credential_get(conf, &insecure_key);
	if (text.n == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (!slice_eq_nocase(text, slice_of(words[i].word)))
			continue;
		settings->tls.insecure = words[i].value;
		return 0;
	}
	err_text_set(
		err,
		"the key 'insecureSkipVerify' or 'InsecureSkipVerify' is neither true nor false");
	return ERR_CONFIG;
}

static int read_ca(const struct provider_account_conf *conf, struct powerdns_settings *settings,
		   struct err_text err)
{
	struct slice pem = provider_credential_get(conf, &ca_key);
	if (pem.n == 0)
		return 0;
	if (memmem(pem.p, pem.n, "-----BEGIN ", strlen("-----BEGIN ")) == NULL) {
		err_text_set(err, "the key 'trustedCaCert' or 'TrustedCaCert' has no certificate "
				  "in PEM form");
		return ERR_CONFIG;
	}
	int r = http_memfile_make(pem, &settings->ca);
	if (r < 0) {
		err_text_set(err, "cannot keep the certificate of 'trustedCaCert': %s", err_str(r));
		return ERR_CONFIG;
	}
	settings->tls.ca = settings->ca.path;
	return 0;
}

static int read_api_key(const struct provider_account_conf *conf,
			struct powerdns_settings *settings, struct err_text err)
{
	struct slice value;
	int r = provider_credential_require(conf, &api_key, &value, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < value.n; i++) {
		if ((unsigned char)value.p[i] >= ' ' && value.p[i] != 0x7f)
			continue;
		err_text_set(err, "the key 'apiKey' or 'ApiKey' has a control character");
		return ERR_CONFIG;
	}
	secret_set(&settings->api_key, value);
	return 0;
}

int powerdns_settings_read(const struct provider_account_conf *conf, struct powerdns_settings *ret,
			   struct err_text err)
{
	static int (*const readers[])(const struct provider_account_conf *,
				      struct powerdns_settings *, struct err_text) = {
		read_server_id, read_url, read_api_key, read_insecure, read_ca,
	};
	int r = 0;
	*ret = (struct powerdns_settings){ .ca = HTTP_MEMFILE_NONE };
	for (size_t i = 0; i < ARRAY_LEN(readers) && r == 0; i++)
		r = readers[i](conf, ret, err);
	return r;
}

void powerdns_settings_done(struct powerdns_settings *settings)
{
	http_memfile_done(&settings->ca);
	secret_done(&settings->api_key);
	free(TAKE_PTR(settings->url));
	free(TAKE_PTR(settings->server_id));
}
