/* "/apis/G/V/namespaces/NS/PLURAL/NAME/SUB" and a method into a verb and its object. */
#include "apiserver/access.h"

#include <string.h>

#include "apiserver/failure.h"
#include "base/strbuf.h"

enum { PARTS_MAX = 8 };

static const struct {
	enum http_method method;
	const char *object, *collection;
} verbs[] = {
	{ HTTP_GET, "get", "list" },	   { HTTP_HEAD, "get", "list" },
	{ HTTP_POST, "create", "create" }, { HTTP_PUT, "update", "update" },
	{ HTTP_PATCH, "patch", "patch" },  { HTTP_DELETE, "delete", "deletecollection" },
};

static bool asks_watch(const struct apiserver_call *c)
{
	for (size_t i = 0; i < c->n_args; i++) {
		if (strcmp(c->args[i].name, "watch") == 0)
			return strcmp(c->args[i].value, "1") == 0 ||
			       strcmp(c->args[i].value, "true") == 0;
	}
	return false;
}

static const char *verb_of(const struct apiserver_call *c, bool named)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (verbs[i].method != c->method)
			continue;
		if (!named && strcmp(verbs[i].collection, "list") == 0 && asks_watch(c))
			return "watch";
		return named ? verbs[i].object : verbs[i].collection;
	}
	return "";
}

/* Splits the copy in place; empty parts stay out. What is behind the last part stays in it. */
static size_t split(char *text, const char **parts)
{
	size_t n = 0;
	while (*text != '\0') {
		while (*text == '/')
			*text++ = '\0';
		if (*text == '\0')
			break;
		parts[n++] = text;
		if (n == PARTS_MAX)
			break;
		text += strcspn(text, "/");
	}
	return n;
}

bool apiserver_wish_read(const struct apiserver_call *c, struct apiserver_wish *ret)
{
	const char *parts[PARTS_MAX];
	const char *const *at = parts;
	size_t length = strlen(c->path);
	if (length >= sizeof(ret->text_))
		return false;
	memcpy(ret->text_, c->path, length + 1);
	size_t n = split(ret->text_, parts);
	bool core = n >= 3 && strcmp(parts[0], "api") == 0;
	if (!core && (n < 4 || strcmp(parts[0], "apis") != 0))
		return false;
	ret->action = (struct apiserver_action){
		.group = core ? "" : parts[1], .subresource = "", .ns = "", .name = "", .path = ""
	};
	at += core ? 2 : 3;
	n -= core ? 2 : 3;
	if (strcmp(at[0], "namespaces") == 0 && n > 1) {
		/* A Namespace is in itself, as authorizers see it. */
		ret->action.ns = at[1];
		bool inside =
			n > 2 && strcmp(at[2], "status") != 0 && strcmp(at[2], "finalize") != 0;
		at += inside ? 2 : 0;
		n -= inside ? 2 : 0;
	}
	ret->action.resource = at[0];
	if (n > 1)
		ret->action.name = at[1];
	if (n > 2)
		ret->action.subresource = at[2];
	ret->action.verb = verb_of(c, n > 1);
	return true;
}

void apiserver_refuse_action(const struct apiserver_identity *who, const struct apiserver_action *a,
			     struct apiserver_answer *ret)
{
	struct apiserver_status st = APISERVER_STATUS_INIT;
	CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
	strbuf_addf(&message, "%s%s%s", a->resource, *a->group != '\0' ? "." : "", a->group);
	if (*a->name != '\0') {
		strbuf_addc(&message, ' ');
		strbuf_add_quoted(&message, slice_of(a->name));
	}
	strbuf_adds(&message, " is forbidden: ");
	apiserver_may_text(who, a, &message);
	IGNORE(apiserver_refuse(&st, 403, "Forbidden", "%s", message.s));
	st.details = apiserver_status_details(a->name, a->group, a->resource);
	apiserver_failure(ret, &st);
}
