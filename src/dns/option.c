/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which EDNS options are well formed, by a table of codes; unknown codes always are. */
#include <string.h>

#include "dns/request.h"

static bool at_least(const struct dns_option *option, uint16_t number)
{
	return option->len >= number;
}

static bool llq_ok(const struct dns_option *option)
{
	return at_least(option, 18);
}

static bool lease_ok(const struct dns_option *option)
{
	return option->len == 4 || option->len == 8;
}

/* RFC 7871: family, source and scope prefix length, address. */
static bool subnet_ok(const struct dns_option *option)
{
	if (!at_least(option, 4))
		return false;
	uint8_t source = option->data[2], scope = option->data[3];
	switch (dns_get16(option->data)) {
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

static bool expire_ok(const struct dns_option *option)
{
	return option->len == 0 || at_least(option, 4);
}

static bool keepalive_ok(const struct dns_option *option)
{
	return option->len == 0 || option->len == 2;
}

static bool ede_ok(const struct dns_option *option)
{
	return at_least(option, 2);
}

static bool reporting_ok(const struct dns_option *option)
{
	uint8_t name[DNS_NAME_MAX];
	return dns_name_unpack(option->data, option->len, 0, name) >
	       0; /* a pointer has no target here */
}

static const struct {
	uint16_t code;
	bool (*ok)(const struct dns_option *option);
} checks[] = {
	{ 1, llq_ok },	      { 2, lease_ok }, { 8, subnet_ok },     { 9, expire_ok },
	{ 11, keepalive_ok }, { 15, ede_ok },  { 18, reporting_ok },
};

bool dns_option_valid(const struct dns_option *option)
{
	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		if (checks[i].code == option->code)
			return checks[i].ok(option);
	}
	return true;
}
