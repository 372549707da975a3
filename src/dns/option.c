/* Which EDNS options are well formed, by a table of codes; unknown codes always are. */
#include <string.h>

#include "dns/request.h"

static bool at_least(const struct dns_option *o, uint16_t n)
{
	return o->len >= n;
}

static bool llq_ok(const struct dns_option *o)
{
	return at_least(o, 18);
}

static bool lease_ok(const struct dns_option *o)
{
	return o->len == 4 || o->len == 8;
}

/* RFC 7871: family, source and scope prefix length, address. */
static bool subnet_ok(const struct dns_option *o)
{
	if (!at_least(o, 4))
		return false;
	uint8_t source = o->data[2], scope = o->data[3];
	switch (dns_get16(o->data)) {
	case 0:
		return source == 0;
	case 1:
		return source <= 32 && scope <= 32;
	case 2:
		return source <= 128 && scope <= 128;
	default:
		return false;
	}
}

static bool expire_ok(const struct dns_option *o)
{
	return o->len == 0 || at_least(o, 4);
}

static bool keepalive_ok(const struct dns_option *o)
{
	return o->len == 0 || o->len == 2;
}

static bool ede_ok(const struct dns_option *o)
{
	return at_least(o, 2);
}

static bool reporting_ok(const struct dns_option *o)
{
	uint8_t name[DNS_NAME_MAX];
	return dns_name_unpack(o->data, o->len, 0, name) > 0; /* a pointer has no target here */
}

static const struct {
	uint16_t code;
	bool (*ok)(const struct dns_option *o);
} checks[] = {
	{ 1, llq_ok },	      { 2, lease_ok }, { 8, subnet_ok },     { 9, expire_ok },
	{ 11, keepalive_ok }, { 15, ede_ok },  { 18, reporting_ok },
};

bool dns_option_valid(const struct dns_option *o)
{
	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		if (checks[i].code == o->code)
			return checks[i].ok(o);
	}
	return true;
}
