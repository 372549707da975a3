/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Redirects: an error by default, passed on, or followed to the same host only. */
#include "http/client/test_rig.h"

static const struct http_header key = { { "X-API-Key", 9 }, { "s3cret", 6 } };

/* One call to /x that is redirected to `location`. */
static int ask_redirected(struct rig *rig, struct http_call *call, const char *location)
{
	char headers[256];
	snprintf(headers, sizeof(headers), "Location: %s\r\n", location);
	call->headers = &key;
	call->n_headers = 1;
	return ask_once(
		rig, call,
		&(struct fakeapi_reply){ .status = 302, .headers = headers, .body = "a page" });
}

static void refused_by_default(void **state)
{
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	struct http_call call = { 0 };
	assert_int_equal(ask_redirected(&rig, &call, "/y?token=t"), ERR_DENIED);
	assert_has(call.error, scripted_http_url(rig.script));
	assert_has(call.error, "redirected (302) to http://127.0.0.1");
	assert_has(call.error, "not followed");
	assert_null(strstr(call.error, "token"));
	assert_int_equal(call.status, 302);
	assert_int_equal(call.reply.n, 0);
	http_call_release(&call);
	/* The caller reads it itself. */
	call.redirects = HTTP_REDIRECTS_PASS;
	assert_int_equal(ask_redirected(&rig, &call, "http://other.invalid/"), 0);
	assert_string_equal(call.reply.s, "a page");
	assert_true(slice_is(http_call_header(&call, "Location", 0), "http://other.invalid/"));
	http_call_release(&call);
	/* Without a Location it is a reply. */
	call.redirects = HTTP_REDIRECTS_REFUSE;
	assert_int_equal(ask_once(&rig, &call,
				  &(struct fakeapi_reply){ .status = 304,
							   .raw = "HTTP/1.1 304 Same\r\n\r\n" }),
			 0);
	http_call_release(&call);
	rig_down(&rig);
}

/* Another host, port or scheme gets neither the request nor its credentials. */
static void never_to_another_host(void **state)
{
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	struct scripted_http *other = scripted_http_new(NULL); /* expects nothing */
	char by_name[64];
	snprintf(by_name, sizeof(by_name), "http://localhost%s/",
		 strrchr(scripted_http_url(rig.script), ':'));
	const char *const locations[] = { scripted_http_url(other),	 by_name,
					  "https://127.0.0.1/",		 "//other.invalid/y",
					  "http://user:pass@127.0.0.1/", "ftp://127.0.0.1/",
					  "file:///etc/passwd" };
	for (size_t j = 0; j < 2 * ARRAY_LEN(locations); j++) {
		size_t i = j / 2;
		struct http_call call = { .redirects = j % 2 != 0 ? HTTP_REDIRECTS_FOLLOW
								  : HTTP_REDIRECTS_REFUSE };
		assert_int_equal(ask_redirected(&rig, &call, locations[i]), ERR_DENIED);
		assert_has(call.error, i < 4 ? "another host, to which credentials are not sent"
					     : "a URL that is not accepted");
		assert_null(strstr(call.error, "pass"));
		http_call_release(&call);
	}
	assert_int_equal(scripted_http_connections(other), 0);
	scripted_http_free(other);
	rig_down(&rig);
}

static void followed_on_the_same_host(void **state)
{
	struct rig rig;
	(void)state;
	rig_up(&rig, NULL);
	scripted_http_expect(rig.script, &(struct scripted_call){ .line = "GET /dir/y",
								  .header = "X-API-Key: s3cret",
								  .reply = { .body = "there" } });
	struct http_call call = { .redirects = HTTP_REDIRECTS_FOLLOW };
	assert_int_equal(ask_redirected(&rig, &call, "dir/y"), 0);
	assert_int_equal(call.status, 200);
	assert_string_equal(call.reply.s, "there");
	assert_null(http_call_header(&call, "Location", 0).p);
	http_call_release(&call);
	/* What writes is not repeated. */
	struct http_call post = { .method = "POST",
				  .body = SLICE("{}"),
				  .redirects = HTTP_REDIRECTS_FOLLOW };
	assert_int_equal(ask_redirected(&rig, &post, "/y"), ERR_DENIED);
	assert_has(post.error, "only GET and HEAD are repeated");
	http_call_release(&post);
	/* Not for ever. */
	scripted_http_expect(
		rig.script, &(struct scripted_call){
				    .line = "GET /loop",
				    .times = HTTP_REDIRECTS_MAX,
				    .reply = { .status = 307, .headers = "Location: /loop\r\n" } });
	assert_int_equal(ask_redirected(&rig, &call, "/loop"), ERR_DENIED);
	assert_has(call.error, "too many redirects");
	http_call_release(&call);
	rig_down(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_by_default),
		cmocka_unit_test(never_to_another_host),
		cmocka_unit_test(followed_on_the_same_host),
	};
	return RUN_BOTH(tests);
}
