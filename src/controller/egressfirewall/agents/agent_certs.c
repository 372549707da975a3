/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two sets of certificates that trust each other. */
#include "controller/egressfirewall/agents/agent_certs.h"

#include <string.h>

#include "api/tree.h"
#include "base/secret.h"
#include "base/text/base64.h"

static const char *const agent_names[] = { EGRESSFIREWALL_AGENT_NAME, NULL };
static const char *const server_names[] = { "fairlead-dns", NULL };

static const struct hookcert_conf confs[EGRESSFIREWALL_SIDES] = {
	[EGRESSFIREWALL_AGENTS] = { .names = agent_names, .ca_name = "fairlead agents" },
	[EGRESSFIREWALL_SERVERS] = { .names = server_names,
				     .ca_name = "fairlead DNS servers",
				     .is_client = true },
};

void egressfirewall_agent_certs_init(struct egressfirewall_agent_certs *certs)
{
	for (size_t i = 0; i < EGRESSFIREWALL_SIDES; i++)
		hookcert_init(&certs->side[i]);
}

void egressfirewall_agent_certs_done(struct egressfirewall_agent_certs *certs)
{
	for (size_t i = 0; i < EGRESSFIREWALL_SIDES; i++)
		hookcert_done(&certs->side[i]);
}

/* Does the copy trust the authority? */
static bool trusts(const json_t *copy, const struct strbuf *authority)
{
	CLEANUP(strbuf_done) struct strbuf bundle = STRBUF_INIT;
	const char *text = api_text(json_object_get(json_object_get(copy, "data"), "ca.crt"));
	if (strlen(text) > HOOKCERT_PART_MAX_BYTES || base64_decode(&bundle, slice_of(text)) < 0 ||
	    bundle.n == 0)
		return false;
	return strstr(bundle.s, authority->s) != NULL;
}

static void forget_next(struct hookcert *hookcert)
{
	static const enum hookcert_part parts[] = { HOOKCERT_NEXT, HOOKCERT_NEXT_KEY };
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		struct strbuf *part = &hookcert->part[parts[i]];
		explicit_bzero(part->s, part->n);
		strbuf_reset(part);
	}
}

int egressfirewall_agent_certs_plan(struct egressfirewall_agent_certs *certs,
				    enum egressfirewall_side side, const json_t *trusting,
				    uint64_t now_s, struct err_text err)
{
	struct hookcert *hookcert = &certs->side[side];
	if (hookcert->part[HOOKCERT_NEXT].n != 0 &&
	    !trusts(trusting, &hookcert->part[HOOKCERT_NEXT]))
		forget_next(hookcert);
	return hookcert_plan(hookcert, &confs[side], now_s, err);
}

static void add_part(json_t *data, const char *key, const struct strbuf *pem)
{
	CLEANUP(secret_wipe_strbuf) struct strbuf text = STRBUF_INIT;
	base64_encode(&text, strbuf_slice(pem));
	json_object_set_new(data, key, json_string(text.s));
}

json_t *egressfirewall_agent_certs_copy(const struct egressfirewall_agent_certs *certs,
					enum egressfirewall_side side)
{
	const struct hookcert *own = &certs->side[side];
	const struct hookcert *other =
		&certs->side[side == EGRESSFIREWALL_AGENTS ? EGRESSFIREWALL_SERVERS
							   : EGRESSFIREWALL_AGENTS];
	json_t *data = json_object();
	add_part(data, "tls.crt", &own->part[HOOKCERT_CERT]);
	add_part(data, "tls.key", &own->part[HOOKCERT_KEY]);
	add_part(data, "ca.crt", &other->part[HOOKCERT_BUNDLE]);
	return data;
}
