/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks and canonical form of names in egress rules. The published pattern of dnsName accepts more
 * than can be an object's name: labels that begin or end with a hyphen, and names of any length. */
#include "api/egress/name.h"

#include <stdio.h>
#include <string.h>

enum { LABEL_MAX = 63 };

static bool is_letter_or_digit(char ch)
{
	return ascii_isalpha(ch) || ascii_isdigit(ch);
}

/* RFC 1123 §2.1, as Kubernetes has it for names of objects. */
static const char *check_label(struct slice label, bool is_host)
{
	if (label.n == 0)
		return "has an empty label";
	if (label.n > LABEL_MAX)
		return "has a label of more than 63 characters";
	for (size_t i = 0; i < label.n; i++) {
		if (label.p[i] == '*')
			return "may have an asterisk only as its whole first label, as in "
			       "\"*.example.com\"";
		if ((unsigned char)label.p[i] >= 0x80)
			return "must be ASCII; write an internationalized name in its \"xn--\" "
			       "form";
		if (!is_letter_or_digit(label.p[i]) && label.p[i] != '-' &&
		    !(is_host && label.p[i] == '_'))
			return "may have letters, digits, hyphens and dots only";
	}
	if (label.p[0] == '-' || label.p[label.n - 1] == '-')
		return "has a label that begins or ends with a hyphen";
	return NULL;
}

/* A host's last label has a letter (RFC 1123 §2.1: it could be an address otherwise). */
static bool ends_in_number(struct slice label)
{
	for (size_t i = 0; i < label.n; i++) {
		if (!ascii_isdigit(label.p[i]))
			return false;
	}
	return true;
}

static const char *check_labels(struct slice text, bool is_host)
{
	struct slice rest = text, label = text;
	for (bool more = true; more;) {
		more = slice_find(rest, '.') >= 0;
		label = slice_cut(&rest, '.');
		const char *wrong = check_label(label, is_host);
		if (wrong != NULL)
			return wrong;
	}
	return ends_in_number(label) ? "ends in a number; for an address use cidrSelector" : NULL;
}

static const char *parse_name(struct slice text, bool is_host, struct egress_name *ret)
{
	ret->is_wildcard = !is_host && slice_starts(text, SLICE("*."));
	struct slice rest = slice_from(text, ret->is_wildcard ? 2 : 0);
	size_t max = EGRESS_NAME_MAX;
	if (ret->is_wildcard)
		max -= sizeof(EGRESS_WILDCARD_LABEL);
	if (rest.n != 0 && rest.p[rest.n - 1] == '.')
		rest.n--;
	if (slice_is(text, "*"))
		return "must name a domain behind the asterisk, as in \"*.example.com\"";
	if (rest.n == 0)
		return "must not be empty";
	if (rest.n > max)
		return ret->is_wildcard ? "may have at most 244 characters behind \"*.\""
					: "may have at most 253 characters";
	const char *wrong = check_labels(rest, is_host);
	if (wrong != NULL)
		return wrong;
	for (size_t i = 0; i < rest.n; i++)
		ret->text[i] = ascii_lower(rest.p[i]);
	ret->text[rest.n] = '\0';
	return NULL;
}

const char *egress_name_parse(struct slice text, struct egress_name *ret)
{
	return parse_name(text, false, ret);
}

const char *egress_name_parse_host(struct slice text, struct egress_name *ret)
{
	return parse_name(text, true, ret);
}

void egress_name_object(const char *text, bool is_wildcard, char out[EGRESS_NAME_MAX + 1])
{
	static const char label[] = EGRESS_WILDCARD_LABEL ".";
	size_t front = is_wildcard ? sizeof(label) - 1 : 0;
	size_t n = strnlen(text, EGRESS_NAME_MAX - front);
	memcpy(out, label, front);
	memcpy(out + front, text, n);
	out[front + n] = '\0';
}

void egress_name_set_text(const char *text, bool is_wildcard, bool any_depth,
			  char out[EGRESS_SET_TEXT_MAX])
{
	snprintf(out, EGRESS_SET_TEXT_MAX, "%s%s",
		 !is_wildcard ? ""
		 : any_depth  ? "**."
			      : "*.",
		 text);
}

const char *egress_name_below_wildcard(const char *object)
{
	struct slice prefix = SLICE(EGRESS_WILDCARD_LABEL ".");
	if (!slice_starts(slice_of(object), prefix) || object[prefix.n] == '\0')
		return NULL;
	return object + prefix.n;
}

bool egress_name_is_covered(const char *host, const char *parent, bool any_depth)
{
	struct slice name = slice_of(host), zone = slice_of(parent);
	if (name.n < zone.n + 2 || !slice_ends(name, zone) || name.p[name.n - zone.n - 1] != '.')
		return false;
	struct slice below = { name.p, name.n - zone.n - 1 };
	return any_depth || slice_find(below, '.') < 0;
}
