/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the Secret: servers, zone, TSIG key. */
#include "provider/rfc2136/settings_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "provider/shared/credentials.h"

static const struct provider_key server_key = { { "Server", "server" } };
static const struct provider_key zone_key = { { "Zone", "zone" } };
static const struct provider_key name_key = { { "TSIGKeyName", "tsigKeyName" } };
static const struct provider_key secret_key = { { "TSIGSecret", "tsigSecret" } };
static const struct provider_key algorithm_key = { { "TSIGSecretAlgorithm",
						     "tsigSecretAlgorithm" } };
static const struct provider_key owner_key = { { "OwnerRecords", "ownerRecords" } };

const char *const rfc2136_settings_public_keys[] = {
	"Server",
	"server",
	"Zone",
	"zone",
	"TSIGKeyName",
	"tsigKeyName",
	"TSIGSecretAlgorithm",
	"tsigSecretAlgorithm",
	"OwnerRecords",
	"ownerRecords",
	NULL,
};

/* An address with or without a port. */
static int read_server(struct slice text, union net_addr *ret)
{
	if (net_addr_parse_ip(text, ret) == 0) {
		net_addr_set_port(ret, RFC2136_PORT);
		return 0;
	}
	bool is_address = ascii_isdigit(text.p[0]) || text.p[0] == '[';
	return is_address && net_addr_parse(text, ret) == 0 && net_addr_port(ret) != 0 ? 0
										       : ERR_PARSE;
}

static bool is_separator(char ch)
{
	return ch == ',' || ascii_isspace(ch);
}

static int read_servers(struct slice text, struct rfc2136_settings *ret, struct err_text err)
{
	size_t at = 0;
	if (text.n > RFC2136_SERVER_TEXT_MAX) {
		err_text_set(err, "the Secret's key 'Server' is too long");
		return ERR_CONFIG;
	}
	while (at < text.n) {
		size_t end = at;
		while (end < text.n && !is_separator(text.p[end]))
			end++;
		struct slice word = { text.p + at, end - at };
		at = end + 1;
		if (word.n == 0)
			continue;
		if (ret->n_servers == RFC2136_SERVERS_MAX) {
			err_text_set(err, "the Secret's key 'Server' has more than %d servers",
				     RFC2136_SERVERS_MAX);
			return ERR_CONFIG;
		}
		if (read_server(word, &ret->servers[ret->n_servers]) < 0) {
			err_text_set(err,
				     "word %zu of the Secret's key 'Server' is not an IP address "
				     "with or without a port; host names are not looked up",
				     ret->n_servers + 1);
			return ERR_CONFIG;
		}
		ret->n_servers++;
	}
	return 0;
}

static int read_zone(struct slice text, struct rfc2136_settings *ret, struct err_text err)
{
	uint8_t wire[DNS_NAME_MAX];
	char name[DNS_NAME_TEXT_MAX];
	if (text.p == NULL)
		return 0;
	/* The zone is shown in the status. */
	if (dns_name_from_text(text, wire) < 0 || wire[0] == 0 || dns_tsig_is_like_secret(wire)) {
		err_text_set(err, "the Secret's key 'Zone' is not a domain name");
		return ERR_CONFIG;
	}
	size_t n = dns_name_to_text(wire, true, name);
	ret->zone = xstrndup(name, n - 1);
	return 0;
}

static int read_key(const struct provider_account_conf *conf, struct rfc2136_settings *ret,
		    struct err_text err)
{
	char why[160];
	struct slice name = provider_credential_get(conf, &name_key);
	struct slice secret = provider_credential_get(conf, &secret_key);
	if (name.p == NULL && secret.p == NULL)
		return 0;
	int r = provider_credential_require(conf, name.p == NULL ? &name_key : &secret_key, &secret,
					    err);
	if (r < 0)
		return r;
	struct dns_tsig_fields fields = { .algorithm =
						  provider_credential_get(conf, &algorithm_key),
					  .name = name,
					  .secret = secret };
	if (dns_tsig_key_set(&ret->key, &fields, ERR_TEXT(why)) == 0)
		return 0;
	err_text_set(err, "the Secret's TSIG key cannot be used: %s", why);
	return ERR_CONFIG;
}

static int read_owner_flag(struct slice text, struct rfc2136_settings *ret, struct err_text err)
{
	ret->has_owner_records = slice_is(text, "true");
	ret->drops_owner_records = slice_is(text, "false");
	if (text.p == NULL || ret->has_owner_records || ret->drops_owner_records)
		return 0;
	err_text_set(err, "the Secret's key 'OwnerRecords' must be 'true' or 'false'");
	return ERR_CONFIG;
}

int rfc2136_settings_read(const struct provider_account_conf *conf, struct rfc2136_settings *ret,
			  struct err_text err)
{
	struct slice servers;
	*ret = (struct rfc2136_settings){ 0 };
	int r = provider_credential_require(conf, &server_key, &servers, err);
	if (r == 0)
		r = read_servers(servers, ret, err);
	if (r == 0 && ret->n_servers == 0) {
		err_text_set(err, "the Secret's key 'Server' has no server");
		r = ERR_CONFIG;
	}
	if (r == 0)
		r = read_zone(provider_credential_get(conf, &zone_key), ret, err);
	if (r == 0)
		r = read_key(conf, ret, err);
	if (r == 0)
		r = read_owner_flag(provider_credential_get(conf, &owner_key), ret, err);
	if (r < 0)
		rfc2136_settings_done(ret);
	return r;
}

void rfc2136_settings_done(struct rfc2136_settings *settings)
{
	free(settings->zone);
	dns_tsig_key_done(&settings->key);
	*settings = (struct rfc2136_settings){ 0 };
}
