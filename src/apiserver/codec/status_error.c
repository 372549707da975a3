/* The refusals. Sentences are the server's: kubectl and people match them. */
#include "apiserver/codec/status_error.h"

#include <string.h>

#include "api/meta.h"
#include "apiserver/store/damage.h"
#include "apiserver/store/store.h"
#include "base/text/utf8.h"

void apiserver_status_done(struct apiserver_status *st)
{
	strbuf_done(&st->message);
	json_decref(st->details);
	json_decref(st->list_meta);
	*st = (struct apiserver_status)APISERVER_STATUS_INIT;
}

static json_t *start(const char *status)
{
	return json_pack("{ss,ss,s{},ss}", "kind", "Status", "apiVersion", "v1", "metadata",
			 "status", status);
}

/* Paths and queries may hold any bytes; what is no UTF-8 is shown as U+FFFD, as Go does. */
static json_t *shown(struct slice text)
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

json_t *apiserver_status_tree(const struct apiserver_status *st)
{
	json_t *o = start("Failure");
	if (st->list_meta != NULL)
		json_object_set(o, "metadata", st->list_meta);
	json_object_set_new(o, "message", shown(strbuf_slice(&st->message)));
	if (st->reason[0] != '\0')
		json_object_set_new(o, "reason", json_string(st->reason));
	if (st->details != NULL)
		json_object_set(o, "details", st->details);
	json_object_set_new(o, "code", json_integer(st->code));
	return o;
}

void apiserver_qualified(struct strbuf *out, const struct apiserver_resource *resource)
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
		json_object_set_new(d, "name", shown(slice_of(name)));
	if (group[0] != '\0')
		json_object_set_new(d, "group", shown(slice_of(group)));
	if (kind[0] != '\0')
		json_object_set_new(d, "kind", shown(slice_of(kind)));
	return d;
}

json_t *apiserver_status_success(const struct apiserver_resource *resource, const json_t *object)
{
	json_t *s = start("Success"),
	       *d = apiserver_status_details(api_name(object), resource->kind->group,
					     resource->kind->plural);
	json_object_set_new(d, "uid", json_string(api_uid(object)));
	json_object_set_new(s, "details", d);
	return s;
}

/* ---- any ---- */

static void begin(struct apiserver_status *st, unsigned code, const char *reason)
{
	apiserver_status_done(st);
	st->code = code;
	st->reason = reason;
}

int apiserver_refuse(struct apiserver_status *st, unsigned code, const char *reason,
		     const char *fmt, ...)
{
	va_list ap;
	begin(st, code, reason);
	va_start(ap, fmt);
	strbuf_vaddf(&st->message, fmt, ap);
	va_end(ap);
	return ERR_DENIED;
}

int apiserver_bad_request(struct apiserver_status *st, const char *fmt, ...)
{
	va_list ap;
	begin(st, 400, "BadRequest");
	va_start(ap, fmt);
	strbuf_vaddf(&st->message, fmt, ap);
	va_end(ap);
	return ERR_DENIED;
}

int apiserver_refuse_generic(struct apiserver_status *st, unsigned code, const char *reason,
			     const char *message)
{
	begin(st, code, reason);
	strbuf_adds(&st->message, message);
	st->details = json_object();
	return ERR_DENIED;
}

int apiserver_no_such_path(struct apiserver_status *st)
{
	return apiserver_refuse_generic(st, 404, "NotFound",
					"the server could not find the requested resource");
}

int apiserver_no_such_method(struct apiserver_status *st)
{
	return apiserver_refuse_generic(
		st, 405, "MethodNotAllowed",
		"the server does not allow this method on the requested resource");
}

/* ---- about an object ---- */

static void about(struct apiserver_status *st, const struct apiserver_resource *resource,
		  const char *name)
{
	st->details = apiserver_status_details(name, resource->kind->group, resource->kind->plural);
	apiserver_qualified(&st->message, resource);
	strbuf_addc(&st->message, ' ');
	strbuf_add_quoted(&st->message, slice_of(name));
}

int apiserver_not_found(struct apiserver_status *st, const struct apiserver_resource *resource,
			const char *name)
{
	begin(st, 404, "NotFound");
	about(st, resource, name);
	strbuf_adds(&st->message, " not found");
	return ERR_DENIED;
}

int apiserver_no_namespace(struct apiserver_status *st, const char *name)
{
	return apiserver_not_found(st, apiserver_resource_find("", "v1", "namespaces"), name);
}

int apiserver_already_exists(struct apiserver_status *st, const struct apiserver_resource *resource,
			     const char *name, bool deleting)
{
	begin(st, 409, "AlreadyExists");
	strbuf_adds(&st->message, deleting ? "object is being deleted: " : "");
	about(st, resource, name);
	strbuf_adds(&st->message, " already exists");
	return ERR_DENIED;
}

int apiserver_conflict(struct apiserver_status *st, const struct apiserver_resource *resource,
		       const char *name, const char *fmt, ...)
{
	va_list ap;
	begin(st, 409, "Conflict");
	strbuf_adds(&st->message, "Operation cannot be fulfilled on ");
	about(st, resource, name);
	strbuf_adds(&st->message, ": ");
	va_start(ap, fmt);
	strbuf_vaddf(&st->message, fmt, ap);
	va_end(ap);
	return ERR_DENIED;
}

int apiserver_conflict_kind(struct apiserver_status *st, const struct apiserver_resource *resource,
			    const char *name, const char *fmt, ...)
{
	const struct api_kind *k = resource->kind;
	va_list ap;
	begin(st, 409, "Conflict");
	st->details = apiserver_status_details(name, k->group, k->kind);
	strbuf_addf(&st->message, "Operation cannot be fulfilled on %s%s%s ", k->kind,
		    k->group[0] != '\0' ? "." : "", k->group);
	strbuf_add_quoted(&st->message, slice_of(name));
	strbuf_adds(&st->message, ": ");
	va_start(ap, fmt);
	strbuf_vaddf(&st->message, fmt, ap);
	va_end(ap);
	return ERR_DENIED;
}

int apiserver_modified(struct apiserver_status *st, const struct apiserver_resource *resource,
		       const char *name)
{
	return apiserver_conflict(st, resource, name,
				  "the object has been modified; please apply your changes to the "
				  "latest version and try again");
}

int apiserver_forbid(struct apiserver_status *st, const struct apiserver_resource *resource,
		     const char *name, const char *fmt, ...)
{
	va_list ap;
	begin(st, 403, "Forbidden");
	about(st, resource, name);
	strbuf_adds(&st->message, " is forbidden: ");
	va_start(ap, fmt);
	strbuf_vaddf(&st->message, fmt, ap);
	va_end(ap);
	return ERR_DENIED;
}

int apiserver_terminating(struct apiserver_status *st, const struct apiserver_resource *resource,
			  const char *name, const char *ns)
{
	apiserver_forbid(st, resource, name,
			 "unable to create new content in namespace %s because it is being "
			 "terminated",
			 ns);
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "namespace %s is being terminated", ns);
	json_object_set_new(st->details, "causes",
			    json_pack("[{ss,ss,ss}]", "reason", "NamespaceTerminating", "message",
				      text.s, "field", "metadata.namespace"));
	return ERR_DENIED;
}

/* ---- about fields ---- */

int apiserver_unprocessable(struct apiserver_status *st, const char *group, const char *kind,
			    const char *name, const struct api_errors *errs)
{
	CLEANUP(strbuf_done) struct strbuf what = STRBUF_INIT;
	begin(st, 422, "Invalid");
	strbuf_addf(&what, "%s%s%s", kind, group[0] != '\0' ? "." : "", group);
	api_errors_text(errs, what.s, name, &st->message);
	st->details = apiserver_status_details(name, group, kind);
	json_object_set_new(st->details, "causes", api_errors_causes(errs));
	return ERR_DENIED;
}

int apiserver_bad_options(struct apiserver_status *st, const char *kind,
			  const struct api_errors *errs)
{
	return apiserver_unprocessable(st, "meta.k8s.io", kind, "", errs);
}

int apiserver_apply_conflict(struct apiserver_status *st, const struct api_conflicts *conflicts)
{
	begin(st, 409, "Conflict");
	api_conflicts_text(conflicts, &st->message);
	st->details = json_object();
	json_object_set_new(st->details, "causes", api_conflicts_causes(conflicts));
	return ERR_DENIED;
}

/* ---- about versions and the store ---- */

int apiserver_too_large_version(struct apiserver_status *st, unsigned long long asked,
				unsigned long long current)
{
	begin(st, 504, "Timeout");
	strbuf_addf(&st->message, "Timeout: Too large resource version: %llu, current: %llu", asked,
		    current);
	st->details = json_pack("{s[{ss,ss}],si}", "causes", "reason", "ResourceVersionTooLarge",
				"message", "Too large resource version", "retryAfterSeconds", 1);
	st->retry_after_s = 1;
	return ERR_DENIED;
}

int apiserver_expired(struct apiserver_status *st, const char *fmt, ...)
{
	va_list ap;
	begin(st, 410, "Expired");
	va_start(ap, fmt);
	strbuf_vaddf(&st->message, fmt, ap);
	va_end(ap);
	return ERR_DENIED;
}

int apiserver_store_failed(struct apiserver_status *st, int error)
{
	if (error == ERR_SPACE)
		return apiserver_refuse(st, 507, "InsufficientStorage",
					"the disk of the data directory is full: nothing was "
					"written; delete objects, or make space on the disk, and "
					"it will work again");
	if (error == ERR_PARSE)
		return apiserver_refuse(st, 500, "InternalError",
					"Internal error occurred: the database of the data "
					"directory is damaged: stop the server and put a backup in "
					"its place with `fairlead restore`");
	if (error == ERR_DAMAGED)
		return apiserver_refuse(st, 500, "InternalError",
					"Internal error occurred: the stored object '%s' is "
					"damaged: stop the server and put a backup in the place of "
					"its database with `fairlead restore`",
					apiserver_store_damaged_key());
	if (error == ERR_LIMIT)
		return apiserver_refuse(st, 413, "RequestEntityTooLarge",
					"the object is too large to be stored (limit is %d bytes)",
					APISERVER_VALUE_MAX_BYTES);
	return apiserver_refuse(st, 500, "InternalError", "Internal error occurred: %s",
				err_str(error));
}
