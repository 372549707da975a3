/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The record set that a DNSRecord asks for, checked and in one form: two objects that mean the same have
 * equal bytes here, whatever case, final dots, order or spelling their texts have. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "api/dnsrecord.h"
#include "base/arena.h"
#include "base/compiler.h"

enum {
	API_RECORD_NAME_MAX = 253,
	API_RECORD_TXT_MAX = 4096, /* characters of a value, as in the CRD */
};

struct api_record_set {
	const char *name; /* lower case, without the final dot; `*` as it is */
	uint16_t type;	  /* enum dns_type */
	uint32_t ttl_s;
	/* Sorted, each once. Addresses as inet_ntop writes them, names as `name`, TXT as the text
	 * itself, neither quoted nor escaped. */
	struct api_strings values;
};

/* Checks what a schema cannot (DR-8 to DR-10) and fills `ret` from the arena. ERR_CONFIG: `errs` has
 * field paths. The record was filled without errors. */
MUST_CHECK int api_record_set_make(const struct api_dnsrecord *record, struct arena *arena,
				   struct api_record_set *ret, struct api_errors *errs);
