/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of HTTP servers for people. The author of the Secret chooses the server, so that a reply may come
 * from anything the controller reaches and its author does not. Nothing of a reply is repeated but the message
 * of a reply that has the provider's own form, in one line. Every provider over HTTP takes its messages from here. */
#pragma once

#include <jansson.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"

enum { PROVIDER_REPLY_TEXT_BYTES = 312 }; /* of a message; longer ones are cut */

/* How a provider's error replies look: an object with the member `message`, a string, and no member that is
 * neither that nor among `others`. */
struct provider_reply_form {
	const char *message;
	const char *const *others; /* ends with NULL; NULL: none */
};

/* One line; characters that are not printable become question marks. "" unless the body has that form. */
void provider_reply_message(struct slice body, const struct provider_reply_form *form,
			    struct err_text out);
/* Bytes that are not UTF-8 become U+FFFD; NULL: it is not JSON. */
json_t *provider_reply_json(struct slice body);
