/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text is a hosts file; what it holds can be walked, and each walk ends. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/hosts/hostsfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(const struct hostsfile *h, const uint8_t *name, size_t *seen)
{
	struct dns_qname q;
	uint8_t ip[16];
	dns_qname_set(&q, name);
	for (int family = 0; family < 2; family++) {
		const struct hostsfile_addr *a =
			hostsfile_find(h, &q, (enum hostsfile_family)family);
		for (; a != NULL; a = hostsfile_next(h, a)) {
			const struct hostsfile_name *n = hostsfile_reverse(h, a->ip);
			for (; n != NULL; n = hostsfile_next_name(h, n))
				*seen += dns_name_eq(n->wire, name);
		}
	}
	if (hostsfile_reverse_ip(&q, ip) && hostsfile_reverse(h, ip) != NULL)
		*seen += 1;
}

/* Every word that is a name is asked for. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = { (const char *)data, size };
	struct hostsfile_opts o = { .reverse = true };
	struct hostsfile *h;
	size_t seen = 0, asked = 0;
	if (size > 4096 || hostsfile_parse(text, &o, &h) < 0)
		return 0;
	for (size_t i = 0; i < size && asked < 64; i++) {
		size_t start = i;
		uint8_t name[DNS_NAME_MAX];
		while (i < size && !ascii_isspace(text.p[i]))
			i++;
		struct slice word = { text.p + start, i - start };
		if (dns_name_from_text(word, name) < 0)
			continue;
		walk(h, name, &seen);
		asked++;
	}
	if (seen > 0 && hostsfile_entries(h) == 0)
		abort();
	hostsfile_free(h);
	return 0;
}
