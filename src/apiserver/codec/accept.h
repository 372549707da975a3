/* In which form a client wants its reply, from the header field Accept:
 *
 *	application/json;as=Table;v=v1;g=meta.k8s.io, application/json
 *
 * Chosen as kube-apiserver chooses; protobuf and CBOR are not written here, so that such a clause
 * is passed over for the next. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/strbuf.h"

enum { APISERVER_ACCEPT_CLAUSES_MAX = 32 };

enum apiserver_form { APISERVER_FORM_JSON, APISERVER_FORM_YAML };
enum apiserver_as {
	APISERVER_AS_OBJECT, /* as it is */
	APISERVER_AS_TABLE,
	APISERVER_AS_PARTIAL,	   /* PartialObjectMetadata */
	APISERVER_AS_PARTIAL_LIST, /* PartialObjectMetadataList */
};
/* What is asked for: a watch has fewer forms. */
enum apiserver_accept_for { APISERVER_ACCEPT_REPLY, APISERVER_ACCEPT_WATCH };

struct apiserver_accept {
	enum apiserver_form form;
	enum apiserver_as as;
	const char *meta_version; /* "v1" or "v1beta1": of what `as` says */
	bool pretty;
};

/* `accept` may be "" or NULL: JSON. ERR_UNSUPPORTED: 406, reason NotAcceptable, and the message of
 * its Status in `err`; its text is JSON unless ret->form, set in any case, says YAML. */
MUST_CHECK int apiserver_accept_parse(const char *accept, enum apiserver_accept_for what,
				      struct apiserver_accept *ret, struct strbuf *err);
/* The header field Content-Type of the reply. */
const char *apiserver_accept_type(const struct apiserver_accept *accept);

/* An object cannot be had as a list, nor a list as an object: 406 likewise. `kind` is that of what
 * is there ("ConfigMapList"). */
MUST_CHECK int apiserver_accept_check(const struct apiserver_accept *accept, bool is_list,
				      const char *kind, struct strbuf *err);
