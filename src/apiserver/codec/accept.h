/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The form in which a client wants its reply, from the header field Accept:
 *
 *	application/json;as=Table;v=v1;g=meta.k8s.io, application/json
 *
 * The choice is kube-apiserver's. This server writes no protobuf and no CBOR, so that such clauses
 * are skipped. One parameter is this server's own, others ignore it: with
 *
 *	application/json;omit=managedFields
 *
 * the objects of any reply come without metadata.managedFields, which are half of a small object. */
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
/* What the reply is: a watch has fewer forms. */
enum apiserver_accept_for { APISERVER_ACCEPT_REPLY, APISERVER_ACCEPT_WATCH };

struct apiserver_accept {
	enum apiserver_form form;
	enum apiserver_as as;
	const char *meta_version; /* "v1" or "v1beta1": version of the Table or partial object */
	bool pretty;
	bool omit_managed; /* metadata.managedFields */
};

/* Parses the header; "" and NULL stand for JSON. ERR_UNSUPPORTED: answer 406, reason NotAcceptable,
 * with the message in `err`, as YAML if ret->form, which is set in any case, says so. */
MUST_CHECK int apiserver_accept_parse(const char *accept, enum apiserver_accept_for what,
				      struct apiserver_accept *ret, struct strbuf *err);
/* The header field Content-Type of the reply. */
const char *apiserver_accept_type(const struct apiserver_accept *accept);

/* Refuses an object asked for as a list, and a list asked for as an object: 406 likewise. `kind` is
 * the real one ("ConfigMapList"). */
MUST_CHECK int apiserver_accept_check(const struct apiserver_accept *accept, bool is_list,
				      const char *kind, struct strbuf *err);
