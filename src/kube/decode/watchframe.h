/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a frame of a watch says. The frame itself is cut by kube/decode/frame.h. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum kube_event {
	KUBE_EVENT_UNKNOWN, /* of a newer server: to be skipped */
	KUBE_EVENT_ADDED,
	KUBE_EVENT_MODIFIED,
	KUBE_EVENT_DELETED,
	KUBE_EVENT_BOOKMARK,
	KUBE_EVENT_ERROR,
};

enum kube_event kube_event_of(struct slice type);

/* The object of a bookmark: only its version counts, and whether it ends the initial events. */
struct kube_bookmark {
	char rv[32];
	bool initial_end;
};
MUST_CHECK int kube_bookmark_parse(struct slice object, struct kube_bookmark *ret);

/* The object of an ERROR, or the body of an answer that refuses: a Status. */
struct kube_error {
	int code;	   /* 410, 500, ...; 0 when it has none */
	char reason[64];   /* "Expired" */
	char message[512]; /* for people */
	bool too_large;	   /* cause ResourceVersionTooLarge: the server is behind what we know */
};
MUST_CHECK int kube_error_parse(struct slice object, struct kube_error *ret);
/* The version asked for is gone: 410, or the reasons Expired and Gone. */
bool kube_error_is_gone(const struct kube_error *error);

/* A list's metadata. `rv` is what the watch starts from; `next` is the token of the next page or
 * "". */
struct kube_list_meta {
	char rv[32];
	struct strbuf next;
};
/* ERR_PARSE also when the next page is the one that `ret` led to: the list would never end. */
MUST_CHECK int kube_list_meta_parse(struct slice metadata, struct kube_list_meta *ret);
