/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of http/'s framing: what the two protocols have in common. */
#pragma once

#include "base/strbuf.h"
#include "http/framing.h"

struct framing_impl {
	ssize_t (*feed)(struct http_framing *framing, const uint8_t *data, size_t len,
			uint64_t now_ns);
	void (*eof)(struct http_framing *framing);
	void (*fill)(struct http_framing *framing); /* more bytes into f->out, if there are any */
	int (*respond)(struct http_framing *framing, uint32_t stream,
		       const struct http_message *message);
	int (*request)(struct http_framing *framing, const struct http_message *message, void *user,
		       uint32_t *ret_stream);
	void (*cancel)(struct http_framing *framing, uint32_t stream);
	void (*end)(struct http_framing *framing);
	bool (*over)(const struct http_framing *framing);
	size_t (*pending)(const struct http_framing *framing);
	size_t (*unsent)(const struct http_framing *framing); /* beyond f->out; may be NULL */
	size_t (*held)(const struct http_framing *framing);
	void (*refuse)(struct http_framing *framing, uint32_t stream);
	bool (*is_full)(const struct http_framing *framing); /* or NULL */
	bool (*expire)(struct http_framing *framing, uint64_t now_ns,
		       uint64_t max_ns); /* or NULL */
	void (*free)(struct http_framing *framing);
};

struct http_framing {
	const struct framing_impl *impl;
	struct http_framing_conf conf;
	struct strbuf out;
	size_t out_at; /* sent so far */
};

/* Header fields that messages carry, by their place in struct http_message. */
struct http_field {
	const char *name; /* lower case */
	size_t offset;
};
enum { HTTP_N_FIELDS = 3 };
extern const struct http_field http_fields[HTTP_N_FIELDS];

static inline struct slice *http_field_of(struct http_message *message,
					  const struct http_field *field)
{
	return (struct slice *)(void *)((char *)message + field->offset);
}

static inline struct slice http_field_get(const struct http_message *message,
					  const struct http_field *field)
{
	return *(const struct slice *)(const void *)((const char *)message + field->offset);
}

/* May it stand in a start line, in a field? */
bool http_target_clean(struct slice text);
bool http_value_clean(struct slice text);
