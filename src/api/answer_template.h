/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `generateResponse.answerTemplate` of a DNS object: AAAA records as text, one in a line, with .Name,
 * .Type and .Class of the query in it.
 *
 * It is free text of a user that ends up in a server's configuration, so it is not passed on: it is
 * tried here, and what it makes of every name (a TTL and addresses) is what servers get. */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"

enum {
	API_ANSWER_TEMPLATE_CHARS_MAX = 1024,
	API_ANSWER_RECORDS_MAX = 64, /* more than fit into so many characters */
};

struct api_answer {
	uint32_t ttl_s; /* of all records: they are one set */
	size_t n;
	char address[API_ANSWER_RECORDS_MAX][INET6_ADDRSTRLEN];
};

/* Compiles each line and makes the records of a short name, of one of 255 bytes and of one of 255
 * bytes that need escapes; they must differ in nothing but their owner. ERR_CONFIG with a clause in
 * `err` ("has a quote ..."). One newline at the end is not minded. */
MUST_CHECK int api_answer_template_parse(struct slice text, struct api_answer *ret,
					 struct err_text err);
