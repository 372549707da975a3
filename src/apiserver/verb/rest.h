/* The API's dialect: one request in, one reply out. No HTTP library and no TLS in sight, so that
 * every rule is tested without a socket. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "api/fielderr.h"
#include "apiserver/store/store.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "http/server.h"

enum {
	APISERVER_BODY_MAX_BYTES = 3 << 20,
	APISERVER_ARGS_MAX = 64,
};

struct apiserver_api;

/* Who asks. */
struct apiserver_identity {
	const char *user;
	const char *const *groups; /* NULL-terminated */
	bool system;		   /* may write status and what only the controllers write */
};

struct apiserver_api_conf {
	struct apiserver_store *store;
	const char *const *service_cidrs; /* NULL-terminated; NULL: 10.96.0.0/16 */
	const char *version;		  /* of the program, for /version */
	/* What is checked beyond schemas, by kind; registered by cmd/. NULL-terminated kinds. */
	const struct apiserver_check {
		const char *group, *kind;
		void (*check)(const json_t *o, const json_t *old, struct api_errors *errs);
	} * checks;
	size_t n_checks;
	/* Where clients reach us, for the EndpointSlice default/kubernetes; NULL: no endpoint. */
	const char *address;
	uint16_t port;
	uint64_t bookmark_ns;  /* between bookmarks; 0: a minute */
	uint64_t event_ttl_ns; /* 0: an hour */
	uint64_t wait_ns;      /* for a version that is not there yet; 0: 3 seconds */
};

/* Makes what must exist (namespaces default, kube-system, ...; Service default/kubernetes) and
 * starts the collector (owners, namespaces, expired events). */
MUST_CHECK int apiserver_api_new(const struct apiserver_api_conf *conf, struct apiserver_api **ret,
				 char *err, size_t err_n);
void apiserver_api_free(struct apiserver_api *api);

struct apiserver_arg {
	const char *name, *value; /* decoded */
};

struct apiserver_call {
	enum http_method method;
	const char *method_text;
	const char *path; /* decoded, without arguments */
	const struct apiserver_arg *args;
	size_t n_args;
	const char *accept, *content_type, *if_none_match, *user_agent; /* "" when not sent */
	struct slice body;
	const struct apiserver_identity *who;
};

/* The stream of a watch: what http_stream_ops wants, less the HTTP. */
struct apiserver_stream;

struct apiserver_answer {
	unsigned status;
	const char *content_type; /* lives as long as the program */
	struct strbuf body;
	struct strbuf warnings;		 /* one per line: Warning headers */
	char etag[48];			 /* "" for none */
	unsigned retry_after_s;		 /* 0 for none */
	struct apiserver_stream *stream; /* the caller's: pull, then free; NULL: body is all */
	bool stream_whole;		 /* it is one document with the body */
};

/* Any thread, many at a time; may wait for the disk. `ret` is set up by it; free with
 * apiserver_answer_done. */
void apiserver_serve(struct apiserver_api *api, const struct apiserver_call *call,
		     struct apiserver_answer *ret);
void apiserver_answer_done(struct apiserver_answer *answer);

/* `wake` is called, from any thread, when there is something to pull after a pull gave 0. */
void apiserver_stream_on_wake(struct apiserver_stream *stream, void (*wake)(void *ctx), void *ctx);
/* As http_stream_ops.pull. */
ssize_t apiserver_stream_pull(struct apiserver_stream *stream, char *buf, size_t len);
void apiserver_stream_free(struct apiserver_stream *stream);

/* All objects as YAML documents, in an order in which they can be applied. */
MUST_CHECK int apiserver_export(struct apiserver_store *store, struct strbuf *out);
