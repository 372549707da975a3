/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages as tests write them. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* "1234 0100 'abc'": hex digits, text between quotes as it is, blanks ignored. */
static inline size_t bytes_of(const char *s, uint8_t *out)
{
	size_t n = 0;
	for (; *s != '\0'; s++) {
		if (*s == ' ')
			continue;
		if (*s == '\'') {
			for (s++; *s != '\''; s++)
				out[n++] = (uint8_t)*s;
			continue;
		}
		char two[3] = { s[0], s[1], '\0' };
		out[n++] = (uint8_t)strtoul(two, NULL, 16);
		s++;
	}
	return n;
}
