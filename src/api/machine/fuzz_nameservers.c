/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as an annotation, as that of the ConfigMap, as a search domain and as an address: parsed or refused. What is
 * accepted is in canonical form, so that reading it again changes nothing. */
#include <string.h>

#include "api/machine/nameservers_test.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_lists(const struct machine_nameservers *dns)
{
	char domain[MACHINE_DOMAIN_MAX + 1], address[MACHINE_IP_TEXT_MAX];
	for (size_t i = 0; i < dns->search.n; i++) {
		if (machine_domain_parse(slice_of(dns->search.v[i]), domain) != NULL ||
		    strcmp(domain, dns->search.v[i]) != 0)
			__builtin_trap();
	}
	for (size_t i = 0; i < dns->addresses.n; i++) {
		if (machine_ip_parse(dns->addresses.v[i], address) == 0 ||
		    strcmp(address, dns->addresses.v[i]) != 0)
			__builtin_trap();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena arena;
	struct machine_nameservers dns;
	struct slice text = { (const char *)data, n };
	char domain[MACHINE_DOMAIN_MAX + 1], again[MACHINE_DOMAIN_MAX + 1];
	arena_init(&arena);
	struct machine_problems problems = { .arena = &arena };
	IGNORE(machine_parse_nameservers(text, NULL, "field", &problems, &dns));
	check_lists(&dns);
	IGNORE(machine_parse_default_nameservers(text, NULL, "field", &problems, &dns));
	check_lists(&dns);
	if (machine_domain_parse(text, domain) == NULL &&
	    (machine_domain_parse(slice_of(domain), again) != NULL || strcmp(domain, again) != 0))
		__builtin_trap();
	char *copy = arena_strndup(&arena, text.p, text.n);
	char address[MACHINE_IP_TEXT_MAX];
	IGNORE(machine_ip_parse(copy, address));
	arena_done(&arena);
	return 0;
}
