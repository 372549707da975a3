/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the Secret: servers, zone, TSIG key. */
#include "provider/rfc2136/settings_priv.h"

#include <stdio.h>
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
static int read_address(struct slice text, union net_addr *ret)
{
	if (net_addr_parse_ip(text, ret) == 0) {
		net_addr_set_port(ret, RFC2136_PORT);
		return 0;
	}
	bool is_address = ascii_isdigit(text.p[0]) || text.p[0] == '[';
	return is_address && net_addr_parse(text, ret) == 0 && net_addr_port(ret) != 0 ? 0
										       : ERR_PARSE;
}

/* Letters, digits, hyphens and dots, and not all of the last label are digits: no address that was mistyped. A
 * single label would need a search list, and may be a key in the wrong place, which must not be shown. */
static bool is_host_name(struct slice text, const uint8_t *wire)
{
	const char *last = memrchr(text.p, '.', text.n - 1);
	bool has_letter = false;
	for (size_t i = 0; i < text.n; i++) {
		char ch = ascii_lower(text.p[i]);
		bool is_letter = ch >= 'a' && ch <= 'z';
		if (!is_letter && !ascii_isdigit(ch) && ch != '-' && ch != '.' && ch != '_')
			return false;
		has_letter = has_letter || (is_letter && text.p + i > last);
	}
	return has_letter && dns_name_labels(wire) >= 2 && !dns_tsig_is_like_secret(wire);
}

/* A host name with or without a port. Only the machine's own name has no dot (RFC 6761 §6.3). */
static int read_name(struct slice text, struct rfc2136_server *ret)
{
	const char *colon = memchr(text.p, ':', text.n);
	struct slice name = { text.p, colon != NULL ? (size_t)(colon - text.p) : text.n };
	uint64_t port = RFC2136_PORT;
	if (colon != NULL &&
	    (slice_u64((struct slice){ colon + 1, text.n - name.n - 1 }, &port) < 0 || port == 0 ||
	     port > UINT16_MAX))
		return ERR_PARSE;
	bool is_local = slice_is(name, "localhost");
	if (name.n == 0 || net_addr_parse_ip(SLICE("127.0.0.1"), &ret->addr) < 0 ||
	    (!is_local &&
	     (dns_name_from_text(name, ret->name) < 0 || !is_host_name(name, ret->name))))
		return ERR_PARSE;
	net_addr_set_port(&ret->addr, (uint16_t)port);
	ret->is_name = !is_local;
	snprintf(ret->text, sizeof(ret->text), "%.*s:%u", (int)MIN(name.n, 64u), name.p,
		 (unsigned)port);
	return 0;
}

static int read_server(struct slice text, struct rfc2136_server *ret)
{
	return read_address(text, &ret->addr) == 0 ? 0 : read_name(text, ret);
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
				     "word %zu of the Secret's key 'Server' is neither an IP "
				     "address nor a host name with a dot, with or without a port",
				     ret->n_servers + 1);
			return ERR_CONFIG;
		}
		ret->has_names = ret->has_names || ret->servers[ret->n_servers].is_name;
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
