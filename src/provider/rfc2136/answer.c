/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading replies. */
#include "provider/rfc2136/answer_priv.h"

#include "base/err.h"
#include "base/vec.h"
#include "dns/resp.h"
#include "provider/rfc2136/rdata_priv.h"

static bool is_dnssec(uint16_t type)
{
	return type == DNS_TYPE_RRSIG || type == DNS_TYPE_NSEC || type == DNS_TYPE_NSEC3;
}

static int open_reply(uint8_t *msg, size_t len, struct arena *arena, struct dns_resp *ret)
{
	*ret = (struct dns_resp){ 0 };
	int r = dns_resp_from_wire(ret, arena, msg, len);
	return r < 0 ? r : dns_resp_thaw(ret, arena);
}

/* Values in their one form. */
static void set_values(struct provider_rrset *set, const char **values, size_t count,
		       struct arena *arena)
{
	size_t n = provider_values_sort(values, count);
	if (n == 0)
		return;
	set->values = arena_memdup(arena, values, n * sizeof(*values));
	set->n_values = n;
}

/* The SOA of a negative answer, or the NS records of a delegation. */
static const char *find_apex(const struct dns_resp *reply, const uint8_t *name, struct arena *arena)
{
	char text[DNS_NAME_TEXT_MAX];
	DNS_RR_FOREACH(rr, reply, DNS_AUTHORITY)
	{
		if ((rr->type != DNS_TYPE_SOA && rr->type != DNS_TYPE_NS) ||
		    !dns_name_is_below(name, rr->owner))
			continue;
		size_t n = dns_name_to_text(rr->owner, true, text);
		return arena_strndup(arena, text, n > 1 ? n - 1 : n);
	}
	return NULL;
}

int rfc2136_answer_read(uint8_t *msg, size_t len, const uint8_t *name, uint16_t type,
			struct arena *arena, struct rfc2136_answer *ret)
{
	VEC(const char *) values = { 0 };
	struct dns_resp reply;
	int r = open_reply(msg, len, arena, &reply);
	if (r < 0)
		return r;
	*ret = (struct rfc2136_answer){ .set = { .type = type } };
	DNS_RR_FOREACH(rr, &reply, DNS_ANSWER)
	{
		if (rr->cls != DNS_CLASS_IN || !dns_name_eq(rr->owner, name) || is_dnssec(rr->type))
			continue;
		const char *value = rfc2136_rdata_text(rr->type, rr->rdata, rr->rdlen, arena);
		if (rr->type == type) {
			if (value == NULL) {
				vec_done(&values);
				return ERR_PARSE;
			}
			vec_push(&values, value);
			ret->set.ttl_s = rr->ttl;
		} else if (ret->other_type == 0) {
			ret->other_type = rr->type;
			ret->other_value = value;
		}
	}
	set_values(&ret->set, values.v, values.n, arena);
	if (values.n == 0)
		ret->zone = find_apex(&reply, name, arena);
	vec_done(&values);
	return 0;
}

static const struct dns_rr *find_above(const struct dns_resp *reply, enum dns_section section,
				       uint16_t type, const uint8_t *name)
{
	DNS_RR_FOREACH(rr, reply, section)
	{
		if (rr->type == type && rr->cls == DNS_CLASS_IN &&
		    dns_name_is_below(name, rr->owner))
			return rr;
	}
	return NULL;
}

/* A chain of aliases leads elsewhere: what its end says about zones is not about this name. */
static bool has_alias(const struct dns_resp *reply)
{
	DNS_RR_FOREACH(rr, reply, DNS_ANSWER)
	{
		if (rr->type == DNS_TYPE_CNAME || rr->type == DNS_TYPE_DNAME)
			return true;
	}
	return false;
}

/* Without the flag AA, NS records above the name are a referral. */
static enum rfc2136_zone_answer read_zone(const struct dns_resp *reply, const uint8_t *name,
					  uint8_t ret_zone[DNS_NAME_MAX])
{
	bool is_own = (reply->flags & DNS_FLAG_AA) != 0;
	if (reply->rcode != DNS_RCODE_NOERROR && (reply->rcode != DNS_RCODE_NXDOMAIN || !is_own))
		return RFC2136_ZONE_NONE;
	const struct dns_rr *found = is_own ? find_above(reply, DNS_ANSWER, DNS_TYPE_SOA, name)
					    : find_above(reply, DNS_AUTHORITY, DNS_TYPE_NS, name);
	if (found == NULL && is_own && !has_alias(reply))
		found = find_above(reply, DNS_AUTHORITY, DNS_TYPE_SOA, name);
	if (found != NULL)
		dns_name_lower(found->owner, ret_zone);
	if (is_own)
		return found != NULL ? RFC2136_ZONE_FOUND : RFC2136_ZONE_ABOVE;
	return found != NULL ? RFC2136_ZONE_DELEGATED : RFC2136_ZONE_NONE;
}

enum rfc2136_zone_answer rfc2136_answer_zone(uint8_t *msg, size_t len, const uint8_t *name,
					     uint8_t ret_zone[DNS_NAME_MAX])
{
	enum rfc2136_zone_answer answer = RFC2136_ZONE_NONE;
	struct dns_resp reply;
	struct arena arena;
	arena_init(&arena);
	if (open_reply(msg, len, &arena, &reply) == 0)
		answer = read_zone(&reply, name, ret_zone);
	arena_done(&arena);
	return answer;
}

/* SOA data: two names, then five numbers, of which the serial is the first (RFC 1035, 3.3.13). */
static int read_soa_serial(const struct dns_rr *soa, uint32_t *ret_serial)
{
	enum { NUMBERS_BYTES = 20, NAMES_BYTES = 2 };
	if (soa->rdlen < NUMBERS_BYTES + NAMES_BYTES)
		return ERR_PARSE;
	const uint8_t *at = soa->rdata + soa->rdlen - NUMBERS_BYTES;
	*ret_serial = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
	return 0;
}

int rfc2136_answer_serial(uint8_t *msg, size_t len, const uint8_t *zone, uint32_t *ret_serial)
{
	struct dns_resp reply;
	struct arena arena;
	arena_init(&arena);
	int r = open_reply(msg, len, &arena, &reply);
	const struct dns_rr *soa =
		r == 0 ? find_above(&reply, DNS_ANSWER, DNS_TYPE_SOA, zone) : NULL;
	if (r == 0 && (soa == NULL || !dns_name_eq(soa->owner, zone)))
		r = ERR_NOTFOUND;
	if (r == 0)
		r = read_soa_serial(soa, ret_serial);
	arena_done(&arena);
	return r;
}
