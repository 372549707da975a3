/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Refusals as Kubernetes Status objects: code, reason, message and details. The messages are
 * kube-apiserver's, since clients and people match them. */
#include "apiserver/codec/status.h"

#include <string.h>

#include "api/meta.h"
#include "apiserver/store/damage.h"
#include "base/text/utf8.h"

void apiserver_status_done(struct apiserver_status *status)
{
	strbuf_done(&status->message);
	json_decref(status->details);
	json_decref(status->list_meta);
	*status = (struct apiserver_status)APISERVER_STATUS_INIT;
}

static json_t *new_status(const char *status)
{
	return json_pack("{ss,ss,s{},ss}", "kind", "Status", "apiVersion", "v1", "metadata",
			 "status", status);
}

/* Paths and queries may have any bytes; invalid UTF-8 becomes U+FFFD, as in Go. */
static json_t *valid_utf8(struct slice text)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	while (text.n != 0) {
		uint32_t cp;
		char c[4];
		size_t n = utf8_decode(text, &cp);
		strbuf_add(&out, c, utf8_encode(n != 0 ? cp : UINT32_MAX, c));
		text = slice_from(text, n != 0 ? n : 1);
	}
	return json_stringn(out.n != 0 ? out.s : "", out.n);
}

json_t *apiserver_status_tree(const struct apiserver_status *status)
{
	json_t *o = new_status("Failure");
	if (status->list_meta != NULL)
		json_object_set(o, "metadata", status->list_meta);
	json_object_set_new(o, "message", valid_utf8(strbuf_slice(&status->message)));
	if (status->reason[0] != '\0')
		json_object_set_new(o, "reason", json_string(status->reason));
	if (status->details != NULL)
		json_object_set(o, "details", status->details);
	json_object_set_new(o, "code", json_integer(status->code));
	return o;
}

void apiserver_status_add_resource(struct strbuf *out, const struct apiserver_resource *resource)
{
	strbuf_adds(out, resource->kind->plural);
	if (resource->kind->group[0] != '\0')
		strbuf_addf(out, ".%s", resource->kind->group);
}

/* details: empty members are left out, as Go does. */
json_t *apiserver_status_details(const char *name, const char *group, const char *kind)
{
	json_t *d = json_object();
	if (name[0] != '\0')
		json_object_set_new(d, "name", valid_utf8(slice_of(name)));
	if (group[0] != '\0')
		json_object_set_new(d, "group", valid_utf8(slice_of(group)));
	if (kind[0] != '\0')
		json_object_set_new(d, "kind", valid_utf8(slice_of(kind)));
	return d;
}

json_t *apiserver_status_success(const struct apiserver_resource *resource, const json_t *object)
{
	json_t *s = new_status("Success"),
	       *details = apiserver_status_details(api_name(object), resource->kind->group,
						   resource->kind->plural);
	json_object_set_new(details, "uid", json_string(api_uid(object)));
	json_object_set_new(s, "details", details);
	return s;
}

/* ---- any ---- */

static void reset_status(struct apiserver_status *status, unsigned code, const char *reason)
{
	apiserver_status_done(status);
	status->code = code;
	status->reason = reason;
}

int apiserver_status_refuse(struct apiserver_status *status, unsigned code, const char *reason,
			    const char *fmt, ...)
{
	va_list ap;
	reset_status(status, code, reason);
	va_start(ap, fmt);
	strbuf_vaddf(&status->message, fmt, ap);
	va_end(ap);
	return ERR_DENIED;
}

int apiserver_status_bad_request(struct apiserver_status *status, const char *fmt, ...)
{
	va_list ap;
	reset_status(status, 400, "BadRequest");
	va_start(ap, fmt);
	strbuf_vaddf(&status->message, fmt, ap);
	va_end(ap);
	return ERR_DENIED;
}

int apiserver_status_refuse_generic(struct apiserver_status *status, unsigned code,
				    const char *reason, const char *message)
{
	reset_status(status, code, reason);
	strbuf_adds(&status->message, message);
	status->details = json_object();
	return ERR_DENIED;
}

int apiserver_status_no_such_path(struct apiserver_status *status)
{
	return apiserver_status_refuse_generic(status, 404, "NotFound",
					       "the server could not find the requested resource");
}

int apiserver_status_no_such_method(struct apiserver_status *status)
{
	return apiserver_status_refuse_generic(
		status, 405, "MethodNotAllowed",
		"the server does not allow this method on the requested resource");
}

/* ---- about an object ---- */

static void add_subject(struct apiserver_status *status, const struct apiserver_resource *resource,
			const char *name)
{
	status->details =
		apiserver_status_details(name, resource->kind->group, resource->kind->plural);
	apiserver_status_add_resource(&status->message, resource);
	strbuf_addc(&status->message, ' ');
	strbuf_add_quoted(&status->message, slice_of(name));
}

int apiserver_status_not_found(struct apiserver_status *status,
			       const struct apiserver_resource *resource, const char *name)
{
	reset_status(status, 404, "NotFound");
	add_subject(status, resource, name);
	strbuf_adds(&status->message, " not found");
	return ERR_DENIED;
}

int apiserver_status_no_namespace(struct apiserver_status *status, const char *name)
{
	return apiserver_status_not_found(status, apiserver_resource_find("", "v1", "namespaces"),
					  name);
}

int apiserver_status_already_exists(struct apiserver_status *status,
				    const struct apiserver_resource *resource, const char *name,
				    bool deleting)
{
	reset_status(status, 409, "AlreadyExists");
	strbuf_adds(&status->message, deleting ? "object is being deleted: " : "");
	add_subject(status, resource, name);
	strbuf_adds(&status->message, " already exists");
	return ERR_DENIED;
}

int apiserver_status_conflict(struct apiserver_status *status,
			      const struct apiserver_resource *resource, const char *name,
			      const char *fmt, ...)
{
	va_list ap;
	reset_status(status, 409, "Conflict");
	strbuf_adds(&status->message, "Operation cannot be fulfilled on ");
	add_subject(status, resource, name);
	strbuf_adds(&status->message, ": ");
	va_start(ap, fmt);
	strbuf_vaddf(&status->message, fmt, ap);
	va_end(ap);
	return ERR_DENIED;
}

int apiserver_status_conflict_kind(struct apiserver_status *status,
				   const struct apiserver_resource *resource, const char *name,
				   const char *fmt, ...)
{
	const struct api_kind *k = resource->kind;
	va_list ap;
	reset_status(status, 409, "Conflict");
	status->details = apiserver_status_details(name, k->group, k->kind);
	strbuf_addf(&status->message, "Operation cannot be fulfilled on %s%s%s ", k->kind,
		    k->group[0] != '\0' ? "." : "", k->group);
	strbuf_add_quoted(&status->message, slice_of(name));
	strbuf_adds(&status->message, ": ");
	va_start(ap, fmt);
	strbuf_vaddf(&status->message, fmt, ap);
	va_end(ap);
	return ERR_DENIED;
}

int apiserver_status_modified(struct apiserver_status *status,
			      const struct apiserver_resource *resource, const char *name)
{
	return apiserver_status_conflict(
		status, resource, name,
		"the object has been modified; please apply your changes to the "
		"latest version and try again");
}

int apiserver_status_forbidden(struct apiserver_status *status,
			       const struct apiserver_resource *resource, const char *name,
			       const char *fmt, ...)
{
	va_list ap;
	reset_status(status, 403, "Forbidden");
	add_subject(status, resource, name);
	strbuf_adds(&status->message, " is forbidden: ");
	va_start(ap, fmt);
	strbuf_vaddf(&status->message, fmt, ap);
	va_end(ap);
	return ERR_DENIED;
}

int apiserver_status_terminating(struct apiserver_status *status,
				 const struct apiserver_resource *resource, const char *name,
				 const char *ns)
{
	apiserver_status_forbidden(
		status, resource, name,
		"unable to create new content in namespace %s because it is being "
		"terminated",
		ns);
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "namespace %s is being terminated", ns);
	json_object_set_new(status->details, "causes",
			    json_pack("[{ss,ss,ss}]", "reason", "NamespaceTerminating", "message",
				      text.s, "field", "metadata.namespace"));
	return ERR_DENIED;
}

/* ---- about fields ---- */

int apiserver_status_unprocessable(struct apiserver_status *status, const char *group,
				   const char *kind, const char *name,
				   const struct api_errors *errs)
{
	CLEANUP(strbuf_done) struct strbuf what = STRBUF_INIT;
	reset_status(status, 422, "Invalid");
	strbuf_addf(&what, "%s%s%s", kind, group[0] != '\0' ? "." : "", group);
	api_errors_text(errs, what.s, name, &status->message);
	status->details = apiserver_status_details(name, group, kind);
	json_object_set_new(status->details, "causes", api_errors_causes(errs));
	return ERR_DENIED;
}

int apiserver_status_bad_options(struct apiserver_status *status, const char *kind,
				 const struct api_errors *errs)
{
	return apiserver_status_unprocessable(status, "meta.k8s.io", kind, "", errs);
}

int apiserver_status_apply_conflict(struct apiserver_status *status,
				    const struct api_conflicts *conflicts)
{
	reset_status(status, 409, "Conflict");
	api_conflicts_text(conflicts, &status->message);
	status->details = json_object();
	json_object_set_new(status->details, "causes", api_conflicts_causes(conflicts));
	return ERR_DENIED;
}

/* ---- about versions and the store ---- */

int apiserver_status_too_large_version(struct apiserver_status *status, unsigned long long asked,
				       unsigned long long current)
{
	reset_status(status, 504, "Timeout");
	strbuf_addf(&status->message, "Timeout: Too large resource version: %llu, current: %llu",
		    asked, current);
	status->details =
		json_pack("{s[{ss,ss}],si}", "causes", "reason", "ResourceVersionTooLarge",
			  "message", "Too large resource version", "retryAfterSeconds", 1);
	status->retry_after_s = 1;
	return ERR_DENIED;
}

int apiserver_status_expired(struct apiserver_status *status, const char *fmt, ...)
{
	va_list ap;
	reset_status(status, 410, "Expired");
	va_start(ap, fmt);
	strbuf_vaddf(&status->message, fmt, ap);
	va_end(ap);
	return ERR_DENIED;
}

int apiserver_status_store_failed(struct apiserver_status *status, int error)
{
	if (error == ERR_SPACE)
		return apiserver_status_refuse(
			status, 507, "InsufficientStorage",
			"the disk of the data directory is full: nothing was "
			"written; delete objects, or make space on the disk, and "
			"it will work again");
	if (error == ERR_PARSE)
		return apiserver_status_refuse(
			status, 500, "InternalError",
			"Internal error occurred: the database of the data "
			"directory is damaged: stop the server and restore a "
			"backup with `fairlead restore`");
	if (error == ERR_DAMAGED)
		return apiserver_status_refuse(
			status, 500, "InternalError",
			"Internal error occurred: the stored object '%s' is "
			"damaged: stop the server and restore a backup of its "
			"database with `fairlead restore`",
			apiserver_store_damaged_key());
	if (error == ERR_LIMIT)
		return apiserver_status_refuse(
			status, 413, "RequestEntityTooLarge",
			"the object is too large to be stored (limit is %d bytes)",
			APISERVER_VALUE_MAX_BYTES);
	return apiserver_status_refuse(status, 500, "InternalError", "Internal error occurred: %s",
				       err_str(error));
}
